package write

import (
	"context"
	"io"
	"strings"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// Statement is one run of a statement in a transaction.
type Statement struct {
	*query.Run
	Host  Host // the caller's, with what a statement that writes asks of it
	Ctx   context.Context
	Text  *parse.Statement // nil where there is none
	Txn   *Txn             // nil where there is none, as for COMMIT
	Files Files
}

// Host is the host of a statement that writes.
type Host interface {
	query.Host
	// Enter sets the view that the statement has from now on.
	Enter(x *Statement, st *catalog.State)
	// Writes notes that the statement writes a table: filling in its identity columns
	// takes no privilege of its own.
	Writes(rel *catalog.Relation)
	// LockRow locks a row for the transaction, unless another session has locked it; there is
	// false where it has been deleted or changed since. LockedRows is about how many rows of a
	// table are locked.
	LockRow(ctx context.Context, l plan.Lock, seg *catalog.Segment, row uint32) (locked, there bool, err error)
	LockedRows(table types.OID) int
	// Within returns the host of a statement within this one.
	Within() Host
}

// In returns the execution of another caller's text within this one; h is that caller's host.
func (x *Statement) In(c *query.Caller, h Host, text *parse.Statement) *Statement {
	n := *x
	n.Text, n.Host, n.Run = text, h, x.Run.In(c)
	return &n
}

// As returns the execution on behalf of another role.
func (x *Statement) As(role types.OID) *Statement {
	h := x.Host.Within()
	return x.In(x.Caller.As(role, h), h, x.Text)
}

// Enter sets the view of what runs in the execution from now on.
func (x *Statement) Enter(st *catalog.State) { x.Host.Enter(x, st) }

// Executor is a statement being carried out over one view of the catalog. It must be
// closed.
type Executor struct {
	*query.Executor
	x      *Statement
	st     *catalog.State
	copied *copiedRows // of a COPY; nil otherwise
}

// Open opens the statement's resources over a view.
func (x *Statement) Open(st *catalog.State) *Executor {
	x.Enter(st)
	return &Executor{Executor: x.Run.Open(st), x: x, st: st}
}

// writes notes the tables that a statement and its buffers write.
func (r *Executor) writes(rel *catalog.Relation, defs []plan.BufferDef) {
	h := r.x.Host
	if rel != nil {
		h.Writes(rel)
	}
	for _, b := range defs {
		if b.DML != nil {
			h.Writes(b.DML.Table)
		}
	}
}

// Plan makes a bound query one that can run; next is the first free column.
func (r *Executor) Plan(q *plan.Query) (o *plan.Query, next expr.ColID, err error) {
	r.writes(nil, q.Buffers)
	p, err := r.Optimize(r.x.Ctx, planner.Once(q))
	if err != nil {
		return nil, 0, err
	}
	return p.Query, p.Query.NextCol, nil
}

// PlanDML is Plan for a statement that writes.
func (r *Executor) PlanDML(d *plan.DML) (*plan.DML, error) {
	r.writes(d.Table, d.Buffers)
	p, err := r.Optimize(r.x.Ctx, &planner.Bound{DML: d})
	if err != nil {
		return nil, err
	}
	return p.DML, nil
}

// start stages an optimised tree and runs it. The reader's columns are cols.
func (r *Executor) start(root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	return r.Start(r.x.Ctx, root, cols, manifests)
}

// fewWritten is how many rows a statement may write, or propose, and look for their keys
// without queueing, however large the tables are where it looks: a single row would wait
// behind reports of minutes, while those that wait for its commit hold what they have.
const fewWritten = 1000

// short lets the statement's plans skip the queues from now on where it writes few rows.
func (x *Statement) short(rows int64) {
	if rows <= fewWritten && x.Admission != nil {
		x.Admission.SkipQueue()
	}
}

// few is start for a tree of which it is known that it reads few rows.
func (r *Executor) few(root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	return r.StartSmall(r.x.Ctx, root, cols, manifests)
}

// binding is what binding a text over the run's view takes.
func (r *Executor) binding(text *parse.Statement) *bind.Session {
	return r.x.Binding(r.x.Ctx, r.st, text, nil)
}

// First returns the first row of a reader as datums, nil if there is none, and
// closes the reader.
func First(ctx context.Context, rows op.BatchReader, cols []plan.Column) ([]types.Datum, error) {
	defer rows.Close()
	for {
		b, err := rows.Next(ctx)
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if b.Rows() == 0 {
			continue
		}
		return rowAt(b, cols, 0), nil
	}
}

// rowAt reads counted row i of a batch.
func rowAt(b *batch.Batch, cols []plan.Column, i int) []types.Datum {
	if b.Sel != nil {
		i = int(b.Sel[i])
	}
	out := make([]types.Datum, len(cols))
	for c := range cols {
		out[c] = types.DatumAt(cols[c].Type, b.Cols[c], i)
	}
	return out
}

// keyText writes a key for an error.
func (r *Executor) keyText(cols []plan.Column, row []types.Datum) string {
	out := make([]string, len(row))
	for i, d := range row {
		out[i] = "null"
		if d != nil {
			out[i] = string(types.AppendText(nil, cols[i].Type, d, r.x.Caller.Values))
		}
	}
	return strings.Join(out, ", ")
}
