package query

import (
	"context"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/prune"
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Run is a statement being carried out: its optimised plans over one view of
// the catalog. It must be closed, after all its readers.
type Run struct {
	Statement // the Runner's
	x         *Execution
	state     *catalog.State
	nodes     int          // how many take part in plans that are worth it
	staged    *plan.Staged // the plan staged last
	parts     []stage.Part // what fills the statement's buffers
	main      *stage.Part  // what Show prints, where that is not the plan staged last
	// Analyze keeps what each part did, for Show.
	Analyze bool
}

// Open opens the statement's resources over a view.
func (x *Execution) Open(st *catalog.State) *Run {
	r, c := x.planner.Runner, x.Context
	return &Run{x: x, state: st, nodes: r.Nodes(), Statement: r.Statement(x.ID, st, x.Pool, x.Env, RunOptions{
		BatchSize: c.BatchSize, Saturation: c.Saturation, Virtual: x.planner.Virtual.For(c, st), Admission: x.Admission})}
}

// planning is what a plan over the run's view is made for; manifests are those of
// scans that do not read the view's.
func (r *Run) planning(ctx context.Context, manifests map[*plan.Scan]*catalog.Manifest) *planner.Env {
	x := r.x
	return &planner.Env{State: r.state, Role: x.Context.Role, Params: x.Context.Params, Nodes: r.nodes, Threads: x.planner.Runner.Threads(), Folder: eval.Folder{Env: x.Env},
		WithoutParams: func(readNow func()) rule.Folder {
			values := *x.Env.Types
			values.ReadNow = readNow
			return eval.Folder{Env: &function.Env{Types: &values, Pool: x.Env.Pool, Host: x.Env.Host}}
		},
		NodesFor: func(root plan.Node) int { return r.nodesFor(root, manifests) },
		Local:    func(root plan.Node) bool { return r.here(root, manifests) },
		Replicas: r.replicas(manifests), Scarce: x.Pool.Paused, Poll: Poll(ctx)}
}

// Optimize makes a bound statement one whose tree can be staged.
func (r *Run) Optimize(ctx context.Context, b *planner.Bound) (*planner.Planned, error) {
	return planner.Optimize(b, r.planning(ctx, nil))
}

// Plan makes a bound statement one that can run.
func (r *Run) Plan(ctx context.Context, b *planner.Bound) (*planner.Planned, error) {
	p, err := planner.Known(b, r.state, r.x.Context.Role, func(root plan.Node) bool { return r.here(root, nil) })
	if p != nil || err != nil {
		return p, err
	}
	return planner.Plan(b, r.planning(ctx, nil))
}

// Query plans and starts a bound query. The reader gives the columns returned. For
// write see Buffers.
func (r *Run) Query(ctx context.Context, b *planner.Bound, write func(*plan.DML) (op.BatchReader, error)) (op.BatchReader, []plan.Column, error) {
	p, err := r.Plan(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	if err := r.Buffers(ctx, p.Query.Buffers, write); err != nil {
		return nil, nil, err
	}
	rows, err := r.Staged(ctx, p.Staged)
	return rows, p.Query.Cols, err
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
			if err = r.part(ctx, d); err == nil {
				rows, err = r.Run(ctx, r.staged, nil)
			}
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
		switch {
		case r.Analyze && d.DML == nil:
			r.parts[len(r.parts)-1].Actuals = r.Actuals()
		case r.main != nil: // what writes within the statement is a part of it
			r.main.Name = d.Name
			r.parts, r.main = append(r.parts, *r.main), nil
		}
	}
	return nil
}

// part makes the stages of what fills a buffer.
func (r *Run) part(ctx context.Context, d plan.BufferDef) error {
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

// Parts makes the stages of what fills a statement's buffers, for Show.
func (r *Run) Parts(ctx context.Context, defs []plan.BufferDef) error {
	for _, d := range defs {
		if d.DML != nil {
			if err := r.Parts(ctx, d.DML.Buffers); err != nil {
				return err
			}
		}
		if err := r.part(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// Stage makes the stages of an optimised tree, whose columns are cols. It changes
// the tree.
func (r *Run) Stage(ctx context.Context, root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) error {
	staged, err := planner.Stage(root, cols, r.planning(ctx, manifests))
	r.staged = staged
	return err
}

// Start stages an optimised tree and runs it. The reader's columns are cols.
func (r *Run) Start(ctx context.Context, root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	if err := r.Stage(ctx, root, cols, manifests); err != nil {
		return nil, err
	}
	return r.Run(ctx, r.staged, manifests)
}

// Few starts a tree of which the caller knows that it reads and gives few rows, as
// one that looks for keys. Its place is not estimated.
func (r *Run) Few(ctx context.Context, root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	if !r.here(root, manifests) {
		return r.Start(ctx, root, cols, manifests)
	}
	s, err := planner.Short(root, cols, props.FromState(nil))
	if err != nil {
		return nil, err
	}
	r.staged = s
	return r.Run(ctx, s, manifests)
}

// nodesFor is how many nodes a tree is worth: those over few rows stay on this one.
func (r *Run) nodesFor(root plan.Node, manifests map[*plan.Scan]*catalog.Manifest) int {
	least := r.x.Context.DistributeRows
	if c, ok := root.(*plan.Collect); ok && least > 0 { // they will be read over and over: every value counts
		least = max(least/int64(max(len(c.Input.Schema()), 1)), 1)
	}
	if least > 0 && r.Reads(root, manifests, least, false) < least {
		return 1
	}
	if c := r.x.Context.DistributeCost; least > 0 && c > 0 && !isCollect(root) && props.Work(root, props.FromState(r.state)) < float64(c) {
		return 1
	}
	return r.nodes
}

func isCollect(n plan.Node) bool {
	_, ok := n.(*plan.Collect)
	return ok
}

// replicas returns what of the tables lies where, unless that is not to count.
func (r *Run) replicas(manifests map[*plan.Scan]*catalog.Manifest) stage.Replicas {
	if r.nodes <= 1 || !r.x.Context.Colocate {
		return nil
	}
	return r.Replicas(manifests)
}

// here reports whether a tree of few rows may run on this node alone: all that its
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
		pr := prune.NewPruner(n, r.x.Env)
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
