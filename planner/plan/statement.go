package plan

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Query is a bound statement that returns rows.
type Query struct {
	Root Node
	Cols []Column // what the client sees, in order; a subset of Root's schema
	// Buffers are run first, in order, each into the buffer of its ID. A
	// buffer whose DML is set is a data-modifying CTE: its RETURNING rows.
	Buffers []BufferDef
	Params  []types.Type // by $N, as given or inferred
	// Tables are the relations the statement reads or writes, for privileges,
	// for EXPLAIN, and to see that a cached plan is still good.
	Tables []TableUse
	// NextCol is the first ColID that is free, for rules that need more.
	NextCol expr.ColID
	// Locks are the row locks of FOR UPDATE, FOR SHARE and the like.
	Locks []Lock
}

// Lock is a lock of the rows of a table that a query reads: those whose row ids are in Root's
// column Col, or all where Col is 0.
type Lock struct {
	Table types.OID
	Col   expr.ColID
	Share bool // against FOR UPDATE, but not against another share
	// Skip (SKIP LOCKED) leaves out rows that another session has locked so, NoWait fails.
	Skip, NoWait bool
}

// BufferDef is a buffer and the query or DML that fills it.
type BufferDef struct {
	ID   int
	Name string
	Root Node
	Cols []Column
	DML  *DML
	// Whole: all rows are computed, whatever is read of them: the query is MATERIALIZED, locks what it
	// reads or is volatile.
	Whole bool
	// Locks are those that rows get as they are read: columns of Cols. Limit is how many rows there are at most
	// where rows may be left out for theirs; < 0: all.
	Locks []Lock
	Limit int64
}

// Skipped is for how many rows, beside those that are locked, a query with a LIMIT looks that skips
// rows: others may lock or take some meanwhile.
const Skipped = 100

// DMLKind is the kind of a DML statement.
type DMLKind uint8

// The kinds.
const (
	InsertRows DMLKind = iota
	UpdateRows
	DeleteRows
	MergeRows
)

// String names the kind as EXPLAIN does.
func (k DMLKind) String() string { return [...]string{"Insert", "Update", "Delete", "Merge"}[k] }

// DML is a bound INSERT, UPDATE, DELETE or MERGE. Source emits, for each row to be written, the
// columns that the fields below name.
type DML struct {
	Kind   DMLKind
	Table  *catalog.Relation
	Source Node
	// Values are the new row's columns in Source by table column (parallel to
	// Table.Columns live ones; generated and defaults already computed).
	// Insert, Update.
	Values []expr.ColID
	// RowID is the column of Source with the old row's id. Update, Delete. A row that
	// comes several times is changed by the first; a MERGE fails then.
	RowID expr.ColID
	// Old are the old row's columns, by live column of the table. Optimising leaves of them in Source
	// those that OldKeys names or something else reads.
	Old []expr.ColID
	// Action, for MERGE, is an int4 column: 0 nothing, 1 insert, 2 update, 3 delete.
	Action expr.ColID
	// Checks must be true or NULL over Source's columns; NotNull are checked by
	// the writer from the descriptor.
	Checks []Check
	// OnConflict handles unique violations of an INSERT; nil: an error.
	OnConflict *OnConflict
	// Returning is computed over Source's columns (new values stand for the
	// table's columns in INSERT and UPDATE, old ones in DELETE).
	Returning []Item
	Buffers   []BufferDef
	Params    []types.Type
	Tables    []TableUse
	NextCol   expr.ColID
}

// OldKeys are the columns of the old row that the writer itself reads, to tell which keys of other
// tables follow an updated one: a foreign key refers to columns of a unique constraint. A deleted
// row is known by its id.
func (d *DML) OldKeys() (keys []expr.ColID) {
	if d.Kind != UpdateRows && d.Kind != MergeRows || len(d.Table.ReferencedBy) == 0 {
		return nil
	}
	for i, c := range d.Table.Live() {
		if i < len(d.Old) && slices.ContainsFunc(d.Table.Constraints, func(k catalog.Constraint) bool {
			return (k.Kind == 'p' || k.Kind == 'u' || k.Kind == 'i') && slices.Contains(k.Columns, c.Num)
		}) {
			keys = append(keys, d.Old[i])
		}
	}
	return keys
}

// ReturningColumns are the columns of RETURNING, nil for none.
func (d *DML) ReturningColumns() (cols []Column) {
	for _, it := range d.Returning {
		cols = append(cols, it.Col)
	}
	return cols
}

// Check is a CHECK constraint over a DML's source columns, or the condition of a view that rows are
// written through WITH CHECK OPTION, which has the view's name and is never NULL.
type Check struct {
	Name string
	View bool
	Expr expr.Expr
}

// OnConflict is INSERT's ON CONFLICT. For DO UPDATE, Excluded are columns that
// stand for the proposed row and Existing for the row that is there, both
// parallel to the table's live columns; Set and Where are evaluated over them
// and over Source's other columns (subqueries are computed there).
type OnConflict struct {
	Arbiter  types.OID // the unique constraint or index that decides, by the OID of its constraint; 0: any (DO NOTHING)
	Update   bool
	Excluded []expr.ColID
	Existing []expr.ColID
	Set      []expr.Expr // per live column: the new value
	Where    expr.Expr
}

// Keeps reports whether DO UPDATE leaves a live column of the table alone.
func (c *OnConflict) Keeps(i int) bool {
	if c.Set[i] == nil {
		return true
	}
	x, ok := c.Set[i].(*expr.Col)
	return ok && x.ID == c.Existing[i]
}

// Poll reports whether the statement that is being planned may go on: its error ends planning and
// is returned to the client. It is called often, from the goroutine that plans, so it must be
// cheap.
type Poll func() error
