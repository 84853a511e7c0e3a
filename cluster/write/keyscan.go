package write

import (
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

func colRef(c plan.Column) *expr.Col { return &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name} }

// kept are items that give a node's columns as they are.
func kept(n plan.Node) (items []plan.Item) {
	for _, c := range n.Schema() {
		items = append(items, plan.Item{Col: c, Expr: colRef(c)})
	}
	return items
}

// keyScan scans a constraint's columns; first is the ColID of the first.
func keyScan(rel *catalog.Relation, c *catalog.Constraint, first expr.ColID) *plan.Scan {
	sc := &plan.Scan{Table: rel.OID, Name: rel.Name}
	for i, num := range c.Columns {
		col := rel.ColumnNum(num)
		sc.Cols = append(sc.Cols, plan.Column{ID: first + expr.ColID(i), Name: col.Name, Type: col.Type, Table: rel.OID, Num: num})
		sc.Missing = append(sc.Missing, col.Missing)
	}
	if !c.NullsNotDistinct {
		for _, col := range sc.Cols {
			sc.Filter = append(sc.Filter, &expr.IsNull{Arg: colRef(col), Not: true})
		}
	}
	return sc
}

// scanOf scans the live columns of a table that expressions read, which number them
// from 1 in order; id gives what they have in the scan, from 0.
func scanOf(rel *catalog.Relation, id func(i int) expr.ColID, es ...expr.Expr) *plan.Scan {
	read := map[expr.ColID]bool{}
	for _, e := range es {
		if e != nil {
			expr.Columns(e, read)
		}
	}
	sc := &plan.Scan{Table: rel.OID, Name: rel.Name}
	for i, c := range rel.Live() {
		if read[expr.ColID(i+1)] {
			sc.Cols = append(sc.Cols, plan.Column{ID: id(i), Name: c.Name, Type: c.Type, Table: rel.OID, Num: c.Num})
			sc.Missing = append(sc.Missing, c.Missing)
		}
	}
	return sc
}

// equals is the condition that a column has a value, as PostgreSQL would write it;
// nil where the type has no equality of its own.
func equals(c plan.Column, val types.Datum) expr.Expr {
	col, t := expr.Expr(colRef(c)), c.Type
	if t.OID == types.VarcharOID {
		t = types.Text
		col = &expr.Cast{Arg: col, Typ: t}
	}
	eq := rewrite.Operator("=", t, t)
	if eq == nil {
		return nil
	}
	return &expr.Call{Fn: eq.Func, Op: "=", Typ: types.Bool, Args: []expr.Expr{col, &expr.Const{Val: val, Typ: t}}}
}

// operator finds a built-in operator by its operand types.
func operator(name string, l, r types.OID) *fn.Operator {
	for _, o := range fn.Operators(name) {
		if o.Left == l && o.Right == r {
			return o
		}
	}
	return nil
}

func columnNames(rel *catalog.Relation, nums []int16) string {
	out := make([]string, len(nums))
	for i, n := range nums {
		out[i] = rel.ColumnNum(n).Name
	}
	return strings.Join(out, ", ")
}

func schemaName(st *catalog.State, rel *catalog.Relation) string {
	if sc := st.Schema(rel.Schema); sc != nil {
		return sc.Name
	}
	return ""
}
