package store

import (
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/prune"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Key is the value that a scan's filter requires of all columns of one of its table's keys: the
// scan passes few rows, which the segments' hash indexes find. The filter is still applied.
type Key struct {
	table types.OID
	nums  []int16
	types []types.Type
	vals  []types.Datum
	id    types.OID // the constraint's
	hash  uint64
	only  *int64 // the value, where it is one integer
	whole bool   // the filter has no other condition
}

// KeyOf finds the key that a scan is by; nil if there is none. Keys are those of
// the table's unique constraints, of types whose values are equal only if they
// are the same.
func KeyOf(s *plan.Scan, rel *catalog.Relation, env *function.Env) *Key {
	if rel == nil || len(s.Filter) == 0 {
		return nil
	}
	c := prune.NewCompiler(s, env)
	type value struct {
		num int16
		of  types.Type
		val types.Datum
	}
	var bound []value
	find := func(num int16) int { return slices.IndexFunc(bound, func(v value) bool { return v.num == num }) }
	for _, f := range s.Filter {
		call, ok := f.(*expr.Call)
		if !ok || call.Op != "=" || len(call.Args) != 2 {
			continue
		}
		for i := range 2 {
			num, from, via, ok := c.Column(call.Args[i])
			if !ok {
				continue
			}
			val, vt, ok := c.Constant(call.Args[1-i])
			if !ok || val == nil || !sameValues(from) || prune.KindOf(from) != prune.KindOf(via) || prune.KindOf(via) != prune.KindOf(vt) || !sameValues(vt) {
				continue
			}
			v := value{num, from, val}
			if k := find(num); k >= 0 {
				bound[k] = v
			} else {
				bound = append(bound, v)
			}
		}
	}
	for i := range rel.Constraints {
		k := &rel.Constraints[i]
		if k.Kind != 'p' && k.Kind != 'u' || slices.ContainsFunc(k.Columns, func(n int16) bool { return find(n) < 0 }) {
			continue
		}
		key := newKey(rel, k, func(i int) (types.Type, types.Datum) {
			v := bound[find(k.Columns[i])]
			return v.of, v.val
		})
		if key != nil {
			key.whole = key.only != nil && len(s.Filter) == 1
		}
		return key
	}
	return nil
}

// KeyFor returns the key of a row with these values of a constraint's columns; nil for one that is
// not looked up.
func KeyFor(rel *catalog.Relation, k *catalog.Constraint, vals []types.Datum) *Key {
	for i, n := range k.Columns {
		if c := rel.ColumnNum(n); c == nil || !sameValues(c.Type) || vals[i] == nil {
			return nil
		}
	}
	return newKey(rel, k, func(i int) (types.Type, types.Datum) { return rel.ColumnNum(k.Columns[i]).Type, vals[i] })
}

// newKey makes a key of the values, and their columns' types, of a constraint's columns.
func newKey(rel *catalog.Relation, k *catalog.Constraint, value func(i int) (types.Type, types.Datum)) *Key {
	key := &Key{table: rel.OID, nums: k.Columns, id: k.OID}
	if t, val := value(0); len(k.Columns) == 1 && prune.KindOf(t) == types.ClassInteger {
		if i, ok := val.(int64); ok {
			key.types, key.vals, key.only, key.hash = []types.Type{t}, []types.Datum{val}, &i, kernel.HashInt(i)
			return key
		}
	}
	arrs := make([]arrow.Array, len(k.Columns))
	for j := range k.Columns {
		t, val := value(j)
		key.types, key.vals = append(key.types, t), append(key.vals, val)
		if prune.KindOf(t) == types.ClassInteger {
			// Integers have equal hashes whatever their width; the value may not fit the column's.
			t = types.Int8
		}
		var err error
		if arrs[j], err = types.ArrayOf1(t, val, 1); err != nil {
			return nil
		}
	}
	key.hash = kernel.NewHasher(key.types).Hash(arrs, 1, nil)[0]
	return key
}

// sameValues reports whether equal values of t have the same bits, so that they can be looked up.
func sameValues(t types.Type) bool {
	switch prune.KindOf(t) {
	case types.ClassInteger, types.ClassDate, types.ClassTimestamp, types.ClassTimestamptz, types.ClassUUID:
		return true
	case types.ClassText:
		return t.OID != types.BpcharOID
	}
	return false
}

// Hash is equal for equal keys of a table.
func (k *Key) Hash() uint64 { return kernel.HashInt(int64(k.hash ^ uint64(k.id)<<32)) }

// IsInt reports whether the key is an integer: MayHave knows all that a filter by it does.
func (k *Key) IsInt() bool { return k.only != nil }

// IsWhole reports whether the filter of the scan has no other condition.
func (k *Key) IsWhole() bool { return k.whole }

// MayHave reports whether a segment may have the key, by its zone maps.
func (k *Key) MayHave(g *catalog.Segment) bool {
	if k.only == nil {
		return true
	}
	for i := range g.Zones {
		z := &g.Zones[i]
		if z.Column != k.nums[0] {
			continue
		}
		lo, ok := z.Min.(int64)
		hi, too := z.Max.(int64)
		return !ok || !too || lo <= *k.only && *k.only <= hi
	}
	return true
}

// KeySplits is Splits for a scan by a key: ranges of segments that may have it, single rows where
// an index has them.
func (p *Pin) KeySplits(ctx context.Context, m *catalog.Manifest, leaf int, k *Key, keep func(*catalog.Segment) bool) (out []op.Split) {
	for c := range p.candidates(ctx, m, k, keep) {
		s := c.segment
		if !c.known {
			for from := int64(0); from < s.Rows; from += SplitRows {
				out = append(out, op.Split{Scan: leaf, Segment: s, Ordinal: c.ordinal, From: from, To: min(from+SplitRows, s.Rows)})
			}
		}
		for _, r := range c.rows {
			sp := op.Split{Scan: leaf, Segment: s, Ordinal: c.ordinal, From: int64(r), To: int64(r) + 1}
			if k.whole {
				sp.Key, sp.KeyNum = k.only, k.nums[0]
			}
			out = append(out, sp)
		}
	}
	return out
}

// Lacks reports whether no row has the key. It is false also where this node's indexes do not know:
// the rows must be read then.
func (p *Pin) Lacks(ctx context.Context, m *catalog.Manifest, k *Key) bool {
	elsewhere := false
	for range p.candidates(ctx, m, k, p.here(k, &elsewhere)) {
		return false
	}
	return !elsewhere
}

// here keeps the segments of this node that may have a key, and notes in elsewhere that others may.
func (p *Pin) here(k *Key, elsewhere *bool) func(*catalog.Segment) bool {
	return func(s *catalog.Segment) bool {
		if !k.MayHave(s) {
			return false
		}
		here := s.Inline != nil || slices.Contains(s.Nodes, p.store.node)
		*elsewhere = *elsewhere || !here
		return here
	}
}

// candidate is a segment that may have a key, with its number: in these rows, where that
// is known.
type candidate struct {
	segment *catalog.Segment
	ordinal uint32
	rows    []uint32
	known   bool
}

// candidates returns the segments that may have a key. Those that in-memory marks and filters
// exclude are skipped first; keep is called for the others.
func (p *Pin) candidates(ctx context.Context, m *catalog.Manifest, k *Key, keep func(*catalog.Segment) bool) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		if m == nil {
			return
		}
		ordinal := uint32(0)
		for part, segs := range m.Partitions {
			list := p.store.marks.marks(p.store, k, part, segs)
			marks := list.marks
			for i := 0; i < len(segs); i++ {
				var rows []uint32
				known := false
				var x *keyPlace
				if marks != nil {
					for i < len(marks) && (marks[i] != noMark && marks[i] != k.hash || list.filters[i].Lacks(k.hash)) {
						i++
					}
					if i == len(marks) {
						break
					}
					x = list.at[i]
					if index := x.Load().look(); index != nil {
						if rows, known = index.Find(k.hash, nil), true; len(rows) == 0 {
							continue
						}
					}
				}
				s := segs[i]
				if s.Live() == 0 || !keep(s) {
					continue
				}
				if !known {
					if rows, known = p.find(ctx, s, k, x); known && x != nil {
						list.learned.Store(true)
					}
					if known && len(rows) == 0 {
						continue
					}
				}
				if !yield(candidate{s, ordinal + uint32(i), rows, known}) {
					return
				}
			}
			ordinal += uint32(len(segs))
		}
	}
}

