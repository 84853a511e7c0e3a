package node

import (
	"container/list"
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/ml/groups"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// groupModels are the models of the groups of one version. Its file stays open; of the models those that were
// used last are kept decoded, as long as they take a small part of the node's memory.
type groupModels struct {
	name string
	of   *catalog.ModelGroups
	blob *store.Blob
	file *groups.File
	most int64 // bytes of decoded models

	mu     sync.Mutex
	acct   *mem.Account // of the index and the decoded models
	index  int64
	byKey  map[string]*list.Element
	recent *list.List // of *groupModel, most recently used in front
}

// groupModel is a decoded model; s is nil for a group that has none.
type groupModel struct {
	key   string
	s     *model.Scorer
	order [][]int // see scorer
	bytes int64
}

// groupsShare is the part of a node's memory that the decoded models of one version may take.
const groupsShare = 16

// openGroups opens a version that has groups, of which decoded models may take so many bytes.
func openGroups(ctx context.Context, open func(ctx context.Context, ref *catalog.Segment) (*store.Blob, error), most int64, name string, v *catalog.ModelVersion, acct *mem.Account) (*groupModels, error) {
	blob, err := open(ctx, v.Blob())
	if err != nil {
		return nil, err
	}
	g := &groupModels{name: name, of: v.Groups, blob: blob, most: most, acct: acct, byKey: map[string]*list.Element{}, recent: list.New()}
	err = blob.Read(func(b []byte) (err error) {
		g.file, err = groups.Open(b, acct.Grow)
		return err
	})
	if err == nil {
		err = acct.Resize(acct.Used() + 4096)
	}
	if err != nil {
		blob.Close()
		return nil, err
	}
	g.index = acct.Used()
	return g, nil
}

func (g *groupModels) close() { g.blob.Close() }

// find returns the model of a key. charge is called for the memory of one that is decoded.
func (g *groupModels) find(key []byte, charge func(bytes int64) error) (*groupModel, error) {
	g.mu.Lock()
	if at := g.byKey[string(key)]; at != nil {
		g.recent.MoveToFront(at)
		m := at.Value.(*groupModel)
		g.mu.Unlock()
		return m, nil
	}
	g.mu.Unlock()
	m := &groupModel{key: string(key)}
	err := g.blob.Read(func(b []byte) error {
		x, err := g.file.Find(b, key)
		if err != nil {
			return err
		}
		enc := []byte(nil)
		switch {
		case x != nil && !x.Failed():
			enc = x.Model
		case g.of.Unknown == catalog.UnknownPooled:
			enc = g.file.Pooled(b)
		}
		if enc == nil {
			return nil
		}
		dec, err := model.DecodeWithin(enc, charge)
		if err == nil {
			m.s, err = model.NewScorer(dec)
		}
		if err == nil {
			m.bytes = max(int64(4*len(enc)), dec.Predictor.Bytes()) + 4096
			m.order = g.align(dec)
		}
		return err
	})
	if err == nil {
		g.keep(m)
	}
	return m, err
}

// align returns which of a model's classes those of all groups are.
func (g *groupModels) align(m *model.Model) (order [][]int) {
	for target, own := range train.ClassKeys(m) {
		if target >= len(g.file.Classes) || slices.Equal(own, g.file.Classes[target]) {
			continue
		}
		if order == nil {
			order = make([][]int, len(g.file.Classes))
		}
		for _, k := range g.file.Classes[target] {
			order[target] = append(order[target], slices.Index(own, k))
		}
	}
	return order
}

// keep keeps a decoded model while there is room.
func (g *groupModels) keep(m *groupModel) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m.bytes += int64(len(m.key)) + 256
	if g.byKey[m.key] != nil || m.bytes > g.most {
		return
	}
	for g.recent.Len() > 0 && g.acct.Used()-g.index+m.bytes > g.most {
		old := g.recent.Remove(g.recent.Back()).(*groupModel)
		delete(g.byKey, old.key)
		g.acct.Shrink(old.bytes)
	}
	if g.acct.Try(m.bytes) {
		g.byKey[m.key] = g.recent.PushFront(m)
	}
}

// rows produces rows with the key of a group in front: what about returns of each group, or where of is given those
// that it makes of each model.
func (g *groupModels) rows(ctx context.Context, put func(row []types.Datum) error, about func(x *groups.Group) []types.Datum, of func(m *model.Model, put func(row []types.Datum) error) error) error {
	return g.blob.Read(func(b []byte) error {
		return g.file.Each(b, func(vals []types.Datum, x *groups.Group) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if of == nil {
				return put(append(slices.Clone(vals), about(x)...))
			}
			if x.Failed() {
				return nil
			}
			m, err := model.Decode(x.Model)
			if err != nil {
				return err
			}
			return of(m, func(row []types.Datum) error { return put(slices.Concat(vals, row)) })
		})
	})
}

