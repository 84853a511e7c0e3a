package aggregate_test

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/aggregate"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// aggCase is an aggregation of a table whose column i has the ID i+1.
type aggCase struct {
	tb   optest.Table
	keys []int // columns
	sets [][]int
	aggs []expr.AggCall
	drop int // a bool column: rows where it is true are filtered out before; -1: none
}

func (c aggCase) col(i int) expr.Expr {
	return &expr.Col{ID: expr.ColID(i + 1), Typ: c.tb.Types[i]}
}

// call binds an aggregate function.
func (c aggCase) call(id string, args ...expr.Expr) expr.AggCall {
	f := fn.ByID(id)
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	physical, ret := f.BindArgs(ts)
	for i, t := range physical {
		if t.Prec != ts[i].Prec {
			args[i] = &expr.Cast{Arg: args[i], Typ: t}
		}
	}
	return expr.AggCall{Fn: f, Args: args, Typ: ret, Star: len(args) == 0}
}

func fixedCall(id string, args ...expr.Expr) expr.Expr {
	f := fn.ByID(id)
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	_, ret := f.BindArgs(ts)
	return &expr.Call{Fn: f, Args: args, Typ: ret}
}

func (c aggCase) columns() []plan.Column {
	cols := make([]plan.Column, len(c.tb.Types))
	for i, t := range c.tb.Types {
		cols[i] = plan.Column{ID: expr.ColID(i + 1), Name: fmt.Sprintf("c%d", i), Type: t}
	}
	return cols
}

func (c aggCase) node() *plan.Aggregate {
	n := &plan.Aggregate{Sets: c.sets}
	for i, k := range c.keys {
		n.Groups = append(n.Groups, plan.Item{Col: plan.Column{ID: expr.ColID(100 + i), Type: c.tb.Types[k]}, Expr: c.col(k)})
	}
	for i, a := range c.aggs {
		n.Aggs = append(n.Aggs, plan.AggItem{Col: plan.Column{ID: expr.ColID(200 + i), Type: a.Typ}, Call: a})
	}
	return n
}

// want computes the groups one by one, each with a new aggregate over all rows of the group.
func (c aggCase) want(t *testing.T) []types.Row {
	t.Helper()
	var out []types.Row
	all := make([]int, len(c.keys))
	for i := range all {
		all[i] = i
	}
	sets := c.sets
	if sets == nil {
		sets = [][]int{all}
	}
	for _, set := range sets {
		groups := map[string][]types.Row{}
		var order []string
		for _, r := range c.tb.Rows {
			if c.drop >= 0 && r[c.drop] == true {
				continue
			}
			key := make(types.Row, len(c.keys))
			for _, k := range set {
				key[k] = r[c.keys[k]]
			}
			s := optest.Text(key, c.keyTypes())
			if groups[s] == nil {
				order = append(order, s)
			}
			groups[s] = append(groups[s], r)
		}
		if len(set) == 0 && len(order) == 0 {
			order = append(order, "")
		}
		for _, s := range order {
			row := make(types.Row, len(c.keys))
			if rows := groups[s]; len(rows) > 0 {
				for _, k := range set {
					row[k] = rows[0][c.keys[k]]
				}
			}
			for _, a := range c.aggs {
				row = append(row, c.one(t, a, groups[s]))
			}
			out = append(out, row)
		}
	}
	return out
}

func (c aggCase) one(t *testing.T, call expr.AggCall, rows []types.Row) types.Datum {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := agg.New(call, nil)
	check(err)
	a.Resize(1)
	if len(rows) > 0 {
		b := optest.Table{Types: c.tb.Types, Rows: rows}.Batches(t, optest.Form{Size: len(rows)})[0]
		if call.Filter != nil {
			f, err := eval.CompileFilter([]expr.Expr{call.Filter}, c.columns(), nil)
			check(err)
			b, err = f.Select(context.Background(), b)
			check(err)
			b = kernel.Compact(b)
		}
		es := slices.Clone(call.Args)
		for _, o := range call.OrderBy {
			es = append(es, o.Expr)
		}
		args := make([]arrow.Array, len(es))
		for i, e := range es {
			p, err := eval.Compile(e, c.columns(), nil)
			check(err)
			args[i], err = p.Eval(context.Background(), b)
			check(err)
		}
		check(a.Update(make([]uint32, b.N), args))
	}
	res, err := a.Results(0, 1)
	check(err)
	return types.DatumAt(call.Typ, res, 0)
}

