package scope

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// EqualExpr reports whether two expressions are the same, positions aside. Subqueries are equal to
// themselves only.
func EqualExpr(a, c expr.Expr) bool {
	if a == nil || c == nil {
		return a == nil && c == nil
	}
	if a == c {
		return true
	}
	if reflect.TypeOf(a) != reflect.TypeOf(c) || a.Type().OID != c.Type().OID {
		return false
	}
	switch x := a.(type) {
	case *expr.Col:
		return x.ID == c.(*expr.Col).ID
	case *expr.Const:
		y := c.(*expr.Const)
		return x.Typ == y.Typ && sameDatum(x.Typ, x.Val, y.Val)
	case *expr.Param:
		return x.N == c.(*expr.Param).N
	case *expr.Call:
		y := c.(*expr.Call)
		if x.Fn != y.Fn || x.Fn.Vol == fn.Volatile {
			return false
		}
	case *expr.Cast:
		y := c.(*expr.Cast)
		if x.Typ != y.Typ {
			return false
		}
	case *expr.IsNull:
		if x.Not != c.(*expr.IsNull).Not {
			return false
		}
	case *expr.BoolTest:
		y := c.(*expr.BoolTest)
		if x.Kind != y.Kind || x.Not != y.Not {
			return false
		}
	case *expr.Distinct:
		y := c.(*expr.Distinct)
		if x.Not != y.Not || x.Eq != y.Eq {
			return false
		}
	case *expr.In:
		y := c.(*expr.In)
		if x.Not != y.Not || x.Eq != y.Eq {
			return false
		}
	case *expr.AnyAll:
		y := c.(*expr.AnyAll)
		if x.Fn != y.Fn || x.All != y.All {
			return false
		}
	case *expr.MinMax:
		if x.Greatest != c.(*expr.MinMax).Greatest {
			return false
		}
	case *expr.Subscript:
		y := c.(*expr.Subscript)
		if x.Slice != y.Slice || (x.Index == nil) != (y.Index == nil) || (x.Upper == nil) != (y.Upper == nil) {
			return false
		}
	case *expr.Field:
		if x.Index != c.(*expr.Field).Index {
			return false
		}
	case *expr.Case:
		y := c.(*expr.Case)
		if len(x.Whens) != len(y.Whens) || (x.Else == nil) != (y.Else == nil) {
			return false
		}
	case *expr.Predict:
		y := c.(*expr.Predict)
		if x.Ref != y.Ref || x.Mode != y.Mode || x.Output != y.Output || x.Rank != y.Rank || !slices.Equal(x.Parts, y.Parts) {
			return false
		}
	case *expr.Subquery:
		y := c.(*expr.Subquery)
		if x.Kind != y.Kind || x.Op != y.Op || x.Not != y.Not || len(x.Cols) != len(y.Cols) ||
			!equalPlan(x.Plan.(plan.Node), y.Plan.(plan.Node)) {
			return false
		}
	}
	return equalList(a.Children(), c.Children())
}

// sameDatum reports whether two values of a type are one and the same: NaN is NaN,
// but 1.0 is not 1.00.
func sameDatum(t types.Type, a, b types.Datum) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.DeepEqual(a, b) || types.Equal(t, a, b) && types.TextOf(t, a, nil) == types.TextOf(t, b, nil)
}

func equalList(a, c []expr.Expr) bool {
	if len(a) != len(c) {
		return false
	}
	for i := range a {
		if !EqualExpr(a[i], c[i]) {
			return false
		}
	}
	return true
}

func equalKeys(a, c []expr.Order) bool {
	if len(a) != len(c) {
		return false
	}
	for i := range a {
		if a[i].Desc != c[i].Desc || a[i].NullsFirst != c[i].NullsFirst || !EqualExpr(a[i].Expr, c[i].Expr) {
			return false
		}
	}
	return true
}

func equalAgg(a, c expr.AggCall) bool {
	return a.Fn == c.Fn && a.Direct == c.Direct && a.Distinct == c.Distinct && a.Star == c.Star &&
		equalList(a.Args, c.Args) && equalKeys(a.OrderBy, c.OrderBy) && EqualExpr(a.Filter, c.Filter)
}

// hashAgg returns a hash that is the same for calls that equalAgg finds equal.
func hashAgg(a expr.AggCall) uint64 {
	h := uint64(len(a.OrderBy))
	for _, e := range a.Args {
		h = h*31 + expr.Hash(e)
	}
	for _, c := range a.Fn.Name {
		h = h*31 + uint64(c)
	}
	return h
}

// hashSpec is hashAgg's like for equalSpec.
func hashSpec(w *WindowSpec) uint64 {
	h := uint64(len(w.Part))
	for _, e := range w.Part {
		h = h*31 + expr.Hash(e)
	}
	for _, k := range w.Order {
		h = h*31 + expr.Hash(k.Expr)
	}
	return h
}

func equalFrame(a, c plan.Frame) bool {
	return a.Mode == c.Mode && a.Exclude == c.Exclude && a.Start.Kind == c.Start.Kind && a.End.Kind == c.End.Kind &&
		EqualExpr(a.Start.Offset, c.Start.Offset) && EqualExpr(a.End.Offset, c.End.Offset)
}

func equalSpec(a, c *WindowSpec) bool {
	return a == c || equalList(a.Part, c.Part) && equalKeys(a.Order, c.Order)
}

// equalPlan reports whether two subqueries that were bound apart are the same.
// Their own columns are numbered alike only in order of appearance; those of
// outer queries must be the same columns.
func equalPlan(a, c plan.Node) bool {
	return !VolatilePlan(a) && shapeOf(a) == shapeOf(c)
}

func shapeOf(n plan.Node) string {
	outer := map[string]bool{}
	for _, id := range OuterCols(n) {
		outer[strconv.Itoa(int(id))] = true
	}
	var b strings.Builder
	own := map[string]int{}
	text := plan.Format(n)
	for i := 0; i < len(text); i++ {
		b.WriteByte(text[i])
		if text[i] != '#' {
			continue
		}
		k := i + 1
		for k < len(text) && text[k] >= '0' && text[k] <= '9' {
			k++
		}
		id := text[i+1 : k]
		if outer[id] {
			b.WriteString(id)
		} else {
			if own[id] == 0 {
				own[id] = len(own) + 1
			}
			b.WriteString("own" + strconv.Itoa(own[id]))
		}
		i = k - 1
	}
	return b.String()
}

// Volatile reports whether an expression may differ from row to row by itself.
func Volatile(es ...expr.Expr) bool {
	found := false
	for _, e := range es {
		expr.Walk(e, func(x expr.Expr) bool {
			switch x := x.(type) {
			case *expr.Call:
				found = found || x.Fn.Vol == fn.Volatile
			case *expr.Subquery:
				found = found || VolatilePlan(x.Plan.(plan.Node))
			}
			return !found
		})
	}
	return found
}
