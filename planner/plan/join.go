package plan

import (
	"github.com/tributarydb/tributary/sql/types"

	"github.com/tributarydb/tributary/planner/expr"
)

// JoinKind is the kind of a join or Apply.
type JoinKind uint8

// The kinds. Semi and Anti emit left rows only. AntiNull is NOT IN: a NULL on
// either side decides as SQL says. Mark emits the left row and whether a match
// exists (true, false, NULL) as column Mark. Single emits the left row with the
// right row or NULLs, and fails with 21000 on a second match.
const (
	Inner JoinKind = iota
	Left
	Right
	Full
	Semi
	Anti
	AntiNull
	Mark
	Single
	// RightSemi and RightAnti emit the right rows that have, or have not, a
	// match on the left: Semi and Anti with the sides swapped, for a right side
	// that is the smaller. Only opt makes them.
	RightSemi
	RightAnti
)

// Join combines two inputs. The binder fills On; opt moves equalities of one
// side's expression with the other's to LKeys, RKeys and the rest to Residual.
// The right side is the one that is built into a hash table.
//
// After opt: AntiNull has exactly one key and no Residual. Mark with one key
// that is not NullSafe and without Residual is SQL's IN: NULL where no key
// matches and either key is NULL (and the right side is not empty). Any other
// Mark: keys choose the candidates (a NULL key matches nothing unless
// NullSafe), and the mark is the three-valued OR of Residual over them; with
// no Residual, whether there is one.
type Join struct {
	relation
	Kind         JoinKind
	L, R         Node
	On           []expr.Expr
	LKeys, RKeys []expr.Expr
	NullSafe     []bool // per key: NULL matches NULL (IS NOT DISTINCT FROM)
	Residual     []expr.Expr
	MarkCol      expr.ColID // for Mark
	Rows         float64    // estimate
	// Broadcast is stage's choice: the right side goes to every node.
	Broadcast bool
}

func (n *Join) Children() []Node { return []Node{n.L, n.R} }

func (n *Join) WithChildren(c []Node) Node {
	m := *n
	m.L, m.R = c[0], c[1]
	return &m
}

func (n *Join) Schema() []Column { return appendSchema(nil, n) }
func (*Join) Traits() Traits     { return Traits{Holds: true} }

func (n *Join) mapExprs(m *mapper) Node {
	c := *n
	c.On = m.list(n.On)
	c.LKeys, c.RKeys = m.list(n.LKeys), m.list(n.RKeys)
	c.Residual = m.list(n.Residual)
	return &c
}

func (n *Join) format(p *printer) string {
	s := joinName(n.Kind) + " Join"
	if len(n.On) > 0 {
		s += " on " + p.list(n.On, " and ")
	}
	if len(n.LKeys) > 0 {
		s += " keys " + p.list(n.LKeys, ", ") + " = " + p.list(n.RKeys, ", ")
	}
	if len(n.Residual) > 0 {
		s += " residual " + p.list(n.Residual, " and ")
	}
	if n.Kind == Mark {
		s += " mark " + p.id(n.MarkCol)
	}
	if n.Broadcast {
		s += " broadcast"
	}
	return s
}

// appendSchema descends a tree of joins and windows and appends the columns of its leaves: if each made a
// list of its own, a chain of n would make n²/2 columns.
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
	case *Window:
		dst = appendSchema(dst, x.Input)
		for _, it := range x.Items {
			dst = append(dst, it.Col)
		}
		return dst
	case *Exchange:
		return appendSchema(dst, x.Input)
	case *Aggregate:
		return x.appendSchema(dst)
	case *Project:
		return x.appendSchema(dst)
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

// Apply is a join whose right side reads columns of the left: LATERAL and
// subqueries. Only before decorrelation.
type Apply struct {
	relation
	Kind    JoinKind
	L, R    Node
	On      []expr.Expr
	MarkCol expr.ColID
}

func (n *Apply) Children() []Node { return []Node{n.L, n.R} }

func (n *Apply) WithChildren(c []Node) Node {
	m := *n
	m.L, m.R = c[0], c[1]
	return &m
}

func (n *Apply) Schema() []Column { return appendSchema(nil, n) }
func (*Apply) Traits() Traits     { return Traits{} }

func (n *Apply) mapExprs(m *mapper) Node {
	c := *n
	c.On = m.list(n.On)
	return &c
}

func (n *Apply) format(p *printer) string {
	s := joinName(n.Kind) + " Apply"
	if len(n.On) > 0 {
		s += " on " + p.list(n.On, " and ")
	}
	return s
}
