package plan

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
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

// Node is a relational operator.
type Node interface {
	expr.Relation
	Schema() []Column
	Children() []Node
	WithChildren([]Node) Node
}

type relation struct{}

// IsRelation implements expr.Relation.
func (relation) IsRelation() {}

// ---- leaves ----

// Scan reads a table at the statement's snapshot. Which segments is not part
// of the plan: the coordinator hands out splits.
type Scan struct {
	relation
	Table   types.OID
	Name    string // schema-qualified where needed, for EXPLAIN
	Alias   string
	Cols    []Column      // Num is the attnum to read
	Missing []types.Datum // per column, for segments older than the column; may be nil
	// Filter are conditions over Cols that the scan applies: zone maps first,
	// then rows.
	Filter []expr.Expr
	// RowID, where not 0, is an extra last column (int8): which row of which
	// segment, for UPDATE and DELETE. See exec/store.RowID.
	RowID expr.ColID
	Rows  float64 // estimate of the rows before Filter
}

// Values is a list of rows of expressions without columns; with no Cols and
// one empty row it is the FROM-less SELECT's input.
type Values struct {
	relation
	Cols []Column
	Rows [][]expr.Expr
}

// Virtual is a relation computed at the gateway: pg_catalog, information_schema,
// ml.*, cluster.*.
type Virtual struct {
	relation
	Schema_ string
	Name    string
	Alias   string
	Args    []types.Datum // for those that take some, such as ml.weights('m')
	Cols    []Column      // Num is the ordinal in the relation's full row, from 1
	Filter  []expr.Expr
}

// Source is a table function that makes or reads rows in bulk and can be split
// among nodes: read_csv, read_parquet, make_classification, timeseries.
type Source struct {
	relation
	Name   string
	Args   []Arg
	Cols   []Column // Num is the ordinal in the function's full row, from 1
	Rows   float64  // estimate
	Filter []expr.Expr
}

// Arg is a constant argument of a Source by name.
type Arg struct {
	Name string
	Val  types.Datum
	Type types.Type
}

// FuncScan is a set-returning function in FROM whose arguments are constant in
// the statement (parameters included). Several Calls are ROWS FROM.
type FuncScan struct {
	relation
	Calls      []SetCall
	Ordinality expr.ColID // 0 for none
	OrdName    string
}

// SetCall is a call of a set-returning function and the columns it gives.
type SetCall struct {
	Fn   *fn.Func
	Args []expr.Expr
	Cols []Column
}

// Buffer reads a materialised relation of the statement: a CTE used twice, the
// working table of a recursive one, the RETURNING rows of a data-modifying
// one.
type Buffer struct {
	relation
	ID   int
	Name string
	Cols []Column
	Rows float64
}

// Receive reads what another stage sends.
type Receive struct {
	relation
	From  StageID
	Cols  []Column
	Merge []SortKey // inputs are sorted: merge them
}

// ---- one input ----

// Filter keeps rows for which all conditions are true.
type Filter struct {
	relation
	Input Node
	Conds []expr.Expr
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

// ProjectSet emits each input row once for each row its functions give, in
// lock step, shorter ones padded with NULL (PostgreSQL 10 and later). It emits
// the input's columns, then the calls' columns. With Outer, an input row whose
// functions give nothing is emitted once, padded.
type ProjectSet struct {
	relation
	Input      Node
	Calls      []SetCall
	Ordinality expr.ColID
	Outer      bool
}

// AggItem is an aggregate and the column it gives.
type AggItem struct {
	Col  Column
	Call expr.AggCall
}

// AggPhase says which half of an aggregation a node does.
type AggPhase uint8

// The phases. Partial emits the groups and one column (bytea) of encoded state
// an aggregate; Final merges such rows.
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

// Limit skips Offset rows and emits Count; nil means none. With Ties, rows
// equal to the last by the sort keys Keys follow.
type Limit struct {
	relation
	Input         Node
	Count, Offset expr.Expr
	Ties          bool
	Keys          []SortKey
}

// DistinctOn keeps the first row of each set of equal Keys, in the order of
// Order (which begins with the keys, or is empty).
type DistinctOn struct {
	relation
	Input Node
	Keys  []expr.Expr
	Order []SortKey
}

// Max1Row fails with 21000 if its input has a second row.
type Max1Row struct {
	relation
	Input Node
}

// ---- two and more inputs ----

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

// Apply is a join whose right side reads columns of the left: LATERAL and
// subqueries. Only before decorrelation.
type Apply struct {
	relation
	Kind    JoinKind
	L, R    Node
	On      []expr.Expr
	MarkCol expr.ColID
}

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

// RecursiveUnion runs Init, then Step over the rows of the last round (which
// Step reads as Buffer ID) until a round gives none. Without All, rows seen
// before are dropped. It runs on one node.
type RecursiveUnion struct {
	relation
	ID         int
	Init, Step Node
	All        bool
	Cols       []Column
}

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

// Collect gives its input's rows to a collector that the statement has opened
// on every node, a training's, and emits one row a lane: how many they were
// (int8). It runs wherever its input is, and so leaves rows where they lie.
type Collect struct {
	relation
	Input Node
	Name  string // of the collector
	Out   Column
}

// ---- distribution ----

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
