package training

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/ml/groups"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// A table whose distribution key is among the keys of groups has all rows of a group in one partition. Where the
// query makes a group's rows of that partition's alone, a later training need not train groups whose partitions
// have not changed since.

// groupBase returns what a later training needs to know of this one for that; nil where groups are not divided so.
func (d *drive) groupBase(q *plan.Query) *catalog.GroupBase {
	id, ok := q.Identity(func(s *plan.Source) bool { return !source.IsFile(s.Name) })
	if !ok || len(id.Types) > 0 {
		return nil
	}
	for _, oid := range id.Tables {
		rel, m := d.state.RelationByOID(oid), d.state.Manifest(oid)
		if rel == nil || m == nil || d.divides(q, rel) == nil {
			continue
		}
		b := &catalog.GroupBase{Table: oid}
		for p := range m.Partitions {
			b.Partitions = append(b.Partitions, m.DigestOf(p))
		}
		var others [][32]byte
		for _, o := range id.Tables {
			if o != oid {
				others = append(others, d.state.Manifest(o).Digest())
			}
		}
		h := sha256.New()
		h.Write(codec.Marshal([][]byte{d.job().EncodeWhole(), id.Plan, codec.Marshal(d.x.Caller.Params), codec.Marshal(others), codec.Marshal(rel.DistributionKey), codec.Marshal(d.plan.Groups.By)}))
		h.Sum(b.Plan[:0])
		return b
	}
	return nil
}

// divides returns, for each column of a table's distribution key, which key of groups it is; nil if not all are, or if
// a group may have rows of several partitions.
func (d *drive) divides(q *plan.Query, rel *catalog.Relation) []int {
	f := &follower{rel: rel}
	for _, b := range q.Buffers {
		if b.Root != nil && f.has(b.Root) {
			return nil
		}
	}
	cols, ok := f.follow(q.Root)
	if !ok || len(rel.DistributionKey) == 0 {
		return nil
	}
	var out []int
	for _, num := range rel.DistributionKey {
		of := rel.ColumnNum(num).Type
		at := slices.IndexFunc(d.plan.keys, func(at int) bool { n, ok := cols[q.Cols[at].ID]; return ok && n == num })
		if at < 0 {
			return nil
		}
		// The value of the key must be that of the column, and not of another type.
		if key := d.plan.Groups.By[at].Key; key.OID != of.OID && !(key.IsInteger() && of.IsInteger()) || !key.IsInteger() && !key.SamePhysical(of) {
			return nil
		}
		out = append(out, at)
	}
	return out
}

// follower follows the columns of a table's distribution key through a plan.
type follower struct{ rel *catalog.Relation }

// has reports whether a plan reads the table.
func (f *follower) has(n plan.Node) bool {
	if s, ok := n.(*plan.Scan); ok && s.Table == f.rel.OID {
		return true
	}
	return slices.ContainsFunc(n.Children(), f.has)
}

// follow returns which columns of a node are those of the key; ok is false if one of its rows may be made of several
// partitions' rows.
func (f *follower) follow(n plan.Node) (cols map[expr.ColID]int16, ok bool) {
	if !f.has(n) {
		return nil, true
	}
	switch n := n.(type) {
	case *plan.Scan:
		cols = map[expr.ColID]int16{}
		for _, c := range n.Cols {
			if slices.Contains(f.rel.DistributionKey, int16(c.Num)) {
				cols[c.ID] = int16(c.Num)
			}
		}
		return cols, true
	case *plan.Filter:
		return f.follow(n.Input)
	case *plan.Project:
		cols, ok = f.follow(n.Input)
		return through(cols, n.Items), ok
	case *plan.Aggregate:
		cols, ok = f.follow(n.Input)
		of := through(cols, n.Groups)
		return of, ok && n.Sets == nil && n.Phase == plan.AggSingle && f.all(of)
	case *plan.Window:
		cols, ok = f.follow(n.Input)
		of := map[expr.ColID]int16{}
		for _, e := range n.PartitionBy {
			if c, is := e.(*expr.Col); is {
				if num, is := cols[c.ID]; is {
					of[c.ID] = num
				}
			}
		}
		return cols, ok && f.all(of)
	case *plan.Join:
		left, right := f.has(n.L), f.has(n.R)
		switch {
		case left && right:
			return nil, false
		case n.Kind == plan.Inner && right:
			return f.follow(n.R)
		case left && slices.Contains([]plan.JoinKind{plan.Inner, plan.Left, plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.Single}, n.Kind):
			return f.follow(n.L)
		}
	}
	return nil, false
}

// all reports whether all columns of the key are there.
func (f *follower) all(cols map[expr.ColID]int16) bool {
	return !slices.ContainsFunc(f.rel.DistributionKey, func(num int16) bool {
		for _, n := range cols {
			if n == num {
				return false
			}
		}
		return true
	})
}

// through returns the columns among items.
func through(cols map[expr.ColID]int16, items []plan.Item) map[expr.ColID]int16 {
	out := map[expr.ColID]int16{}
	for _, it := range items {
		if c, ok := it.Expr.(*expr.Col); ok {
			if num, ok := cols[c.ID]; ok {
				out[it.Col.ID] = num
			}
		}
	}
	return out
}

// keepGroups takes over the groups of the version that is trained again whose partitions have not changed, and says
// that those need not be read.
func (d *drive) keepGroups(ctx context.Context, q *plan.Query) error {
	g, b := d.runs, d.runs.base
	if b == nil || d.rec.job.Retrain == 0 {
		return nil
	}
	m := d.state.Model(d.rec.job.Schema, d.rec.job.Model)
	if m == nil {
		return nil
	}
	old := m.Find(d.rec.job.Retrain)
	if old == nil || old.Groups == nil || old.Groups.Base == nil {
		return nil
	}
	was := old.Groups.Base
	if was.Plan != b.Plan || was.Table != b.Table || len(was.Partitions) != len(b.Partitions) {
		return nil
	}
	same := make([]bool, len(b.Partitions))
	for p := range same {
		same[p] = was.Partitions[p] == b.Partitions[p]
	}
	if !slices.Contains(same, true) {
		return nil
	}
	rel := d.state.RelationByOID(b.Table)
	at := d.divides(q, rel)
	key := make([]arrow.Array, len(at))
	part := store.Partitions(rel)
	err := d.j.cfg.Blobs.Read(ctx, old.Blob(), func(enc []byte) error {
		f, err := groups.Open(enc, g.acct.Grow)
		if err != nil {
			return err
		}
		return f.Raw(enc, func(k []byte, vals []types.Datum, made []byte) error {
			for i, a := range at {
				if key[i], err = types.ArrayOf1(rel.ColumnNum(rel.DistributionKey[i]).Type, vals[a], 1); err != nil {
					return err
				}
			}
			if !same[part(key)] {
				return nil
			}
			g.kept++
			return g.pile.Put(k, vals, made)
		})
	})
	if err == nil && g.kept > 0 {
		g.part = catalog.Without(d.state, b.Table, same)
	}
	return err
}
