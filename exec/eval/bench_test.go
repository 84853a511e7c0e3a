package eval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// lineitem is a batch like TPC-H's.
func lineitem() (*batch.Batch, []plan.Column) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := batch.DefaultSize
	price, disc, tax, ship, qty := make([]int64, n), make([]int64, n), make([]int64, n), make([]int32, n), make([]int64, n)
	comment := array.NewStringBuilder(memory.DefaultAllocator)
	idx := make([]int32, n)
	dict := array.NewStringBuilder(memory.DefaultAllocator)
	for _, s := range []string{"AIR", "MAIL", "SHIP", "TRUCK", "RAIL", "FOB", "REG AIR"} {
		dict.Append(s)
	}
	f := make([]float64, n)
	for i := range n {
		price[i], disc[i], tax[i] = rng.Int64N(10000000), rng.Int64N(11), rng.Int64N(9)
		ship[i], qty[i], idx[i] = int32(8000+rng.IntN(2500)), 100*rng.Int64N(51), int32(rng.IntN(7))
		f[i] = rng.Float64()
		comment.Append(fmt.Sprintf("carefully special %d packages requests wake", rng.IntN(1000)))
	}
	cols := []arrow.Array{
		batch.FromSlice(arrow.PrimitiveTypes.Int64, price, nil), batch.FromSlice(arrow.PrimitiveTypes.Int64, disc, nil),
		batch.FromSlice(arrow.PrimitiveTypes.Int64, tax, nil), batch.FromSlice(arrow.FixedWidthTypes.Date32, ship, nil),
		batch.FromSlice(arrow.PrimitiveTypes.Int64, qty, nil), comment.NewArray(),
		batch.FromIndices(types.DictArrow, idx, nil, dict.NewArray()), batch.FromSlice(arrow.PrimitiveTypes.Float64, f, nil),
	}
	schema := []plan.Column{
		{ID: 1, Type: types.FixedNumeric(8, 2, false)}, {ID: 2, Type: types.FixedNumeric(3, 2, false)}, {ID: 3, Type: types.FixedNumeric(3, 2, false)},
		{ID: 4, Type: types.Date}, {ID: 5, Type: types.FixedNumeric(5, 2, false)}, {ID: 6, Type: types.Text}, {ID: 7, Type: types.Text}, {ID: 8, Type: types.Float8},
	}
	return batch.New(cols, n), schema
}

func call(id string, args ...expr.Expr) expr.Expr {
	f := fn.ByID(id)
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	physical, ret := f.BindArgs(ts)
	for i, c := range physical {
		if c.Prec != ts[i].Prec || c.Scale != ts[i].Scale {
			args[i] = &expr.Cast{Arg: args[i], Typ: c}
		}
	}
	return &expr.Call{Fn: f, Args: args, Typ: ret}
}

func col(s []plan.Column, i int) expr.Expr {
	return &expr.Col{ID: s[i-1].ID, Typ: s[i-1].Type}
}

func num(s string, p, sc uint8) expr.Expr {
	d, _ := number.ParseDecimal(s)
	return &expr.Const{Val: d, Typ: types.FixedNumeric(p, sc, false)}
}

func BenchmarkEval(b *testing.B) {
	data, s := lineitem()
	env := newEnv(newHost())
	one := num("1", 1, 0)
	revenue := call("numeric_mul(numeric,numeric)", col(s, 1), call("numeric_sub(numeric,numeric)", one, col(s, 2)))
	text := func(x string) expr.Expr { return &expr.Const{Val: x, Typ: types.Text} }
	for _, c := range []struct {
		name string
		e    expr.Expr
	}{
		{"revenue", revenue},
		{"charge", call("numeric_mul(numeric,numeric)", revenue, call("numeric_add(numeric,numeric)", one, col(s, 3)))},
		{"float", call("float8mul(float8,float8)", col(s, 8), call("float8pl(float8,float8)", col(s, 8), col(s, 8)))},
		{"like", call("textlike(text,text)", col(s, 6), text("%special%requests%"))},
		{"dict_eq", call("texteq(text,text)", col(s, 7), text("MAIL"))},
		{"substr", call("substr(text,int4,int4)", col(s, 6), &expr.Const{Val: int64(1), Typ: types.Int4}, &expr.Const{Val: int64(2), Typ: types.Int4})},
		{"year", call("extract(text,date)", text("year"), col(s, 4))},
		{"case", &expr.Case{Typ: revenue.Type(), Whens: []expr.When{{Cond: call("texteq(text,text)", col(s, 7), text("MAIL")), Then: revenue}}, Else: &expr.Const{Val: number.DecimalFromInt64(0, int32(revenue.Type().Scale)), Typ: revenue.Type()}}},
	} {
		p, err := eval.Compile(c.e, s, env)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.EvalScratch(context.Background(), data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(data.N), "ns/row")
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	data, s := lineitem()
	env := newEnv(newHost())
	date := func(v int64) expr.Expr { return &expr.Const{Val: v, Typ: types.Date} }
	text := func(x string) expr.Expr { return &expr.Const{Val: x, Typ: types.Text} }
	for _, c := range []struct {
		name  string
		conds []expr.Expr
	}{
		{"q6", []expr.Expr{
			call("date_ge(date,date)", col(s, 4), date(8766)), call("date_lt(date,date)", col(s, 4), date(9131)),
			call("numeric_ge(numeric,numeric)", col(s, 2), num("0.05", 2, 2)), call("numeric_le(numeric,numeric)", col(s, 2), num("0.07", 2, 2)),
			call("numeric_lt(numeric,numeric)", col(s, 5), num("24", 2, 0))}},
		{"in", []expr.Expr{&expr.In{Arg: col(s, 7), List: []expr.Expr{text("MAIL"), text("SHIP")}, Eq: fn.ByID("texteq(text,text)")}}},
		{"notlike", []expr.Expr{call("textnlike(text,text)", col(s, 6), text("%special%requests%"))}},
		{"all", []expr.Expr{call("date_ge(date,date)", col(s, 4), date(0))}},
		{"dict", []expr.Expr{call("texteq(text,text)", col(s, 7), text("MAIL"))}},
		{"or", []expr.Expr{&expr.Or{Args: []expr.Expr{call("date_lt(date,date)", col(s, 4), date(8300)), call("numeric_lt(numeric,numeric)", col(s, 5), num("2", 2, 0))}}}},
	} {
		f, err := eval.CompileFilter(c.conds, s, env)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Select(context.Background(), data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(data.N), "ns/row")
		})
	}
}
