package coord

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/opt"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// run is a statement being carried out: its optimised pieces over one view of
// the catalog.
type run struct {
	x    *execution
	st   *catalog.State
	stmt Statement
	// staged is the plan run last, for EXPLAIN ANALYZE.
	staged *plan.Staged
	head   string // what EXPLAIN prints above the plan
}

// newRun opens the statement's resources over a view.
func (s *Session) newRun(x *execution, st *catalog.State) *run {
	x.env.Host.(*host).enter(st, x)
	return &run{x: x, st: st, stmt: s.engine.cfg.Runner.Statement(x.id, st, x.pool, x.env, RunOptions{
		BatchSize:  int(s.set.Int("batch_size")),
		Saturation: s.saturation(),
		Virtual:    s.engine.cfg.Virtual.For(s, st),
	})}
}

func (r *run) close() { r.stmt.Close() }

// saturation is the setting worker_saturation; "inf" is everything at once.
func (s *Session) saturation() float64 {
	f, err := strconv.ParseFloat(s.set.Value("worker_saturation"), 64)
	if err != nil || f <= 0 {
		return 1.1
	}
	return f
}

// optEnv is what the optimiser may ask.
func (r *run) optEnv(next *expr.ColID) *opt.Env {
	return &opt.Env{State: r.st, Folder: eval.Folder{Env: r.x.env}, Params: r.x.params, NextCol: next, Nodes: r.x.s.engine.cfg.Runner.Nodes()}
}

// query optimises and starts a bound query. The reader gives its columns in
// order.
func (r *run) query(q *plan.Query) (op.BatchReader, []plan.Column, error) {
	next := q.NextCol
	o, err := opt.Optimize(q, r.optEnv(&next))
	if err != nil {
		return nil, nil, err
	}
	if err := r.buffers(o.Buffers); err != nil {
		return nil, nil, err
	}
	rows, err := r.start(o.Root, o.Cols, nil)
	return rows, o.Cols, err
}

// buffers fills the statement's buffers, in order.
func (r *run) buffers(defs []plan.BufferDef) error {
	for _, d := range defs {
		var rows op.BatchReader
		var err error
		cols := d.Cols
		if d.DML != nil {
			rows, err = r.x.s.dmlRows(r, d.DML)
		} else {
			rows, err = r.start(d.Root, d.Cols, nil)
		}
		if err != nil {
			return err
		}
		if err := r.stmt.Fill(r.x.ctx, d.ID, cols, rows); err != nil {
			return err
		}
	}
	return nil
}

// start stages an optimised tree and runs it. The reader's columns are cols.
func (r *run) start(root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	staged, err := stage.Stage(root, cols, r.stageEnv())
	if err != nil {
		return nil, err
	}
	r.staged = staged
	return r.stmt.Run(r.x.ctx, staged, manifests)
}

// sql runs SQL text made by the engine itself (checks, rewrites) as the
// session's own query over the run's view.
func (r *run) sql(text string) (op.BatchReader, []plan.Column, error) {
	stmt, err := parseOne(text)
	if err != nil {
		return nil, nil, err
	}
	b := r.x.s.binding(r.st, stmt, nil)
	q, err := bind.Query(b, stmt.Node)
	if err != nil {
		return nil, nil, err
	}
	return r.query(q)
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
