package eval

import (
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// comparisons maps function IDs to the comparison they are.
var comparisons = sync.OnceValue(func() map[string]compare.CmpOp {
	ops := map[string]compare.CmpOp{"=": compare.OpEQ, "<>": compare.OpNE, "<": compare.OpLT, "<=": compare.OpLE, ">": compare.OpGT, ">=": compare.OpGE}
	m := map[string]compare.CmpOp{}
	for _, o := range fn.AllOperators() {
		if op, ok := ops[o.Name]; ok && o.Left != 0 {
			m[o.Func.ID] = op
		}
	}
	return m
})

// selector narrows a selection by a condition on one column: of the rows sel
// (nil: all n) it writes those that pass to out and returns how many; ok is false
// where it does not read the form this column has.
type selector func(f *Filter, col arrow.Array, sel []int32, n int, out []int32) (k int, ok bool)

// hotCompare makes the loop that compares a column of t, which is not of integers, with a
// constant.
func hotCompare(op compare.CmpOp, t types.Type, k *vector.Vec) selector {
	switch t.Form() {
	case vector.F32:
		return hotFloats(op, vector.Values[float32](k)[0])
	case vector.F64:
		return hotFloats(op, vector.Values[float64](k)[0])
	}
	return nil
}

// raw views the values of a fixed-width column.
func raw[T any](col arrow.Array) ([]T, bool) {
	var a vector.Arena
	v := vector.FromArrow(&a, col)
	var z T
	switch any(z).(type) {
	case int16:
		if v.Kind != vector.I16 {
			return nil, false
		}
	case int32:
		if v.Kind != vector.I32 {
			return nil, false
		}
	case int64:
		if v.Kind != vector.I64 {
			return nil, false
		}
	case uint32:
		if v.Kind != vector.U32 {
			return nil, false
		}
	case float32:
		if v.Kind != vector.F32 {
			return nil, false
		}
	case float64:
		if v.Kind != vector.F64 {
			return nil, false
		}
	}
	return vector.Values[T](v), true
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

// hotFloats compares floats: bounds by the negated forms, so that NaN is above all numbers. A NaN
// constant is left to general evaluation.
func hotFloats[T compare.Float](op compare.CmpOp, c T) selector {
	if c != c {
		return nil
	}
	var pass func(x T) uint8
	switch op {
	case compare.OpEQ:
		pass = func(x T) uint8 { return vector.ByteOf(x == c) }
	case compare.OpNE:
		pass = func(x T) uint8 { return vector.ByteOf(x != c) }
	case compare.OpLT:
		pass = func(x T) uint8 { return vector.ByteOf(x < c) }
	case compare.OpLE:
		pass = func(x T) uint8 { return vector.ByteOf(x <= c) }
	case compare.OpGT:
		pass = func(x T) uint8 { return vector.ByteOf(!(x <= c)) }
	default:
		pass = func(x T) uint8 { return vector.ByteOf(!(x < c)) }
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

func selectFloats[T compare.Float](op compare.CmpOp, v []T, c T, out []int32) int {
	out = out[:len(v)+1]
	k := 0
	switch op {
	case compare.OpEQ:
		for i, x := range v {
			out[k] = int32(i)
			k += int(vector.ByteOf(x == c))
		}
	case compare.OpNE:
		for i, x := range v {
			out[k] = int32(i)
			k += int(vector.ByteOf(x != c))
		}
	case compare.OpLT:
		for i, x := range v {
			out[k] = int32(i)
			k += int(vector.ByteOf(x < c))
		}
	case compare.OpLE:
		for i, x := range v {
			out[k] = int32(i)
			k += int(vector.ByteOf(x <= c))
		}
	case compare.OpGT:
		for i, x := range v {
			out[k] = int32(i)
			k += int(vector.ByteOf(!(x <= c)))
		}
	case compare.OpGE:
		for i, x := range v {
			out[k] = int32(i)
			k += int(vector.ByteOf(!(x < c)))
		}
	}
	return k
}
