package coord

import (
	"context"
	"io"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// run is a session's statement being carried out over one view of the catalog.
type run struct {
	*query.Run
	x  *execution
	st *catalog.State
}

// newRun opens the statement's resources over a view.
func (s *Session) newRun(x *execution, st *catalog.State) *run {
	x.enter(st)
	return &run{x: x, st: st, Run: x.Open(st)}
}

// enter sets the view of what runs in the execution from now on.
func (x *execution) enter(st *catalog.State) {
	s := x.s
	x.Env.Host.(*host).enter(st, x)
	if len(s.cursors) > 0 || s.asleep > 0 {
		x.Admission.Pass() // they hold what others may wait for
	}
}

func (r *run) close() { r.Close() }

// writes notes the tables that a statement and its buffers write.
func (r *run) writes(rel *catalog.Relation, defs []plan.BufferDef) {
	h := r.x.Env.Host.(*host)
	if rel != nil {
		h.writes(rel)
	}
	for _, b := range defs {
		if b.DML != nil {
			h.writes(b.DML.Table)
		}
	}
}

// optimize makes a bound query one that can run; next is the first free column.
func (r *run) optimize(q *plan.Query) (o *plan.Query, next expr.ColID, err error) {
	r.writes(nil, q.Buffers)
	return r.Optimize(r.x.ctx, q)
}

// optimizeDML is optimize for a statement that writes.
func (r *run) optimizeDML(d *plan.DML) (*plan.DML, error) {
	r.writes(d.Table, d.Buffers)
	return r.OptimizeDML(r.x.ctx, d)
}

// planDML is optimizeDML for one that may come again; staged as Run.Keyed gives it.
func (r *run) planDML(b *query.Bound) (d *plan.DML, staged *plan.Staged, err error) {
	r.writes(b.DML.Table, b.DML.Buffers)
	return r.Keyed(r.x.ctx, b)
}

// query optimises and starts a bound query. The reader gives its columns in
// order.
func (r *run) query(q *plan.Query) (op.BatchReader, []plan.Column, error) {
	r.writes(nil, q.Buffers)
	return r.Query(r.x.ctx, q, r.write)
}

// open starts a bound query.
func (r *run) open(b *query.Bound) (op.BatchReader, []plan.Column, error) {
	r.writes(nil, b.Query.Buffers)
	return r.Open(r.x.ctx, b, r.write)
}

// buffers fills the statement's buffers, in order.
func (r *run) buffers(defs []plan.BufferDef) error {
	return r.Buffers(r.x.ctx, defs, r.write)
}

func (r *run) write(d *plan.DML) (op.BatchReader, error) { return r.x.s.dmlRows(r, d) }

// start stages an optimised tree and runs it. The reader's columns are cols.
func (r *run) start(root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	return r.Start(r.x.ctx, root, cols, manifests)
}

// few is start for a tree of which it is known that it reads few rows.
func (r *run) few(root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	return r.Few(r.x.ctx, root, cols, manifests)
}

// sql runs SQL text made by the engine itself (checks, rewrites) as the
// session's own query over the run's view.
func (r *run) sql(text string) (op.BatchReader, []plan.Column, error) {
	q, err := r.bound(text)
	if err != nil {
		return nil, nil, err
	}
	return r.query(q)
}

// bound binds SQL text over the run's view.
func (r *run) bound(text string) (*plan.Query, error) {
	stmt, err := parseOne(text)
	if err != nil {
		return nil, err
	}
	b := r.x.s.planning(r.x.ctx, r.st, stmt, nil)
	b.Trusted = true
	return bind.Query(b, stmt.Node)
}

// first gives the first row of a reader as datums, nil if there is none, and
// closes the reader.
func first(ctx context.Context, rows op.BatchReader, cols []plan.Column) ([]types.Datum, error) {
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

// now is the clock of the package, here so that one place names it.
func now() time.Time { return time.Now() }
