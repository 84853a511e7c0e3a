package plan

import (
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

func (p *printer) list(es []expr.Expr, sep string) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = p.expr(e)
	}
	return strings.Join(out, sep)
}

func (p *printer) keys(ks []expr.Order) string {
	out := make([]string, len(ks))
	for i, k := range ks {
		out[i] = p.expr(k.Expr)
		if k.Desc {
			out[i] += " DESC"
		}
		if k.NullsFirst != k.Desc {
			if k.NullsFirst {
				out[i] += " NULLS FIRST"
			} else {
				out[i] += " NULLS LAST"
			}
		}
	}
	return strings.Join(out, ", ")
}

func (p *printer) agg(c expr.AggCall) string {
	var b strings.Builder
	b.WriteString(c.Fn.Shown() + "(")
	if c.Distinct {
		b.WriteString("DISTINCT ")
	}
	switch {
	case c.Star:
		b.WriteByte('*')
	case c.Fn.Ordered:
		b.WriteString(p.list(c.Args[:c.Direct], ", "))
	default:
		b.WriteString(p.list(c.Args, ", "))
		if len(c.OrderBy) > 0 {
			b.WriteString(" ORDER BY " + p.keys(c.OrderBy))
		}
	}
	b.WriteByte(')')
	if c.Fn.Ordered {
		b.WriteString(" WITHIN GROUP (ORDER BY " + p.keys(c.OrderBy) + ")")
	}
	if c.Filter != nil {
		b.WriteString(" FILTER (WHERE " + p.expr(c.Filter) + ")")
	}
	return b.String()
}

func (p *printer) constant(c *expr.Const) string {
	if c.Val == nil {
		return "NULL::" + typeName(c.Typ)
	}
	s := types.TextOf(c.Typ, c.Val, nil)
	switch c.Typ.Class() {
	case types.ClassBool:
		if c.Val == true {
			return "true"
		}
		return "false"
	case types.ClassInteger, types.ClassNumeric, types.ClassFloat:
		switch c.Typ.Form() {
		case types.FormInt32:
			return s
		case types.FormFloat32:
		default:
			return s + "::" + typeName(c.Typ)
		}
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'::" + typeName(c.Typ)
}

// expr prints an expression.
func (p *printer) expr(e expr.Expr) string {
	not := func(n bool, yes, no string) string {
		if n {
			return no
		}
		return yes
	}
	switch e := e.(type) {
	case nil:
		return "?"
	case *expr.Col:
		if p.ids {
			return e.Name + p.id(e.ID)
		}
		return e.Name
	case *expr.Const:
		return p.constant(e)
	case *expr.Param:
		return fmt.Sprintf("$%d", e.N)
	case *expr.Call:
		switch {
		case e.Op != "" && len(e.Args) == 2:
			return "(" + p.expr(e.Args[0]) + " " + e.Op + " " + p.expr(e.Args[1]) + ")"
		case e.Op != "" && len(e.Args) == 1:
			return "(" + e.Op + " " + p.expr(e.Args[0]) + ")"
		}
		return e.Fn.Name + "(" + p.list(e.Args, ", ") + ")"
	case *expr.Cast:
		return p.expr(e.Arg) + "::" + typeName(e.Typ)
	case *expr.Case:
		var b strings.Builder
		b.WriteString("CASE")
		for _, w := range e.Whens {
			b.WriteString(" WHEN " + p.expr(w.Cond) + " THEN " + p.expr(w.Then))
		}
		if e.Else != nil {
			b.WriteString(" ELSE " + p.expr(e.Else))
		}
		return b.String() + " END"
	case *expr.And:
		return "(" + p.list(e.Args, " AND ") + ")"
	case *expr.Or:
		return "(" + p.list(e.Args, " OR ") + ")"
	case *expr.Not:
		return "(NOT " + p.expr(e.Arg) + ")"
	case *expr.IsNull:
		return "(" + p.expr(e.Arg) + not(e.Not, " IS NULL)", " IS NOT NULL)")
	case *expr.BoolTest:
		return "(" + p.expr(e.Arg) + not(e.Not, " IS ", " IS NOT ") + [...]string{"TRUE", "FALSE", "UNKNOWN"}[e.Kind] + ")"
	case *expr.Distinct:
		return "(" + p.expr(e.L) + not(e.Not, " IS DISTINCT FROM ", " IS NOT DISTINCT FROM ") + p.expr(e.R) + ")"
	case *expr.In:
		return "(" + p.expr(e.Arg) + not(e.Not, " IN (", " NOT IN (") + p.list(e.List, ", ") + "))"
	case *expr.AnyAll:
		return "(" + p.expr(e.Arg) + " " + e.Op + not(e.All, " ANY (", " ALL (") + p.expr(e.Array) + "))"
	case *expr.Coalesce:
		return "COALESCE(" + p.list(e.Args, ", ") + ")"
	case *expr.MinMax:
		return not(e.Greatest, "LEAST(", "GREATEST(") + p.list(e.Args, ", ") + ")"
	case *expr.ArrayCtor:
		return "ARRAY[" + p.list(e.Elems, ", ") + "]"
	case *expr.RowCtor:
		return "ROW(" + p.list(e.Elems, ", ") + ")"
	case *expr.Subscript:
		if !e.Slice {
			return p.expr(e.Array) + "[" + p.expr(e.Index) + "]"
		}
		lo, hi := "", ""
		if e.Index != nil {
			lo = p.expr(e.Index)
		}
		if e.Upper != nil {
			hi = p.expr(e.Upper)
		}
		return p.expr(e.Array) + "[" + lo + ":" + hi + "]"
	case *expr.Field:
		name := fmt.Sprintf("f%d", e.Index+1)
		if r := e.Arg.Type().Rec; r != nil && e.Index < len(r.Fields) {
			name = r.Fields[e.Index].Name
		}
		return "(" + p.expr(e.Arg) + ")." + name
	case *expr.Predict:
		return [...]string{"predict(", "predict_proba(", "attributions(", "baseline(", "margin(", "times(", "survival(", "ranked(", "scores(", "place(",
			"interactions(", "bins(", "series("}[e.Mode] + e.Model + ": " + p.list(e.Args, ", ") + ")"
	case *expr.Subquery:
		return p.subquery(e)
	}
	return fmt.Sprintf("%T", e)
}

// subquery names the plan by its output columns; the plan itself is printed
// below the node.
func (p *printer) subquery(e *expr.Subquery) string {
	s := "(subquery"
	if p.ids {
		s += " " + p.subCols(e)
	}
	s += ")"
	pre := ""
	if e.Not {
		pre = "NOT "
	}
	args := p.list(e.Args, ", ")
	if len(e.Args) > 1 {
		args = "(" + args + ")"
	}
	switch e.Kind {
	case expr.SubExists:
		return pre + "EXISTS" + s
	case expr.SubAny:
		if e.Op == "=" {
			return "(" + args + " " + pre + "IN " + s + ")"
		}
		return "(" + args + " " + e.Op + " ANY " + s + ")"
	case expr.SubAll:
		return "(" + args + " " + e.Op + " ALL " + s + ")"
	case expr.SubArray:
		return "ARRAY" + s
	}
	return s
}
