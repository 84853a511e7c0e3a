package plan

import (
	"fmt"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TableWrite carries out INSERT, UPDATE, DELETE or MERGE over its input's rows: new rows become
// segments of the table, old ones are deleted. It runs wherever its input is, and emits a row
// (bytea, an encoded catalog.Written) for each segment that it made or deleted rows of. Rows that
// are NULL where the table says NOT NULL, or for which a check is false, fail the statement. A row
// that comes twice fails a MERGE; UPDATE and DELETE change it once, if Again says that it may come twice,
// as from a join.
type TableWrite struct {
	relation
	Input Node
	Kind  DMLKind
	Table *catalog.Relation
	// Namespace is the name of the table's schema, for errors.
	Namespace string
	Cols      []int16      // attnum of each column that is written
	Values    []expr.ColID // the input's columns for Cols; nil: all, in order
	RowID     expr.ColID   // the input's column as in DML, and so is
	Action    expr.ColID
	Again     bool
	Checks    []Check // over the input's columns
	// Proposed, for the rows of an INSERT … ON CONFLICT (whose Kind is MergeRows), are the input's
	// columns that were to be inserted. They must pass ProposedChecks, and not be NULL where the table
	// forbids it, whatever action the row leads to.
	Proposed       []expr.ColID
	ProposedChecks []Check
	Out            Column
	// Returning is emitted for each row that was changed, Updated for those that were updated, both in
	// rows where Out is NULL.
	Returning, Updated []Item
	// SegmentRows is how many rows a segment gets at most; 0: the store's default.
	SegmentRows int64
	// Hidden are columns that an error's detail may not show, since who writes may not read them.
	// Partial says that there may be such, so that the detail names the columns it shows.
	Hidden  []int16
	Partial bool
}

func (n *TableWrite) Children() []Node { return []Node{n.Input} }

func (n *TableWrite) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

func (n *TableWrite) Schema() []Column {
	cols := []Column{n.Out}
	for _, list := range [][]Item{n.Returning, n.Updated} {
		for _, it := range list {
			cols = append(cols, it.Col)
		}
	}
	return cols
}

func (*TableWrite) Traits() Traits { return Traits{Holds: true, Outside: true} }

func (n *TableWrite) mapExprs(m *mapper) Node {
	c := *n
	checks := func(list []Check) []Check {
		out := append([]Check(nil), list...)
		for i, k := range list {
			out[i].Expr = m.one(k.Expr)
		}
		return out
	}
	c.Checks, c.ProposedChecks = checks(n.Checks), checks(n.ProposedChecks)
	c.Returning, c.Updated = m.items(n.Returning), m.items(n.Updated)
	return &c
}

func (n *TableWrite) format(p *printer) string {
	s := "TableWrite " + n.Kind.String() + " " + n.Table.Name
	if n.Proposed != nil {
		s += " on conflict"
	}
	for _, list := range [][]Item{n.Returning, n.Updated} {
		if len(list) > 0 {
			s += " " + p.items(list)
		}
	}
	return s
}

// Collect passes its input's rows to a collector that a training has opened on every node, and
// emits one row a thread: how many they were (int8). It runs wherever its input is, and so leaves
// rows where they lie.
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
	// FilterKeys are columns that are also sent to every node, to the one Receive whose Link has this
	// exchange's number, not 0; they become Stage.RuntimeFilter.
	FilterKeys []expr.Expr
	Link       int
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
	c.FilterKeys = m.list(n.FilterKeys)
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
	if len(n.FilterKeys) > 0 {
		s += fmt.Sprintf(" runtime filter %s %d", p.list(n.FilterKeys, ", "), n.Link)
	}
	return s
}
