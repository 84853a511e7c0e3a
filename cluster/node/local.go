package node

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/coord"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/exec/task"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Local runs plans on this node alone: it implements coord.Runner.
type Local struct {
	Store   *store.Store
	Sources op.Sources
	Parts   func(*plan.Source) int // splits of a source
	Threads int
	Temp    string
	Budget  *spill.Budget
	// Replicate makes a segment durable on its replicas; nil on one node.
	Replicate func(ctx context.Context, s *catalog.Segment) error
}

// Nodes implements coord.Runner.
func (l *Local) Nodes() int { return 1 }

// Statement implements coord.Runner.
func (l *Local) Statement(id string, st *catalog.State, pool *mem.Pool, env *eval.Env, opts coord.RunOptions) coord.Statement {
	return &statement{l: l, st: st, pool: pool, env: env, opts: opts, buffers: map[int]*op.Buffer{},
		pin: l.Store.Pin(opts.BatchSize), dir: spill.NewDir(spill.Options{Parent: l.Temp, Pool: pool, Budget: l.Budget})}
}

// statement runs the plans of one statement. It is for the session's
// goroutine; the tasks it starts have their own.
type statement struct {
	l       *Local
	st      *catalog.State
	pool    *mem.Pool
	env     *eval.Env
	opts    coord.RunOptions
	buffers map[int]*op.Buffer
	pin     *store.Pin
	dir     *spill.Dir
	last    *task.Task
	plan    *plan.Staged
	start   time.Time
}

func (s *statement) runtime() *op.Runtime {
	return &op.Runtime{Lanes: s.l.Threads, BatchSize: s.opts.BatchSize, Pool: s.pool, Spill: s.dir}
}

// Run implements coord.Statement.
func (s *statement) Run(ctx context.Context, p *plan.Staged, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	if len(p.Stages) != 1 {
		return nil, pgerr.Internal("a plan for one node has %d stages", len(p.Stages))
	}
	root := &p.Stages[0]
	t, err := task.Start(ctx, build.Config{
		Stage: root, Runtime: s.runtime(), Env: s.env, Splits: s.splits(root.Root, manifests), Tables: s.pin,
		Virtuals: s.opts.Virtual, Sources: s.l.Sources, Buffers: s.buffers,
		Writers: &store.TableWriters{Store: s.l.Store, Pool: s.pool, Replicate: s.l.Replicate},
	})
	if err != nil {
		return nil, err
	}
	s.last, s.plan, s.start = t, p, time.Now()
	return t, nil
}

// splits lists the work of a stage's leaves.
func (s *statement) splits(root plan.Node, manifests map[*plan.Scan]*catalog.Manifest) op.Splits {
	q := &queue{}
	for i, n := range build.Leaves(root) {
		var list []op.Split
		switch n := n.(type) {
		case *plan.Scan:
			m := manifests[n]
			if m == nil {
				m = s.st.Manifest(n.Table)
			}
			pr := store.NewPruner(n, s.env)
			list = store.Splits(m, i, 0, func(g *catalog.Segment) bool { return pr.MayMatch(g.Zones, g.Rows) })
		case *plan.Source:
			of := 1
			if s.l.Parts != nil {
				of = max(s.l.Parts(n), 1)
			}
			for p := 0; p < of; p++ {
				list = append(list, op.Split{Scan: i, Part: p, Of: of})
			}
		}
		q.lists = append(q.lists, list)
	}
	return q
}

// queue hands out splits in order.
type queue struct {
	mu    sync.Mutex
	lists [][]op.Split
}

// Next implements op.Splits.
func (q *queue) Next(_ context.Context, leaf int) (*op.Split, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if leaf >= len(q.lists) || len(q.lists[leaf]) == 0 {
		return nil, io.EOF
	}
	sp := &q.lists[leaf][0]
	q.lists[leaf] = q.lists[leaf][1:]
	return sp, nil
}

// Fill implements coord.Statement.
func (s *statement) Fill(ctx context.Context, id int, cols []plan.Column, in op.BatchReader) (err error) {
	defer func() {
		if cerr := in.Close(); err == nil {
			err = cerr
		}
	}()
	ts := make([]types.Type, len(cols))
	for i, c := range cols {
		ts[i] = c.Type
	}
	buf := op.NewBuffer(s.runtime(), ts)
	s.buffers[id] = buf
	for {
		b, err := in.Next(ctx)
		if err == io.EOF {
			return buf.Seal(ctx)
		}
		if err != nil {
			return err
		}
		if b.Rows() == 0 {
			continue
		}
		if err := buf.Append(ctx, &batch.Batch{Cols: b.Cols[:len(cols)], N: b.N, Sel: b.Sel, Seq: b.Seq}); err != nil {
			return err
		}
	}
}

// Actuals implements coord.Statement.
func (s *statement) Actuals() stage.Actuals {
	out := stage.Actuals{}
	if s.last == nil {
		return out
	}
	for _, st := range s.last.Stats() {
		out[stage.Key{Stage: s.plan.Stages[0].ID, Node: st.ID}] = stage.NodeStats{
			Rows: st.Rows.Load(), Batches: st.Batches.Load(), Time: time.Duration(st.Nanos.Load()),
			Memory: st.Memory.Load(), Spilled: st.Spilled.Load(), Tasks: 1,
		}
	}
	return out
}

// Close implements coord.Statement.
func (s *statement) Close() {
	for _, b := range s.buffers {
		b.Close()
	}
	_ = s.pin.Close()
	_ = s.dir.Close()
}
