package opt

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

// TestJoinIntervals: joinIntervals merges random intervals that are combined by OR into fewer,
// which contain the same numbers.
func TestJoinIntervals(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 11))
	x := &expr.Col{ID: 1, Typ: types.Int8, Name: "x"}
	compare := func(op string) expr.Expr {
		if k := rewrite.IntConst(rnd.Int64N(10)); rnd.IntN(2) == 0 {
			return rewrite.Compare(op, x, k)
		} else {
			return rewrite.Compare(rewrite.Mirrored[op], k, x)
		}
	}
	fewer := 0
	for range 5000 {
		var arms []expr.Expr
		for range 2 + rnd.IntN(3) {
			var arm []expr.Expr
			if rnd.IntN(5) > 0 {
				arm = append(arm, compare([]string{">", ">="}[rnd.IntN(2)]))
			}
			if rnd.IntN(5) > 0 || arm == nil {
				arm = append(arm, compare([]string{"<", "<="}[rnd.IntN(2)]))
			}
			arms = append(arms, rewrite.AndOf(arm))
		}
		was := rewrite.OrOf(arms)
		got := joinIntervals(arms)
		if got == nil {
			continue
		}
		fewer++
		if a, b := len(rewrite.Disjuncts(nil, was)), len(rewrite.Disjuncts(nil, got)); b >= a {
			t.Fatalf("%v: %d arms for %d", got, b, a)
		}
		for v := int64(-1); v <= 10; v++ {
			if holds(was, v) != holds(got, v) {
				t.Fatalf("of %d: %v, but %v", v, was, got)
			}
		}
	}
	if fewer < 1000 {
		t.Errorf("%d cases of 5000 became fewer intervals", fewer)
	}
}

// holds evaluates a condition, made of comparisons, for x.
func holds(e expr.Expr, x int64) bool {
	value := func(e expr.Expr) int64 {
		if c, ok := e.(*expr.Const); ok {
			return c.Val.(int64)
		}
		return x
	}
	switch e := e.(type) {
	case *expr.And:
		for _, a := range e.Args {
			if !holds(a, x) {
				return false
			}
		}
		return true
	case *expr.Or:
		for _, a := range e.Args {
			if holds(a, x) {
				return true
			}
		}
		return false
	}
	c := e.(*expr.Call)
	a, b := value(c.Args[0]), value(c.Args[1])
	return map[string]bool{"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[c.Op]
}

// TestIntervalsApart: conditions that cannot be merged into one interval, or not by this rule, are
// left as they are.
func TestIntervalsApart(t *testing.T) {
	x, y := &expr.Col{ID: 1, Typ: types.Int8, Name: "x"}, &expr.Col{ID: 2, Typ: types.Int8, Name: "y"}
	is := func(op string, c expr.Expr, k int64) expr.Expr { return rewrite.Compare(op, c, rewrite.IntConst(k)) }
	null := rewrite.Compare("<", x, rewrite.NullConst(types.Int8))
	for name, arms := range map[string][]expr.Expr{
		"apart":       {is("<", x, 3), is(">", x, 3)},
		"everything":  {is("<", x, 5), is(">", x, 3)},
		"two columns": {is("<", x, 5), is("<", y, 7)},
		"NULL":        {is("<", x, 5), null},
		"equality":    {is("<", x, 5), is("=", x, 5)},
		"two bounds":  {rewrite.AndOf([]expr.Expr{is("<", x, 5), is("<", x, 6)}), is("<", x, 7)},
	} {
		if got := joinIntervals(arms); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