func (c aggCase) keyTypes() []types.Type {
	var ts []types.Type
	for _, k := range c.keys {
		ts = append(ts, c.tb.Types[k])
	}
	return ts
}

// notTrue filters out the rows where a column is true.
type notTrue int

func (f notTrue) Select(_ context.Context, b *batch.Batch) (*batch.Batch, error) {
	col := b.Cols[f].(*array.Boolean)
	out := *b
	out.Sel = []int32{}
	for i := range b.Rows() {
		r := i
		if b.Sel != nil {
			r = int(b.Sel[i])
		}
		if col.IsNull(r) || !col.Value(r) {
			out.Sel = append(out.Sel, int32(r))
		}
	}
	return &out, nil
}

func (c aggCase) test(t *testing.T) optest.Case {
	out := c.keyTypes()
	for _, a := range c.aggs {
		out = append(out, a.Typ)
	}
	return optest.Case{Inputs: []optest.Table{c.tb}, Out: out, Want: c.want(t), Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		src := in[0]
		if c.drop >= 0 {
			filters := make([]op.Filter, len(src))
			for i := range filters {
				filters[i] = notTrue(c.drop)
			}
			src = op.NewFilter(src, filters)
		}
		ops, err := aggregate.New(rt, nil, c.node(), nil, nil, c.columns(), nil, src)
		if err != nil {
			t.Fatal(err)
		}
		return ops
	}}
}

// sales is a table with columns of few and of many different values: text, text, numeric, numeric,
// int8, int4, date, text, and a bool that is true for one row in twenty.
func sales(r *rand.Rand, n int) aggCase {
	num := types.FixedNumeric(6, 2, false)
	tb := optest.Table{Types: []types.Type{types.Text, types.Text, num, num, types.Int8, types.Int4, types.Date, types.Text, types.Bool}}
	for range n {
		row := make(types.Row, 9)
		row[0] = []types.Datum{"A", "N", "R", nil}[r.Intn(4)]
		row[1] = []types.Datum{"O", "F"}[r.Intn(2)]
		row[2], row[3] = number.DecimalFromInt64(r.Int63n(9999), 2), number.DecimalFromInt64(r.Int63n(11), 2)
		for i := 4; i < 8; i++ {
			row[i] = optest.Value(r, tb.Types[i], 40)
		}
		if r.Intn(9) == 0 {
			row[2] = nil
		}
		row[8] = r.Intn(20) == 0
		tb.Rows = append(tb.Rows, row)
	}
	c := aggCase{tb: tb, drop: -1}
	one := &expr.Const{Typ: types.FixedNumeric(1, 0, false), Val: number.DecimalFromInt64(1, 0)}
	disc := func() expr.Expr {
		return fixedCall("numeric_mul(numeric,numeric)", c.col(2), fixedCall("numeric_sub(numeric,numeric)", one, c.col(3)))
	}
	c.aggs = []expr.AggCall{
		c.call("count()"), c.call("count(any)", c.col(4)), c.call("sum(int8)", c.col(4)), c.call("avg(int8)", c.col(4)), c.call("sum(int4)", c.col(5)),
		c.call("sum(numeric)", c.col(2)), c.call("avg(numeric)", c.col(2)), c.call("sum(numeric)", disc()),
		c.call("avg(numeric)", fixedCall("numeric_mul(numeric,numeric)", disc(), c.col(3))),
		c.call("max(date)", c.col(6)), c.call("min(text)", c.col(7)), c.call("min(int4)", c.col(5)), c.call("var_pop(int4)", c.col(5)),
		c.call("stddev_samp(int8)", c.col(4)), c.call("var_samp(int8)", c.col(4)), c.call("stddev_pop(numeric)", c.col(2)),
	}
	return c
}