// find returns the rows of a segment that may have a key; false if there is no index. What is known
// of the key in it then is recorded in at, unless that is nil. Damage of a segment is left to its
// reader to report and repair.
func (p *Pin) find(ctx context.Context, ref *catalog.Segment, k *Key, at *keyPlace) (rows []uint32, ok bool) {
	if ref.Inline == nil && ref.Rows < indexRows {
		return nil, false
	}
	seg, back, err := p.borrow(ctx, ref)
	if err != nil {
		return nil, false
	}
	defer giveBack(back)
	x := p.store.indexed(seg, k, nil)
	index := x.look()
	if index == nil {
		x.read.Add(seg.foot.Rows)
		return nil, false
	}
	if at != nil {
		at.Store(x)
	}
	return index.Find(k.hash, nil), true
}

// keyHashes returns the hashes of a segment's rows by columns; nil where it does not have all of
// these.
func (s *segment) keyHashes(nums []int16, ts []types.Type) (out []uint64, err error) {
	cols := make([]int, len(nums))
	for i, n := range nums {
		if cols[i] = s.column(n); cols[i] < 0 || !samePhysicalType(s.foot.Cols[cols[i]].Type, ts[i]) {
			return nil, nil
		}
	}
	h := kernel.NewHasher(ts)
	out = make([]uint64, 0, s.foot.Rows)
	err = batch.Guard(func() error {
		var part []uint64
		for g := range s.foot.Groups {
			arrs := make([]arrow.Array, len(cols))
			for i, c := range cols {
				if arrs[i], err = s.array(g, c); err != nil {
					return err
				}
			}
			part = h.Hash(arrs, int(s.foot.Groups[g].Rows), part)
			out = append(out, part...)
		}
		return nil
	})
	return out, err
}
