package query

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/prune"
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Executor plans one statement over one view of the catalog, and runs the plans.
// It must be closed, after all its readers.
type Executor struct {
	Statement // the Runner's
	x         *Run
	state     *catalog.State
	nodes     int          // how many take part in plans that are worth it
	staged    *plan.Staged // the plan staged last
	parts     []stage.Part // what fills the statement's buffers
	main      *stage.Part  // what Show prints, where that is not the plan staged last
	plans     planSize
	// Analyze keeps what each part did, for Show.
	Analyze bool
}

// Execute implements Statement.
func (r *Executor) Execute(ctx context.Context, p *plan.Staged, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	if r.Analyze || r.x.Caller.KeepOperators {
		r.Statement.KeepOperators()
	}
	return r.Statement.Execute(ctx, p, manifests)
}

// Close implements Statement.
func (r *Executor) Close() {
	ops, exchanged := r.Statement.Observed()
	d := r.x.Did
	d.Operators, d.Exchanged = append(d.Operators, ops...), d.Exchanged+exchanged
	r.Statement.Close()
	r.plans.close()
}

// charge charges what the trees of a bound statement take while it is optimised and runs.
func (r *Executor) charge(b *planner.Bound) error {
	columns := expr.ColID(0)
	if b.Query != nil {
		columns = b.Query.NextCol
	} else if b.DML != nil {
		columns = b.DML.NextCol
	}
	return r.plans.grown(columns)
}

// timed counts what runs until the result is called as planning.
func (r *Executor) timed() func() {
	began := time.Now()
	return func() { r.x.Did.Planning += time.Since(began) }
}

// Open opens the statement's resources over a view.
func (x *Run) Open(st *catalog.State) *Executor {
	r, c := x.planner.Runner, x.Caller
	return &Executor{x: x, state: st, nodes: r.Nodes(), plans: planSize{pool: x.planner.Pool}, Statement: r.Statement(x.ID, st, x.Pool, x.Env, RunOptions{
		BatchSize: c.BatchSize, Saturation: c.Saturation, Virtual: x.planner.Virtual.For(c, st), Admission: x.Admission})}
}

// planning returns the environment for which plans are made; manifests are those of scans that do not read
// the manifests of the executor's state.
func (r *Executor) planning(ctx context.Context, manifests map[*plan.Scan]*catalog.Manifest) *planner.Env {
	x := r.x
	return &planner.Env{State: r.state, Role: x.Caller.Role, Params: x.Caller.Params, Nodes: r.nodes, Threads: x.planner.Runner.Threads(), Folder: eval.Folder{Env: x.Env},
		WithoutParams: func(readNow func()) rule.Folder {
			values := *x.Env.Types
			values.ReadNow = readNow
			return eval.Folder{Env: &function.Env{Types: &values, Pool: x.Env.Pool, Host: x.Env.Host}}
		},
		NodesFor: func(root plan.Node) int { return r.nodesFor(root, manifests) },
		Local:    func(root plan.Node) bool { return r.isLocal(root, manifests) },
		Replicas: r.replicas(manifests), Weigh: x.planner.Resources.Of(x.Caller.SessionUser).Limits().Concurrency > 0, Scarce: x.Pool.Paused, Poll: Poll(ctx)}
}

// Optimize optimises a bound statement; its tree can then be cut into stages.
func (r *Executor) Optimize(ctx context.Context, b *planner.Bound) (*planner.Planned, error) {
	if err := r.charge(b); err != nil {
		return nil, err
	}
	defer r.timed()()
	return planner.Optimize(b, r.planning(ctx, nil))
}

// Plan optimises a bound statement and cuts it into stages, so that it can run.
func (r *Executor) Plan(ctx context.Context, b *planner.Bound) (*planner.Planned, error) {
	p, err := planner.KnownGeneric(b, r.state, r.x.Caller.Role, func(root plan.Node) bool { return r.isLocal(root, nil) })
	if p != nil || err != nil {
		return p, err
	}
	if err := r.charge(b); err != nil {
		return nil, err
	}
	defer r.timed()()
	return planner.Plan(b, r.planning(ctx, nil))
}

// Generic returns the generic plan of a statement, nil where it has none.
func (r *Executor) Generic(ctx context.Context, b *planner.Bound) (*planner.Planned, error) {
	if p, known, err := planner.Generic(b, nil); known {
		return p, err
	}
	if err := r.charge(b); err != nil {
		return nil, err
	}
	defer r.timed()()
	p, _, err := planner.Generic(b, r.planning(ctx, nil))
	return p, err
}

