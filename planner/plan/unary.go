package plan

import (
	"fmt"

	"github.com/tributarydb/tributary/planner/expr"
)

// Filter keeps rows for which all conditions are true.
type Filter struct {
	relation
	Input Node
	Conds []expr.Expr
}

func (n *Filter) Children() []Node { return []Node{n.Input} }

func (n *Filter) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *Filter) Schema() []Column { return n.Input.Schema() }
func (*Filter) Traits() Traits     { return Traits{Rows: Selected} }

func (n *Filter) mapExprs(m *mapper) Node {
	c := *n
	c.Conds = m.list(n.Conds)
	return &c
}

func (n *Filter) format(p *printer) string {
	return "Filter " + p.list(n.Conds, " and ")
}

// Item is a computed column.
type Item struct {
	Col  Column
	Expr expr.Expr
}

// Project emits Items and nothing else.
type Project struct {
	relation
	Input Node
	Items []Item
}

func (n *Project) Children() []Node { return []Node{n.Input} }

func (n *Project) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *Project) Schema() []Column { return n.appendSchema(make([]Column, 0, len(n.Items))) }

func (n *Project) appendSchema(out []Column) []Column {
	for _, it := range n.Items {
		out = append(out, it.Col)
	}
	return out
}

func (*Project) Traits() Traits { return Traits{Rows: Computed} }

func (n *Project) mapExprs(m *mapper) Node {
	c := *n
	c.Items = m.items(n.Items)
	return &c
}

func (n *Project) format(p *printer) string {
	return "Project " + p.items(n.Items)
}

// ProjectSet emits each input row once for each row its functions return, in lock step, shorter
// ones padded with NULL (PostgreSQL 10 and later). It emits the input's columns, then the calls'
// columns. With Outer, an input row whose functions return nothing is emitted once, padded.
type ProjectSet struct {
	relation
	Input      Node
	Calls      []SetCall
	Ordinality expr.ColID
	Outer      bool
}

func (n *ProjectSet) Children() []Node { return []Node{n.Input} }

func (n *ProjectSet) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *ProjectSet) Schema() []Column {
	return setSchema(n.Input.Schema(), n.Calls, n.Ordinality, "ordinality")
}

func (*ProjectSet) Traits() Traits { return Traits{Rows: Expanded} }

func (n *ProjectSet) mapExprs(m *mapper) Node {
	c := *n
	c.Calls = m.calls(n.Calls)
	return &c
}

func (n *ProjectSet) format(p *printer) string {
	s := "ProjectSet "
	if n.Outer {
		s += "outer "
	}
	return s + p.calls(n.Calls) + p.ordinality(n.Ordinality)
}

// SortKey is a sort key.
type SortKey = expr.Order

// Sort orders its input; with Limit >= 0 only the first Limit rows are needed.
type Sort struct {
	relation
	Input Node
	Keys  []SortKey
	Limit int64 // -1: all
}

func (n *Sort) Children() []Node { return []Node{n.Input} }

func (n *Sort) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *Sort) Schema() []Column { return n.Input.Schema() }

// Traits of a sort: with a limit it emits the first rows only.
func (n *Sort) Traits() Traits {
	switch {
	case n.Limit < 0:
		return Traits{Rows: Each, Holds: true}
	case n.Limit > 0:
		return Traits{Rows: First, Holds: true}
	}
	return Traits{Rows: Selected, Holds: true}
}

func (n *Sort) mapExprs(m *mapper) Node {
	c := *n
	c.Keys = m.orders(n.Keys)
	return &c
}

func (n *Sort) format(p *printer) string {
	s := "Sort " + p.keys(n.Keys)
	if n.Limit >= 0 {
		s += fmt.Sprintf(" limit %d", n.Limit)
	}
	return s
}

// Limit skips Offset rows and emits Count; nil means none. With Ties, rows
// equal to the last by the sort keys Keys follow.
type Limit struct {
	relation
	Input         Node
	Count, Offset expr.Expr
	Ties          bool
	Keys          []SortKey
}

func (n *Limit) Children() []Node { return []Node{n.Input} }

func (n *Limit) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *Limit) Schema() []Column { return n.Input.Schema() }
func (*Limit) Traits() Traits     { return Traits{Rows: Selected} }

func (n *Limit) mapExprs(m *mapper) Node {
	c := *n
	c.Count, c.Offset = m.one(n.Count), m.one(n.Offset)
	c.Keys = m.orders(n.Keys)
	return &c
}

func (n *Limit) format(p *printer) string {
	s := "Limit"
	if n.Count != nil {
		s += " " + p.expr(n.Count)
	}
	if n.Offset != nil {
		s += " offset " + p.expr(n.Offset)
	}
	if n.Ties {
		s += " with ties " + p.keys(n.Keys)
	}
	return s
}

// DistinctOn keeps the first row of each set of equal Keys, in the order of
// Order (which begins with the keys, or is empty).
type DistinctOn struct {
	relation
	Input Node
	Keys  []expr.Expr
	Order []SortKey
}

func (n *DistinctOn) Children() []Node { return []Node{n.Input} }

func (n *DistinctOn) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *DistinctOn) Schema() []Column { return n.Input.Schema() }
func (*DistinctOn) Traits() Traits     { return Traits{Rows: First, Holds: true} }

func (n *DistinctOn) mapExprs(m *mapper) Node {
	c := *n
	c.Keys = m.list(n.Keys)
	c.Order = m.orders(n.Order)
	return &c
}

func (n *DistinctOn) format(p *printer) string {
	s := "DistinctOn " + p.list(n.Keys, ", ")
	if len(n.Order) > 0 {
		s += " order by " + p.keys(n.Order)
	}
	return s
}

// Max1Row fails with 21000 if its input has a second row.
type Max1Row struct {
	relation
	Input Node
}

func (n *Max1Row) Children() []Node { return []Node{n.Input} }

func (n *Max1Row) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *Max1Row) Schema() []Column      { return n.Input.Schema() }
func (*Max1Row) Traits() Traits          { return Traits{Rows: First} }
func (n *Max1Row) mapExprs(*mapper) Node { return n }

func (*Max1Row) format(p *printer) string {
	return "Max1Row"
}
