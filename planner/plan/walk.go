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

// mapper rewrites expressions and notes whether any changed.
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

// MapExprs rewrites each expression of n itself by f; n comes back unchanged if
// f changed none.
func MapExprs(n Node, f func(expr.Expr) expr.Expr) Node {
	m := &mapper{f: f}
	out := m.node(n)
	if !m.changed {
		return n
	}
	return out
}

func (m *mapper) node(n Node) Node {
	switch n := n.(type) {
	case *Scan:
		c := *n
		c.Filter = m.list(n.Filter)
		return &c
	case *Values:
		c := *n
		c.Rows = make([][]expr.Expr, len(n.Rows))
		for i, r := range n.Rows {
			c.Rows[i] = m.list(r)
		}
		return &c
	case *Virtual:
		c := *n
		c.Filter = m.list(n.Filter)
		return &c
	case *Source:
		c := *n
		c.Filter = m.list(n.Filter)
		return &c
	case *FuncScan:
		c := *n
		c.Calls = m.calls(n.Calls)
		return &c
	case *Receive:
		c := *n
		c.Merge = m.orders(n.Merge)
		return &c
	case *Filter:
		c := *n
		c.Conds = m.list(n.Conds)
		return &c
	case *Project:
		c := *n
		c.Items = m.items(n.Items)
		return &c
	case *ProjectSet:
		c := *n
		c.Calls = m.calls(n.Calls)
		return &c
	case *Aggregate:
		c := *n
		c.Groups = m.items(n.Groups)
		c.Aggs = make([]AggItem, len(n.Aggs))
		for i, a := range n.Aggs {
			a.Call = m.agg(a.Call)
			c.Aggs[i] = a
		}
		return &c
	case *Window:
		c := *n
		c.PartitionBy = m.list(n.PartitionBy)
		c.OrderBy = m.orders(n.OrderBy)
		c.Items = make([]WindowItem, len(n.Items))
		for i, it := range n.Items {
			it.Call = m.agg(it.Call)
			it.Frame.Start.Offset = m.one(it.Frame.Start.Offset)
			it.Frame.End.Offset = m.one(it.Frame.End.Offset)
			c.Items[i] = it
		}
		return &c
	case *Sort:
		c := *n
		c.Keys = m.orders(n.Keys)
		return &c
	case *Limit:
		c := *n
		c.Count, c.Offset = m.one(n.Count), m.one(n.Offset)
		c.Keys = m.orders(n.Keys)
		return &c
	case *DistinctOn:
		c := *n
		c.Keys = m.list(n.Keys)
		c.Order = m.orders(n.Order)
		return &c
	case *Join:
		c := *n
		c.On = m.list(n.On)
		c.LKeys, c.RKeys = m.list(n.LKeys), m.list(n.RKeys)
		c.Residual = m.list(n.Residual)
		return &c
	case *Apply:
		c := *n
		c.On = m.list(n.On)
		return &c
	case *TableWrite:
		c := *n
		c.Checks = append([]Check(nil), n.Checks...)
		for i, k := range n.Checks {
			c.Checks[i].Expr = m.one(k.Expr)
		}
		return &c
	case *Exchange:
		c := *n
		c.Keys = m.list(n.Keys)
		c.Merge = m.orders(n.Merge)
		return &c
	}
	return n
}

// ColSet is a set of columns.
type ColSet = map[expr.ColID]bool

// Emits is the set of columns that n emits.
func Emits(n Node) ColSet {
	s := ColSet{}
	for _, c := range n.Schema() {
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

// FreeColumns are the columns that n or something below it reads and that no
// node below the reader emits: they belong to an outer query.
func FreeColumns(n Node) ColSet {
	free := ColSet{}
	addFree(n, free)
	return free
}

func addFree(n Node, free ColSet) {
	used := ColSet{}
	for _, e := range Exprs(n) {
		ExprColumns(e, used)
	}
	kids := n.Children()
	for _, k := range kids {
		addFree(k, used)
	}
	if len(used) == 0 {
		return
	}
	var own []Column
	switch n := n.(type) {
	case *Scan:
		own = n.Schema()
	case *Virtual:
		own = n.Cols
	case *Source:
		own = n.Cols
	case *Apply:
		// The right side and On see the left side.
		own = append(append(own, n.L.Schema()...), n.R.Schema()...)
	default:
		for _, k := range kids {
			own = append(own, k.Schema()...)
		}
	}
	for _, c := range own {
		delete(used, c.ID)
	}
	for c := range used {
		free[c] = true
	}
}

// MapChildren gives n over what f makes of its children, in order; n itself where
// none changes.
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
