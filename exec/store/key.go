package store

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Key is the value that a scan's filter gives all columns of one of its table's
// keys: the scan passes few rows, which the segments' hash indexes find. The filter
// still decides.
type Key struct {
	table types.OID
	nums  []int16
	types []types.Type
	id    types.OID // the constraint's
	hash  uint64
}

// KeyOf finds the key that a scan is by; nil if there is none. Keys are those of
// the table's unique constraints, of types whose values are equal only if they
// are the same.
func KeyOf(s *plan.Scan, rel *catalog.Relation, env *function.Env) *Key {
	if rel == nil || len(s.Filter) == 0 {
		return nil
	}
	c := newPruneCompiler(s, env)
	type value struct {
		of  types.Type
		val types.Datum
	}
	var bound map[int16]value
	for _, f := range s.Filter {
		call, ok := f.(*expr.Call)
		if !ok || call.Op != "=" || len(call.Args) != 2 {
			continue
		}
		for i := range 2 {
			num, from, via, ok := c.column(call.Args[i])
			if !ok {
				continue
			}
			val, vt, ok := c.constant(call.Args[1-i])
			if !ok || val == nil || !sameValues(from) || kindOf(from) != kindOf(via) || kindOf(via) != kindOf(vt) || !sameValues(vt) {
				continue
			}
			if bound == nil {
				bound = map[int16]value{}
			}
			bound[num] = value{from, val}
		}
	}
	for i := range rel.Constraints {
		k := &rel.Constraints[i]
		if k.Kind != 'p' && k.Kind != 'u' || slices.ContainsFunc(k.Columns, func(n int16) bool { _, ok := bound[n]; return !ok }) {
			continue
		}
		key := &Key{table: rel.OID, nums: k.Columns, id: k.OID}
		if v := bound[k.Columns[0]]; len(k.Columns) == 1 && kindOf(v.of) == kindInt {
			if i, ok := v.val.(int64); ok {
				key.types, key.hash = []types.Type{v.of}, kernel.HashInt(i)
				return key
			}
		}
		arrs := make([]arrow.Array, len(k.Columns))
		for j, n := range k.Columns {
			v := bound[n]
			key.types = append(key.types, v.of)
			if kindOf(v.of) == kindInt {
				// Integers hash alike whatever their width; the value may not fit
				// the column's.
				v.of = types.Int8
			}
			var err error
			if arrs[j], err = types.ArrayOf1(v.of, v.val, 1); err != nil {
				return nil
			}
		}
		key.hash = kernel.NewHasher(key.types).Hash(arrs, 1, nil)[0]
		return key
	}
	return nil
}

// sameValues tells the types whose equal values are the same bits, and which are
// looked up by.
func sameValues(t types.Type) bool {
	switch kindOf(t) {
	case kindInt, kindDate, kindTimestamp, kindTimestamptz, kindUUID:
		return true
	case kindText:
		return t.OID != types.BpcharOID
	}
	return false
}

// KeySplits is Splits for a scan by a key: pieces of segments that may have it,
// single rows where an index knows them.
func (p *Pin) KeySplits(ctx context.Context, m *catalog.Manifest, leaf int, k *Key, keep func(*catalog.Segment) bool) (out []op.Split) {
	if m == nil {
		return nil
	}
	ordinal := uint32(0)
	for part, segs := range m.Partitions {
		marks := p.store.marks.marks(p.store, k, part, segs)
		for i, s := range segs {
			if marks != nil && marks[i] != noMark && marks[i] != k.hash {
				continue
			}
			if s.Live() == 0 || !keep(s) {
				continue
			}
			at := ordinal + uint32(i)
			rows, ok := p.find(ctx, s, k)
			if !ok {
				for from := int64(0); from < s.Rows; from += SplitRows {
					out = append(out, op.Split{Scan: leaf, Segment: s, Ordinal: at, From: from, To: min(from+SplitRows, s.Rows)})
				}
				continue
			}
			for _, r := range rows {
				out = append(out, op.Split{Scan: leaf, Segment: s, Ordinal: at, From: int64(r), To: int64(r) + 1})
			}
		}
		ordinal += uint32(len(segs))
	}
	return out
}

// find gives the rows of a segment that may have a key; false if no index tells.
// What is wrong with a segment is for its reader to say, and to mend.
func (p *Pin) find(ctx context.Context, ref *catalog.Segment, k *Key) (rows []uint32, ok bool) {
	if ref.Rows < indexRows {
		return nil, false
	}
	seg, err := p.segment(ctx, ref)
	if err != nil {
		return nil, false
	}
	x := p.store.index(seg, k, true)
	if x == nil {
		return nil, false
	}
	return x.find(k.hash, nil), true
}

// keyHashes gives the hashes of a segment's rows by columns; nil where it has not
// got them all.
func (s *segment) keyHashes(nums []int16, ts []types.Type) (out []uint64, err error) {
	cols := make([]int, len(nums))
	for i, n := range nums {
		if cols[i] = s.column(n); cols[i] < 0 || s.foot.Cols[cols[i]].Type.OID != ts[i].OID {
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
