package plan

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/codec"
)

// StageID numbers the stages of a plan from 0, the root.
type StageID int

// RuntimeFilter returns the id of a stage's runtime filter.
func (id StageID) RuntimeFilter() StageID { return -id }

// Sender returns the stage whose rows, or runtime filter, have this id.
func (id StageID) Sender() StageID { return max(id, -id) }

// Placement is the nodes on which a stage runs: one task a node.
type Placement uint8

// The placements.
const (
	OnGateway Placement = iota
	OnAll               // on every node that takes part
)

// Stage is a part of a plan between exchanges. Its tree's leaves are scans
// and Receives; its rows go out by Out (nil for the root stage: to the client).
type Stage struct {
	ID    StageID
	Root  Node
	Out   *Output
	Where Placement
	// RuntimeFilter, where set, sends the columns Keys of all its rows to every node as well: to the
	// other side of the join that its rows are for, whose rows without such a key need not be sent.
	RuntimeFilter *Output
	// Single says that the tree must run in one thread (it has an operator that
	// needs all rows in one place and order).
	Single bool
	// Short says that the tree reads few rows of tables and makes no others: it may as well run in the
	// goroutine that reads its rows.
	Short bool
}

// Output is where a stage's rows go.
type Output struct {
	To   StageID
	Kind ExchangeKind
	Keys []expr.Expr // for HashBy, over the stage's columns; of a runtime filter, columns
}

// Staged is a physical plan, cut into stages. Stages[0] is the root.
type Staged struct {
	Stages []Stage
	// Holds: its operators are estimated to keep so many rows that it must queue for admission on the
	// nodes it runs on.
	Holds bool
	// Long: it is estimated to take so much time that others of its resource group may have to wait for it. It is only
	// estimated where there is a limit.
	Long bool
}

// kinds are the nodes of optimised plans, in the order of their numbers in messages between nodes:
// add at the end only.
var kinds = []Node{&Scan{}, &Values{}, &Virtual{}, &Source{}, &FuncScan{}, &Buffer{}, &Receive{}, &Filter{}, &Project{},
	&ProjectSet{}, &Aggregate{}, &Window{}, &Sort{}, &Limit{}, &DistinctOn{}, &Max1Row{}, &Join{}, &SetOp{}, &RecursiveUnion{}, &TableWrite{}, &Collect{}, &Exchange{}, &TrainGroups{}}

func init() {
	codec.Union(kinds...)
	codec.Union[expr.Expr](&expr.Col{}, &expr.Const{}, &expr.Param{}, &expr.Call{}, &expr.Cast{}, &expr.Case{}, &expr.And{}, &expr.Or{}, &expr.Not{},
		&expr.IsNull{}, &expr.BoolTest{}, &expr.Distinct{}, &expr.In{}, &expr.AnyAll{}, &expr.Coalesce{}, &expr.MinMax{}, &expr.ArrayCtor{}, &expr.RowCtor{},
		&expr.Subscript{}, &expr.Field{}, &expr.Predict{})
}
