package scope

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// With is a WITH clause in effect, linked to those of the enclosing queries.
type With struct {
	Parent *With
	List   []*CTE
	Later  []string // names of the clause that are not bound yet, for a hint
}

// CTE is an item of WITH.
type CTE struct {
	Name   string
	Names  []string // its columns
	Sel    *ast.SelectStmt
	Home   *Scope // where its query is bound
	Ready  *Query // the bound query, until a reference uses it
	Rebind bool   // every reference binds the query anew
	Buf    int    // the buffer that holds its rows; 0 for none
	Cols   []plan.Column
	Mute   bool       // a DML without RETURNING
	Self   *Recursion // set while its own query is being bound

	Search *ast.CTESearchClause
	Cycle  *ast.CTECycleClause
	Hidden int // of its columns the last, which * leaves out while it is being bound
}

// Recursion is a recursive CTE that is being bound.
type Recursion struct {
	ID     int
	InInit bool
	Refs   int
	Outer  int // outer joins around the whole
	Except int
	Levels []*Level
	Home   *Scope
}

func (e *With) Find(name string) (*CTE, *With) {
	for ; e != nil; e = e.Parent {
		for i := len(e.List) - 1; i >= 0; i-- {
			if e.List[i].Name == name {
				return e.List[i], e
			}
		}
	}
	return nil, nil
}

// Query is a bound query: a plan and which of its columns are the result.
type Query struct {
	Node plan.Node
	Out  []Output
}

// Output is a column of a query's result. lit is its expression where that is a literal or
// parameter of unknown type, whose type the user of the query determines.
type Output struct {
	plan.Column
	Lit expr.Expr
}

func (r *Query) Columns() []plan.Column {
	out := make([]plan.Column, len(r.Out))
	for i, c := range r.Out {
		out[i] = c.Column
	}
	return out
}

// Value returns a result column as an expression: a literal stays one.
func (c *Output) Value() expr.Expr {
	if c.Lit != nil {
		return c.Lit
	}
	return Col(c.Column)
}

// FromItem is an item of FROM: its plan and the names that it makes visible. rels[0] has the
// columns that unqualified names find.
type FromItem struct {
	Node  plan.Node
	Items []*Item
}

var InFromClause = Place{Name: "FROM clause of their own query level"}
