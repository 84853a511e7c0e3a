package op

import (
	"math"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
)

// KeyFilter is a runtime filter for the scans below an operator, over the values of a key. A scan may
// skip rows of other values, and whole runs of rows by their zones.
//
// That of a join drops probe rows without a match: it has the values that the key has on the build side.
// It is empty until the table is built, which is before the probe side's first row is asked for, and
// stays so where the join spills. That of a sort which returns its first rows only has the range of those
// that may still be among them, which shrinks while the rows come (see Bound).
type KeyFilter struct {
	keys atomic.Pointer[KeySet]
	Seen KeyRates
}

// KeyRates count what scans with filters of their own find, over all splits: how many
// rows the join's keys were asked for and how many had one, how many rows the scans'
// filters saw and how many they passed.
type KeyRates struct{ Asked, Given, Had, Passed atomic.Int64 }

// ScanKeys is a KeyFilter over a column of a scan.
type ScanKeys struct {
	Col    int  // counted over the scan's columns
	Rows   bool // worth applying to each row, for there is work between the scan and the join
	Filter *KeyFilter
}

// Publish passes the build side's keys, all of which are in k, to the scans. The join calls it
// once, before it asks for the probe side's first row; k must not change afterwards.
func (f *KeyFilter) Publish(k *KeySet) { f.keys.Store(k) }

// Bound lets the scans skip values after v in an order, and v itself too if it is not needed. Where nulls
// come first they are needed.
func (f *KeyFilter) Bound(v int64, desc, needed, nullsFirst bool) {
	k := &KeySet{Lo: math.MinInt64, Hi: v, Nulls: nullsFirst}
	if desc {
		k.Lo, k.Hi = v, math.MaxInt64
	}
	switch {
	case needed:
	case desc && v < math.MaxInt64:
		k.Lo++
	case !desc && v > math.MinInt64:
		k.Hi--
	}
	f.keys.Store(k)
}

// Nulls reports whether rows without a value are needed.
func (f *KeyFilter) Nulls() bool {
	k := f.keys.Load()
	return k == nil || k.Nulls
}

// KeySet is a set of integer keys: exact, or by which runs of 2^Shift numbers have one, or only
// their range.
type KeySet struct {
	Lo, Hi int64    // lo > hi: there are none
	Heads  []uint32 // by key - Lo: not 0 if the key is there; or
	Bits   []uint64 // bits by (key - Lo) >> Shift; neither: any in the range
	Shift  uint8
	Few    []int64 // all of them, where there are few; else nil
	Nulls  bool    // NULL is one of them
}

// Few lists the keys that the join has, where these are few; some may be listed
// twice.
func (f *KeyFilter) Few() (keys []int64, ok bool) {
	k := f.keys.Load()
	if k == nil || k.Few == nil {
		return nil, false
	}
	return k.Few, true
}

// zoneSpan is how many places of a set Any checks at most for a run of rows.
const zoneSpan = 1 << 17

// Any reports whether the join has a key from lo to hi, as far as it knows.
func (f *KeyFilter) Any(lo, hi int64) bool {
	k := f.keys.Load()
	if k == nil {
		return true
	}
	if lo, hi = max(lo, k.Lo), min(hi, k.Hi); lo > hi {
		return false
	}
	from, to := uint64(lo-k.Lo)>>k.Shift, uint64(hi-k.Lo)>>k.Shift
	switch {
	case to-from >= zoneSpan:
	case k.Heads != nil:
		for _, h := range k.Heads[from : to+1] {
			if h != 0 {
				return true
			}
		}
		return false
	case k.Bits != nil:
		for at := from; at <= to; {
			if w := k.Bits[at>>6] >> (at & 63); w == 0 {
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
// out, which may be sel[:0]. It returns false where it does not know.
func (f *KeyFilter) Select(arr arrow.Array, sel, out []int32) ([]int32, bool) {
	k := f.keys.Load()
	if k == nil || k.Nulls && arr.NullN() > 0 {
		return out, false
	}
	switch a := arr.(type) {
	case *array.Int64:
		return selectKeys(k, a.Int64Values(), sel, out), true
	case *array.Timestamp:
		return selectKeys(k, a.TimestampValues(), sel, out), true
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

// selectKeys writes every row number, and advances the end only where the row has a key, without a
// branch. The value of a NULL does not matter: it is needed in neither case.
func selectKeys[T kernel.Integer](k *KeySet, vals []T, sel, out []int32) []int32 {
	if k.Lo > k.Hi {
		return out
	}
	n := len(vals)
	if sel != nil {
		n = len(sel)
	}
	at := len(out)
	if cap(out)-at < n {
		out = append(make([]int32, 0, at+n), out...)
	}
	to := out[at : at+n]
	if sel == nil {
		return out[:at+allOfKeys(k, vals, to)]
	}
	return out[:at+someOfKeys(k, vals, sel, to)]
}

// allOfKeys is selectKeys for all rows: the loops differ only in how they find the row, and a call
// for that would take longer than the rest.
func allOfKeys[T kernel.Integer](k *KeySet, vals []T, out []int32) (at int) {
	lo, span := k.Lo, uint64(k.Hi-k.Lo)
	switch {
	case k.Heads != nil:
		heads := k.Heads[:span+1]
		for i, x := range vals {
			out[at] = int32(i)
			if v := uint64(int64(x) - lo); v < uint64(len(heads)) {
				at += kernel.NonZero(heads[v])
			}
		}
	case k.Bits != nil:
		bits, shift := k.Bits, k.Shift&63
		for i, x := range vals {
			out[at] = int32(i)
			if v := uint64(int64(x) - lo); v <= span {
				v >>= shift
				at += int(bits[v>>6] >> (v & 63) & 1)
			}
		}
	default:
		for i, x := range vals {
			out[at] = int32(i)
			if uint64(int64(x)-lo) <= span {
				at++
			}
		}
	}
	return at
}

// someOfKeys is selectKeys for the rows of sel.
func someOfKeys[T kernel.Integer](k *KeySet, vals []T, sel, out []int32) (at int) {
	lo, span := k.Lo, uint64(k.Hi-k.Lo)
	switch {
	case k.Heads != nil:
		heads := k.Heads[:span+1]
		for _, r := range sel {
			out[at] = r
			if v := uint64(int64(vals[r]) - lo); v < uint64(len(heads)) {
				at += kernel.NonZero(heads[v])
			}
		}
	case k.Bits != nil:
		bits, shift := k.Bits, k.Shift&63
		for _, r := range sel {
			out[at] = r
			if v := uint64(int64(vals[r]) - lo); v <= span {
				v >>= shift
				at += int(bits[v>>6] >> (v & 63) & 1)
			}
		}
	default:
		for _, r := range sel {
			out[at] = r
			if uint64(int64(vals[r])-lo) <= span {
				at++
			}
		}
	}
	return at
}
