package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// ruleMergeProjects makes one Project of two, and drops those that pass all
// columns on as they are. An expression that the upper Project reads twice is
// not copied there, nor is a volatile one: (SELECT random() AS r) x, read as
// x.r and x.r + 1, is one number.
func ruleMergeProjects(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return pinned(r, n, func(n plan.Node, pin bool) plan.Node {
		p, ok := n.(*plan.Project)
		if !ok {
			return n
		}
		for {
			r.Poll() // the expressions grow as they merge
			in, ok := p.Input.(*plan.Project)
			if !ok {
				break
			}
			m := mergeProjects(p, in)
			if m == nil {
				break
			}
			p = m
		}
		if !pin && identity(p) {
			return p.Input
		}
		return p
	}), nil
}

// pinned rewrites bottom up; pin is true for nodes whose columns the node above counts by position.
func pinned(r *rule.Run, n plan.Node, f func(n plan.Node, pin bool) plan.Node) plan.Node {
	var walk func(n plan.Node, pin bool) plan.Node
	walk = func(n plan.Node, pin bool) plan.Node {
		below := rule.Positional(n)
		return f(r.MapChildren(n, func(k plan.Node) plan.Node { return walk(k, below) }), pin)
	}
	return walk(n, false)
}

func mergeProjects(up, low *plan.Project) *plan.Project {
	by := map[expr.ColID]expr.Expr{}
	used := map[expr.ColID]int{}
	for _, it := range up.Items {
		expr.Walk(it.Expr, func(x expr.Expr) bool {
			if c, ok := x.(*expr.Col); ok {
				used[c.ID]++
			}
			return true
		})
	}
	for _, it := range low.Items {
		by[it.Col.ID] = it.Expr
		switch it.Expr.(type) {
		case *expr.Col, *expr.Const, *expr.Param:
			continue
		}
		if used[it.Col.ID] > 1 || rewrite.IsVolatile(it.Expr) {
			return nil
		}
	}
	items := make([]plan.Item, len(up.Items))
	for i, it := range up.Items {
		it.Expr = rewrite.Subst(it.Expr, by)
		items[i] = it
	}
	return &plan.Project{Input: low.Input, Items: items}
}

// identity reports whether p emits its input's columns and nothing else, in any
// order.
func identity(p *plan.Project) bool {
	in := p.Input.Schema()
	if len(in) != len(p.Items) {
		return false
	}
	have := map[expr.ColID]plan.Column{}
	for _, c := range in {
		have[c.ID] = c
	}
	for _, it := range p.Items {
		c, ok := rewrite.AsColumn(it.Expr)
		if !ok || c.ID != it.Col.ID || !have[c.ID].Type.SamePhysical(it.Col.Type) {
			return false
		}
		delete(have, c.ID)
	}
	return true
}

// rulePin puts a Project between nodes that count columns by position and
// inputs whose order of columns another rule may change.
func rulePin(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return pinned(r, n, func(n plan.Node, pin bool) plan.Node {
		if _, ok := n.(*plan.Project); ok || !pin {
			return n
		}
		return &plan.Project{Input: n, Items: rewrite.PassItems(n.Schema())}
	}), nil
}

// ruleUnpin drops Projects that pass all columns on in order: the last rule to
// move columns has run.
func ruleUnpin(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		p, ok := n.(*plan.Project)
		if !ok || !identity(p) {
			return n
		}
		for i, c := range p.Input.Schema() {
			if c.ID != p.Items[i].Col.ID {
				return n
			}
		}
		return p.Input
	}), nil
}
