package store

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// onceTexts is up to how many different texts of a segment are compared.
const onceTexts = 1 << 18

// once reports whether no two values of a segment's column are equal. That is a fact and no
// estimate: the planner uses such a column as a key of the present rows. It is known for integers
// and dates that ascend from row to row, as the numbers of a dimension do, and for texts whose
// hashes are all different: equal hashes of different texts only hide a key. Equal values of bpchar
// and numeric may differ in blanks and zeros, so for these it is not determined. Hashes are
// compared when all are there: most segments of many rows have more than onceTexts, for which
// comparing each would be in vain.
type once struct {
	not    bool // two values are equal, or may be
	some   bool // there was a value
	last   int64
	hashes []uint64 // of the texts
}

// room returns what the values of arr may take beside what is held.
func (o *once) room(t types.Type, arr arrow.Array) int64 {
	if o.not || !onceText(t) || arr.NullN() > 0 || len(o.hashes)+arr.Len() > onceTexts {
		return 0
	}
	return 8 * int64(o.size(arr.Len())-cap(o.hashes))
}

// size returns the capacity in hashes once n more are added.
func (o *once) size(n int) int {
	size := max(cap(o.hashes), 16)
	for size < len(o.hashes)+n {
		size *= 2
	}
	return size
}

func (o *once) bytes() int64 { return 8 * int64(cap(o.hashes)) }

// giveUp frees what is held and leaves the answer unknown.
func (o *once) giveUp() { *o = once{not: true} }

func onceText(t types.Type) bool { return t.OID == types.TextOID || t.OID == types.VarcharOID }

// onceType reports whether it can be known of a type.
func onceType(t types.Type) bool {
	switch t.OID {
	case types.Int2OID, types.Int4OID, types.Int8OID, types.DateOID:
		return true
	}
	return onceText(t)
}

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
	case *array.Dictionary:
		v := batch.StringsOf(a)
		if v.Values.Len() < arr.Len() { // a value of the dictionary is used twice
			ok = false
			break
		}
		hashes := o.take(t, arr.Len(), arr.NullN() > 0)
		for i := range hashes {
			hashes[i] = kernel.HashBytes([]byte(v.Value(i)))
		}
		return
	default:
		ok = false
	}
	if !ok {
		o.giveUp()
	}
}

func rises[T kernel.Integer](o *once, vals []T) bool {
	for i := 1; i < len(vals); i++ {
		if vals[i] <= vals[i-1] {
			return false
		}
	}
	o.rose(int64(vals[0]), int64(vals[len(vals)-1]))
	return true
}

// rose adds values that rise from one to another.
func (o *once) rose(from, to int64) {
	if o.not || o.some && from <= o.last {
		o.giveUp()
		return
	}
	o.some, o.last = true, to
}

// take returns places for the hashes of n texts, which the caller fills; nil where it was given up.
func (o *once) take(t types.Type, n int, nulls bool) []uint64 {
	if o.not || n == 0 {
		return nil
	}
	if nulls || !onceText(t) || len(o.hashes)+n > onceTexts {
		o.giveUp()
		return nil
	}
	if size := o.size(n); size > cap(o.hashes) {
		o.hashes = append(make([]uint64, 0, size), o.hashes...)
	}
	o.some = true
	var added []uint64
	o.hashes, added = more(o.hashes, n)
	return added
}

// slots returns the size of a hash set of the hashes, a power of 2.
func (o *once) slots() int {
	size := 1024
	for size < 2*len(o.hashes) {
		size *= 2
	}
	return size
}

// decide compares the hashes, once all are there. It takes 8 bytes a slot meanwhile.
func (o *once) decide() {
	if len(o.hashes) == 0 {
		return
	}
	set := make([]uint64, o.slots()) // by linear probing; 0 is none
	mask := uint64(len(set) - 1)
	for _, h := range o.hashes {
		h = max(h, 1)
		at := h >> 20 & mask
		for ; set[at] != 0; at = (at + 1) & mask {
			if set[at] == h {
				o.giveUp()
				return
			}
		}
		set[at] = h
	}
}

// known reports whether all values are different.
func (o *once) known() bool { return o.some && !o.not }
