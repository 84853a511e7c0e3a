package eval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// polyTypes are types of every physical representation, each with some of its values.
var polyTypes = []struct {
	name   string
	vals   []string
	apart  bool // has no equality
	scalar bool // has no array type
}{
	{"bool", []string{"true", "false"}, false, false},
	{"int2", []string{"1", "-3", "32767"}, false, false},
	{"int4", []string{"1", "2", "-2147483648"}, false, false},
	{"int8", []string{"1", "2", "9223372036854775807"}, false, false},
	{"oid", []string{"1", "4294967295"}, false, false},
	{"float4", []string{"1.5", "NaN", "-0", "Infinity"}, false, false},
	{"float8", []string{"1.5", "NaN", "0", "-Infinity"}, false, false},
	{"numeric", []string{"1.50", "1e40", "NaN", "-2"}, false, false},
	{"numeric(6,2)", []string{"1.5", "-2", "0.01"}, false, false},
	{"numeric(9,4)", []string{"1.5", "-2", "0.0001"}, false, false},
	{"text", []string{"", "a", "a longer one", "é"}, false, false},
	{"varchar(3)", []string{"", "ab", "abc"}, false, false},
	{"char(3)", []string{"a", "ab", "abc"}, false, false},
	{"name", []string{"a", "b"}, false, false},
	{"bytea", []string{`\x`, `\x00ff`, `\x01`}, false, false},
	{"date", []string{"2024-02-29", "infinity", "0044-03-15 BC"}, false, false},
	{"time", []string{"00:00", "12:34:56.789"}, false, false},
	{"timetz", []string{"12:00+02", "10:00+00", "23:59:59-05"}, false, false},
	{"timestamp", []string{"2024-02-29 01:02:03", "-infinity"}, false, false},
	{"timestamptz", []string{"2024-02-29 01:02:03+05", "infinity"}, false, false},
	{"interval", []string{"1 month", "30 days", "-1 day 02:00"}, false, false},
	{"uuid", []string{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"}, false, false},
	{"json", []string{`{"a":1}`, `[]`}, true, false},
	{"jsonb", []string{`{"a":1}`, `[1, null]`, `1.0`, `1`}, false, false},
}

// polyGen generates random expressions over columns of one type: p, q, r of the type, pa and qa of
// arrays of it, i of integers and b of booleans.
type polyGen struct {
	r     *rand.Rand
	typ   string
	vals  []string
	apart bool
}

func (g *polyGen) literal() string {
	if g.r.IntN(5) == 0 {
		return "null::" + g.typ
	}
	return "'" + g.vals[g.r.IntN(len(g.vals))] + "'::" + g.typ
}

func (g *polyGen) list(n int, f func() string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = f()
	}
	return strings.Join(out, ", ")
}

func (g *polyGen) scalar(depth int) string {
	if depth == 0 {
		if g.r.IntN(3) == 0 {
			return g.literal()
		}
		return []string{"p", "q", "r"}[g.r.IntN(3)]
	}
	sub := func() string { return g.scalar(g.r.IntN(depth)) }
	switch k := g.r.IntN(10); {
	case k < 2:
		return fmt.Sprintf("coalesce(%s)", g.list(1+g.r.IntN(3), sub))
	case k < 4:
		return g.cases(sub, depth)
	case k == 4 && !g.apart:
		return fmt.Sprintf("nullif(%s, %s)", sub(), sub())
	case k == 5 && !g.apart:
		return fmt.Sprintf("%s(%s)", []string{"greatest", "least"}[g.r.IntN(2)], g.list(1+g.r.IntN(3), sub))
	case k == 6:
		return fmt.Sprintf("(%s)[%d]", g.arrays(g.r.IntN(depth)), 1+g.r.IntN(3))
	case k == 7:
		return fmt.Sprintf("(%s)[i]", g.arrays(g.r.IntN(depth)))
	case k == 8:
		return fmt.Sprintf("(row(%s, %s)).f2", g.arrays(g.r.IntN(depth)), sub())
	}
	return sub()
}

func (g *polyGen) cases(sub func() string, depth int) string {
	var b strings.Builder
	b.WriteString("case")
	for range 1 + g.r.IntN(3) {
		fmt.Fprintf(&b, " when %s then %s", g.cond(g.r.IntN(depth)), sub())
	}
	if g.r.IntN(3) > 0 {
		b.WriteString(" else " + sub())
	}
	return b.String() + " end"
}

func (g *polyGen) arrays(depth int) string {
	if depth == 0 {
		switch g.r.IntN(4) {
		case 0:
			return fmt.Sprintf("array[%s]::%s[]", g.list(g.r.IntN(3), g.literal), g.typ)
		case 1:
			return "null::" + g.typ + "[]"
		}
		return []string{"pa", "qa"}[g.r.IntN(2)]
	}
	sub := func() string { return g.arrays(g.r.IntN(depth)) }
	one := func() string { return g.scalar(g.r.IntN(depth)) }
	switch k := g.r.IntN(12); {
	case k < 2:
		return g.cases(sub, depth)
	case k == 8:
		return fmt.Sprintf("array_append(%s, %s)", sub(), one())
	case k == 9:
		return fmt.Sprintf("array_cat(%s, array_prepend(%s, %s))", sub(), one(), sub())
	case k == 10 && !g.apart:
		return fmt.Sprintf("array_replace(array_remove(%s, %s), %s, %s)", sub(), one(), one(), one())
	case k == 11:
		return fmt.Sprintf("(%s)::text::%s[]", sub(), g.typ)
	case k == 2:
		return fmt.Sprintf("coalesce(%s)", g.list(1+g.r.IntN(3), sub))
	case k == 3 && !g.apart:
		return fmt.Sprintf("nullif(%s, %s)", sub(), sub())
	case k == 4 && !g.apart:
		return fmt.Sprintf("%s(%s)", []string{"greatest", "least"}[g.r.IntN(2)], g.list(1+g.r.IntN(3), sub))
	case k == 5:
		return fmt.Sprintf("array[%s]", g.list(1+g.r.IntN(3), func() string { return g.scalar(depth - 1) }))
	}
	if g.r.IntN(2) == 0 {
		return fmt.Sprintf("(row(%s, %s)).f2", g.scalar(g.r.IntN(depth)), sub())
	}
	return fmt.Sprintf("(%s)[%d:%d]", sub(), g.r.IntN(3), g.r.IntN(4))
}

func (g *polyGen) cond(depth int) string {
	one := func() string {
		if g.r.IntN(2) == 0 {
			return g.arrays(g.r.IntN(depth + 1))
		}
		return g.scalar(g.r.IntN(depth + 1))
	}
	scalar := func() string { return g.scalar(g.r.IntN(depth + 1)) }
	pair := func() (string, string) {
		if g.r.IntN(2) == 0 {
			return g.arrays(g.r.IntN(depth + 1)), g.arrays(g.r.IntN(depth + 1))
		}
		return scalar(), scalar()
	}
	not := []string{"", "not "}[g.r.IntN(2)]
	k := g.r.IntN(11)
	if g.apart && k > 2 {
		k = g.r.IntN(3)
	}
	switch k {
	case 0:
		return "b"
	case 1:
		return fmt.Sprintf("(%s) is %snull", one(), not)
	case 2:
		if depth > 0 {
			return fmt.Sprintf("(%s %s %s%s)", g.cond(depth-1), []string{"and", "or"}[g.r.IntN(2)], not, g.cond(depth-1))
		}
		return "i > 1"
	case 3, 4:
		x, y := pair()
		return fmt.Sprintf("(%s) is %sdistinct from (%s)", x, not, y)
	case 5:
		x, y := pair()
		return fmt.Sprintf("(%s) %s (%s)", x, []string{"=", "<>", "<", ">="}[g.r.IntN(4)], y)
	case 6:
		return fmt.Sprintf("(%s) %sin (%s)", scalar(), not, g.list(1+g.r.IntN(4), scalar))
	case 7:
		return fmt.Sprintf("(%s) %s %s (%s)", scalar(), []string{"=", "<>", "<", ">"}[g.r.IntN(4)], []string{"any", "all"}[g.r.IntN(2)], g.arrays(g.r.IntN(depth+1)))
	}
	switch k {
	case 8:
		return fmt.Sprintf("(%s) %s (%s)", g.arrays(depth), []string{"&&", "@>", "<@"}[g.r.IntN(3)], g.arrays(g.r.IntN(depth+1)))
	case 9:
		return fmt.Sprintf("array_position(%s, %s) > 1", g.arrays(depth), scalar())
	}
	return fmt.Sprintf("(%s) is %s%s", "b", not, []string{"true", "false", "unknown"}[g.r.IntN(3)])
}

// TestPolymorphic evaluates random CASE, COALESCE, NULLIF, GREATEST, LEAST, IN, ANY, ALL, IS
// DISTINCT FROM, array constructors and subscripts of every type over columns in every form, and
// compares with values computed one by one.
func TestPolymorphic(t *testing.T) {
	env := newEnv(newHost())
	for k, pt := range polyTypes {
		t.Run(pt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, uint64(k)))
			for round := range 120 {
				g := &polyGen{r: r, typ: pt.name, vals: pt.vals, apart: pt.apart}
				sql := g.cond(3)
				switch round % 3 {
				case 1:
					sql = g.scalar(3)
				case 2:
					sql = g.arrays(3)
				}
				var rows []string
				for range 1 + r.IntN(9) {
					rows = append(rows, fmt.Sprintf("(%s, %s, %s, array[%s]::%s[], %s, %s, %s)", g.literal(), g.literal(), g.literal(),
						g.list(r.IntN(3), g.literal), pt.name, g.arrayLiteral(), []string{"1", "2", "3", "null::int"}[r.IntN(4)],
						[]string{"true", "false", "null::bool"}[r.IntN(3)]))
				}
				checkPoly(t, r, "select "+sql+" from (values "+strings.Join(rows, ", ")+") v (p, q, r, pa, qa, i, b)", env)
				if t.Failed() {
					return
				}
			}
		})
	}
}