func TestHashAgg(t *testing.T) {
	for name, keys := range map[string][]int{"none": {}, "one": {0}, "codes": {0, 1}, "integer": {5}, "date": {6}, "integers": {5, 6}, "numeric": {2}, "text": {7}, "mixed": {0, 5, 7}} {
		for _, drop := range []int{-1, 8} {
			if drop < 0 && (name == "date" || name == "integers" || name == "numeric" || name == "text") {
				continue
			}
			t.Run(fmt.Sprintf("%s/drop=%d", name, drop), func(t *testing.T) {
				c := sales(rand.New(rand.NewSource(int64(len(name)))), 1200)
				c.keys, c.drop = keys, drop
				optest.Run(t, c.test(t))
			})
		}
	}
	t.Run("empty", func(t *testing.T) {
		for _, keys := range [][]int{{}, {0, 1}, {5}} {
			c := sales(rand.New(rand.NewSource(1)), 0)
			c.keys = keys
			optest.Run(t, c.test(t))
		}
	})
}

// TestHashAggForms: FILTER, DISTINCT, and sums that exceed 64 bits, for which there are other code
// paths where a batch is grouped by dictionary codes and where rows are listed by group.
func TestHashAggForms(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	c := sales(r, 800)
	for i := range c.tb.Rows {
		if r.Intn(3) == 0 {
			c.tb.Rows[i][4] = int64(1)<<62 + r.Int63n(1<<61)
		}
	}
	filtered := c.call("sum(int8)", c.col(4))
	filtered.Filter = c.col(8)
	distinct := c.call("count(any)", c.col(5))
	distinct.Distinct = true
	c.aggs = append(c.aggs, filtered, c.call("avg(int8)", c.col(4)), distinct, c.call("bool_or(bool)", c.col(8)))
	for _, keys := range [][]int{{}, {1, 0}, {5}} {
		for _, drop := range []int{-1, 8} {
			c.keys, c.drop = keys, drop
			optest.Run(t, c.test(t))
		}
	}
}

// TestHashAggTogether: without grouping keys all threads compute the result of the only group's
// scores together; with keys each computes its groups. Some groups have one class, or three, or
// none.
func TestHashAggTogether(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	for _, labels := range []int64{0, 1, 2, 3} {
		c := aggCase{tb: optest.Table{Types: []types.Type{types.Int8, types.Float8, types.Bool}}, drop: -1}
		for range 3000 {
			row := types.Row{nil, r.NormFloat64(), r.Intn(20) == 0}
			if labels > 0 {
				row[0] = r.Int63n(labels)
			}
			if r.Intn(9) == 0 {
				row[1] = float64(r.Intn(3))
			}
			c.tb.Rows = append(c.tb.Rows, row)
		}
		c.aggs = []expr.AggCall{c.call("roc_auc(int8,float8)", c.col(0), c.col(1)), c.call("count()"), c.call("roc_auc(bool,float8)", c.col(2), c.col(1))}
		for _, keys := range [][]int{{}, {2}} {
			c.keys = keys
			optest.Run(t, c.test(t))
		}
	}
}

func TestHashAggSets(t *testing.T) {
	c := sales(rand.New(rand.NewSource(4)), 600)
	c.keys = []int{0, 1, 5}
	for _, sets := range [][][]int{
		{{0, 1}, {2}, {}, {0, 1, 2}},
		{{0, 1, 2}, {0, 1}, {0}, {}},
		{{1}, {0}, {1, 0}, {2}, {1}, {}, {}},
		{{0, 1}, {1, 2}, {2, 0}, {1}},
	} {
		c.sets = sets
		optest.Run(t, c.test(t))
	}
}

