package query

import (
	"context"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/opt"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Run is a statement being carried out: its optimised pieces over one view of
// the catalog. It must be closed, after all its readers.
type Run struct {
	Statement // the Runner's
	x         *Execution
	state     *catalog.State
	nodes     int          // how many take part in plans that are worth it
	staged    *plan.Staged // the plan staged last
}

// Open opens the statement's resources over a view.
func (x *Execution) Open(st *catalog.State) *Run {
	r, c := x.planner.Runner, x.Context
	return &Run{x: x, state: st, nodes: r.Nodes(), Statement: r.Statement(x.ID, st, x.Pool, x.Env, RunOptions{
		BatchSize: c.BatchSize, Saturation: c.Saturation, Virtual: x.planner.Virtual.For(x, st), Admission: x.Admission})}
}

// optEnv is what the optimiser may ask.
func (r *Run) optEnv(ctx context.Context, next *expr.ColID) *rule.Env {
	return &rule.Env{State: r.state, Folder: eval.Folder{Env: r.x.Env}, Params: r.x.Context.Params, NextCol: next, Nodes: r.nodes, Poll: Poll(ctx)}
}

// Optimize is the only way from a bound query to one that can run: it checks the
// privileges that the query needs. next is the first free column. The tree that it is
// given stays as it was.
func (r *Run) Optimize(ctx context.Context, q *plan.Query) (o *plan.Query, next expr.ColID, err error) {
	if err := plan.Authorize(r.state, r.x.Context.Role, q.Tables); err != nil {
		return nil, 0, err
	}
	next = q.NextCol
	o, err = opt.Optimize(q, r.optEnv(ctx, &next))
	return o, next, err
}

// OptimizeDML is Optimize for a statement that writes.
func (r *Run) OptimizeDML(ctx context.Context, d *plan.DML) (*plan.DML, error) {
	if err := plan.Authorize(r.state, r.x.Context.Role, d.Tables); err != nil {
		return nil, err
	}
	next := d.NextCol
	return opt.DML(d, r.optEnv(ctx, &next))
}

// Query optimises and starts a bound query. The reader gives the columns that
// Optimize does. For write see Buffers.
func (r *Run) Query(ctx context.Context, q *plan.Query, write func(*plan.DML) (op.BatchReader, error)) (op.BatchReader, []plan.Column, error) {
	o, _, err := r.Optimize(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	if err := r.Buffers(ctx, o.Buffers, write); err != nil {
		return nil, nil, err
	}
	rows, err := r.Start(ctx, o.Root, o.Cols, nil)
	return rows, o.Cols, err
}

// Open starts a bound statement that gives rows, as Query does.
func (r *Run) Open(ctx context.Context, b *Bound, write func(*plan.DML) (op.BatchReader, error)) (op.BatchReader, []plan.Column, error) {
	if k := b.plan(r); k.staged != nil && r.here(k.staged.Stages[0].Root, nil) {
		if err := plan.Authorize(r.state, r.x.Context.Role, k.query.Tables); err != nil {
			return nil, nil, err
		}
		rows, err := r.Staged(ctx, k.staged)
		return rows, k.query.Cols, err
	}
	return r.Query(ctx, b.Query, write)
}

// Keyed gives the optimised form of a bound statement that writes, and the plan
// of its source where that is one for all parameters.
func (r *Run) Keyed(ctx context.Context, b *Bound) (*plan.DML, *plan.Staged, error) {
	if k := b.plan(r); k.staged != nil && r.here(k.staged.Stages[0].Root, nil) {
		return k.dml, k.staged, plan.Authorize(r.state, r.x.Context.Role, k.dml.Tables)
	}
	d, err := r.OptimizeDML(ctx, b.DML)
	return d, nil, err
}

// Staged runs a plan that was staged before.
func (r *Run) Staged(ctx context.Context, s *plan.Staged) (op.BatchReader, error) {
	r.staged = s
	return r.Run(ctx, s, nil)
}

// Buffers fills the statement's buffers, in order. write runs what writes a table
// and gives its rows; nil where nothing may be written.
func (r *Run) Buffers(ctx context.Context, defs []plan.BufferDef, write func(*plan.DML) (op.BatchReader, error)) error {
	for _, d := range defs {
		var rows op.BatchReader
		var err error
		cols := d.Cols
		switch {
		case d.DML == nil:
			rows, err = r.Start(ctx, d.Root, d.Cols, nil)
		case write == nil:
			err = pgerr.Unsupported("WITH clause containing a data-modifying statement is not supported here")
		default:
			rows, err = write(d.DML)
		}
		if err != nil {
			return err
		}
		if err := r.Fill(ctx, d.ID, cols, rows); err != nil {
			return err
		}
	}
	return nil
}

// Stage makes the stages of an optimised tree, whose columns are cols. It changes
// the tree.
func (r *Run) Stage(ctx context.Context, root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) error {
	kept := props.Kept(root, props.FromState(r.state))
	staged, err := stage.Stage(root, cols, r.stageEnv(ctx, root, manifests))
	if err != nil {
		return err
	}
	staged.Holds = kept > heldRows || kept > 0 && r.x.Pool.Paused()
	r.staged = staged
	return nil
}

// Start stages an optimised tree and runs it. The reader's columns are cols.
func (r *Run) Start(ctx context.Context, root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	if err := r.Stage(ctx, root, cols, manifests); err != nil {
		return nil, err
	}
	return r.Run(ctx, r.staged, manifests)
}

// Few starts a tree of which the caller knows that it reads and gives few rows, as
// one that looks for keys. Nothing is weighed for it.
func (r *Run) Few(ctx context.Context, root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	if !r.here(root, manifests) {
		return r.Start(ctx, root, cols, manifests)
	}
	s, err := stage.Stage(root, cols, &stage.Env{Nodes: 1, Stats: props.FromState(nil)})
	if err != nil {
		return nil, err
	}
	s.Stages[0].Single, s.Stages[0].Short = true, true
	r.staged = s
	return r.Run(ctx, s, manifests)
}

// heldRows is how many rows a plan may keep without being admitted to the nodes
// where it runs: a megabyte or two, unless they are long. What most applications
// ask never queues, but where memory is short already.
const heldRows = 20000

// stageEnv is what staging a plan asks. Plans over few rows stay on this node.
func (r *Run) stageEnv(ctx context.Context, root plan.Node, manifests map[*plan.Scan]*catalog.Manifest) *stage.Env {
	e := &stage.Env{Nodes: r.nodes, State: r.state, Poll: Poll(ctx)}
	least := r.x.Context.DistributeRows
	if c, ok := root.(*plan.Collect); ok && least > 0 { // they will be read over and over: every value counts
		least = max(least/int64(max(len(c.Input.Schema()), 1)), 1)
	}
	if e.Nodes > 1 && least > 0 && r.Reads(root, manifests, least, false) < least {
		e.Nodes = 1
	}
	return e
}

// here tells whether a tree of few rows may run on this node alone: all that its
// scans may read is here.
func (r *Run) here(n plan.Node, manifests map[*plan.Scan]*catalog.Manifest) bool {
	if r.nodes <= 1 {
		return true
	}
	if r.x.Context.DistributeRows == 0 {
		return false
	}
	if sc, ok := n.(*plan.Scan); ok {
		m := manifests[sc]
		if m == nil {
			m = r.state.Manifest(sc.Table)
		}
		if m != nil {
			for _, p := range m.Partitions {
				for _, g := range p {
					if g.Inline == nil && !slices.Contains(g.Nodes, r.x.planner.Self) {
						return false
					}
				}
			}
		}
	}
	for _, k := range n.Children() {
		if !r.here(k, manifests) {
			return false
		}
	}
	return true
}

// Reads is how many rows the leaves of a plan read; counting may end at enough.
// Segments that a scan's filter rules out do not count. Files of this node, which
// only it can read, do where files says so.
func (r *Run) Reads(n plan.Node, manifests map[*plan.Scan]*catalog.Manifest, enough int64, files bool) (rows int64) {
	switch n := n.(type) {
	case *plan.Source:
		if files || !source.Local(n) {
			rows = int64(min(max(n.Rows, 0), math.MaxInt32))
		}
	case *plan.Scan:
		m := manifests[n]
		if m == nil {
			m = r.state.Manifest(n.Table)
		}
		if m == nil {
			return 0
		}
		if rows = m.Rows(); rows < enough || len(n.Filter) == 0 {
			return rows
		}
		rows = 0
		pr := store.NewPruner(n, r.x.Env)
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
		rows += r.Reads(k, manifests, enough, files)
	}
	return rows
}
