package plan

import (
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// AggItem is an aggregate and its result column.
type AggItem struct {
	Col  Column
	Call expr.AggCall
}

// AggPhase is the phase of an aggregation that a node computes.
type AggPhase uint8

// The phases. Partial emits the groups and one column (bytea) of encoded state an aggregate; Final
// merges such rows. The FILTER of a final call selects the states to merge.
const (
	AggSingle AggPhase = iota
	AggPartial
	AggFinal
)

// Aggregate groups by Groups (no groups and no Sets: one row, always). Sets
// are grouping sets as indexes into Groups; GroupingID, where not 0, is a
// column with the bit mask of the groups that a row's set leaves out, bit 0
// for the last group.
type Aggregate struct {
	relation
	Input      Node
	Groups     []Item
	Sets       [][]int
	GroupingID expr.ColID
	Aggs       []AggItem
	Phase      AggPhase
	// States are, for Partial, the columns it emits with the states, and for
	// Final the input columns that hold them; one an aggregate.
	States []expr.ColID
	Rows   float64 // estimate of groups
	// Regrouped, where not 0, is the column of one of Groups over which another aggregation merges Aggs,
	// reading no row where it is NULL for anything else: the aggregates may be in rows of their own, by the
	// other groups, instead of by all of them.
	Regrouped expr.ColID
}

func (n *Aggregate) Children() []Node { return []Node{n.Input} }

func (n *Aggregate) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

// Schema of an aggregation: groups, the grouping id if asked for, aggregates.
func (n *Aggregate) Schema() []Column {
	return n.appendSchema(make([]Column, 0, len(n.Groups)+len(n.Aggs)+1))
}

func (n *Aggregate) appendSchema(out []Column) []Column {
	for _, g := range n.Groups {
		out = append(out, g.Col)
	}
	if n.GroupingID != 0 {
		out = append(out, Column{ID: n.GroupingID, Name: "grouping", Type: types.Int4})
	}
	for i, a := range n.Aggs {
		c := a.Col
		if n.Phase == AggPartial {
			c = Column{ID: n.States[i], Name: c.Name, Type: types.Bytea}
		}
		out = append(out, c)
	}
	return out
}

func (*Aggregate) Traits() Traits { return Traits{Holds: true} }

func (n *Aggregate) mapExprs(m *mapper) Node {
	c := *n
	c.Groups = m.items(n.Groups)
	c.Aggs = make([]AggItem, len(n.Aggs))
	for i, a := range n.Aggs {
		a.Call = m.agg(a.Call)
		c.Aggs[i] = a
	}
	return &c
}

func (n *Aggregate) format(p *printer) string {
	s := "Aggregate"
	switch n.Phase {
	case AggPartial:
		s += " partial"
	case AggFinal:
		s += " final"
	}
	aggs := make([]string, len(n.Aggs))
	for i, a := range n.Aggs {
		aggs[i] = p.col(a.Col) + "=" + p.agg(a.Call)
	}
	if len(aggs) > 0 {
		s += " " + strings.Join(aggs, ", ")
	}
	if len(n.Groups) > 0 {
		s += " by " + p.items(n.Groups)
	}
	if n.Sets != nil {
		s += fmt.Sprintf(" sets %v", n.Sets)
	}
	if n.GroupingID != 0 {
		s += " id" + p.id(n.GroupingID)
	}
	if n.Regrouped != 0 {
		s += " regrouped" + p.id(n.Regrouped)
	}
	return s
}

// FrameBound and Frame are a window's frame.
type FrameBound struct {
	Kind   BoundKind
	Offset expr.Expr // for Preceding, Following
}

// BoundKind is the kind of a frame bound.
type BoundKind uint8

// The bounds.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// Frame is ROWS, RANGE or GROUPS between two bounds.
type Frame struct {
	Mode    byte // 'r' rows, 'v' range (values), 'g' groups
	Start   FrameBound
	End     FrameBound
	Exclude byte // 0 none, 'c' current row, 'g' group, 't' ties
}

// WindowItem is a window function (Call.Fn of any kind but set-returning).
type WindowItem struct {
	Col   Column
	Call  expr.AggCall
	Frame Frame
}

// Window adds Items computed over partitions of the input.
type Window struct {
	relation
	Input       Node
	PartitionBy []expr.Expr
	OrderBy     []expr.Order
	Items       []WindowItem
	// Top, where not 0, is after how many rows of a partition, in the order, its rows are not read any
	// more.
	Top int64
}

func (n *Window) Children() []Node { return []Node{n.Input} }

func (n *Window) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *Window) Schema() []Column { return appendSchema(nil, n) }

func (*Window) Traits() Traits { return Traits{Rows: Each, Holds: true} }

func (n *Window) mapExprs(m *mapper) Node {
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
}

func (n *Window) format(p *printer) string {
	its := make([]string, len(n.Items))
	for i, w := range n.Items {
		its[i] = p.col(w.Col) + "=" + p.agg(w.Call) + p.frame(w.Frame)
	}
	s := "Window " + strings.Join(its, ", ")
	if len(n.PartitionBy) > 0 {
		s += " partition by " + p.list(n.PartitionBy, ", ")
	}
	if len(n.OrderBy) > 0 {
		s += " order by " + p.keys(n.OrderBy)
	}
	if n.Top != 0 {
		s += fmt.Sprintf(" top %d", n.Top)
	}
	return s
}
