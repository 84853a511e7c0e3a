package props

import (
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Work estimates what a plan costs one node, in units of comparing a number of a column with
// another: about a nanosecond of one thread. The weights were fitted to the times of TPC-H's
// queries. Rows that a filter or a join's keys save a scan count as saved, for most of the cost of
// a row arises later.
func Work(n plan.Node, st Statistics) float64 {
	e := New(st)
	var walk func(n plan.Node) float64
	walk = func(n plan.Node) (work float64) {
		in := 0.0
		for _, k := range n.Children() {
			work += walk(k)
			in += e.Of(k).Rows
		}
		out := e.Of(n).Rows
		switch n := n.(type) {
		case *plan.Scan:
			// Conditions are evaluated for the rows that those before them left, half of them, and make
			// masks, which are half the work of values that are kept.
			rows := max(n.Rows, out)
			for _, c := range n.Filter {
				work += rows * exprWork(c) / 2
				rows = max(rows/2, out)
			}
			return work + rows/2
		case *plan.Source:
			return max(n.Rows, out) * 50 // texts are parsed
		case *plan.Filter, *plan.Project, *plan.ProjectSet:
			for _, x := range plan.Exprs(n) {
				work += in * exprWork(x)
			}
			return work
		case *plan.Join:
			l, r := e.Of(n.L).Rows, e.Of(n.R).Rows
			work += r * (20 + rowWork(n.R)) // kept
			if found := min(l, out); n.Kind == plan.Inner || n.Kind == plan.Semi || n.Kind == plan.RightSemi || n.Kind == plan.Right {
				work += 1.5*l + found*20 // each is checked against the table's keys, and the rest are dropped
			} else {
				work += l * 20
			}
			return work + out*(4+rowWork(n))
		case *plan.Aggregate:
			row := 3.0
			for _, g := range n.Groups {
				row += exprWork(g.Expr) + typeWork(g.Expr.Type())/2
			}
			for _, a := range n.Aggs {
				row++
				for _, x := range a.Call.Args {
					row += exprWork(x)
				}
				if a.Call.Distinct {
					row += 20
				}
			}
			return work + in*row + out*(20+rowWork(n))
		case *plan.SetOp:
			return work + in*(10+rowWork(n))
		case *plan.Sort:
			if n.Limit >= 0 {
				return work + in*4
			}
			return work + in*(30+rowWork(n))
		case *plan.Window, *plan.DistinctOn:
			return work + in*(40+rowWork(n))
		}
		return work + in
	}
	return walk(n)
}

// rowWork estimates the work of copying a row by its columns.
func rowWork(n plan.Node) (work float64) {
	for _, c := range n.Schema() {
		work += typeWork(c.Type)
	}
	return work
}

func typeWork(t types.Type) float64 {
	if t.IsString() || t.OID == types.NumericOID && !t.IsFixed() || t.OID == types.JSONBOID {
		return 12
	}
	return 1
}

// exprWork estimates the work of the calls in an expression.
func exprWork(e expr.Expr) (work float64) {
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col, *expr.Const, *expr.Param, *expr.And, *expr.Or, *expr.Not:
		case *expr.Call:
			work += 2
			for _, a := range x.Args {
				if _, ok := a.(*expr.Const); !ok && typeWork(a.Type()) > 1 {
					work += 5
				}
			}
			if strings.Contains(x.Fn.Name, "like") || strings.Contains(x.Fn.Name, "regex") {
				work += 25
			}
		default:
			work += 2
		}
		return true
	})
	return work
}

// Reads returns how many rows n reads in all.
func (e *Estimator) Reads(n plan.Node) float64 {
	rows := 0.0
	switch n := n.(type) {
	case *plan.Scan:
		rows = Scan(n, e.St).Rows
	case *plan.Source: // before its conditions
		rows = max(n.Rows, e.Of(n).Rows)
	case *plan.Buffer, *plan.RecursiveUnion, *plan.FuncScan:
		rows = e.Of(n).Rows
	}
	for _, k := range n.Children() {
		rows += e.Reads(k)
	}
	return rows
}
