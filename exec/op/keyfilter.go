package op

import (
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// KeyFilter is what a join that drops probe rows without a match tells the
// scans below it: which values its key has on the build side. A scan may leave
// out rows of other values, and whole runs of rows by their zones. It says
// nothing until the table is built, before the probe side's first row is asked
// for, and never where the join spills.
type KeyFilter struct{ keys atomic.Pointer[keySet] }

// ScanKeys is a KeyFilter over a column of a scan.
type ScanKeys struct {
	Col    int  // counted over the scan's columns
	Rows   bool // worth asking for each row, for there is work between the scan and the join
	Filter *KeyFilter
}

// keySet are integer keys: exactly, or the range that they are in.
type keySet struct {
	lo, hi int64    // lo > hi: there are none
	heads  []uint32 // by key - lo: not 0 for one; or
	bits   []uint64 // by bit; neither: any in the range
	few    []int64  // all of them, where there are few; else nil
}

// fewKeys is the largest build side whose keys are listed, for scans that can look
// them up.
const fewKeys = 1 << 10

// Few lists the keys that the join has, where these are few; some may be listed
// twice.
func (f *KeyFilter) Few() (keys []int64, ok bool) {
	k := f.keys.Load()
	if k == nil || k.few == nil {
		return nil, false
	}
	return k.few, true
}

// zoneSpan is how many keys Any looks at for a run of rows.
const zoneSpan = 1 << 17

// Any tells whether the join has a key from lo to hi, as far as it knows.
func (f *KeyFilter) Any(lo, hi int64) bool {
	k := f.keys.Load()
	if k == nil {
		return true
	}
	if lo, hi = max(lo, k.lo), min(hi, k.hi); lo > hi {
		return false
	}
	from, to := uint64(lo-k.lo), uint64(hi-k.lo)
	switch {
	case to-from >= zoneSpan:
	case k.heads != nil:
		for _, h := range k.heads[from : to+1] {
			if h != 0 {
				return true
			}
		}
		return false
	case k.bits != nil:
		for at := from; at <= to; {
			if w := k.bits[at>>6] >> (at & 63); w == 0 {
				at = (at | 63) + 1
			} else if w&1 != 0 {
				return true
			} else {
				at++
			}
		}
		return false
	}
	return true
}

// Select adds the rows of arr (sel; nil: all) that may have one of the keys to
// out. It gives false where it does not know.
func (f *KeyFilter) Select(arr arrow.Array, sel, out []int32) ([]int32, bool) {
	k := f.keys.Load()
	if k == nil {
		return out, false
	}
	switch a := arr.(type) {
	case *array.Int64:
		return selectKeys(k, a.Int64Values(), sel, out), true
	case *array.Int32:
		return selectKeys(k, a.Int32Values(), sel, out), true
	case *array.Int16:
		return selectKeys(k, a.Int16Values(), sel, out), true
	case *array.Date32:
		return selectKeys(k, a.Date32Values(), sel, out), true
	case *array.Uint32:
		return selectKeys(k, a.Uint32Values(), sel, out), true
	}
	return out, false
}

// selectKeys writes every row, and its end moves where the row has a key. What
// a NULL's value is does not matter: the join drops it.
func selectKeys[T integer](k *keySet, vals []T, sel, out []int32) []int32 {
	n := len(vals)
	if sel != nil {
		n = len(sel)
	}
	at := len(out)
	if cap(out)-at < n {
		out = append(make([]int32, 0, at+n), out...)
	}
	out = out[:at+n]
	row := func(i int) int32 { return int32(i) }
	if sel != nil {
		row = func(i int) int32 { return sel[i] }
	}
	span := uint64(k.hi - k.lo)
	if k.lo > k.hi {
		return out[:at]
	}
	switch {
	case k.heads != nil:
		for i := range n {
			r := row(i)
			out[at] = r
			if v := uint64(int64(vals[r]) - k.lo); v <= span {
				at += some(k.heads[v])
			}
		}
	case k.bits != nil:
		for i := range n {
			r := row(i)
			out[at] = r
			if v := uint64(int64(vals[r]) - k.lo); v <= span {
				at += int(k.bits[v>>6] >> (v & 63) & 1)
			}
		}
	default:
		for i := range n {
			r := row(i)
			out[at] = r
			if uint64(int64(vals[r])-k.lo) <= span {
				at++
			}
		}
	}
	return out[:at]
}

// publish tells the scans of the probe side which keys there are, once all rows
// are in the table.
func (t *joinTable) publish(filters []*KeyFilter, grant func(bytes int64) bool) {
	for i, f := range filters {
		if f == nil {
			continue
		}
		k := t.keySet(i, grant)
		if k != nil && t.rows.n <= fewKeys {
			k.few = t.list(i)
		}
		f.keys.Store(k)
	}
}

// filterRows is the largest build side of which a set of keys is made anew.
const filterRows = 1 << 20

// keySet gives what is known of key i: the table's own index where that is by
// the key's value, else a bitmap of a key in a narrow range, or the range.
func (t *joinTable) keySet(i int, grant func(bytes int64) bool) *keySet {
	if len(t.keys) == 1 && t.direct {
		return &keySet{lo: t.min, hi: t.min + int64(len(t.heads)) - 1, heads: t.heads}
	}
	if len(t.keys) == 1 && t.exists != nil {
		return &keySet{lo: t.min, hi: t.hi.Load(), bits: t.exists}
	}
	if t.rows.n > filterRows {
		return nil
	}
	k := &keySet{lo: 1<<63 - 1, hi: -1 << 63}
	col := t.keys[i]
	for ch := range col.Chunks() {
		if lo, hi, ok := keyRange(col.Chunk(ch)); ok {
			k.lo, k.hi = min(k.lo, lo), max(k.hi, hi)
		}
	}
	if k.lo > k.hi {
		return k
	}
	words := uint64(k.hi-k.lo)/64 + 1
	if words > maxExists/8 || !grant(int64(8*words)) {
		return k
	}
	k.bits = make([]uint64, words)
	for ch := range col.Chunks() {
		arr := col.Chunk(ch)
		switch a := arr.(type) {
		case *array.Int64:
			setBits(k, a.Int64Values(), arr)
		case *array.Int32:
			setBits(k, a.Int32Values(), arr)
		case *array.Int16:
			setBits(k, a.Int16Values(), arr)
		case *array.Date32:
			setBits(k, a.Date32Values(), arr)
		case *array.Uint32:
			setBits(k, a.Uint32Values(), arr)
		}
	}
	return k
}

func setBits[T integer](k *keySet, vals []T, arr arrow.Array) {
	nulls := arr.NullN() > 0
	for i, v := range vals {
		if !nulls || arr.IsValid(i) {
			at := uint64(int64(v) - k.lo)
			k.bits[at>>6] |= 1 << (at & 63)
		}
	}
}

// list gives the values of key i in all rows.
func (t *joinTable) list(i int) []int64 {
	out := make([]int64, 0, t.rows.n)
	for ch := range t.keys[i].Chunks() {
		arr := t.keys[i].Chunk(ch)
		switch a := arr.(type) {
		case *array.Int64:
			out = listInts(out, a.Int64Values(), arr)
		case *array.Int32:
			out = listInts(out, a.Int32Values(), arr)
		case *array.Int16:
			out = listInts(out, a.Int16Values(), arr)
		case *array.Date32:
			out = listInts(out, a.Date32Values(), arr)
		default:
			return nil
		}
	}
	return out
}

func listInts[T integer](out []int64, vals []T, arr arrow.Array) []int64 {
	for i, v := range vals {
		if arr.IsValid(i) {
			out = append(out, int64(v))
		}
	}
	return out
}
