package mathfn

import (
	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

type bitOp uint8

const (
	bitAnd bitOp = iota
	bitOr
	bitXor
	bitLeft
	bitRight
)

// intBits is a bitwise operation on integers, in the result's width. None fails.
func intBits(op bitOp) function.Maker {
	return func(_ *fn.Func, _ []types.Type, ret types.Type) function.Impl {
		switch ret.Form() {
		case vector.I16:
			return bitLoop[int16](op, 32) // an int2 is shifted as an int4, as in C
		case vector.I32:
			return bitLoop[int32](op, 32)
		}
		return bitLoop[int64](op, 64)
	}
}

func bitLoop[T int16 | int32 | int64](op bitOp, width uint) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		out := vector.Alloc[T](c.Arena, c.N)
		x := compare.SpreadVals[T](c, args[0])[:len(out)]
		if op == bitLeft || op == bitRight {
			shifted(op, out, x, compare.SpreadVals[int32](c, args[1])[:len(out)], width)
			return vector.NewFixed(c.Ret.Form(), out, c.Valid), nil
		}
		y := compare.SpreadVals[T](c, args[1])[:len(out)]
		switch op {
		case bitAnd:
			for i := range out {
				out[i] = x[i] & y[i]
			}
		case bitOr:
			for i := range out {
				out[i] = x[i] | y[i]
			}
		case bitXor:
			for i := range out {
				out[i] = x[i] ^ y[i]
			}
		}
		return vector.NewFixed(c.Ret.Form(), out, c.Valid), nil
	}
}

// shifted shifts by so many bits modulo the width, a power of two.
func shifted[T int16 | int32 | int64](op bitOp, out, x []T, by []int32, width uint) {
	if op == bitLeft {
		for i := range out {
			out[i] = T(int64(x[i]) << (uint(by[i]) & (width - 1) & 63))
		}
		return
	}
	for i := range out {
		out[i] = T(int64(x[i]) >> (uint(by[i]) & (width - 1) & 63))
	}
}
