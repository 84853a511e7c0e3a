package aggregate

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// groupRange finds the groups of one integer key by its distance from the least
// one, without hashes or comparisons. It is for keys that lie close together,
// as the numbers of orders and customers do, and is given up when they do not.
type groupRange struct {
	base   int64
	at     []uint32 // by key - base: group+1, 0 none
	lo, hi int64    // the least and the greatest key, there being any in at
	null   uint32   // group+1 of NULL
}

// rangeSpread is how many numbers there may be in the range for each group.
const rangeSpread = 16

// firstSpread is rangeSpread for a table's first keys: in the rows that a join gives the
// numbers come in no order, so the first batch has few of many, and the next ones more.
const firstSpread = 8 * rangeSpread

// firstRows is how many keys of a table there must be for firstSpread: of few there may
// be no more.
const firstRows = 4096

// rangeShift cuts keys into the blocks by which threads divide groups.
const rangeShift = 12

func newGroupRange(ts []types.Type) *groupRange {
	if len(ts) != 1 {
		return nil
	}
	switch t := ts[0]; t.OID {
	case types.Int2OID, types.Int4OID, types.Int8OID, types.DateOID:
		return &groupRange{}
	case types.NumericOID:
		if t.IsFixed() {
			return &groupRange{}
		}
	}
	return nil
}

// byRange is find for tables with a range. It gives false where the range does
// not hold the keys and may not grow.
func (t *groupTable) byRange(cols []arrow.Array, n int) ([]uint32, bool) {
	switch a := cols[0].(type) {
	case *array.Int64:
		return rangeGroups(t, cols, a.Int64Values())
	case *array.Int32:
		return rangeGroups(t, cols, a.Int32Values())
	case *array.Int16:
		return rangeGroups(t, cols, a.Int16Values())
	case *array.Date32:
		return rangeGroups(t, cols, a.Date32Values())
	}
	return nil, false
}

func rangeGroups[T kernel.Integer](t *groupTable, cols []arrow.Array, vals []T) ([]uint32, bool) {
	r, arr := t.rng, cols[0]
	lo, hi, some := kernel.RangeOf(vals, arr)
	if some && !r.cover(lo, hi, t.count+len(vals), t.grant) {
		return nil, false
	}
	if cap(t.groups) < len(vals) {
		t.groups = make([]uint32, len(vals))
	}
	groups, fresh := t.groups[:len(vals)], t.fresh[:0]
	next := uint32(t.count)
	at, base := r.at, r.base
	if arr.NullN() == 0 {
		for i, v := range vals {
			p := &at[int64(v)-base]
			if *p == 0 {
				next++
				*p = next
				fresh = append(fresh, int32(i))
			}
			groups[i] = *p - 1
		}
	} else {
		for i, v := range vals {
			p := &r.null
			if !arr.IsNull(i) {
				p = &at[int64(v)-base]
			}
			if *p == 0 {
				next++
				*p = next
				fresh = append(fresh, int32(i))
			}
			groups[i] = *p - 1
		}
	}
	t.fresh = fresh
	t.addKeys(cols, fresh)
	return groups, true
}

// cover widens the range to hold lo to hi, where that is not too much for the
// groups there may be and grant allows the bytes.
func (r *groupRange) cover(lo, hi int64, groups int, grant func(bytes int64) bool) bool {
	base, last := lo, hi
	if len(r.at) > 0 {
		base, last = r.base, r.base+int64(len(r.at))-1
		if lo >= base && hi <= last {
			r.lo, r.hi = min(lo, r.lo), max(hi, r.hi)
			return true
		}
		lo, hi = min(lo, r.lo), max(hi, r.hi)
	}
	span, spread := uint64(hi)-uint64(lo), uint64(rangeSpread)
	if len(r.at) == 0 && groups >= firstRows {
		spread = firstSpread
	}
	if span >= spread*uint64(groups)+1024 {
		return false
	}
	least, most := lo, hi
	// Room for as much again on the side to which it grew.
	slack := int64(span) + 64
	if len(r.at) > 0 && lo < base {
		lo, hi = max(lo, math.MinInt64+slack)-slack, max(hi, last)
	} else {
		lo, hi = min(lo, base), min(hi, math.MaxInt64-slack)+slack
	}
	size := hi - lo + 1
	if grant != nil && !grant(4*size) {
		return false
	}
	at := kernel.Fresh[uint32](int(size), int(size))
	if len(r.at) > 0 {
		copy(at[r.base-lo:], r.at)
	}
	r.base, r.at, r.lo, r.hi = lo, at, least, most
	return true
}

// leaveRange goes over to hashes.
func (t *groupTable) leaveRange() {
	t.rng = nil
	t.hashes = t.pack.Hash(t.words, make([]uint64, 0, t.count))
	t.grow(2 * t.count)
}

// blockOf gives the block of each of the keys of an array, 0 for NULL.
func blockOf(arr arrow.Array, out []uint64) []uint64 {
	out = out[:0]
	switch a := arr.(type) {
	case *array.Int64:
		out = appendBlocks(out, a.Int64Values())
	case *array.Int32:
		out = appendBlocks(out, a.Int32Values())
	case *array.Int16:
		out = appendBlocks(out, a.Int16Values())
	case *array.Date32:
		out = appendBlocks(out, a.Date32Values())
	default: // NULLs
		out = append(out, make([]uint64, arr.Len())...)
	}
	if arr.NullN() > 0 {
		for i := range out {
			if arr.IsNull(i) {
				out[i] = 0
			}
		}
	}
	return out
}

func appendBlocks[T kernel.Integer](out []uint64, vals []T) []uint64 {
	for _, v := range vals {
		out = append(out, uint64(int64(v))>>rangeShift)
	}
	return out
}