func (g *polyGen) arrayLiteral() string {
	if g.r.IntN(3) == 0 {
		return "null::" + g.typ + "[]"
	}
	return fmt.Sprintf("array[%s]::%s[]", g.list(g.r.IntN(4), g.literal), g.typ)
}

func checkPoly(t *testing.T, r *rand.Rand, sql string, env *function.Env) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v", sql, p)
			panic(p)
		}
	}()
	list, err := parse.Parse(sql, parse.Postgres)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	q, err := bind.Query(&bind.Session{Names: bind.Names{State: env.Host.Catalog(), SearchPath: []string{"public"}, Role: catalog.BootstrapRoleOID}, Env: env.Types}, list[0].Node.(*ast.SelectStmt))
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	from := q.Root
	var e expr.Expr = &expr.Col{ID: q.Cols[0].ID, Typ: q.Cols[0].Type}
	if top, ok := q.Root.(*plan.Project); ok {
		from, e = top.Input, top.Items[0].Expr
	}
	b, in, err := runNode(from, env)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	b = disguise(r, b)
	p, err := eval.Compile(e, in, env)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	got, err := p.Eval(context.Background(), b)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if got.Len() != b.Rows() {
		t.Fatalf("%s: %d rows of %d", sql, got.Len(), b.Rows())
	}
	for i := range b.Rows() {
		row := i
		if b.Sel != nil {
			row = int(b.Sel[i])
		}
		ref := &reference{in: in, b: b, row: row, env: env}
		want, err := ref.eval(e)
		if err != nil {
			t.Fatalf("%s: reference: %v", sql, err)
		}
		have := types.DatumAt(e.Type(), got, i)
		if got.IsNull(i) != (want == nil) || show(e.Type(), have) != show(e.Type(), want) {
			t.Errorf("%s\nrow %d gives %s, want %s", sql, i, show(e.Type(), have), show(e.Type(), want))
			return
		}
	}
}