// TestHashAggSpellings: values may be equal but written differently (1.0 and 1.00). Each group
// returns a value of its own rows.
func TestHashAggSpellings(t *testing.T) {
	r := rand.New(rand.NewSource(12))
	c := aggCase{tb: optest.Table{Types: []types.Type{types.Numeric, types.Text, types.Float8, types.Int8}}, keys: []int{0, 1, 2}, drop: -1}
	for range 20000 {
		n, scale, x := r.Int63n(400), r.Intn(3), []float64{0, math.Copysign(0, -1), 1}[r.Intn(3)]
		row := types.Row{number.DecimalFromInt64(n*[]int64{1, 10, 100}[scale], int32(scale)), fmt.Sprint(scale, math.Signbit(x)), x, r.Int63n(9)}
		if n == 7 {
			row[0] = nil
		}
		c.tb.Rows = append(c.tb.Rows, row)
	}
	c.aggs = []expr.AggCall{c.call("count()"), c.call("sum(int8)", c.col(3))}
	for _, sets := range [][][]int{nil, {{0, 1, 2}, {0, 1}, {1, 2}, {1}, {}}} {
		c.sets = sets
		tc := c.test(t)
		for _, threads := range []int{1, 3} {
			for _, form := range []optest.Form{{Size: 1000}, {Size: 7}} {
				optest.Once(t, tc, threads, form, 0)
			}
		}
		tc.Spills = true
		if optest.Once(t, tc, 1, optest.Form{Size: 1000}, 1<<19) == 0 {
			t.Error("nothing was spilled")
		}
	}
}

// TestHashAggPadded: bpchar values are returned with the trailing blanks that the values of the
// group have, and bpchar(n) values padded to n.
func TestHashAggPadded(t *testing.T) {
	r := rand.New(rand.NewSource(13))
	padded := types.Type{OID: types.BpcharOID, Mod: 8 + 4}
	c := aggCase{tb: optest.Table{Types: []types.Type{types.Bpchar, types.Int4, padded}}, keys: []int{0, 1, 2}, drop: -1}
	for range 8000 {
		blanks := r.Intn(3)
		row := types.Row{fmt.Sprintf("%d%*s", r.Intn(40), blanks, ""), int64(blanks), fmt.Sprintf("%-8d", r.Intn(40))}
		if r.Intn(50) == 0 {
			row[2*r.Intn(2)] = nil
		}
		c.tb.Rows = append(c.tb.Rows, row)
	}
	c.aggs = []expr.AggCall{c.call("count()")}
	for _, keys := range [][]int{{0, 1, 2}, {2}, {1, 2}} {
		c.keys = keys
		tc := c.test(t)
		for _, threads := range []int{1, 3} {
			optest.Once(t, tc, threads, optest.Form{Size: 1000, Mix: true}, 0)
		}
	}
}

// TestHashAggSetsKeepRows: grouping sets with aggregates that keep their rows (array_agg) beside
// others.
func TestHashAggSetsKeepRows(t *testing.T) {
	c := sales(rand.New(rand.NewSource(5)), 300)
	c.keys = []int{0, 1}
	c.sets = [][]int{{0, 1}, {0}, {}}
	distinct := c.call("count(any)", c.col(5))
	distinct.Distinct = true
	percentile := c.call("percentile_cont(float8,float8)", &expr.Const{Typ: types.Float8, Val: 0.3}, c.col(5))
	percentile.Args, percentile.Direct = percentile.Args[:1], 1
	percentile.OrderBy = []expr.Order{{Expr: &expr.Cast{Arg: c.col(5), Typ: types.Float8}}}
	c.aggs = append(c.aggs, distinct, percentile)
	optest.Run(t, c.test(t))
}

