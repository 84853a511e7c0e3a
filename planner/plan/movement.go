package plan

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TableWrite writes its input's rows as segments of a table and emits one row
// a segment: its encoded catalog.Written (bytea). It runs wherever its input
// is. Rows that are NULL where the table says NOT NULL, or for which a check is
// false, fail the statement.
type TableWrite struct {
	relation
	Input Node
	Table *catalog.Relation
	// Namespace is the name of the table's schema, for errors.
	Namespace string
	Cols      []int16      // attnum of each column that is written
	Values    []expr.ColID // the input's columns for Cols; nil: all, in order
	Checks    []Check      // over the input's columns
	Out       Column
	// SegmentRows is how many rows a segment gets at most; 0: what the store
	// thinks right.
	SegmentRows int64
}

func (n *TableWrite) Children() []Node { return []Node{n.Input} }

func (n *TableWrite) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *TableWrite) Schema() []Column { return []Column{n.Out} }
func (*TableWrite) Traits() Traits     { return Traits{Holds: true, Outside: true} }

func (n *TableWrite) mapExprs(m *mapper) Node {
	c := *n
	c.Checks = append([]Check(nil), n.Checks...)
	for i, k := range n.Checks {
		c.Checks[i].Expr = m.one(k.Expr)
	}
	return &c
}

func (n *TableWrite) format(p *printer) string {
	return "TableWrite " + n.Table.Name
}

// Collect gives its input's rows to a collector that the statement has opened
// on every node, a training's, and emits one row a lane: how many they were
// (int8). It runs wherever its input is, and so leaves rows where they lie.
type Collect struct {
	relation
	Input Node
	Name  string // of the collector
	Out   Column
}

func (n *Collect) Children() []Node { return []Node{n.Input} }

func (n *Collect) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *Collect) Schema() []Column      { return []Column{n.Out} }
func (*Collect) Traits() Traits          { return Traits{Holds: true, Outside: true} }
func (n *Collect) mapExprs(*mapper) Node { return n }

func (*Collect) format(p *printer) string {
	return "Collect"
}

// ExchangeKind says which rows go to which node.
type ExchangeKind uint8

// The exchanges.
const (
	Gather    ExchangeKind = iota // all to the gateway
	HashBy                        // by the hash of Keys
	Broadcast                     // all to every node
	Spread                        // evenly, in no order
)

// Exchange moves rows between nodes. Only physical.
type Exchange struct {
	relation
	Input Node
	Kind  ExchangeKind
	Keys  []expr.Expr
	Merge []SortKey // Gather of sorted inputs
}

func (n *Exchange) Children() []Node { return []Node{n.Input} }

func (n *Exchange) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *Exchange) Schema() []Column { return n.Input.Schema() }
func (*Exchange) Traits() Traits     { return Traits{Rows: Each, Outside: true} }

func (n *Exchange) mapExprs(m *mapper) Node {
	c := *n
	c.Keys = m.list(n.Keys)
	c.Merge = m.orders(n.Merge)
	return &c
}

func (n *Exchange) format(p *printer) string {
	s := "Exchange " + [...]string{"Gather", "HashBy", "Broadcast", "Spread"}[n.Kind]
	if len(n.Keys) > 0 {
		s += " " + p.list(n.Keys, ", ")
	}
	if len(n.Merge) > 0 {
		s += " merge " + p.keys(n.Merge)
	}
	return s
}
