package write

import (
	"context"
	"io"
	"slices"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// givenBuffer and matchedBuffer are the buffers of a FewJoin, which has no ON CONFLICT.
const (
	givenBuffer   = proposedBuffer
	matchedBuffer = proposedBuffer + 1
)

// lookedUp reads the given rows of a join, and by their keys the table's, and returns root, the source of the
// statement, with buffers in their places:
//
//	Values ⟕ Scan   →   Buffer(given) ⟕ Buffer(matched)
func (w *ModifyTable) lookedUp(root plan.Node, f *planner.FewJoin) (plan.Node, error) {
	ctx := w.r.x.Ctx
	given := &plan.Buffer{ID: givenBuffer, Name: "given", Cols: f.Given.Schema()}
	rows, err := w.r.few(own(f.Given, nil), given.Cols, nil)
	if err != nil {
		return nil, err
	}
	l := &lookUps{w: w, of: f, m: w.r.st.Manifest(f.Scan.Table)}
	if err := w.r.Fill(ctx, given.ID, given.Cols, &keysOf{rows, l}); err != nil {
		return nil, err
	}
	matched := &plan.Buffer{ID: matchedBuffer, Name: "matched", Cols: f.Scan.Schema()}
	if err := w.r.Fill(ctx, matched.ID, matched.Cols, l); err != nil {
		return nil, err
	}
	return own(root, map[plan.Node]plan.Node{f.Given: given, f.Scan: matched}), nil
}

// own returns a tree that can be run though the one it is of is shared, with some nodes replaced.
func own(n plan.Node, by map[plan.Node]plan.Node) plan.Node {
	if m := by[n]; m != nil {
		return m
	}
	if v, ok := n.(*plan.Values); ok {
		v := *v
		return &v
	}
	return plan.MapChildren(n, func(k plan.Node) plan.Node { return own(k, by) })
}

// keysOf notes the keys of given rows as they pass.
type keysOf struct {
	op.BatchReader
	to *lookUps
}

func (k *keysOf) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := k.BatchReader.Next(ctx)
	if err == nil {
		cols := k.to.of.Given.Schema()
		for i := range b.Rows() {
			row := rowAt(b, cols, i)
			key := make([]types.Datum, len(k.to.of.At))
			for j, at := range k.to.of.At {
				key[j] = row[at]
			}
			k.to.add(key)
		}
	}
	return b, err
}

// lookUps reads the rows of a table that have one of some keys.
type lookUps struct {
	w    *ModifyTable
	of   *planner.FewJoin
	m    *catalog.Manifest
	keys [][]types.Datum
	now  op.BatchReader
}

// add adds a key, but none with a NULL, which equals nothing, and none twice.
func (l *lookUps) add(key []types.Datum) {
	if slices.Contains(key, nil) {
		return
	}
	same := func(other []types.Datum) bool {
		for i, c := range l.of.Keys {
			if types.Compare(c.Type, key[i], other[i]) != 0 {
				return false
			}
		}
		return true
	}
	if !slices.ContainsFunc(l.keys, same) {
		l.keys = append(l.keys, key)
	}
}

// Next implements op.BatchReader.
func (l *lookUps) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if l.now != nil {
			b, err := l.now.Next(ctx)
			if err != io.EOF {
				return b, err
			}
			if err := l.Close(); err != nil {
				return nil, err
			}
		}
		if len(l.keys) == 0 || l.m == nil {
			return nil, io.EOF
		}
		look := *l.of.Scan
		look.Filter = slices.Clone(look.Filter)
		for i, c := range l.of.Keys {
			look.Filter = append(look.Filter, equals(c, l.keys[0][i]))
		}
		l.keys = l.keys[1:]
		var err error
		if l.now, err = l.w.r.few(&look, look.Schema(), map[*plan.Scan]*catalog.Manifest{&look: l.m}); err != nil {
			return nil, err
		}
	}
}

// Close implements op.BatchReader.
func (l *lookUps) Close() error {
	if l.now == nil {
		return nil
	}
	now := l.now
	l.now = nil
	return now.Close()
}
