package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
)

// Trace is what binding found a query's expressions and names to mean, for who
// writes the query out again. What views hold within is left out.
type Trace struct {
	Exprs map[ast.Node]expr.Expr
	Calls map[*ast.FuncCall]*expr.Call // functions of all kinds, with what they are given
	Names map[ast.Node][]Name          // what a reference to a column, or *, stands for
}

// Name is a column of a FROM item.
type Name struct{ Item, Column string }

// NewTrace makes an empty one.
func NewTrace() *Trace {
	return &Trace{Exprs: map[ast.Node]expr.Expr{}, Calls: map[*ast.FuncCall]*expr.Call{}, Names: map[ast.Node][]Name{}}
}

// trace gives what is to be filled in; nil for nothing.
func (b *binder) trace() *Trace {
	if b.depth > 0 {
		return nil
	}
	return b.s.Trace
}

// expr binds an expression.
func (sc *scope) expr(n ast.Node, p place) (expr.Expr, error) {
	e, err := sc.value(n, p)
	if t := sc.b.trace(); t != nil && err == nil {
		t.Exprs[n] = e
		if ref, ok := n.(*ast.ColumnRef); ok {
			sc.traceNames(ref, e)
		}
	}
	return e, err
}

// traceNames notes the columns that a node stands for, unless one of them is no
// FROM item's own: merged by a join, or within a value.
func (sc *scope) traceNames(n ast.Node, es ...expr.Expr) {
	var out []Name
	for _, e := range es {
		name, ok := sc.nameOf(e)
		if !ok {
			return
		}
		out = append(out, name)
	}
	sc.b.trace().Names[n] = out
}

func (sc *scope) nameOf(e expr.Expr) (Name, bool) {
	c, ok := e.(*expr.Col)
	if !ok {
		return Name{}, false
	}
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.rels {
			if !r.named {
				continue
			}
			for _, rc := range r.cols {
				if x, ok := rc.e.(*expr.Col); ok && x.ID == c.ID {
					return Name{r.name, rc.name}, true
				}
			}
		}
	}
	return Name{}, false
}