func show(t types.Type, d types.Datum) string {
	if d == nil {
		return "NULL"
	}
	return types.TextOf(t, d, nil)
}

// disguise returns the same rows in another form: sliced, with a selection vector, or with strings
// dictionary-encoded.
func disguise(r *rand.Rand, b *batch.Batch) *batch.Batch {
	n := b.Rows()
	if n < 2 {
		return b
	}
	out := &batch.Batch{N: b.N, Sel: b.Sel, Seq: -1, Cols: append([]arrow.Array(nil), b.Cols...)}
	for i, c := range out.Cols {
		if s, ok := c.(*array.String); ok && r.IntN(2) == 0 {
			out.Cols[i] = dictionaryOf(s)
		}
	}
	switch r.IntN(3) {
	case 0:
		for i, c := range out.Cols {
			idx := []int32{int32(r.IntN(n))}
			for k := range n {
				idx = append(idx, int32(k))
			}
			out.Cols[i] = array.NewSlice(kernel.Take(c, idx), 1, int64(n)+1)
		}
	case 1:
		for k := range n {
			if r.IntN(3) > 0 {
				out.Sel = append(out.Sel, int32(k))
			}
		}
		if out.Sel == nil {
			out.Sel = []int32{0}
		}
	}
	return out
}

func dictionaryOf(s *array.String) arrow.Array {
	at := map[string]int32{}
	var words []types.Datum
	idx := make([]int32, s.Len())
	valid := make([]byte, batch.BitmapBytes(s.Len()))
	for i := range idx {
		if s.IsNull(i) {
			continue
		}
		valid[i>>3] |= 1 << (i & 7)
		w := s.Value(i)
		k, ok := at[w]
		if !ok {
			k = int32(len(words))
			at[w], words = k, append(words, w)
		}
		idx[i] = k
	}
	if words == nil {
		words = []types.Datum{""}
	}
	dict, err := column(types.Text, words)
	if err != nil {
		panic(err)
	}
	return batch.FromIndices(types.DictArrow, idx, valid, dict)
}

