package coord

import (
	"context"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/exec/store"
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
	// nodes is how many take part in plans that are worth it.
	nodes int
	// staged is the plan run last, for EXPLAIN ANALYZE.
	staged *plan.Staged
	head   string // what EXPLAIN prints above the plan
}

// newRun opens the statement's resources over a view.
func (s *Session) newRun(x *execution, st *catalog.State) *run {
	x.env.Host.(*host).enter(st, x)
	if len(s.cursors) > 0 || s.asleep > 0 {
		x.admission.Pass() // they hold what others may wait for
	}
	return &run{x: x, st: st, nodes: s.engine.cfg.Runner.Nodes(), stmt: s.engine.cfg.Runner.Statement(x.id, st, x.pool, x.env, RunOptions{
		BatchSize:  int(s.set.Int("batch_size")),
		Saturation: s.saturation(),
		Virtual:    s.engine.cfg.Virtual.For(s, st),
		Admission:  x.admission,
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
	return &opt.Env{State: r.st, Folder: eval.Folder{Env: r.x.env}, Params: r.x.params, NextCol: next, Nodes: r.nodes, Poll: poll(r.x.ctx)}
}

// optimize is the only way from a bound query to one that can run: it checks the
// privileges that the query needs. next is the first free column.
func (r *run) optimize(q *plan.Query) (o *plan.Query, next expr.ColID, err error) {
	if err := plan.Authorize(r.st, r.x.s.role, q.Tables); err != nil {
		return nil, 0, err
	}
	for _, b := range q.Buffers {
		if b.DML != nil {
			r.x.env.Host.(*host).writes(b.DML.Table)
		}
	}
	next = q.NextCol
	o, err = opt.Optimize(q, r.optEnv(&next))
	return o, next, err
}

// optimizeDML is optimize for a statement that writes.
func (r *run) optimizeDML(d *plan.DML) (*plan.DML, error) {
	if err := plan.Authorize(r.st, r.x.s.role, d.Tables); err != nil {
		return nil, err
	}
	r.x.env.Host.(*host).writes(d.Table)
	for _, b := range d.Buffers {
		if b.DML != nil {
			r.x.env.Host.(*host).writes(b.DML.Table)
		}
	}
	next := d.NextCol
	return opt.DML(d, r.optEnv(&next))
}

// query optimises and starts a bound query. The reader gives its columns in
// order.
func (r *run) query(q *plan.Query) (op.BatchReader, []plan.Column, error) {
	o, _, err := r.optimize(q)
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
	kept := opt.Kept(root, opt.FromState(r.st)) // staging changes the tree
	staged, err := stage.Stage(root, cols, r.stageEnv(root, manifests))
	if err != nil {
		return nil, err
	}
	staged.Holds = kept > heldRows || kept > 0 && r.x.pool.Paused()
	r.staged = staged
	return r.stmt.Run(r.x.ctx, staged, manifests)
}

// heldRows is how many rows a plan may keep without being admitted to the nodes
// where it runs: a megabyte or two, unless they are long. What most applications
// ask never queues, but where memory is short already.
const heldRows = 20000

// stageEnv is what staging a plan asks. Plans over few rows stay on this node.
func (r *run) stageEnv(root plan.Node, manifests map[*plan.Scan]*catalog.Manifest) *stage.Env {
	e := &stage.Env{Nodes: r.nodes, State: r.st, Poll: poll(r.x.ctx)}
	if least := r.x.s.set.Int("tributary.distribute_rows"); e.Nodes > 1 && least > 0 && r.reads(root, manifests, least) < least {
		e.Nodes = 1
	}
	return e
}

// reads is how many rows the leaves of a plan read; counting may end at enough.
// Segments that a scan's filter rules out do not count, nor do files of this
// node, which only it can read.
func (r *run) reads(n plan.Node, manifests map[*plan.Scan]*catalog.Manifest, enough int64) (rows int64) {
	switch n := n.(type) {
	case *plan.Source:
		if !source.Local(n) {
			rows = int64(min(max(n.Rows, 0), math.MaxInt32))
		}
	case *plan.Scan:
		m := manifests[n]
		if m == nil {
			m = r.st.Manifest(n.Table)
		}
		if m == nil {
			return 0
		}
		if rows = m.Rows(); rows < enough || len(n.Filter) == 0 {
			return rows
		}
		rows = 0
		pr := store.NewPruner(n, r.x.env)
		for _, part := range m.Partitions {
			for _, s := range part {
				if pr.MayMatch(s.Zones, s.Rows) {
					rows += s.Live()
				}
			}
			if rows >= enough {
				break
			}
		}
	}
	for _, k := range n.Children() {
		rows += r.reads(k, manifests, enough)
	}
	return rows
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