// aboutGroup returns the row of a group in ml.model_groups, after its key.
func aboutGroup(x *groups.Group) []types.Datum {
	if x.Failed() {
		return []types.Datum{x.Rows, nil, nil, nil, "failed", x.Error, x.Code, nil}
	}
	var metrics types.Datum
	if len(x.Metrics) > 0 {
		var named []catalog.NamedValue
		for _, m := range x.Metrics {
			named = append(named, catalog.NamedValue{Name: m.Name, Value: m.Value})
		}
		metrics = sysview.MetricsJSON(named)
	}
	return []types.Datum{x.Rows, int64(x.Iterations), types.FiniteOrNull(x.TrainLoss), metrics, "trained", nil, nil, hex.EncodeToString(x.SHA256[:])}
}

// trialsOfGroup returns the search of a group, as sysview.Host has it.
func trialsOfGroup(x *groups.Group) []types.Datum { return []types.Datum{x.Search} }

// groupScorer implements function.Scorer for models of groups: the last columns are the key of each row. It is
// for one goroutine at a time.
type groupScorer struct {
	g    *groupModels
	acct *mem.Account // of the division of rows, and of the model at hand; nil where they are not charged
	one  scorer       // of the group at hand
	enc  *kernel.KeyEncoder
	keys kernel.Keys
}

func newGroupScorer(g *groupModels, pool *mem.Pool) *groupScorer {
	var specs []kernel.KeySpec
	for _, k := range g.of.By {
		specs = append(specs, kernel.KeySpec{Type: k.Key})
	}
	s := &groupScorer{g: g, enc: kernel.NewKeyEncoder(specs)}
	if pool != nil {
		s.acct, s.one.acct = pool.LastingAccount("prediction"), pool.LastingAccount("prediction")
	}
	return s
}

// Score implements function.Scorer. Rows are scored group by group, in the order of their first rows.
func (s *groupScorer) Score(ctx context.Context, asked []*expr.Predict, cols []arrow.Array, n int, _ bool) ([]arrow.Array, error) {
	of := len(cols) - len(s.g.of.By)
	s.keys.Reset()
	s.enc.Append(&s.keys, cols[of:], n)
	rows, err := s.divide(n)
	if err != nil {
		return nil, err
	}
	base := s.used()
	pieces := make([][]arrow.Array, len(asked))
	from := make([]int32, n) // where each row's scores are among the pieces
	scored := int32(0)
	for _, idx := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.charge(base - s.used()); err != nil { // the last group's model is not held here any more
			return nil, err
		}
		m, err := s.g.find(s.keys.At(int(idx[0])), s.charge)
		if err != nil {
			return nil, err
		}
		if m.s == nil {
			if s.g.of.Unknown == catalog.UnknownError {
				return nil, s.unknown(cols[of:], int(idx[0]))
			}
			for _, i := range idx {
				from[i] = -1
			}
			continue
		}
		in := cols[:of]
		if len(rows) > 1 {
			in = make([]arrow.Array, of)
			for c := range in {
				in[c] = kernel.Take(cols[c], idx)
			}
		}
		s.one.s, s.one.order = m.s, m.order
		got, err := s.one.Score(ctx, asked, in, len(idx), false)
		if err != nil {
			return nil, err
		}
		for a, c := range got {
			pieces[a] = append(pieces[a], c)
		}
		for _, i := range idx {
			from[i] = scored
			scored++
		}
	}
	out := make([]arrow.Array, len(asked))
	for a, p := range asked {
		switch {
		case scored == 0:
			out[a] = batch.Nulls(p.Typ.Arrow(), n)
		case len(rows) == 1:
			out[a] = pieces[a][0]
		default:
			out[a] = kernel.Take(kernel.Concat(pieces[a][0].DataType(), pieces[a]), from)
		}
	}
	return out, nil
}

func (s *groupScorer) used() int64 {
	if s.acct == nil {
		return 0
	}
	return s.acct.Used()
}

// charge charges bytes more, or fewer.
func (s *groupScorer) charge(n int64) error {
	if s.acct == nil {
		return nil
	}
	return s.acct.Resize(s.acct.Used() + n)
}

// divide returns the rows of each group.
func (s *groupScorer) divide(n int) (rows [][]int32, err error) {
	if err := s.charge(int64(n)*64 + s.keys.Bytes() - s.used()); err != nil {
		return nil, err
	}
	at := map[string]int{}
	last := -1
	for i := range n {
		key := s.keys.At(i)
		if i == 0 || string(key) != string(s.keys.At(i-1)) {
			g, ok := at[string(key)]
			if !ok {
				g = len(rows)
				at[string(key)] = g
				rows = append(rows, nil)
			}
			last = g
		}
		rows[last] = append(rows[last], int32(i))
	}
	return rows, nil
}

// unknown returns the error for a row of a group without a model.
func (s *groupScorer) unknown(keys []arrow.Array, i int) error {
	parts := make([]string, len(keys))
	for k, c := range keys {
		by := s.g.of.By[k]
		parts[k] = by.Name + " = NULL"
		if d := types.DatumAt(by.Key, c, i); d != nil {
			parts[k] = by.Name + " = " + types.TextOf(by.Key, d, nil)
		}
	}
	return pgerr.New(pgerr.InvalidParameterValue, "model %q has no group %s", s.g.name, strings.Join(parts, ", ")).
		WithHint("Train with unknown_group = 'null', or 'pooled' for a model of all rows.")
}
