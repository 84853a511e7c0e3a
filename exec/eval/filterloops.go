package eval

import (
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// comparisons maps function IDs to the comparison they are.
var comparisons = sync.OnceValue(func() map[string]cmpOp {
	ops := map[string]cmpOp{"=": opEQ, "<>": opNE, "<": opLT, "<=": opLE, ">": opGT, ">=": opGE}
	m := map[string]cmpOp{}
	for _, o := range fn.AllOperators() {
		if op, ok := ops[o.Name]; ok && o.Left != 0 {
			m[o.Func.ID] = op
		}
	}
	return m
})

// selector narrows a selection by a condition on one column: of the rows sel
// (nil: all n) it writes those that pass to out and tells how many; ok is false
// where it does not read the form this column has.
type selector func(f *Filter, col arrow.Array, sel []int32, n int, out []int32) (k int, ok bool)

// hotCompare makes the loop that compares a column of t with a constant.
func hotCompare(op cmpOp, t types.Type, k *vec) selector {
	switch kindOf(t) {
	case kI16:
		return hotInts(op, vals[int16](k)[0])
	case kI32:
		return hotInts(op, vals[int32](k)[0])
	case kI64:
		return hotInts(op, vals[int64](k)[0])
	case kU32:
		return hotInts(op, vals[uint32](k)[0])
	case kF32:
		return hotFloats(op, vals[float32](k)[0])
	case kF64:
		return hotFloats(op, vals[float64](k)[0])
	}
	return nil
}

// raw views the values of a fixed-width column.
func raw[T any](col arrow.Array) ([]T, bool) {
	var a arena
	v := fromArrow(&a, col)
	var z T
	switch any(z).(type) {
	case int16:
		if v.kind != kI16 {
			return nil, false
		}
	case int32:
		if v.kind != kI32 {
			return nil, false
		}
	case int64:
		if v.kind != kI64 {
			return nil, false
		}
	case uint32:
		if v.kind != kU32 {
			return nil, false
		}
	case float32:
		if v.kind != kF32 {
			return nil, false
		}
	case float64:
		if v.kind != kF64 {
			return nil, false
		}
	}
	return vals[T](v), true
}

// dropNulls removes NULL rows from a selection in place.
func dropNulls(col arrow.Array, out []int32) int {
	bits, off := col.NullBitmapBytes(), col.Data().Offset()
	k := 0
	for _, r := range out {
		j := int(r) + off
		out[k] = r
		k += int(bits[j>>3] >> (j & 7) & 1)
	}
	return k
}

func hotInts[T integer](op cmpOp, c T) selector {
	return func(_ *Filter, col arrow.Array, sel []int32, n int, out []int32) (int, bool) {
		v, ok := raw[T](col)
		if !ok {
			return 0, false
		}
		k := 0
		if sel == nil {
			k = selectAll(op, v[:n], c, out)
		} else {
			k = selectSome(op, v, c, sel, out)
		}
		if col.NullN() > 0 {
			k = dropNulls(col, out[:k])
		}
		return k, true
	}
}

func selectAll[T integer](op cmpOp, v []T, c T, out []int32) int {
	out = out[:len(v)+1]
	k := 0
	switch op {
	case opEQ:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(x == c))
		}
	case opNE:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(x != c))
		}
	case opLT:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(x < c))
		}
	case opLE:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(x <= c))
		}
	case opGT:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(x > c))
		}
	case opGE:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(x >= c))
		}
	}
	return k
}

func selectSome[T integer](op cmpOp, v []T, c T, sel, out []int32) int {
	out = out[:len(sel)+1]
	k := 0
	switch op {
	case opEQ:
		for _, r := range sel {
			out[k] = r
			k += int(b2u(v[r] == c))
		}
	case opNE:
		for _, r := range sel {
			out[k] = r
			k += int(b2u(v[r] != c))
		}
	case opLT:
		for _, r := range sel {
			out[k] = r
			k += int(b2u(v[r] < c))
		}
	case opLE:
		for _, r := range sel {
			out[k] = r
			k += int(b2u(v[r] <= c))
		}
	case opGT:
		for _, r := range sel {
			out[k] = r
			k += int(b2u(v[r] > c))
		}
	case opGE:
		for _, r := range sel {
			out[k] = r
			k += int(b2u(v[r] >= c))
		}
	}
	return k
}

// hotFloats compares floats: bounds by the negated forms, so that NaN is above
// all numbers. A NaN constant is left to the general way.
func hotFloats[T float](op cmpOp, c T) selector {
	if c != c {
		return nil
	}
	var pass func(x T) uint8
	switch op {
	case opEQ:
		pass = func(x T) uint8 { return b2u(x == c) }
	case opNE:
		pass = func(x T) uint8 { return b2u(x != c) }
	case opLT:
		pass = func(x T) uint8 { return b2u(x < c) }
	case opLE:
		pass = func(x T) uint8 { return b2u(x <= c) }
	case opGT:
		pass = func(x T) uint8 { return b2u(!(x <= c)) }
	default:
		pass = func(x T) uint8 { return b2u(!(x < c)) }
	}
	return func(_ *Filter, col arrow.Array, sel []int32, n int, out []int32) (int, bool) {
		v, ok := raw[T](col)
		if !ok {
			return 0, false
		}
		k := 0
		if sel == nil {
			k = selectFloats(op, v[:n], c, out)
		} else {
			for _, r := range sel {
				out[k] = r
				k += int(pass(v[r]))
			}
		}
		if col.NullN() > 0 {
			k = dropNulls(col, out[:k])
		}
		return k, true
	}
}

func selectFloats[T float](op cmpOp, v []T, c T, out []int32) int {
	out = out[:len(v)+1]
	k := 0
	switch op {
	case opEQ:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(x == c))
		}
	case opNE:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(x != c))
		}
	case opLT:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(x < c))
		}
	case opLE:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(x <= c))
		}
	case opGT:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(!(x <= c)))
		}
	case opGE:
		for i, x := range v {
			out[k] = int32(i)
			k += int(b2u(!(x < c)))
		}
	}
	return k
}