// TestHashAggRanges: integer keys close together, in ranges that grow in both directions, and such
// that the range becomes too wide in the middle.
func TestHashAggRanges(t *testing.T) {
	forms := map[string]func(r *rand.Rand, i int) types.Datum{
		"up":       func(r *rand.Rand, i int) types.Datum { return int64(i/4*4 + r.Intn(3)) },
		"down":     func(r *rand.Rand, i int) types.Datum { return int64(-i / 3) },
		"shuffled": func(r *rand.Rand, i int) types.Datum { return int64(r.Intn(4000) - 2000) },
		"far":      func(r *rand.Rand, i int) types.Datum { return int64(i%50) << 40 },
		"late": func(r *rand.Rand, i int) types.Datum {
			return []int64{int64(i % 700), 1<<63 - 1, -1 << 63}[max(0, i/1000-r.Intn(2))%3]
		},
		"edge": func(r *rand.Rand, i int) types.Datum { return int64(1<<63 - 1 - r.Int63n(500)) },
		"low":  func(r *rand.Rand, i int) types.Datum { return int64(-1<<63 + r.Int63n(500)) },
	}
	for name, key := range forms {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewSource(7))
			c := aggCase{tb: optest.Table{Types: []types.Type{types.Int8, types.Int4}}, keys: []int{0}, drop: -1}
			for i := range 3000 {
				k := key(r, i)
				if r.Intn(300) == 0 {
					k = nil
				}
				c.tb.Rows = append(c.tb.Rows, types.Row{k, optest.Value(r, types.Int4, 40)})
			}
			c.aggs = []expr.AggCall{c.call("sum(int4)", c.col(1)), c.call("count()"), c.call("min(int4)", c.col(1))}
			tc := c.test(t)
			for _, threads := range []int{1, 3} {
				for _, f := range []optest.Form{{Size: 8192}, {Size: 100, Sel: true, Mix: true}, {Size: 3}, {Size: 1}} {
					optest.Once(t, tc, threads, f, 0)
				}
			}
		})
	}
}

// TestHashAggOwnBlocks: where threads read different runs of keys, most blocks of groups belong to
// one thread, which returns them; those that several threads have are merged and returned once.
func TestHashAggOwnBlocks(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	c := aggCase{tb: optest.Table{Types: []types.Type{types.Int8, types.Int4}}, keys: []int{0}, drop: -1}
	for i := range 24000 {
		k := types.Datum(int64(i/2*7 - 20000))
		if r.Intn(3000) == 0 {
			k = nil
		}
		c.tb.Rows = append(c.tb.Rows, types.Row{k, optest.Value(r, types.Int4, 40)})
	}
	c.aggs = []expr.AggCall{c.call("sum(int4)", c.col(1)), c.call("count()"), c.call("min(int4)", c.col(1))}
	tc := c.test(t)
	for _, threads := range []int{2, 3} {
		for _, f := range []optest.Form{{Size: 8192}, {Size: 5001, Sel: true}, {Size: 1000, Mix: true}} {
			optest.Once(t, tc, threads, f, 0)
		}
	}
}

// TestHashAggNumbered: the groups of many texts, which threads have numbered each by itself, are merged by the numbers of
// the first.
func TestHashAggNumbered(t *testing.T) {
	r := rand.New(rand.NewSource(12))
	c := aggCase{tb: optest.Table{Types: []types.Type{types.Text, types.Int4, types.Text}}, drop: -1}
	for range 16000 {
		k := types.Datum(fmt.Sprint("https://example.com/page/", r.Intn(6000)))
		switch r.Intn(500) {
		case 0:
			k = nil
		case 1:
			k = "short"
		}
		c.tb.Rows = append(c.tb.Rows, types.Row{k, r.Int63n(3), fmt.Sprint(r.Intn(5))})
	}
	c.aggs = []expr.AggCall{c.call("sum(int4)", c.col(1)), c.call("count()"), c.call("max(text)", c.col(2))}
	for _, c.keys = range [][]int{{0}, {1, 0}} {
		tc := c.test(t)
		tc.Spills = true
		for threads := 1; threads <= 3; threads++ {
			for _, f := range []optest.Form{{Size: 8192}, {Size: 700, Dict: true, Mix: true}, {Size: 3000, Sel: true}} {
				optest.Once(t, tc, threads, f, 0)
			}
			optest.Once(t, tc, threads, optest.Form{Size: 1000}, int64(threads+1)<<19)
		}
	}
}

