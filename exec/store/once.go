package store

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// onceTexts is how many different texts a segment may have for them to be compared.
const onceTexts = 1 << 18

// once tells whether no two values of a segment's column are equal. That is a fact and
// no estimate: the planner takes such a column as a key of the rows there are. It is
// known of integers and dates that rise from row to row, as the numbers of a dimension
// do, and of texts whose hashes are all different: equal hashes of different texts
// only hide a key. Blanks do not count in bpchar, nor zeros in numeric 1.0, so of these
// nothing is known.
type once struct {
	not  bool // two values are equal, or may be
	some bool // there was a value
	last int64
	n    int      // texts
	slot []uint64 // their hashes, by linear probing; 0 is none
}

// room is what the values of arr may take beside what is held.
func (o *once) room(t types.Type, arr arrow.Array) int64 {
	if o.not || !onceText(t) || arr.NullN() > 0 {
		return 0
	}
	return 8 * int64(max(o.size(arr.Len())-len(o.slot), 0))
}

// size is how many slots there are for n more texts.
func (o *once) size(n int) int {
	size := max(len(o.slot), 32)
	for size < 2*(o.n+n) {
		size *= 2
	}
	return size
}

func (o *once) bytes() int64 { return 8 * int64(len(o.slot)) }

// giveUp frees what is held: nothing is known then.
func (o *once) giveUp() { *o = once{not: true} }

func onceText(t types.Type) bool { return t.OID == types.TextOID || t.OID == types.VarcharOID }

// observe adds a group's values.
func (o *once) observe(t types.Type, arr arrow.Array) {
	if o.not || arr.Len() == 0 {
		return
	}
	ok := arr.NullN() == 0
	switch a := arr.(type) {
	case *array.Int16:
		ok = ok && rises(o, a.Int16Values())
	case *array.Int32:
		ok = ok && rises(o, a.Int32Values())
	case *array.Int64:
		ok = ok && rises(o, a.Int64Values())
	case *array.Date32:
		ok = ok && rises(o, a.Date32Values())
	case *array.String, *array.Dictionary:
		ok = ok && onceText(t) && o.texts(arr)
	default:
		ok = false
	}
	if !ok {
		o.giveUp()
	}
}

func rises[T kernel.Integer](o *once, vals []T) bool {
	if o.some && int64(vals[0]) <= o.last {
		return false
	}
	for i := 1; i < len(vals); i++ {
		if vals[i] <= vals[i-1] {
			return false
		}
	}
	o.some, o.last = true, int64(vals[len(vals)-1])
	return true
}

// texts tells whether the values of arr are different from one another and from those
// seen.
func (o *once) texts(arr arrow.Array) bool {
	n := arr.Len()
	if o.n+n > onceTexts {
		return false
	}
	if d, ok := arr.(*array.Dictionary); ok && batch.StringsOf(d).Values.Len() < n {
		return false // a value of the dictionary is there twice
	}
	if size := o.size(n); size > len(o.slot) {
		old := o.slot
		o.slot = make([]uint64, size)
		for _, h := range old {
			if h != 0 {
				o.put(h)
			}
		}
	}
	v := batch.StringsOf(arr)
	for i := range n {
		if !o.put(kernel.HashBytes([]byte(v.Value(i)))) {
			return false
		}
	}
	o.some, o.n = true, o.n+n
	return true
}

// put adds a hash; it gives false where that is there.
func (o *once) put(h uint64) bool {
	h = max(h, 1)
	mask := uint64(len(o.slot) - 1)
	at := h >> 20 & mask
	for ; o.slot[at] != 0; at = (at + 1) & mask {
		if o.slot[at] == h {
			return false
		}
	}
	o.slot[at] = h
	return true
}

// known tells whether all values are different.
func (o *once) known() bool { return o.some && !o.not }