// reference evaluates an expression for one row, value by value; functions and casts on constants.
type reference struct {
	in  []plan.Column
	b   *batch.Batch
	row int
	env *function.Env
}

func (x *reference) eval(e expr.Expr) (types.Datum, error) {
	switch e := e.(type) {
	case *expr.Col:
		for i, c := range x.in {
			if c.ID == e.ID {
				return types.DatumAt(c.Type, x.b.Cols[i], x.row), nil
			}
		}
		return nil, pgerr.Internal("no column %d", e.ID)
	case *expr.Case:
		for _, w := range e.Whens {
			if d, err := x.eval(w.Cond); err != nil {
				return nil, err
			} else if d == true {
				return x.eval(w.Then)
			}
		}
		if e.Else == nil {
			return nil, nil
		}
		return x.eval(e.Else)
	case *expr.Coalesce:
		for _, a := range e.Args {
			if d, err := x.eval(a); d != nil || err != nil {
				return d, err
			}
		}
		return nil, nil
	case *expr.And:
		return x.logic(e.Args, false)
	case *expr.Or:
		return x.logic(e.Args, true)
	}
	var args []types.Datum
	for _, a := range e.Children() {
		d, err := x.eval(a)
		if err != nil {
			return nil, err
		}
		args = append(args, d)
	}
	equal := func(t types.Type, a, b types.Datum) any {
		if a == nil || b == nil {
			return nil
		}
		return types.Equal(t, a, b)
	}
	switch e := e.(type) {
	case *expr.MinMax:
		var best types.Datum
		for _, d := range args {
			if c := 0; d != nil {
				if best != nil {
					c = types.Compare(e.Typ, d, best)
				}
				if best == nil || e.Greatest && c > 0 || !e.Greatest && c < 0 {
					best = d
				}
			}
		}
		return best, nil
	case *expr.Not:
		if args[0] == nil {
			return nil, nil
		}
		return !args[0].(bool), nil
	case *expr.IsNull:
		return (args[0] == nil) != e.Not, nil
	case *expr.BoolTest:
		is := args[0] == [...]any{true, false, nil}[e.Kind]
		return is != e.Not, nil
	case *expr.Distinct:
		same := args[0] == nil && args[1] == nil || equal(e.L.Type(), args[0], args[1]) == true
		return same == e.Not, nil
	case *expr.In:
		out := any(false)
		for _, d := range args[1:] {
			switch equal(e.Arg.Type(), args[0], d) {
			case true:
				return !e.Not, nil
			case nil:
				out = nil
			}
		}
		if out == nil {
			return nil, nil
		}
		return e.Not, nil
	case *expr.AnyAll:
		a, ok := args[1].(types.Array)
		if !ok {
			return nil, nil
		}
		et, _ := e.Array.Type().Elem()
		out := any(e.All)
		for _, d := range a.Elems {
			v, err := eval.Constant(&expr.Call{Fn: e.Fn, Args: []expr.Expr{&expr.Const{Val: args[0], Typ: e.Arg.Type()}, &expr.Const{Val: d, Typ: et}}, Typ: types.Bool}, x.env)
			if err != nil {
				return nil, err
			}
			if v == nil {
				out = nil
			} else if v != e.All {
				return v, nil
			}
		}
		return out, nil
	case *expr.ArrayCtor:
		et, _ := e.Typ.Elem()
		return types.Array{Elem: et, Elems: args}, nil
	case *expr.Subscript:
		a, ok := args[0].(types.Array)
		if !ok {
			return nil, nil
		}
		k, ok := args[1].(int64)
		if !e.Slice {
			if !ok || k < 1 || k > int64(len(a.Elems)) {
				return nil, nil
			}
			return a.Elems[k-1], nil
		}
		to, okTo := args[2].(int64)
		if !ok || !okTo {
			return nil, nil
		}
		out := types.Array{Elem: a.Elem}
		for i := max(k, 1); i <= min(to, int64(len(a.Elems))); i++ {
			out.Elems = append(out.Elems, a.Elems[i-1])
		}
		return out, nil
	}
	switch e := e.(type) {
	case *expr.Call:
		if d, ok := arrayReference(e, args); ok {
			return d, nil
		}
	case *expr.RowCtor:
		return types.Row(args), nil
	case *expr.Field:
		row, ok := args[0].(types.Row)
		if !ok {
			return nil, nil
		}
		return row[e.Index], nil
	}
	consts := make([]expr.Expr, len(args))
	for i, c := range e.Children() {
		consts[i] = &expr.Const{Val: args[i], Typ: c.Type()}
	}
	return eval.Constant(e.With(consts), x.env)
}

