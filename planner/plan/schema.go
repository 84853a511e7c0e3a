package plan

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// Children and WithChildren.

func (n *Scan) Children() []Node             { return nil }
func (n *Scan) WithChildren([]Node) Node     { return n }
func (n *Values) Children() []Node           { return nil }
func (n *Values) WithChildren([]Node) Node   { return n }
func (n *Virtual) Children() []Node          { return nil }
func (n *Virtual) WithChildren([]Node) Node  { return n }
func (n *Source) Children() []Node           { return nil }
func (n *Source) WithChildren([]Node) Node   { return n }
func (n *FuncScan) Children() []Node         { return nil }
func (n *FuncScan) WithChildren([]Node) Node { return n }
func (n *Buffer) Children() []Node           { return nil }
func (n *Buffer) WithChildren([]Node) Node   { return n }
func (n *Receive) Children() []Node          { return nil }
func (n *Receive) WithChildren([]Node) Node  { return n }
func (n *Filter) Children() []Node           { return []Node{n.Input} }
func (n *Filter) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *Project) Children() []Node { return []Node{n.Input} }
func (n *Project) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *ProjectSet) Children() []Node { return []Node{n.Input} }
func (n *ProjectSet) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *Aggregate) Children() []Node { return []Node{n.Input} }
func (n *Aggregate) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *Window) Children() []Node { return []Node{n.Input} }
func (n *Window) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *Sort) Children() []Node { return []Node{n.Input} }
func (n *Sort) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *Limit) Children() []Node { return []Node{n.Input} }
func (n *Limit) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *DistinctOn) Children() []Node { return []Node{n.Input} }
func (n *DistinctOn) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *Max1Row) Children() []Node { return []Node{n.Input} }
func (n *Max1Row) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *TableWrite) Children() []Node { return []Node{n.Input} }
func (n *TableWrite) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *Collect) Children() []Node { return []Node{n.Input} }
func (n *Collect) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *Exchange) Children() []Node { return []Node{n.Input} }
func (n *Exchange) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}
func (n *Join) Children() []Node { return []Node{n.L, n.R} }
func (n *Join) WithChildren(c []Node) Node {
	m := *n
	m.L, m.R = c[0], c[1]
	return &m
}
func (n *Apply) Children() []Node { return []Node{n.L, n.R} }
func (n *Apply) WithChildren(c []Node) Node {
	m := *n
	m.L, m.R = c[0], c[1]
	return &m
}
func (n *SetOp) Children() []Node { return n.Inputs }
func (n *SetOp) WithChildren(c []Node) Node {
	m := *n
	m.Inputs = c
	return &m
}
func (n *RecursiveUnion) Children() []Node { return []Node{n.Init, n.Step} }
func (n *RecursiveUnion) WithChildren(c []Node) Node {
	m := *n
	m.Init, m.Step = c[0], c[1]
	return &m
}

// Schemas.

// Schema of a scan: Cols, then the row's id if asked for.
func (n *Scan) Schema() []Column {
	if n.RowID == 0 {
		return n.Cols
	}
	return append(n.Cols[:len(n.Cols):len(n.Cols)], Column{ID: n.RowID, Name: "rowid", Type: types.Int8})
}
func (n *Values) Schema() []Column  { return n.Cols }
func (n *Virtual) Schema() []Column { return n.Cols }
func (n *Source) Schema() []Column  { return n.Cols }
func (n *FuncScan) Schema() []Column {
	return setSchema(nil, n.Calls, n.Ordinality, n.OrdName)
}
func setSchema(in []Column, calls []SetCall, ord expr.ColID, name string) []Column {
	out := append([]Column(nil), in...)
	for _, c := range calls {
		out = append(out, c.Cols...)
	}
	if ord != 0 {
		out = append(out, Column{ID: ord, Name: name, Type: types.Int8})
	}
	return out
}
func (n *Buffer) Schema() []Column  { return n.Cols }
func (n *Receive) Schema() []Column { return n.Cols }
func (n *Filter) Schema() []Column  { return n.Input.Schema() }
func (n *Project) Schema() []Column {
	out := make([]Column, len(n.Items))
	for i, it := range n.Items {
		out[i] = it.Col
	}
	return out
}
func (n *ProjectSet) Schema() []Column {
	return setSchema(n.Input.Schema(), n.Calls, n.Ordinality, "ordinality")
}

// Schema of an aggregation: groups, the grouping id if asked for, aggregates.
func (n *Aggregate) Schema() []Column {
	out := make([]Column, 0, len(n.Groups)+len(n.Aggs)+1)
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
func (n *Window) Schema() []Column {
	out := append([]Column(nil), n.Input.Schema()...)
	for _, it := range n.Items {
		out = append(out, it.Col)
	}
	return out
}
func (n *Sort) Schema() []Column       { return n.Input.Schema() }
func (n *Limit) Schema() []Column      { return n.Input.Schema() }
func (n *DistinctOn) Schema() []Column { return n.Input.Schema() }
func (n *Max1Row) Schema() []Column    { return n.Input.Schema() }
func (n *TableWrite) Schema() []Column { return []Column{n.Out} }
func (n *Collect) Schema() []Column    { return []Column{n.Out} }
func (n *Exchange) Schema() []Column   { return n.Input.Schema() }
func (n *SetOp) Schema() []Column      { return n.Cols }
func (n *RecursiveUnion) Schema() []Column {
	return n.Cols
}
func (n *Join) Schema() []Column  { return appendSchema(nil, n) }
func (n *Apply) Schema() []Column { return appendSchema(nil, n) }

// appendSchema goes down a tree of joins and appends what its leaves give: if
// each join made a list of its own, a chain of n would make n²/2 columns.
func appendSchema(dst []Column, n Node) []Column {
	var kind JoinKind
	var l, r Node
	var mark expr.ColID
	switch x := n.(type) {
	case *Join:
		kind, l, r, mark = x.Kind, x.L, x.R, x.MarkCol
	case *Apply:
		kind, l, r, mark = x.Kind, x.L, x.R, x.MarkCol
	case *Filter:
		return appendSchema(dst, x.Input)
	default:
		return append(dst, n.Schema()...)
	}
	switch kind {
	case Semi, Anti, AntiNull:
		return appendSchema(dst, l)
	case RightSemi, RightAnti:
		return appendSchema(dst, r)
	case Mark:
		return append(appendSchema(dst, l), Column{ID: mark, Name: "mark", Type: types.Bool})
	}
	return appendSchema(appendSchema(dst, l), r)
}
