package compare

import (
	"strings"
	"time"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Register registers the functions behind = <> < <= > >= and those that
// compare three-way (…cmp), for all types, from the operators of planner/fn.
func Register(t function.Table) {
	ops := map[string]CmpOp{"=": OpEQ, "<>": OpNE, "<": OpLT, "<=": OpLE, ">": OpGT, ">=": OpGE,
		"*=": OpEQ, "*<>": OpNE, "*<": OpLT, "*<=": OpLE, "*>": OpGT, "*>=": OpGE}
	for _, o := range fn.AllOperators() {
		op, ok := ops[o.Name]
		if !ok || o.Left == 0 || t[o.Func.ID] != nil {
			continue
		}
		t.Put(o.Func.ID, compareMaker(op))
	}
	for _, f := range fn.All() {
		if f.Kind == fn.Scalar && len(f.Args) == 2 && f.Ret == types.Int4OID && strings.HasSuffix(f.Name, "cmp") || strings.Contains(f.Name, "_cmp_") {
			t.Put(f.ID, threeWayMaker)
		}
	}
	for _, id := range []string{"larger", "smaller"} {
		op := OpGT
		if id == "smaller" {
			op = OpLT
		}
		t.Put("text_"+id+"(text,text)", function.Always(function.Strict2(func(a, b string) string {
			if op.Holds(strings.Compare(a, b)) {
				return a
			}
			return b
		})))
	}
}

func compareMaker(op CmpOp) function.Maker {
	return func(f *fn.Func, at []types.Type, _ types.Type) function.Impl {
		l, r := at[0], at[1]
		if l.OID != r.OID || l.Prec != r.Prec || l.Scale != r.Scale {
			if conv := compareMixed(op, l, r); conv != nil {
				return conv
			}
		}
		switch l.Form() {
		case vector.Bool:
			return compareInts[uint8](op)
		case vector.I16:
			return compareInts[int16](op)
		case vector.I32:
			return compareInts[int32](op)
		case vector.I64:
			return compareInts[int64](op)
		case vector.U32:
			return compareInts[uint32](op)
		case vector.F32:
			return compareFloats[float32](op)
		case vector.F64:
			return compareFloats[float64](op)
		case vector.Str:
			switch {
			case !l.EqualByBytes():
				return compareWith(op, Comparer(l, nil))
			case l.Class() == types.ClassEnum && op != OpEQ && op != OpNE:
				return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
					return compareWith(op, Comparer(l, c.Env))(c, args)
				}
			}
			return compareStrings(op)
		}
		if l.OID == types.RecordOID {
			return compareRows(op, l, r)
		}
		if l.OID >= types.UserArrayBit {
			return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
				return compareWith(op, Comparer(l, c.Env))(c, args)
			}
		}
		if l.IsArray() {
			return compareLists(op, l, r)
		}
		return compareWith(op, Comparer(l, nil))
	}
}

// compareRows compares row values: NULL fields are equal and above the rest.
func compareRows(op CmpOp, lt, rt types.Type) function.Impl {
	if err := comparableRows(lt, rt); err != nil {
		return func(*function.Call, []*vector.Vec) (*vector.Vec, error) { return nil, err }
	}
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		out := vector.Alloc[uint8](c.Arena, c.N)
		for i := range out {
			if c.Skip(i) {
				continue
			}
			l, _ := args[0].Datum(lt, i).(types.Row)
			r, _ := args[1].Datum(rt, i).(types.Row)
			out[i] = vector.ByteOf(op.Holds(types.Compare(lt, l, r)))
		}
		return vector.NewBool(out, c.Valid), nil
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

func threeWayMaker(f *fn.Func, at []types.Type, _ types.Type) function.Impl {
	cmp := mixedCmp(at[0], at[1])
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		out := vector.Alloc[int32](c.Arena, c.N)
		for i := range out {
			if !c.Skip(i) {
				out[i] = int32(cmp(c, args, i))
			}
		}
		return vector.NewFixed(vector.I32, out, c.Valid), nil
	}
}

// compareMixed compares operands that are represented differently, nil where they
// are not.
func compareMixed(op CmpOp, l, r types.Type) function.Impl {
	switch {
	case l.IsInteger() && r.IsInteger():
		return Widened(vector.I64, WidenInt, compareInts[int64](op))
	case l.IsFloat() && r.IsFloat():
		return Widened(vector.F64, WidenFloat, compareFloats[float64](op))
	case l.Class() == types.ClassNumeric && r.Class() == types.ClassNumeric:
		if l.IsFixed() && r.IsFixed() && l.Scale == r.Scale {
			return compareInts[int64](op)
		}
		switch {
		case l.IsFixed() && !r.IsFixed():
			return compareFixed(op, l, r)
		case !l.IsFixed() && r.IsFixed():
			swapped := compareFixed(op.Swap(), r, l)
			return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
				return swapped(c, []*vector.Vec{args[1], args[0]})
			}
		}
		return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
			a, b := vector.DecimalReader(args[0], l), vector.DecimalReader(args[1], r)
			out := vector.Alloc[uint8](c.Arena, c.N)
			for i := range out {
				if !c.Skip(i) {
					out[i] = vector.ByteOf(op.Holds(a(i).Cmp(b(i))))
				}
			}
			return vector.NewBool(out, c.Valid), nil
		}
	case l.IsStamp() && r.IsStamp():
		zoned := l.OID == types.TimestamptzOID || r.OID == types.TimestamptzOID
		next := compareInts[int64](op)
		return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
			return next(c, []*vector.Vec{stamps(c, args[0], l, zoned), stamps(c, args[1], r, zoned)})
		}
	}
	return nil
}