func (x *reference) logic(args []expr.Expr, stop bool) (types.Datum, error) {
	out := types.Datum(!stop)
	for _, a := range args {
		d, err := x.eval(a)
		if err != nil {
			return nil, err
		}
		if d == stop {
			return stop, nil
		}
		if d == nil {
			out = nil
		}
	}
	return out, nil
}

// arrayReference computes functions of arrays of the elements' datums.
func arrayReference(e *expr.Call, args []types.Datum) (types.Datum, bool) {
	l, r := types.Array{}, types.Array{}
	if len(args) > 0 {
		l, _ = args[0].(types.Array)
	}
	if len(args) > 1 {
		r, _ = args[1].(types.Array)
	}
	has := func(a types.Array, d types.Datum) bool {
		return slices.ContainsFunc(a.Elems, func(e types.Datum) bool { return types.Equal(a.Elem, e, d) })
	}
	contains := func(l, r types.Array) types.Datum {
		if args[0] == nil || args[1] == nil {
			return nil
		}
		return !slices.ContainsFunc(r.Elems, func(d types.Datum) bool { return d == nil || !has(l, d) })
	}
	elem, _ := e.Typ.Elem()
	out := types.Array{Elem: elem}
	switch e.Fn.Name {
	case "array_append":
		out.Elems = append(append(out.Elems, l.Elems...), args[1])
	case "array_prepend":
		out.Elems = append(append(out.Elems, args[0]), r.Elems...)
	case "array_cat":
		if args[0] == nil && args[1] == nil {
			return nil, true
		}
		out.Elems = append(append(out.Elems, l.Elems...), r.Elems...)
	case "array_remove", "array_replace":
		if args[0] == nil {
			return nil, true
		}
		for _, d := range l.Elems {
			switch {
			case !types.Equal(elem, d, args[1]):
				out.Elems = append(out.Elems, d)
			case len(args) == 3:
				out.Elems = append(out.Elems, args[2])
			}
		}
	case "array_position":
		if i := slices.IndexFunc(l.Elems, func(d types.Datum) bool { return types.Equal(l.Elem, d, args[1]) }); i >= 0 {
			return int64(i + 1), true
		}
		return nil, true
	case "arraycontains":
		return contains(l, r), true
	case "arraycontained":
		return contains(r, l), true
	case "arrayoverlap":
		if args[0] == nil || args[1] == nil {
			return nil, true
		}
		return slices.ContainsFunc(r.Elems, func(d types.Datum) bool { return d != nil && has(l, d) }), true
	default:
		return nil, false
	}
	return out, true
}