// TestHashAggNumberedOnly: a group's only key is a value that is numbered, such as an array, so that groups were found by numbers,
// without slots.
func TestHashAggNumberedOnly(t *testing.T) {
	r := rand.New(rand.NewSource(13))
	list, _ := types.ArrayOf(types.Int4)
	c := aggCase{tb: optest.Table{Types: []types.Type{list, types.Int4}}, drop: -1, keys: []int{0}}
	for range 9000 {
		c.tb.Rows = append(c.tb.Rows, types.Row{types.Array{Elem: types.Int4, Elems: []types.Datum{r.Int63n(60), r.Int63n(60)}}, r.Int63n(3)})
	}
	c.aggs = []expr.AggCall{c.call("sum(int4)", c.col(1)), c.call("count()")}
	tc := c.test(t)
	for threads := 1; threads <= 3; threads++ {
		for _, f := range []optest.Form{{Size: 8192}, {Size: 700}, {Size: 3000, Sel: true}} {
			optest.Once(t, tc, threads, f, 0)
		}
	}
}

// TestHashAggExpected: memory is reserved for the number of groups that the plan estimates, be the
// estimate right, too high, or more than memory holds.
func TestHashAggExpected(t *testing.T) {
	const groups = 150_000
	tb := optest.Table{Types: []types.Type{types.Int8, types.Int4}}
	c := aggCase{tb: tb, keys: []int{0}, drop: -1}
	var want []types.Row
	for i := range int64(groups) {
		tb.Rows = append(tb.Rows, types.Row{3 * i, i % 7}, types.Row{3 * i, int64(1)})
		want = append(want, types.Row{3 * i, i%7 + 1, int64(2)})
	}
	c.aggs = []expr.AggCall{c.call("sum(int4)", c.col(1)), c.call("count()")}
	for _, rows := range []float64{groups, 100 * groups} {
		tc := optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Int8, types.Int8, types.Int8}, Want: want}
		tc.Build = func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			n := c.node()
			n.Rows = rows
			ops, err := aggregate.New(rt, nil, n, nil, nil, c.columns(), nil, in[0])
			if err != nil {
				t.Fatal(err)
			}
			return ops
		}
		optest.Once(t, tc, 1, optest.Form{Size: 8192}, 0)
		optest.Once(t, tc, 2, optest.Form{Size: 8192}, 0)
		if optest.Once(t, tc, 1, optest.Form{Size: 8192}, 5<<20) == 0 {
			t.Error("spilled nothing")
		}
	}
}

// TestHashAggSpill: more groups than memory holds, by range and by hash, with states of any size.
func TestHashAggSpill(t *testing.T) {
	for _, keys := range [][]int{{0}, {1}, {0, 1}} {
		t.Run(fmt.Sprintf("keys=%d", keys), func(t *testing.T) {
			r := rand.New(rand.NewSource(8))
			c := aggCase{tb: optest.Table{Types: []types.Type{types.Int8, types.Text, types.Int8}}, keys: keys, drop: -1}
			for range 30000 {
				k := r.Int63n(12000)
				c.tb.Rows = append(c.tb.Rows, types.Row{k, fmt.Sprint("key ", k*7919%9973), r.Int63n(1 << 62)})
			}
			c.aggs = []expr.AggCall{c.call("sum(int8)", c.col(2)), c.call("avg(int8)", c.col(2)), c.call("max(text)", c.col(1)), c.call("count()")}
			tc := c.test(t)
			tc.Spills = true
			for _, threads := range []int{1, 3} {
				t.Run(fmt.Sprintf("threads=%d", threads), func(t *testing.T) {
					least := int64(threads+1) << 19 // buffers of each thread
					for _, budget := range []int64{least, 2 * least, 3 * least} {
						if n := optest.Once(t, tc, threads, optest.Form{Size: 1000, Dict: true, Mix: true}, budget); n == 0 && budget == least {
							t.Error("nothing was spilled")
						}
					}
					if optest.Stopped(t, tc, threads, 1000, least) == 0 {
						t.Error("nothing was spilled before it was closed")
					}
				})
			}
		})
	}
}