// stamps returns dates or timestamps as function.StampAt does, for all rows.
func stamps(c *function.Call, v *vector.Vec, t types.Type, zoned bool) *vector.Vec {
	local := zoned && c.Env.Location() != time.UTC
	if v.Kind == vector.I64 && (t.OID == types.TimestamptzOID || !local) {
		return v
	}
	n := c.N
	if v.One {
		n = 1
	}
	out := vector.Alloc[int64](c.Arena, n)
	const most = 2_000_000 // days from 1970 that are timestamps
	days := v.Kind == vector.I32 && !local
	for i := range out {
		if days {
			if d := int64(vector.Values[int32](v)[i]); d > -most && d < most {
				out[i] = d * datetime.MicrosPerDay
				continue
			}
		}
		if v.One || !c.Skip(i) {
			out[i] = function.StampAt(c.Env, v, t, i, zoned)
		}
	}
	w := vector.NewFixed(vector.I64, out, v.Valid)
	w.N, w.One = v.N, v.One
	return w
}

// mixedCmp is the three-way comparison of two types.
func mixedCmp(l, r types.Type) func(c *function.Call, args []*vector.Vec, i int) int {
	switch {
	case l.IsInteger() && r.IsInteger() && l != r:
		return func(c *function.Call, args []*vector.Vec, i int) int {
			x, y := vector.IntAt(args[0], i), vector.IntAt(args[1], i)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		}
	case l.Class() == types.ClassNumeric && r.Class() == types.ClassNumeric && (l.Prec != r.Prec || l.Scale != r.Scale):
		return func(c *function.Call, args []*vector.Vec, i int) int {
			return vector.DecimalReader(args[0], l)(i).Cmp(vector.DecimalReader(args[1], r)(i))
		}
	case l.IsStamp() && r.IsStamp() && l.Class() != r.Class():
		return func(c *function.Call, args []*vector.Vec, i int) int {
			zoned := l.OID == types.TimestamptzOID || r.OID == types.TimestamptzOID
			x := function.StampAt(c.Env, args[0], l, i, zoned)
			y := function.StampAt(c.Env, args[1], r, i, zoned)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		}
	}
	cmp := Comparer(l, nil)
	return func(c *function.Call, args []*vector.Vec, i int) int {
		if l.OID >= types.FirstUserOID {
			return Comparer(l, c.Env)(args[0], i, args[1], i)
		}
		return cmp(args[0], i, args[1], i)
	}
}

// Widened converts both arguments to one kind first.
func Widened(k vector.Kind, conv func(a *vector.Arena, v *vector.Vec) *vector.Vec, next function.Impl) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		in := [2]*vector.Vec{args[0], args[1]}
		for i, v := range in {
			if v.Kind != k {
				in[i] = conv(c.Arena, v)
			}
		}
		return next(c, in[:])
	}
}

// Convert converts numbers of one type to another.
func Convert[From, To Integer | Float](a *vector.Arena, v *vector.Vec, k vector.Kind) *vector.Vec {
	src := vector.Values[From](v)
	dst := vector.Alloc[To](a, len(src))
	for i, x := range src {
		dst[i] = To(x)
	}
	out := vector.NewFixed(k, dst, v.Valid)
	out.N, out.One = v.N, v.One
	return out
}

// WidenInt returns a column of integers as int8.
func WidenInt(a *vector.Arena, v *vector.Vec) *vector.Vec {
	switch v.Kind {
	case vector.I16:
		return Convert[int16, int64](a, v, vector.I64)
	case vector.I32:
		return Convert[int32, int64](a, v, vector.I64)
	case vector.U32:
		return Convert[uint32, int64](a, v, vector.I64)
	}
	return v
}

// WidenFloat returns a column of floats as float8.
func WidenFloat(a *vector.Arena, v *vector.Vec) *vector.Vec {
	switch v.Kind {
	case vector.F32:
		return Convert[float32, float64](a, v, vector.F64)
	case vector.I16:
		return Convert[int16, float64](a, v, vector.F64)
	case vector.I32:
		return Convert[int32, float64](a, v, vector.F64)
	case vector.I64:
		return Convert[int64, float64](a, v, vector.F64)
	}
	return v
}
