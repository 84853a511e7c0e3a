package eval_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// The tests compare kernels over random columns with the same expression evaluated row by row on
// constants: with and without NULLs, selection vectors, dictionaries, constant columns, and batches
// of 0, 1, 3 and many rows. Errors must agree as well: a batch fails exactly if one of its selected
// rows does.

func randomDatum(rng *rand.Rand, t types.Type) types.Datum {
	small := func() int64 { return int64(rng.IntN(7)) - 3 }
	pick := func(v ...int64) int64 { return v[rng.IntN(len(v))] }
	switch t.OID {
	case types.BoolOID:
		return rng.IntN(2) == 0
	case types.Int2OID:
		return pick(small(), small(), math.MaxInt16, math.MinInt16, int64(int16(rng.Uint32())))
	case types.Int4OID:
		return pick(small(), small(), small(), math.MaxInt32, math.MinInt32, int64(int32(rng.Uint32())))
	case types.Int8OID:
		return pick(small(), small(), small(), math.MaxInt64, math.MinInt64, int64(rng.Uint64()))
	case types.OIDOID, types.XIDOID:
		return int64(rng.Uint32N(5))
	case types.DateOID:
		return pick(small(), 19000, -20000, math.MaxInt32)
	case types.TimeOID:
		return rng.Int64N(86400e6)
	case types.TimestampOID, types.TimestamptzOID:
		return pick(small(), 1700000000000000, small()*86400e6, math.MaxInt64)
	case types.Float4OID:
		return float64(float32([]float64{0, 1.5, -2, math.NaN(), math.Inf(1), math.Inf(-1), 3e38, 1e-40, rng.NormFloat64()}[rng.IntN(9)]))
	case types.Float8OID:
		return []float64{0, 1.5, -2, math.NaN(), math.Inf(1), math.Inf(-1), 1e308, 1e-310, rng.NormFloat64()}[rng.IntN(9)]
	case types.NumericOID:
		if t.IsFixed() {
			m := int64(1)
			for range t.Prec {
				m *= 10
			}
			return number.DecimalFromInt64(pick(rng.Int64N(2*m-1)-m+1, m-1, 1-m, small()%m), int32(t.Scale))
		}
		d, _ := number.ParseDecimal([]string{"0", "1.50", "-3", "NaN", "Infinity", "123456789012345678901234567890", "0.000001", "-99.99"}[rng.IntN(8)])
		return d
	case types.TextOID, types.VarcharOID, types.NameOID:
		return []string{"", "a", "ab", "abc", "b", "héllo", "%a", "a_c"}[rng.IntN(8)]
	case types.BpcharOID:
		return []string{"", "a", "a  ", "b ", " "}[rng.IntN(5)]
	case types.CharOID:
		return []string{"", "a", "b"}[rng.IntN(3)]
	case types.ByteaOID:
		return [][]byte{{}, {0}, {1, 2}, []byte("abc")}[rng.IntN(4)]
	case types.IntervalOID:
		return datetime.Interval{Months: int32(rng.IntN(3)), Days: int32(rng.IntN(40)), Micros: rng.Int64N(1e10)}
	case types.TimetzOID:
		return datetime.TimeTZ{Micros: rng.Int64N(86400e6), Zone: int32(rng.IntN(3) * 3600)}
	case types.UUIDOID:
		return [16]byte{byte(rng.IntN(3))}
	case types.JSONBOID:
		return []string{"1", "null", `{"a": 1}`, "[1, 2]"}[rng.IntN(4)]
	}
	if e, ok := t.Elem(); ok {
		a := types.Array{Elem: e}
		for range rng.IntN(3) {
			a.Elems = append(a.Elems, randomDatum(rng, e))
		}
		return a
	}
	return nil
}

// randomColumn makes a column of n rows, dictionary-encoded at times.
func randomColumn(t *testing.T, rng *rand.Rand, ty types.Type, n int) (arrow.Array, []types.Datum) {
	ds := make([]types.Datum, n)
	nulls := rng.IntN(3) // none, some, most
	for i := range ds {
		if nulls == 1 && rng.IntN(5) == 0 || nulls == 2 && rng.IntN(5) > 0 {
			continue
		}
		ds[i] = randomDatum(rng, ty)
	}
	off := rng.IntN(4) // sometimes a slice of a longer column, with an offset
	dt := ty.Arrow()
	if ty.IsString() && rng.IntN(2) == 0 {
		dt = types.DictArrow
	}
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	for range off {
		if err := types.AppendDatum(b, ty, randomDatum(rng, ty)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range ds {
		if err := types.AppendDatum(b, ty, d); err != nil {
			t.Fatal(err)
		}
	}
	arr := b.NewArray()
	return array.NewSlice(arr, int64(off), int64(off+n)), ds
}

func concrete(o types.OID, rng *rand.Rand) (types.Type, bool) {
	switch o {
	case types.NumericOID:
		if rng.IntN(2) == 0 {
			p := 1 + rng.IntN(18)
			return types.FixedNumeric(uint8(p), uint8(rng.IntN(p+1)), false), true
		}
		return types.Numeric, true
	case types.AnyArrayOID:
		return types.Type{OID: 1007, Mod: -1}, true
	case types.RecordOID, types.AnyEnumOID, types.BitOID, types.VarbitOID, types.OIDVectorOID, types.TIDOID:
		return types.Type{}, false
	}
	return types.Type{OID: o, Mod: -1}, true
}

func TestKernelsAgainstRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	env := newEnv(newHost())
	for _, o := range fn.AllOperators() {
		if o.Func.Vol == fn.Volatile {
			continue
		}
		for _, n := range []int{0, 1, 3, 20} {
			ids := []types.OID{o.Right}
			if o.Left != 0 {
				ids = []types.OID{o.Left, o.Right}
			}
			args := make([]types.Type, len(ids))
			ok := true
			for i, id := range ids {
				var have bool
				args[i], have = concrete(id, rng)
				ok = ok && have && randomDatum(rng, args[i]) != nil
			}
			if !ok {
				break
			}
			t.Run(fmt.Sprintf("%s/%d", o.Func.ID, n), func(t *testing.T) { checkCall(t, rng, o.Func, args, n, env) })
		}
	}
}

func TestKernelsOfWholeBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	env := newEnv(newHost())
	for _, c := range []struct {
		id   string
		args []types.Type
	}{
		{"int4pl(int4,int4)", []types.Type{types.Int4, types.Int4}},
		{"int8mul(int8,int8)", []types.Type{types.Int8, types.Int8}},
		{"float8lt(float8,float8)", []types.Type{types.Float8, types.Float8}},
		{"numeric_mul(numeric,numeric)", []types.Type{types.FixedNumeric(8, 2, false), types.FixedNumeric(9, 3, false)}},
		{"numeric_lt(numeric,numeric)", []types.Type{types.FixedNumeric(8, 2, false), types.FixedNumeric(9, 3, false)}},
		{"date_ge(date,date)", []types.Type{types.Date, types.Date}},
		{"textlike(text,text)", []types.Type{types.Text, types.Text}},
		{"texteq(text,text)", []types.Type{types.Text, types.Text}},
	} {
		for range 2 {
			t.Run(c.id, func(t *testing.T) { checkCall(t, rng, fn.ByID(c.id), c.args, 2500, env) })
		}
	}
}