// phases is a partial aggregation followed by a final one.
func (c aggCase) phases(t *testing.T, rt *op.Runtime, in []op.Operator) []op.Operator {
	partial, final := c.node(), c.node()
	partial.Phase, final.Phase = plan.AggPartial, plan.AggFinal
	var mid []plan.Column
	for i, g := range partial.Groups {
		mid = append(mid, g.Col)
		final.Groups[i].Expr = &expr.Col{ID: g.Col.ID, Typ: g.Col.Type}
	}
	for i := range partial.Aggs {
		id := expr.ColID(300 + i)
		partial.States = append(partial.States, id)
		mid = append(mid, plan.Column{ID: id, Type: types.Bytea})
	}
	final.States = partial.States
	ops, err := aggregate.New(rt, nil, partial, nil, nil, c.columns(), nil, in)
	if err != nil {
		t.Fatal(err)
	}
	if ops, err = aggregate.New(rt, nil, final, nil, nil, mid, nil, ops); err != nil {
		t.Fatal(err)
	}
	return ops
}

// TestHashAggPhases: a partial aggregation followed by a final one returns what one aggregation
// does.
func TestHashAggPhases(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	for _, keys := range [][]int{{}, {0, 1}, {5}, {7}} {
		c := sales(r, 1200)
		c.keys, c.drop = keys, 8
		tc := c.test(t)
		tc.Build = func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			filters := make([]op.Filter, len(in[0]))
			for i := range filters {
				filters[i] = notTrue(c.drop)
			}
			return c.phases(t, rt, op.NewFilter(in[0], filters))
		}
		optest.Run(t, tc)
	}
}

// TestHashAggDeferred: with very many groups, threads stop adding new groups to their tables and
// defer rows to a later phase. Keys of deferred rows appear in other threads too, and at last so
// often that rows are added directly again; deferred rows are spilled. Keys and arguments are
// numbers, strings, NULLs, and numerics that are equal but written differently.
func TestHashAggDeferred(t *testing.T) {
	const fresh, rows, groups = 330_000, 450_000, 290_000
	tb := optest.Table{Types: []types.Type{types.Int8, types.Text, types.Float8, types.Numeric, types.Text}}
	c := aggCase{keys: []int{1, 0, 3}, drop: -1}
	out := []types.Type{types.Text, types.Int8, types.Numeric, types.Int8, types.Float8, types.Text}
	r := rand.New(rand.NewSource(3))
	counts, sums, least := make([]int64, groups), make([]float64, groups), make([]types.Datum, groups)
	for i := range rows {
		g := r.Intn(groups)
		if i >= fresh {
			g = r.Intn(500)
		}
		counts[g]++
		x := float64(r.Intn(1000))
		sums[g] += x
		name := types.Datum(nil)
		if r.Intn(4) > 0 {
			name = fmt.Sprint("the name of one of its rows ", r.Intn(100))
			if least[g] == nil || name.(string) < least[g].(string) {
				least[g] = name
			}
		}
		tb.Rows = append(tb.Rows, types.Row{int64(g) << 20, fewTexts(g), x, number.DecimalFromInt64(int64(g%5), int32(g%3)), name})
	}
	c.tb = tb
	c.aggs = []expr.AggCall{c.call("count()"), c.call("sum(float8)", c.col(2)), c.call("min(text)", c.col(4))}
	var want []types.Row
	for g, n := range counts {
		if n > 0 {
			want = append(want, types.Row{fewTexts(g), int64(g) << 20, number.DecimalFromInt64(int64(g%5), int32(g%3)), n, sums[g], least[g]})
		}
	}
	tc := optest.Case{Inputs: []optest.Table{tb}, Out: out, Want: want}
	c.withLittle(t, tc, 16<<20)
}

// withLittle runs an aggregation in one phase and in two, with all memory and with a budget under which it must spill.
func (c aggCase) withLittle(t *testing.T, tc optest.Case, budget int64) {
	t.Helper()
	tc.Build = func(rt *op.Runtime, in [][]op.Operator) []op.Operator { return c.aggregate(t)(rt, in[0]) }
	twice := tc
	twice.Build = func(rt *op.Runtime, in [][]op.Operator) []op.Operator { return c.phases(t, rt, in[0]) }
	for _, threads := range []int{1, 2} {
		for _, tc := range []optest.Case{tc, twice} {
			for _, budget := range []int64{0, budget} {
				spilled := optest.Once(t, tc, threads, optest.Form{Size: 8192}, budget)
				if budget > 0 && spilled == 0 {
					t.Errorf("%d threads under %d bytes spilled nothing", threads, budget)
				}
			}
		}
	}
}

