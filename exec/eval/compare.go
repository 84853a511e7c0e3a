package eval

import (
	"strings"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addComparisons registers the functions behind = <> < <= > >= and those that
// compare three-way (…cmp), for all types, from the operators of planner/fn.
func addComparisons(t table) {
	ops := map[string]cmpOp{"=": opEQ, "<>": opNE, "<": opLT, "<=": opLE, ">": opGT, ">=": opGE,
		"*=": opEQ, "*<>": opNE, "*<": opLT, "*<=": opLE, "*>": opGT, "*>=": opGE}
	for _, o := range fn.AllOperators() {
		op, ok := ops[o.Name]
		if !ok || o.Left == 0 || t[o.Func.ID] != nil {
			continue
		}
		t.put(o.Func.ID, compareMaker(op))
	}
	for _, f := range fn.All() {
		if f.Kind == fn.Scalar && len(f.Args) == 2 && f.Ret == types.Int4OID && strings.HasSuffix(f.Name, "cmp") || strings.Contains(f.Name, "_cmp_") {
			t.put(f.ID, threeWayMaker)
		}
	}
	for _, id := range []string{"larger", "smaller"} {
		op := opGT
		if id == "smaller" {
			op = opLT
		}
		t.put("text_"+id+"(text,text)", always(strict2(func(a, b string) string {
			if op.holds(strings.Compare(a, b)) {
				return a
			}
			return b
		})))
	}
}

func compareMaker(op cmpOp) maker {
	return func(f *fn.Func, at []types.Type, _ types.Type) impl {
		l, r := at[0], at[1]
		if l.OID != r.OID || l.Prec != r.Prec || l.Scale != r.Scale {
			if conv := compareMixed(op, l, r); conv != nil {
				return conv
			}
		}
		switch kindOf(l) {
		case kBool:
			return compareInts[uint8](op)
		case kI16:
			return compareInts[int16](op)
		case kI32:
			return compareInts[int32](op)
		case kI64:
			return compareInts[int64](op)
		case kU32:
			return compareInts[uint32](op)
		case kF32:
			return compareFloats[float32](op)
		case kF64:
			return compareFloats[float64](op)
		case kStr:
			switch {
			case !l.EqualByBytes():
				return compareWith(op, comparer(l, nil))
			case l.OID >= types.FirstUserOID && op != opEQ && op != opNE:
				return func(c *call, args []*vec) (*vec, error) {
					return compareWith(op, comparer(l, c.env))(c, args)
				}
			}
			return compareStrings(op)
		}
		if l.OID == types.RecordOID {
			return compareRows(op, l, r)
		}
		if l.OID >= types.UserArrayBit {
			return func(c *call, args []*vec) (*vec, error) { return compareWith(op, comparer(l, c.env))(c, args) }
		}
		return compareWith(op, comparer(l, nil))
	}
}

// compareRows compares row values: NULL fields are equal and above the rest.
func compareRows(op cmpOp, lt, rt types.Type) impl {
	if err := comparableRows(lt, rt); err != nil {
		return func(*call, []*vec) (*vec, error) { return nil, err }
	}
	return func(c *call, args []*vec) (*vec, error) {
		out := alloc[uint8](c.a, c.n)
		for i := range out {
			if c.skip(i) {
				continue
			}
			l, _ := args[0].datum(lt, i).(types.Row)
			r, _ := args[1].datum(rt, i).(types.Row)
			out[i] = b2u(op.holds(types.Compare(lt, l, r)))
		}
		return boolVec(out, c.valid), nil
	}
}

func comparableRows(lt, rt types.Type) error {
	if lt.Rec == nil || rt.Rec == nil {
		return nil
	}
	l, r := lt.Rec.Fields, rt.Rec.Fields
	for i := range min(len(l), len(r)) {
		if l[i].Type.OID != r[i].Type.OID {
			return pgerr.New(pgerr.DatatypeMismatch, "cannot compare dissimilar column types %s and %s at record column %d", l[i].Type, r[i].Type, i+1)
		}
	}
	if len(l) != len(r) {
		return pgerr.New(pgerr.DatatypeMismatch, "cannot compare record types with different numbers of columns")
	}
	return nil
}

func threeWayMaker(f *fn.Func, at []types.Type, _ types.Type) impl {
	cmp := mixedCmp(at[0], at[1])
	return func(c *call, args []*vec) (*vec, error) {
		out := alloc[int32](c.a, c.n)
		for i := range out {
			if !c.skip(i) {
				out[i] = int32(cmp(c, args, i))
			}
		}
		return fixedVec(kI32, out, c.valid), nil
	}
}

// isInt tells of int2, int4, int8.
func isInt(t types.Type) bool {
	return t.OID == types.Int2OID || t.OID == types.Int4OID || t.OID == types.Int8OID
}

func isFloat(t types.Type) bool { return t.OID == types.Float4OID || t.OID == types.Float8OID }

// compareMixed compares operands that are carried differently, nil where they
// are not.
func compareMixed(op cmpOp, l, r types.Type) impl {
	switch {
	case isInt(l) && isInt(r):
		return widened(kI64, widenInt, compareInts[int64](op))
	case isFloat(l) && isFloat(r):
		return widened(kF64, widenFloat, compareFloats[float64](op))
	case l.OID == types.NumericOID && r.OID == types.NumericOID:
		if l.IsFixed() && r.IsFixed() && l.Scale == r.Scale {
			return compareInts[int64](op)
		}
		return func(c *call, args []*vec) (*vec, error) {
			a, b := decimalReader(args[0], l), decimalReader(args[1], r)
			out := alloc[uint8](c.a, c.n)
			for i := range out {
				if !c.skip(i) {
					out[i] = b2u(op.holds(a(i).Cmp(b(i))))
				}
			}
			return boolVec(out, c.valid), nil
		}
	case isStamp(l) && isStamp(r):
		cmp := mixedCmp(l, r)
		return func(c *call, args []*vec) (*vec, error) {
			out := alloc[uint8](c.a, c.n)
			for i := range out {
				if !c.skip(i) {
					out[i] = b2u(op.holds(cmp(c, args, i)))
				}
			}
			return boolVec(out, c.valid), nil
		}
	}
	return nil
}

func isStamp(t types.Type) bool {
	return t.OID == types.DateOID || t.OID == types.TimestampOID || t.OID == types.TimestamptzOID
}

// mixedCmp is the three-way comparison of two types.
func mixedCmp(l, r types.Type) func(c *call, args []*vec, i int) int {
	switch {
	case isInt(l) && isInt(r) && l.OID != r.OID:
		return func(c *call, args []*vec, i int) int {
			x, y := intAt(args[0], i), intAt(args[1], i)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		}
	case l.OID == types.NumericOID && r.OID == types.NumericOID && (l.Prec != r.Prec || l.Scale != r.Scale):
		return func(c *call, args []*vec, i int) int {
			return decimalReader(args[0], l)(i).Cmp(decimalReader(args[1], r)(i))
		}
	case isStamp(l) && isStamp(r) && l.OID != r.OID:
		return func(c *call, args []*vec, i int) int {
			zoned := l.OID == types.TimestamptzOID || r.OID == types.TimestamptzOID
			x := stampAt(c.env, args[0], l, i, zoned)
			y := stampAt(c.env, args[1], r, i, zoned)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		}
	}
	cmp := comparer(l, nil)
	return func(c *call, args []*vec, i int) int {
		if l.OID >= types.FirstUserOID {
			return comparer(l, c.env)(args[0], i, args[1], i)
		}
		return cmp(args[0], i, args[1], i)
	}
}

// widened brings both arguments to one kind first.
func widened(k kind, conv func(a *arena, v *vec) *vec, next impl) impl {
	return func(c *call, args []*vec) (*vec, error) {
		in := [2]*vec{args[0], args[1]}
		for i, v := range in {
			if v.kind != k {
				in[i] = conv(c.a, v)
			}
		}
		return next(c, in[:])
	}
}

func convert[From, To integer | float](a *arena, v *vec, k kind) *vec {
	src := vals[From](v)
	dst := alloc[To](a, len(src))
	for i, x := range src {
		dst[i] = To(x)
	}
	out := fixedVec(k, dst, v.valid)
	out.n, out.one = v.n, v.one
	return out
}

func widenInt(a *arena, v *vec) *vec {
	switch v.kind {
	case kI16:
		return convert[int16, int64](a, v, kI64)
	case kI32:
		return convert[int32, int64](a, v, kI64)
	case kU32:
		return convert[uint32, int64](a, v, kI64)
	}
	return v
}

func widenFloat(a *arena, v *vec) *vec {
	switch v.kind {
	case kF32:
		return convert[float32, float64](a, v, kF64)
	case kI16:
		return convert[int16, float64](a, v, kF64)
	case kI32:
		return convert[int32, float64](a, v, kF64)
	case kI64:
		return convert[int64, float64](a, v, kF64)
	}
	return v
}
