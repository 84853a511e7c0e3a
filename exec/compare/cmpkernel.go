package compare

import (
	"bytes"
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// CmpOp is one of the six comparisons.
type CmpOp uint8

const (
	OpEQ CmpOp = iota
	OpNE
	OpLT
	OpLE
	OpGT
	OpGE
)

// Swap returns the operator with its operands exchanged.
func (op CmpOp) Swap() CmpOp {
	switch op {
	case OpLT:
		return OpGT
	case OpLE:
		return OpGE
	case OpGT:
		return OpLT
	case OpGE:
		return OpLE
	}
	return op
}

// Holds reports whether a three-way result satisfies the operator.
func (op CmpOp) Holds(c int) bool {
	switch op {
	case OpEQ:
		return c == 0
	case OpNE:
		return c != 0
	case OpLT:
		return c < 0
	case OpLE:
		return c <= 0
	case OpGT:
		return c > 0
	}
	return c >= 0
}

// Integer are the element types of integer columns.
type Integer interface {
	~int16 | ~int32 | ~int64 | ~uint8 | ~uint32
}

// Float are the element types of float columns.
type Float interface{ ~float32 | ~float64 }

// cmpVV: out[i] = a[i] op b[i].
func cmpVV[T Integer](op CmpOp, out []uint8, a, b []T) {
	a, b = a[:len(out)], b[:len(out)]
	switch op {
	case OpEQ:
		for i := range out {
			out[i] = vector.ByteOf(a[i] == b[i])
		}
	case OpNE:
		for i := range out {
			out[i] = vector.ByteOf(a[i] != b[i])
		}
	case OpLT:
		for i := range out {
			out[i] = vector.ByteOf(a[i] < b[i])
		}
	case OpLE:
		for i := range out {
			out[i] = vector.ByteOf(a[i] <= b[i])
		}
	case OpGT:
		for i := range out {
			out[i] = vector.ByteOf(a[i] > b[i])
		}
	case OpGE:
		for i := range out {
			out[i] = vector.ByteOf(a[i] >= b[i])
		}
	}
}

// cmpVC: out[i] = a[i] op c.
func cmpVC[T Integer](op CmpOp, out []uint8, a []T, c T) {
	a = a[:len(out)]
	switch op {
	case OpEQ:
		for i := range out {
			out[i] = vector.ByteOf(a[i] == c)
		}
	case OpNE:
		for i := range out {
			out[i] = vector.ByteOf(a[i] != c)
		}
	case OpLT:
		for i := range out {
			out[i] = vector.ByteOf(a[i] < c)
		}
	case OpLE:
		for i := range out {
			out[i] = vector.ByteOf(a[i] <= c)
		}
	case OpGT:
		for i := range out {
			out[i] = vector.ByteOf(a[i] > c)
		}
	case OpGE:
		for i := range out {
			out[i] = vector.ByteOf(a[i] >= c)
		}
	}
}

// cmpFloatVV: NaN equals NaN and is above everything else.
func cmpFloatVV[T Float](op CmpOp, out []uint8, a, b []T) {
	a, b = a[:len(out)], b[:len(out)]
	switch op {
	case OpEQ:
		for i, x := range a {
			out[i] = vector.ByteOf(x == b[i] || x != x && b[i] != b[i])
		}
	case OpNE:
		for i, x := range a {
			out[i] = vector.ByteOf(x != b[i] && (x == x || b[i] == b[i]))
		}
	case OpLT:
		for i, x := range a {
			out[i] = vector.ByteOf(x < b[i] || x == x && b[i] != b[i])
		}
	case OpLE:
		for i, x := range a {
			out[i] = vector.ByteOf(x <= b[i] || b[i] != b[i])
		}
	case OpGT:
		for i, x := range a {
			out[i] = vector.ByteOf(x > b[i] || x != x && b[i] == b[i])
		}
	case OpGE:
		for i, x := range a {
			out[i] = vector.ByteOf(x >= b[i] || x != x)
		}
	}
}

// cmpFloatVC: for a constant that is a number, the negated forms order a NaN on the left as the
// greatest without a test.
func cmpFloatVC[T Float](op CmpOp, out []uint8, a []T, c T) {
	if c != c {
		b := make([]T, len(out))
		for i := range b {
			b[i] = c
		}
		cmpFloatVV(op, out, a, b)
		return
	}
	a = a[:len(out)]
	switch op {
	case OpEQ:
		for i := range out {
			out[i] = vector.ByteOf(a[i] == c)
		}
	case OpNE:
		for i := range out {
			out[i] = vector.ByteOf(a[i] != c)
		}
	case OpLT:
		for i := range out {
			out[i] = vector.ByteOf(a[i] < c)
		}
	case OpLE:
		for i := range out {
			out[i] = vector.ByteOf(a[i] <= c)
		}
	case OpGT:
		for i := range out {
			out[i] = vector.ByteOf(!(a[i] <= c))
		}
	case OpGE:
		for i := range out {
			out[i] = vector.ByteOf(!(a[i] < c))
		}
	}
}

// compareInts applies op to two integer vecs of one kind.
func compareInts[T Integer](op CmpOp) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		l, r := args[0], args[1]
		if l.One && !r.One {
			out := vector.Alloc[uint8](c.Arena, c.N)
			cmpVC(op.Swap(), out, vector.Values[T](r), vector.Values[T](l)[0])
			return vector.NewBool(out, c.Valid), nil
		}
		out := vector.Alloc[uint8](c.Arena, c.N)
		if r.One {
			cmpVC(op, out, SpreadVals[T](c, l), vector.Values[T](r)[0])
		} else {
			cmpVV(op, out, vector.Values[T](l), vector.Values[T](r))
		}
		return vector.NewBool(out, c.Valid), nil
	}
}