// TestHashAggDeferredKeys: where aggregates read no columns, rows are deferred though groups have
// three of them, and no more once the groups have many. The keys are two columns, or texts of which some
// are short, some long, and one NULL.
func TestHashAggDeferredKeys(t *testing.T) {
	testDeferredKeys(t, []int{1, 0}, []types.Type{types.Int8, types.Text}, func(g int) types.Row { return types.Row{int64(g) << 20, fewTexts(g)} })
	testDeferredKeys(t, []int{0}, []types.Type{types.Text}, func(g int) types.Row {
		switch {
		case g == 7:
			return types.Row{nil}
		case g%5 == 1:
			return types.Row{fmt.Sprint("a name of more than fifteen bytes ", g)}
		}
		return types.Row{fmt.Sprint("name ", g)}
	})
}

func testDeferredKeys(t *testing.T, keys []int, ts []types.Type, key func(g int) types.Row) {
	const fresh, rows, groups = 420_000, 600_000, 130_000
	tb := optest.Table{Types: ts}
	c := aggCase{keys: keys, drop: -1}
	r := rand.New(rand.NewSource(4))
	counts := make([]int64, groups)
	for i := range rows {
		g := r.Intn(groups)
		if i >= fresh {
			g = r.Intn(500)
		}
		counts[g]++
		tb.Rows = append(tb.Rows, key(g))
	}
	c.tb = tb
	for _, aggs := range [][]expr.AggCall{nil, {c.call("count()")}} {
		c.aggs = aggs
		tc := optest.Case{Inputs: []optest.Table{tb}}
		out := func(row types.Row, n int64) (to types.Row) {
			for _, k := range keys {
				to = append(to, row[k])
			}
			return append(to, n)[:len(keys)+len(aggs)]
		}
		for _, k := range keys {
			tc.Out = append(tc.Out, ts[k])
		}
		tc.Out = append(tc.Out, types.Int8)[:len(keys)+len(aggs)]
		for g, n := range counts {
			if n > 0 {
				tc.Want = append(tc.Want, out(key(g), n))
			}
		}
		c.withLittle(t, tc, 24<<20)
	}
}

// TestHashAggDictionary: one string key with more different values than there are codes
// (groupCodes), and NULL, in dictionaries that change between batches.
func TestHashAggDictionary(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Text, types.Int8}}
	r := rand.New(rand.NewSource(4))
	counts, sums := map[types.Datum]int64{}, map[types.Datum]int64{}
	for i := range 6000 {
		name := fewTexts(r.Intn(10 + i/2))
		counts[name]++
		sums[name] += int64(i)
		tb.Rows = append(tb.Rows, types.Row{name, int64(i)})
	}
	c := aggCase{tb: tb, keys: []int{0}, drop: -1}
	c.aggs = []expr.AggCall{c.call("count()"), c.call("sum(int8)", c.col(1))}
	tc := optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Text, types.Int8, types.Numeric}}
	for name, n := range counts {
		tc.Want = append(tc.Want, types.Row{name, n, number.DecimalFromInt64(sums[name], 0)})
	}
	tc.Build = func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		ops, err := aggregate.New(rt, nil, c.node(), nil, nil, c.columns(), nil, in[0])
		if err != nil {
			t.Fatal(err)
		}
		return ops
	}
	optest.Run(t, tc)
}

// fewTexts returns one of a few strings, some of them long, or NULL.
func fewTexts(g int) types.Datum {
	switch g % 7 {
	case 0:
		return nil
	case 1:
		return fmt.Sprint("a name of more than fifteen bytes ", g%700)
	}
	return fmt.Sprint("name ", g%700)
}
