package scope

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
)

// Trace records what a query's expressions and names were bound to, for packages that print the
// query. The contents of views are left out.
type Trace struct {
	Exprs map[ast.Node]expr.Expr
	Calls map[*ast.FuncCall]*expr.Call // functions of all kinds, with their arguments
	Names map[ast.Node][]Name          // what a reference to a column, or *, stands for
}

// Name is a column of a FROM item.
type Name struct{ Item, Column string }

// NewTrace makes an empty one.
func NewTrace() *Trace {
	return &Trace{Exprs: map[ast.Node]expr.Expr{}, Calls: map[*ast.FuncCall]*expr.Call{}, Names: map[ast.Node][]Name{}}
}

// Trace returns the trace to fill in; nil for none.
func (b *Binder) Trace() *Trace {
	if b.Depth > 0 {
		return nil
	}
	return b.Session.Trace
}

// Expr binds an expression.
func (sc *Scope) Expr(n ast.Node, p Place) (expr.Expr, error) {
	e, err := sc.value(n, p)
	if t := sc.Binder.Trace(); t != nil && err == nil {
		t.Exprs[n] = e
		if ref, ok := n.(*ast.ColumnRef); ok {
			sc.TraceNames(ref, e)
		}
	}
	return e, err
}

// TraceNames records the columns that a node stands for, unless one of them belongs to no FROM
// item: merged by a join, or a field of a value.
func (sc *Scope) TraceNames(n ast.Node, es ...expr.Expr) {
	var out []Name
	for _, e := range es {
		name, ok := sc.nameOf(e)
		if !ok {
			return
		}
		out = append(out, name)
	}
	sc.Binder.Trace().Names[n] = out
}

func (sc *Scope) nameOf(e expr.Expr) (Name, bool) {
	c, ok := e.(*expr.Col)
	if !ok {
		return Name{}, false
	}
	for s := sc; s != nil; s = s.Parent {
		for _, r := range s.Items {
			if !r.Named {
				continue
			}
			for _, rc := range r.Cols {
				if x, ok := rc.Expr.(*expr.Col); ok && x.ID == c.ID {
					return Name{r.Name, rc.Name}, true
				}
			}
		}
	}
	return Name{}, false
}
