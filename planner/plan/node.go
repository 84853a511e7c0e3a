package plan

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// Column is a column that a node emits.
type Column struct {
	ID   expr.ColID
	Name string
	Type types.Type
	// Table and Num name the table column this is, for RowDescription; 0 if it
	// is computed.
	Table types.OID
	Num   int16
}

// Node is a relational operator. It describes itself: what is written once for all nodes, from
// walks to the codec, asks these methods; decision 26 lists what a new one has to define.
type Node interface {
	expr.Relation
	// Schema lists the columns it emits.
	Schema() []Column
	// Children returns its inputs, in order; WithChildren returns a copy with others.
	Children() []Node
	WithChildren([]Node) Node
	// Traits say what holds of every node of its kind.
	Traits() Traits
	// mapExprs returns a copy with m applied to each expression of its own.
	mapExprs(m *mapper) Node
	// format prints it, without its inputs, in a line.
	format(p *printer) string
}

type relation struct{}

// IsRelation implements expr.Relation.
func (relation) IsRelation() {}

// Traits are what a rule may rely on if it knows nothing else of a node. The zero value promises
// nothing: a rule that finds it leaves the node alone.
type Traits struct {
	// Rows is what it makes of the rows of its one input.
	Rows RowTrait
	// Holds: it keeps input rows before it emits any.
	Holds bool
	// Outside: its rows come from, or go to, what is not in the plan: tables, files, other stages.
	Outside bool
}

// RowTrait describes how the rows that a node emits derive from those of its input.
type RowTrait uint8

// The traits of rows, each with what the earlier ones in its line promise too:
//
//	Derived      each row stems from one row of the input
//	├ Expanded   … and has its columns (ProjectSet)
//	├ Computed   … each row of the input gives one, of other columns (Project)
//	└ Selected   … and has its columns, and no row gives two (Limit, Filter)
//	  ├ First    … and if there is a row at all, one is given (DistinctOn, Max1Row)
//	  └ Each     … and each row is given (Window, Exchange)
const (
	Unrelated RowTrait = iota
	Expanded
	Computed
	Selected
	First
	Each
)

// Derived reports whether no input rows yield no rows.
func (t RowTrait) Derived() bool { return t != Unrelated }

// KeepsColumns reports whether the columns of the input are emitted, unchanged.
func (t RowTrait) KeepsColumns() bool { return t.Derived() && t != Computed }

// AtMostOnce reports whether each row of the input yields at most one row.
func (t RowTrait) AtMostOnce() bool { return t >= Computed }

// KeepsSome reports whether there is a row if the input has one.
func (t RowTrait) KeepsSome() bool { return t == Computed || t >= First }