func checkCall(t *testing.T, rng *rand.Rand, f *fn.Func, args []types.Type, n int, env *function.Env) {
	physical, ret := f.BindArgs(args)
	cols := make([]arrow.Array, len(args))
	vals := make([][]types.Datum, len(args))
	schema := make([]plan.Column, len(args))
	call := &expr.Call{Fn: f, Typ: ret}
	constant := -1
	if rng.IntN(3) == 0 {
		constant = rng.IntN(len(args))
	}
	build := func(leaf func(i int) expr.Expr) expr.Expr {
		c := *call
		c.Args = nil
		for i := range args {
			e := leaf(i)
			if physical[i].Prec != args[i].Prec || physical[i].Scale != args[i].Scale {
				e = &expr.Cast{Arg: e, Typ: physical[i]}
			}
			c.Args = append(c.Args, e)
		}
		return &c
	}
	fixed := types.Datum(nil)
	for i := range args {
		cols[i], vals[i] = randomColumn(t, rng, args[i], n)
		schema[i] = plan.Column{ID: expr.ColID(i + 1), Name: fmt.Sprint("c", i), Type: args[i]}
	}
	if constant >= 0 {
		fixed = randomDatum(rng, args[constant])
	}
	over := build(func(i int) expr.Expr {
		if i == constant {
			return &expr.Const{Val: fixed, Typ: args[i]}
		}
		return &expr.Col{ID: expr.ColID(i + 1), Typ: args[i]}
	})
	b := batch.New(cols, n)
	if rng.IntN(2) == 0 {
		b.Sel = []int32{}
		for i := range n {
			if rng.IntN(2) == 0 {
				b.Sel = append(b.Sel, int32(i))
			}
		}
	}
	rows := make([]int, 0, n)
	if b.Sel == nil {
		for i := range n {
			rows = append(rows, i)
		}
	} else {
		for _, r := range b.Sel {
			rows = append(rows, int(r))
		}
	}
	want := make([]types.Datum, len(rows))
	wantErrs := map[pgerr.Code]bool{}
	for k, r := range rows {
		d, err := eval.Constant(build(func(i int) expr.Expr {
			if i == constant {
				return &expr.Const{Val: fixed, Typ: args[i]}
			}
			return &expr.Const{Val: vals[i][r], Typ: args[i]}
		}), env)
		if err != nil {
			wantErrs[pgerr.CodeOf(err)] = true
		}
		want[k] = d
	}
	p, err := eval.Compile(over, schema, env)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time the arena and caches are in use already
		arr, err := p.Eval(context.Background(), b)
		if (err != nil) != (len(wantErrs) > 0) || err != nil && !wantErrs[pgerr.CodeOf(err)] {
			t.Fatalf("error %v, want %v", err, wantErrs)
		}
		if err != nil {
			return
		}
		if arr.Len() != len(rows) {
			t.Fatalf("%d rows, want %d", arr.Len(), len(rows))
		}
		for k := range rows {
			got := types.DatumAt(ret, arr, k)
			if (got == nil) != (want[k] == nil) || !types.Equal(ret, got, want[k]) {
				t.Fatalf("row %d: %v, want %v (%v %v)", rows[k], got, want[k], args, over)
			}
		}
	}
	if ret.OID != types.BoolOID {
		return
	}
	flt, err := eval.CompileFilter([]expr.Expr{over}, schema, env)
	if err != nil {
		t.Fatal(err)
	}
	out, err := flt.Select(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	var kept []int
	for k, r := range rows {
		if want[k] == true {
			kept = append(kept, r)
		}
	}
	if out.Rows() != len(kept) {
		t.Fatalf("filter kept %d rows, want %d", out.Rows(), len(kept))
	}
	for k, r := range kept {
		have := k
		if out.Sel != nil {
			have = int(out.Sel[k])
		}
		if have != r {
			t.Fatalf("filter row %d is %d, want %d", k, have, r)
		}
	}
}
