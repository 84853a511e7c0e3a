package eval

import (
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"
)

// armTexts are the constant texts of the arms of a CASE: rows are indices of a dictionary that is the same in all batches.
type armTexts struct {
	dict *vector.Vec
	key  arrow.ArrayData
	at   [256]int32 // in the dictionary
	some [256]uint8 // 0: NULL
	null bool       // some arm is
}

// textsOf returns nil where a result is not a constant text.
func textsOf(arms []optional, t types.Type) *armTexts {
	if t.Form() != vector.Str {
		return nil
	}
	x := &armTexts{}
	seen := map[string]int32{}
	var data []byte
	off := []int32{0}
	for k := range arms {
		c, ok := arms[k].node.(*constNode)
		if !ok {
			return nil
		}
		if c.v.AllNull() {
			x.null = true
			continue
		}
		s := c.v.Str(0)
		at, ok := seen[s]
		if !ok {
			at = int32(len(seen))
			seen[s] = at
			data = append(data, s...)
			off = append(off, int32(len(data)))
		}
		x.at[k], x.some[k] = at, 1
	}
	if len(seen) == 0 {
		return nil
	}
	arr := batch.FromOffsets(arrow.BinaryTypes.String, off, data, nil)
	x.dict, x.key = vector.FromArrow(nil, arr), arr.Data()
	return x
}

func (x *armTexts) of(fr *frame, arm []uint8) *vector.Vec {
	idx := vector.Alloc[int32](fr.a, len(arm))
	for i, k := range arm {
		idx[i] = x.at[k]
	}
	v := vector.NewFixed(vector.Dict, idx, nil)
	if x.null {
		v.Valid = flags(fr.a, arm, &x.some)
	}
	v.Dict, v.Key = x.dict, x.key
	return v
}

// flags makes the bitmap of the rows whose arm has a flag.
func flags(a *vector.Arena, arm []uint8, flag *[256]uint8) []byte {
	is := vector.Alloc[uint8](a, len(arm))
	for i, k := range arm {
		is[i] = flag[k]
	}
	return vector.PackBits(a, is)
}

// blend computes the arms of a CASE of fixed width, and gives each row the value of its arm.
func (n *caseNode) blend(fr *frame, arm []uint8, count []int) (*vector.Vec, error) {
	switch n.typ.Form().Width() {
	case 1:
		return blendOf[uint8](n, fr, arm, count)
	case 2:
		return blendOf[uint16](n, fr, arm, count)
	case 4:
		return blendOf[uint32](n, fr, arm, count)
	}
	return blendOf[uint64](n, fr, arm, count)
}

func blendOf[T uint8 | uint16 | uint32 | uint64](n *caseNode, fr *frame, arm []uint8, count []int) (*vector.Vec, error) {
	var one [256]T      // the values of arms that have one
	var some [256]uint8 // 1: a row of the arm may have a value
	vs, rows := make([]*vector.Vec, len(count)), make([][]int32, len(count))
	all := true // no row is NULL
	for k, c := range count {
		if c == 0 {
			continue
		}
		if n.arms[k].null() {
			all = false
			continue
		}
		sub := fr
		if !n.arms[k].whole(c, fr.n) {
			rows[k] = rowsWhere(fr.a, arm, uint8(k), c)
			sub = fr.narrow(rows[k])
		}
		v, err := n.arms[k].eval(sub)
		if err != nil {
			return nil, err
		}
		switch {
		case v.AllNull():
			all = false
			continue
		case v.One:
			one[k] = vector.Values[T](v)[0]
		default:
			vs[k] = v
			all = all && v.Valid == nil
		}
		some[k] = 1
	}
	out := vector.Alloc[T](fr.a, fr.n)
	for i, k := range arm {
		out[i] = one[k]
	}
	var valid []byte
	if !all {
		valid = flags(fr.a, arm, &some)
	}
	for k := range count {
		v := vs[k]
		if v == nil {
			continue
		}
		src := vector.Values[T](v)
		if rows[k] != nil {
			for i, r := range rows[k] {
				out[r] = src[i]
				if v.Null(i) {
					valid[r>>3] &^= 1 << (r & 7)
				}
			}
			continue
		}
		src = src[:len(out)]
		for i, x := range arm {
			// all ones where the row has the arm; the value there is 0 so far
			out[i] |= src[i] & -T((uint16(x^uint8(k))-1)>>15)
		}
		if v.Valid != nil {
			other := bitsOf(fr.a, arm, uint8(k))
			for i := range valid {
				valid[i] &= v.Valid[i] | ^other[i]
			}
		}
	}
	return vector.NewFixed(n.typ.Form(), out, valid), nil
}

// fill is the eval of values of fixed width: what is NULL in one argument is filled from the next.
func (n *coalesceNode) fill(fr *frame) (*vector.Vec, error) {
	acc := vector.NewNull(fr.n)
	for k := range n.args {
		arg := &n.args[k]
		if acc.AllNull() {
			v, err := arg.eval(fr)
			if err != nil {
				return nil, err
			}
			acc = v
		} else {
			rows := unset(fr.a, acc.Valid, fr.n)
			sub, whole := fr, arg.whole(len(rows), fr.n)
			if !whole {
				sub = fr.narrow(rows)
			}
			v, err := arg.eval(sub)
			if err != nil {
				return nil, err
			}
			if v.AllNull() {
				continue
			}
			acc = over(fr.a, acc, v, rows, whole)
		}
		if !acc.AllNull() && (acc.One || acc.Valid == nil || batch.CountBits(acc.Valid, fr.n) == fr.n) {
			break
		}
	}
	return acc, nil
}

// over gives rows of acc, which are NULL there, the values that v has: a value for each of the rows, or for all rows.
func over(a *vector.Arena, acc, v *vector.Vec, rows []int32, whole bool) *vector.Vec {
	switch acc.Kind.Width() {
	case 1:
		return overOf[uint8](a, acc, v, rows, whole)
	case 2:
		return overOf[uint16](a, acc, v, rows, whole)
	case 4:
		return overOf[uint32](a, acc, v, rows, whole)
	}
	return overOf[uint64](a, acc, v, rows, whole)
}

func overOf[T any](a *vector.Arena, acc, v *vector.Vec, rows []int32, whole bool) *vector.Vec {
	out, src := vector.Alloc[T](a, acc.N), vector.Values[T](v)
	copy(out, vector.Values[T](acc))
	valid := vector.CloneBits(a, acc.Valid, acc.N)
	for i, r := range rows {
		switch {
		case v.One:
			i = 0
		case whole:
			i = int(r)
		}
		if v.Valid == nil || batch.Bit(v.Valid, i) {
			out[r] = src[i]
			valid[r>>3] |= 1 << (r & 7)
		}
	}
	if batch.CountBits(valid, acc.N) == acc.N {
		valid = nil
	}
	return vector.NewFixed(acc.Kind, out, valid)
}

// unset lists the zeros among n bits.
func unset(a *vector.Arena, b []byte, n int) []int32 {
	rows := vector.Alloc[int32](a, n-batch.CountBits(b, n))
	k := 0
	for at := range batch.BitmapBytes(n) {
		for w := ^b[at]; w != 0; w &= w - 1 {
			if r := at*8 + bits.TrailingZeros8(w); r < n {
				rows[k] = int32(r)
				k++
			}
		}
	}
	return rows
}
