package plan

import "fmt"

// SetOpKind is UNION, INTERSECT or EXCEPT.
type SetOpKind uint8

// The set operations.
const (
	Union SetOpKind = iota
	Intersect
	Except
)

// SetOp combines inputs whose columns agree in type and number, by position,
// and emits them as Cols. Union may have more than two inputs. Without All the
// result is distinct.
type SetOp struct {
	relation
	Kind   SetOpKind
	All    bool
	Inputs []Node
	Cols   []Column
}

func (n *SetOp) Children() []Node { return n.Inputs }

func (n *SetOp) WithChildren(c []Node) Node {
	m := *n
	m.Inputs = c
	return &m
}

func (n *SetOp) Schema() []Column      { return n.Cols }
func (*SetOp) Traits() Traits          { return Traits{Holds: true} }
func (n *SetOp) mapExprs(*mapper) Node { return n }

func (n *SetOp) format(p *printer) string {
	s := [...]string{"Union", "Intersect", "Except"}[n.Kind]
	if n.All {
		s += " All"
	}
	return s + " " + p.cols(n.Cols)
}

// RecursiveUnion runs Init, then Step over the rows of the last round (which Step reads as Buffer
// ID) until a round returns none. Without All, rows seen before are dropped. It runs on one node.
type RecursiveUnion struct {
	relation
	ID         int
	Init, Step Node
	All        bool
	Cols       []Column
}

func (n *RecursiveUnion) Children() []Node { return []Node{n.Init, n.Step} }

func (n *RecursiveUnion) WithChildren(c []Node) Node {
	m := *n
	m.Init, m.Step = c[0], c[1]
	return &m
}

func (n *RecursiveUnion) Schema() []Column {
	return n.Cols
}

func (*RecursiveUnion) Traits() Traits          { return Traits{Holds: true} }
func (n *RecursiveUnion) mapExprs(*mapper) Node { return n }

func (n *RecursiveUnion) format(p *printer) string {
	s := fmt.Sprintf("RecursiveUnion %d", n.ID)
	if n.All {
		s += " All"
	}
	return s + " " + p.cols(n.Cols)
}
