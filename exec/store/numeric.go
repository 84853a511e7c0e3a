package store

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// commonScale returns the scale that all values of a numeric column of variable length have, if they do, and their
// coefficients fit 64 bits.
func commonScale(a *array.Binary, null nulls) (scale uint8, ok bool) {
	var head byte
	for i := range a.Len() {
		if null.at(i) {
			continue
		}
		b := a.Value(i)
		if len(b) == 0 || ok && b[0] != head {
			return 0, false
		}
		if ok {
			continue
		}
		if _, s, small := number.SmallDecimalBytes(b); small && s <= types.MaxFixedDigits {
			head, scale, ok = b[0], uint8(s), true
		} else {
			return 0, false
		}
	}
	return scale, ok
}

func coefficient(b []byte) int64 {
	v, _, _ := number.SmallDecimalBytes(b)
	return v
}

// fixedPart is a column of numerics of variable length that is read in fixed point, since the zones say that all its
// values have one scale, and its rows at one place.
type fixedPart struct {
	wanted bool
	at     int64
	arr    arrow.Array
}

// fixedOf returns n rows of such a column, from one on, as a type in fixed point; false if a value has another scale.
func fixedOf(arr arrow.Array, from, n int, t types.Type) (arrow.Array, bool) {
	a, ok := arr.(*array.Binary)
	if !ok || arr.NullN() == arr.Len() {
		return batch.Nulls(t.Arrow(), n), arr.NullN() == arr.Len()
	}
	null := nullsOf(arr)
	var valid []byte
	if null.valid != nil {
		if null.off += from; null.off&7 == 0 {
			valid = null.valid[null.off>>3 : null.off>>3+batch.BitmapBytes(n)]
		} else {
			valid = make([]byte, batch.BitmapBytes(n))
			for i := range n {
				if !null.at(i) {
					batch.SetBit(valid, i)
				}
			}
		}
	}
	bufs, at := a.Data().Buffers(), a.Data().Offset()+from
	offs := arrow.Int32Traits.CastFromBytes(bufs[1].Bytes())[at : at+n+1]
	out := make([]int64, n)
	if !number.Coefficients(out, offs, bufs[2].Bytes(), t.Scale, valid) {
		return nil, false
	}
	return batch.FromSlice(t.Arrow(), out, valid), true
}