// Query plans and starts a bound query. The reader has the returned columns. For
// write see Buffers.
func (r *Executor) Query(ctx context.Context, b *planner.Bound, write func(plan.BufferDef) (op.BatchReader, error)) (op.BatchReader, []plan.Column, error) {
	p, err := r.Plan(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	return r.Planned(ctx, p, write)
}

// Planned is Query of a query that is planned.
func (r *Executor) Planned(ctx context.Context, p *planner.Planned, write func(plan.BufferDef) (op.BatchReader, error)) (op.BatchReader, []plan.Column, error) {
	first, last := plan.Unread(p.Query.Buffers, p.Query.Root)
	if err := r.Buffers(ctx, slices.Concat(first, last), write); err != nil {
		return nil, nil, err
	}
	rows, err := r.Staged(ctx, p.Staged)
	return rows, p.Query.Cols, err
}

// Staged runs a plan that was staged before.
func (r *Executor) Staged(ctx context.Context, s *plan.Staged) (op.BatchReader, error) {
	r.staged = s
	return r.Execute(ctx, s, nil)
}

// Buffers fills the statement's buffers, in order. write runs a data-modifying
// statement in WITH and returns its RETURNING rows, and reads a query whose rows are locked; nil where
// nothing is written.
func (r *Executor) Buffers(ctx context.Context, defs []plan.BufferDef, write func(plan.BufferDef) (op.BatchReader, error)) error {
	for _, d := range defs {
		var rows op.BatchReader
		var err error
		cols := d.Cols
		switch {
		case d.DML == nil && (len(d.Locks) == 0 || write == nil):
			rows, err = r.Rows(ctx, d)
		case write == nil:
			err = pgerr.Unsupported("WITH clause containing a data-modifying statement is not supported here")
		default:
			rows, err = write(d)
		}
		if err != nil {
			return err
		}
		if err := r.Fill(ctx, d.ID, cols, rows); err != nil {
			return err
		}
		switch {
		case r.Analyze && d.DML == nil:
			r.parts[len(r.parts)-1].Actuals = r.Actuals()
		case r.main != nil: // a data-modifying WITH item
			r.main.Name = d.Name
			r.parts, r.main = append(r.parts, *r.main), nil
		}
	}
	return nil
}

// Rows computes a buffer's rows.
func (r *Executor) Rows(ctx context.Context, d plan.BufferDef) (op.BatchReader, error) {
	if err := r.stageBuffer(ctx, d); err != nil {
		return nil, err
	}
	return r.Execute(ctx, r.staged, nil)
}

// stageBuffer makes the stages of the plan that fills a buffer.
func (r *Executor) stageBuffer(ctx context.Context, d plan.BufferDef) error {
	root, cols := d.Root, d.Cols
	if d.DML != nil {
		if d.DML.Source == nil {
			return nil
		}
		root, cols = d.DML.Source, d.DML.Source.Schema()
	}
	err := r.Stage(ctx, root, cols, nil)
	if err == nil {
		r.parts = append(r.parts, stage.Part{Name: d.Name, Plan: r.staged, Writes: d.DML})
	}
	return err
}

// StageBuffers makes the stages of the plans that fill a statement's buffers, for Show.
func (r *Executor) StageBuffers(ctx context.Context, defs []plan.BufferDef) error {
	for _, d := range defs {
		if d.DML != nil {
			if err := r.StageBuffers(ctx, d.DML.Buffers); err != nil {
				return err
			}
		}
		if err := r.stageBuffer(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// Stage makes the stages of an optimised tree, whose columns are cols. It changes
// the tree.
func (r *Executor) Stage(ctx context.Context, root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) error {
	defer r.timed()()
	staged, err := planner.Stage(root, cols, r.planning(ctx, manifests))
	r.staged = staged
	return err
}

// Start stages an optimised tree and runs it. The reader's columns are cols.
func (r *Executor) Start(ctx context.Context, root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	if err := r.Stage(ctx, root, cols, manifests); err != nil {
		return nil, err
	}
	return r.Execute(ctx, r.staged, manifests)
}

// StartSmall starts a tree that reads and returns few rows, such as a look-up of keys. If this node has
// everything that the tree reads, the tree runs here without estimates.
func (r *Executor) StartSmall(ctx context.Context, root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	if !r.isLocal(root, manifests) {
		return r.Start(ctx, root, cols, manifests)
	}
	s, err := planner.SingleStage(root, cols, props.FromState(nil))
	if err != nil {
		return nil, err
	}
	r.staged = s
	return r.Execute(ctx, s, manifests)
}

// nodesFor returns how many nodes run a tree. Trees over few rows run on this node only.
func (r *Executor) nodesFor(root plan.Node, manifests map[*plan.Scan]*catalog.Manifest) int {
	least := r.x.Caller.DistributeRows
	if c, ok := root.(*plan.Collect); ok && least > 0 { // collected rows are read many times, so values are counted, not rows
		least = max(least/int64(max(len(c.Input.Schema()), 1)), 1)
	}
	if least > 0 && r.LeafRows(root, manifests, least, false) < least {
		return 1
	}
	if c := r.x.Caller.DistributeCost; least > 0 && c > 0 && !isCollect(root) && props.Work(root, props.FromState(r.state)) < float64(c) {
		return 1
	}
	return r.nodes
}

func isCollect(n plan.Node) bool {
	_, ok := n.(*plan.Collect)
	return ok
}

// replicas returns which nodes hold which parts of the tables; nil where the setting colocate is
// off or there is one node.
func (r *Executor) replicas(manifests map[*plan.Scan]*catalog.Manifest) stage.Replicas {
	if r.nodes <= 1 || !r.x.Caller.Colocate {
		return nil
	}
	return r.Replicas(manifests)
}

// isLocal reports whether a tree of few rows may run on this node alone: it holds all
// segments that the scans may read.
func (r *Executor) isLocal(n plan.Node, manifests map[*plan.Scan]*catalog.Manifest) bool {
	if r.nodes <= 1 {
		return true
	}
	if r.x.Caller.DistributeRows == 0 {
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
		if !r.isLocal(k, manifests) {
			return false
		}
	}
	return true
}

// LeafRows returns the number of rows that the leaves of a plan read; counting may stop at enough. Segments
// that a scan's filter rules out do not count, and files that only this node can read count if files is set.
func (r *Executor) LeafRows(n plan.Node, manifests map[*plan.Scan]*catalog.Manifest, enough int64, files bool) (rows int64) {
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
		pr := prune.NewPruner(n, r.x.Env)
		for _, part := range m.Partitions {
			for _, s := range part {
				if pr.MayMatchSegment(s) {
					rows += s.Live()
				}
			}
			if rows >= enough {
				break
			}
		}
	}
	for _, k := range n.Children() {
		rows += r.LeafRows(k, manifests, enough, files)
	}
	return rows
}
