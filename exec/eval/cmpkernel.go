package eval

import (
	"bytes"
	"strings"

	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// cmpOp is one of the six comparisons.
type cmpOp uint8

const (
	opEQ cmpOp = iota
	opNE
	opLT
	opLE
	opGT
	opGE
)

// swap is the operator with its operands exchanged.
func (op cmpOp) swap() cmpOp {
	switch op {
	case opLT:
		return opGT
	case opLE:
		return opGE
	case opGT:
		return opLT
	case opGE:
		return opLE
	}
	return op
}

// holds tells whether a three-way result satisfies the operator.
func (op cmpOp) holds(c int) bool {
	switch op {
	case opEQ:
		return c == 0
	case opNE:
		return c != 0
	case opLT:
		return c < 0
	case opLE:
		return c <= 0
	case opGT:
		return c > 0
	}
	return c >= 0
}

type integer interface {
	~int16 | ~int32 | ~int64 | ~uint8 | ~uint32
}

type float interface{ ~float32 | ~float64 }

// cmpVV: out[i] = a[i] op b[i].
func cmpVV[T integer](op cmpOp, out []uint8, a, b []T) {
	a, b = a[:len(out)], b[:len(out)]
	switch op {
	case opEQ:
		for i := range out {
			out[i] = b2u(a[i] == b[i])
		}
	case opNE:
		for i := range out {
			out[i] = b2u(a[i] != b[i])
		}
	case opLT:
		for i := range out {
			out[i] = b2u(a[i] < b[i])
		}
	case opLE:
		for i := range out {
			out[i] = b2u(a[i] <= b[i])
		}
	case opGT:
		for i := range out {
			out[i] = b2u(a[i] > b[i])
		}
	case opGE:
		for i := range out {
			out[i] = b2u(a[i] >= b[i])
		}
	}
}

// cmpVC: out[i] = a[i] op c.
func cmpVC[T integer](op cmpOp, out []uint8, a []T, c T) {
	a = a[:len(out)]
	switch op {
	case opEQ:
		for i := range out {
			out[i] = b2u(a[i] == c)
		}
	case opNE:
		for i := range out {
			out[i] = b2u(a[i] != c)
		}
	case opLT:
		for i := range out {
			out[i] = b2u(a[i] < c)
		}
	case opLE:
		for i := range out {
			out[i] = b2u(a[i] <= c)
		}
	case opGT:
		for i := range out {
			out[i] = b2u(a[i] > c)
		}
	case opGE:
		for i := range out {
			out[i] = b2u(a[i] >= c)
		}
	}
}

// cmpFloatVV: NaN equals NaN and is above everything else.
func cmpFloatVV[T float](op cmpOp, out []uint8, a, b []T) {
	a, b = a[:len(out)], b[:len(out)]
	switch op {
	case opEQ:
		for i, x := range a {
			out[i] = b2u(x == b[i] || x != x && b[i] != b[i])
		}
	case opNE:
		for i, x := range a {
			out[i] = b2u(x != b[i] && (x == x || b[i] == b[i]))
		}
	case opLT:
		for i, x := range a {
			out[i] = b2u(x < b[i] || x == x && b[i] != b[i])
		}
	case opLE:
		for i, x := range a {
			out[i] = b2u(x <= b[i] || b[i] != b[i])
		}
	case opGT:
		for i, x := range a {
			out[i] = b2u(x > b[i] || x != x && b[i] == b[i])
		}
	case opGE:
		for i, x := range a {
			out[i] = b2u(x >= b[i] || x != x)
		}
	}
}

// cmpFloatVC: for a constant that is a number, the negated forms give a NaN on
// the left its place without a test.
func cmpFloatVC[T float](op cmpOp, out []uint8, a []T, c T) {
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
	case opEQ:
		for i := range out {
			out[i] = b2u(a[i] == c)
		}
	case opNE:
		for i := range out {
			out[i] = b2u(a[i] != c)
		}
	case opLT:
		for i := range out {
			out[i] = b2u(a[i] < c)
		}
	case opLE:
		for i := range out {
			out[i] = b2u(a[i] <= c)
		}
	case opGT:
		for i := range out {
			out[i] = b2u(!(a[i] <= c))
		}
	case opGE:
		for i := range out {
			out[i] = b2u(!(a[i] < c))
		}
	}
}

// compareInts applies op to two integer vecs of one kind.
func compareInts[T integer](op cmpOp) impl {
	return func(c *call, args []*vec) (*vec, error) {
		l, r := args[0], args[1]
		if l.one && !r.one {
			out := alloc[uint8](c.a, c.n)
			cmpVC(op.swap(), out, vals[T](r), vals[T](l)[0])
			return boolVec(out, c.valid), nil
		}
		out := alloc[uint8](c.a, c.n)
		if r.one {
			cmpVC(op, out, spreadVals[T](c, l), vals[T](r)[0])
		} else {
			cmpVV(op, out, vals[T](l), vals[T](r))
		}
		return boolVec(out, c.valid), nil
	}
}