func compareFloats[T Float](op CmpOp) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		l, r := args[0], args[1]
		out := vector.Alloc[uint8](c.Arena, c.N)
		switch {
		case l.One && !r.One:
			cmpFloatVC(op.Swap(), out, vector.Values[T](r), vector.Values[T](l)[0])
		case r.One:
			cmpFloatVC(op, out, SpreadVals[T](c, l), vector.Values[T](r)[0])
		default:
			cmpFloatVV(op, out, vector.Values[T](l), vector.Values[T](r))
		}
		return vector.NewBool(out, c.Valid), nil
	}
}

// SpreadVals returns c.n values, also of a vec that holds one for all.
func SpreadVals[T any](c *function.Call, v *vector.Vec) []T {
	if !v.One || c.N == 1 {
		return vector.Values[T](v)
	}
	return vector.Values[T](v.Spread(c.Arena))
}

// compareStrings compares by bytes. Equality with a constant compares lengths first.
func compareStrings(op CmpOp) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		l, r, op := args[0], args[1], op
		if l.One && !r.One {
			l, r, op = r, l, op.Swap()
		}
		out := vector.Alloc[uint8](c.Arena, c.N)
		if r.One && !l.One && l.Kind == vector.Str {
			k := vector.StringBytes(r.Str(0))
			switch op {
			case OpEQ, OpNE:
				flip := vector.ByteOf(op == OpNE)
				for i := range out {
					b := l.Data[l.Off[i]:l.Off[i+1]]
					out[i] = vector.ByteOf(len(b) == len(k) && vector.BytesString(b) == vector.BytesString(k)) ^ flip
				}
			default:
				for i := range out {
					out[i] = vector.ByteOf(op.Holds(bytes.Compare(l.Data[l.Off[i]:l.Off[i+1]], k)))
				}
			}
			return vector.NewBool(out, c.Valid), nil
		}
		if op == OpEQ || op == OpNE {
			flip := vector.ByteOf(op == OpNE)
			for i := range out {
				if !c.Skip(i) {
					out[i] = vector.ByteOf(l.Str(i) == r.Str(i)) ^ flip
				}
			}
		} else {
			for i := range out {
				if !c.Skip(i) {
					out[i] = vector.ByteOf(op.Holds(strings.Compare(l.Str(i), r.Str(i))))
				}
			}
		}
		return vector.NewBool(out, c.Valid), nil
	}
}

// compareWith compares by a three-way function of rows.
func compareWith(op CmpOp, cmp rowCmp) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		out := vector.Alloc[uint8](c.Arena, c.N)
		for i := range out {
			if !c.Skip(i) {
				out[i] = vector.ByteOf(op.Holds(cmp(args[0], i, args[1], i)))
			}
		}
		return vector.NewBool(out, c.Valid), nil
	}
}

// rowCmp orders row i of l and row j of r, neither NULL.
type rowCmp func(l *vector.Vec, i int, r *vector.Vec, j int) int

// Comparer returns the order of a type.
func Comparer(t types.Type, env *function.Env) rowCmp {
	switch t.Form() {
	case vector.Bool:
		return cmpFixed[uint8]
	case vector.I16:
		return cmpFixed[int16]
	case vector.I32:
		return cmpFixed[int32]
	case vector.I64:
		return cmpFixed[int64]
	case vector.U32:
		return cmpFixed[uint32]
	case vector.F32:
		return func(l *vector.Vec, i int, r *vector.Vec, j int) int {
			return types.CompareFloat(float64(vector.At[float32](l, i)), float64(vector.At[float32](r, j)))
		}
	case vector.F64:
		return func(l *vector.Vec, i int, r *vector.Vec, j int) int {
			return types.CompareFloat(vector.At[float64](l, i), vector.At[float64](r, j))
		}
	case vector.Str:
		if t.OID >= types.FirstUserOID {
			return enumComparer(t, env)
		}
		if t.OID == types.JSONBOID {
			return func(l *vector.Vec, i int, r *vector.Vec, j int) int { return json.Compare(l.Str(i), r.Str(j)) }
		}
		return func(l *vector.Vec, i int, r *vector.Vec, j int) int {
			return strings.Compare(types.Compared(t, l.Str(i)), types.Compared(t, r.Str(j)))
		}
	case vector.Bin:
		if t.OID == types.NumericOID {
			return func(l *vector.Vec, i int, r *vector.Vec, j int) int {
				return number.CompareDecimalBytes(l.Bytes(i), r.Bytes(j))
			}
		}
		return func(l *vector.Vec, i int, r *vector.Vec, j int) int { return bytes.Compare(l.Bytes(i), r.Bytes(j)) }
	case vector.F16:
		if t.OID == types.UUIDOID {
			return func(l *vector.Vec, i int, r *vector.Vec, j int) int {
				return bytes.Compare(l.FixedBytes(i), r.FixedBytes(j))
			}
		}
	}
	if t.OID >= types.UserArrayBit {
		return enumArrayComparer(t, env)
	}
	return func(l *vector.Vec, i int, r *vector.Vec, j int) int {
		return types.Compare(t, l.Datum(t, i), r.Datum(t, j))
	}
}

func cmpFixed[T Integer](l *vector.Vec, i int, r *vector.Vec, j int) int {
	x, y := vector.At[T](l, i), vector.At[T](r, j)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
