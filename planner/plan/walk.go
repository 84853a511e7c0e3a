package plan

import "github.com/tributarydb/tributary/planner/expr"

// Exprs lists the expressions of n itself, not of its inputs.
func Exprs(n Node) []expr.Expr {
	var out []expr.Expr
	MapExprs(n, func(e expr.Expr) expr.Expr {
		out = append(out, e)
		return e
	})
	return out
}

// mapper rewrites expressions and records whether any changed.
type mapper struct {
	f       func(expr.Expr) expr.Expr
	changed bool
}

func (m *mapper) one(e expr.Expr) expr.Expr {
	if e == nil {
		return nil
	}
	x := m.f(e)
	if x != e {
		m.changed = true
	}
	return x
}

func (m *mapper) list(in []expr.Expr) []expr.Expr {
	if len(in) == 0 {
		return in
	}
	out := make([]expr.Expr, len(in))
	for i, e := range in {
		out[i] = m.one(e)
	}
	return out
}

func (m *mapper) orders(in []expr.Order) []expr.Order {
	if len(in) == 0 {
		return in
	}
	out := make([]expr.Order, len(in))
	for i, o := range in {
		o.Expr = m.one(o.Expr)
		out[i] = o
	}
	return out
}

func (m *mapper) calls(in []SetCall) []SetCall {
	out := make([]SetCall, len(in))
	for i, c := range in {
		c.Args = m.list(c.Args)
		out[i] = c
	}
	return out
}

func (m *mapper) agg(c expr.AggCall) expr.AggCall {
	c.Args = m.list(c.Args)
	c.Filter = m.one(c.Filter)
	c.OrderBy = m.orders(c.OrderBy)
	return c
}

func (m *mapper) items(in []Item) []Item {
	out := make([]Item, len(in))
	for i, it := range in {
		it.Expr = m.one(it.Expr)
		out[i] = it
	}
	return out
}

// MapExprs rewrites each expression of n itself by f; it returns n if f changed none.
func MapExprs(n Node, f func(expr.Expr) expr.Expr) Node {
	m := &mapper{f: f}
	out := n.mapExprs(m)
	if !m.changed {
		return n
	}
	return out
}

// ColSet is a set of columns.
type ColSet = map[expr.ColID]bool

// Emits returns the set of columns that n emits.
func Emits(n Node) ColSet {
	cols := n.Schema()
	s := make(ColSet, len(cols))
	for _, c := range cols {
		s[c.ID] = true
	}
	return s
}

// ExprColumns adds the columns that e reads to set, free columns of subqueries
// included.
func ExprColumns(e expr.Expr, set ColSet) {
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col:
			set[x.ID] = true
		case *expr.Subquery:
			if p, ok := x.Plan.(Node); ok {
				for c := range FreeColumns(p) {
					set[c] = true
				}
			}
		}
		return true
	})
}

// FreeColumns returns the columns that n or something below it reads and that no node below the
// reader emits: they belong to an outer query.
func FreeColumns(n Node) ColSet { return FreeColumnsAbove(n, nil) }

// FreeColumnsAbove is FreeColumns where nodes are known that have none: what is below them is not read again.
func FreeColumnsAbove(n Node, closed map[Node]bool) ColSet {
	free, _ := freeColumns(n, closed)
	return free
}

// freeColumns returns also the columns that n and the nodes below it make. Sets grow from the leaves up, the
// smaller into the larger, so that a chain of joins is not listed once at each.
func freeColumns(n Node, closed map[Node]bool) (free, made ColSet) {
	if closed[n] {
		return ColSet{}, Emits(n)
	}
	kids := n.Children()
	for i, k := range kids {
		f, m := freeColumns(k, closed)
		if i == 0 {
			free, made = f, m
			continue
		}
		free, made = merged(free, f), merged(made, m)
	}
	if len(kids) == 0 { // the conditions of a scan are over its own columns
		free, made = ColSet{}, Emits(n)
	}
	for _, e := range Exprs(n) {
		ExprColumns(e, free)
	}
	for c := range free {
		if made[c] {
			delete(free, c)
		}
	}
	switch x := n.(type) {
	case *Join:
		made[x.MarkCol] = true
	case *Apply:
		made[x.MarkCol] = true
	case *Window:
		for _, it := range x.Items {
			made[it.Col.ID] = true
		}
	case *Filter, *Sort, *Limit, *DistinctOn, *Max1Row, *Exchange:
	default:
		if len(kids) > 0 {
			for _, c := range n.Schema() {
				made[c.ID] = true
			}
		}
	}
	return free, made
}

// merged returns the union of two sets, which it may change.
func merged(a, b ColSet) ColSet {
	if len(a) < len(b) {
		a, b = b, a
	}
	for c := range b {
		a[c] = true
	}
	return a
}

// MapChildren returns n with f applied to its children, in order; n itself where none changes.
func MapChildren(n Node, f func(Node) Node) Node {
	kids := n.Children()
	var out []Node
	for i, k := range kids {
		m := f(k)
		if m != k && out == nil {
			out = append(make([]Node, 0, len(kids)), kids[:i]...)
		}
		if out != nil {
			out = append(out, m)
		}
	}
	if out == nil {
		return n
	}
	return n.WithChildren(out)
}