func compareFloats[T float](op cmpOp) impl {
	return func(c *call, args []*vec) (*vec, error) {
		l, r := args[0], args[1]
		out := alloc[uint8](c.a, c.n)
		switch {
		case l.one && !r.one:
			cmpFloatVC(op.swap(), out, vals[T](r), vals[T](l)[0])
		case r.one:
			cmpFloatVC(op, out, spreadVals[T](c, l), vals[T](r)[0])
		default:
			cmpFloatVV(op, out, vals[T](l), vals[T](r))
		}
		return boolVec(out, c.valid), nil
	}
}

// spreadVals gives c.n values, also of a vec that holds one for all.
func spreadVals[T any](c *call, v *vec) []T {
	if !v.one || c.n == 1 {
		return vals[T](v)
	}
	return vals[T](v.spread(c.a))
}

// compareStrings compares by bytes. Equality with a constant looks at lengths
// first.
func compareStrings(op cmpOp) impl {
	return func(c *call, args []*vec) (*vec, error) {
		l, r, op := args[0], args[1], op
		if l.one && !r.one {
			l, r, op = r, l, op.swap()
		}
		out := alloc[uint8](c.a, c.n)
		if r.one && !l.one && l.kind == kStr {
			k := stringBytes(r.str(0))
			switch op {
			case opEQ, opNE:
				flip := b2u(op == opNE)
				for i := range out {
					b := l.data[l.off[i]:l.off[i+1]]
					out[i] = b2u(len(b) == len(k) && bytesString(b) == bytesString(k)) ^ flip
				}
			default:
				for i := range out {
					out[i] = b2u(op.holds(bytes.Compare(l.data[l.off[i]:l.off[i+1]], k)))
				}
			}
			return boolVec(out, c.valid), nil
		}
		if op == opEQ || op == opNE {
			flip := b2u(op == opNE)
			for i := range out {
				if !c.skip(i) {
					out[i] = b2u(l.str(i) == r.str(i)) ^ flip
				}
			}
		} else {
			for i := range out {
				if !c.skip(i) {
					out[i] = b2u(op.holds(strings.Compare(l.str(i), r.str(i))))
				}
			}
		}
		return boolVec(out, c.valid), nil
	}
}

// compareWith compares by a three-way function of rows.
func compareWith(op cmpOp, cmp rowCmp) impl {
	return func(c *call, args []*vec) (*vec, error) {
		out := alloc[uint8](c.a, c.n)
		for i := range out {
			if !c.skip(i) {
				out[i] = b2u(op.holds(cmp(args[0], i, args[1], i)))
			}
		}
		return boolVec(out, c.valid), nil
	}
}

// rowCmp orders row i of l and row j of r, neither NULL.
type rowCmp func(l *vec, i int, r *vec, j int) int

// comparer gives the order of a type.
func comparer(t types.Type, env *Env) rowCmp {
	switch kindOf(t) {
	case kBool:
		return cmpFixed[uint8]
	case kI16:
		return cmpFixed[int16]
	case kI32:
		return cmpFixed[int32]
	case kI64:
		return cmpFixed[int64]
	case kU32:
		return cmpFixed[uint32]
	case kF32:
		return func(l *vec, i int, r *vec, j int) int {
			return types.CompareFloat(float64(at[float32](l, i)), float64(at[float32](r, j)))
		}
	case kF64:
		return func(l *vec, i int, r *vec, j int) int {
			return types.CompareFloat(at[float64](l, i), at[float64](r, j))
		}
	case kStr:
		if t.OID >= types.FirstUserOID {
			return enumComparer(t, env)
		}
		if t.OID == types.JSONBOID {
			return func(l *vec, i int, r *vec, j int) int { return json.Compare(l.str(i), r.str(j)) }
		}
		return func(l *vec, i int, r *vec, j int) int {
			return strings.Compare(types.Compared(t, l.str(i)), types.Compared(t, r.str(j)))
		}
	case kBin:
		if t.OID == types.NumericOID {
			return func(l *vec, i int, r *vec, j int) int { return number.CompareDecimalBytes(l.bytes(i), r.bytes(j)) }
		}
		return func(l *vec, i int, r *vec, j int) int { return bytes.Compare(l.bytes(i), r.bytes(j)) }
	case kF16:
		if t.OID == types.UUIDOID {
			return func(l *vec, i int, r *vec, j int) int { return bytes.Compare(l.fixedBytes(i), r.fixedBytes(j)) }
		}
	}
	if t.OID >= types.UserArrayBit {
		return enumArrayComparer(t, env)
	}
	return func(l *vec, i int, r *vec, j int) int { return types.Compare(t, l.datum(t, i), r.datum(t, j)) }
}

func cmpFixed[T integer](l *vec, i int, r *vec, j int) int {
	x, y := at[T](l, i), at[T](r, j)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
