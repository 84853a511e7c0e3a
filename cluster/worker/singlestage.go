package worker

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/exec/task"
	"github.com/tributarydb/tributary/exec/turn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// singleStage runs a plan of one stage on this node: a task without scheduler or exchange,
// since most statements are short.
type singleStage struct {
	s        *Statement
	root     *plan.Stage
	start    func() error
	left     bool // a row was returned
	closed   sync.Once
	rest     func() // when its threads no longer work
	attempts int
	splits   int

	mu    sync.Mutex
	task  *task.Task
	queue *queue
}

func newSingleStage(ctx context.Context, s *Statement, root *plan.Stage, manifests map[*plan.Scan]*catalog.Manifest) (*singleStage, error) {
	c := &s.g.w.cfg
	r := &singleStage{s: s, root: root}
	threads := 0
	if !root.Short {
		threads = s.threads(c.Threads())
	}
	var lists [][]op.Split
	for i, n := range build.Leaves(root.Root) {
		list := cut(s.keySplits(ctx, n, i, manifests), threads)
		lists = append(lists, list)
		r.splits += len(list)
	}
	buffers := s.filled()
	r.start = func() error {
		r.attempts++
		q := newQueue(lists)
		t, err := task.Start(ctx, build.Config{
			Stage: root, Runtime: s.runtime(), Env: s.env, Splits: q, Tables: s.pin, Virtuals: s.o.Virtual, Sources: c.Sources, Buffers: buffers,
			Writers: c.writers(s.pool), Collects: c.Collects, Groups: c.Groups,
		})
		if err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.task, r.queue = t, q
		return nil
	}
	if err := r.start(); err != nil {
		return nil, err
	}
	r.rest = turn.Work(threads)
	return r, nil
}

// keySplits returns a leaf's splits; for a lookup by key, those that may have the key.
func (s *Statement) keySplits(ctx context.Context, n plan.Node, leaf int, manifests map[*plan.Scan]*catalog.Manifest) []op.Split {
	sc, ok := n.(*plan.Scan)
	if !ok {
		return s.splits(n, leaf, manifests, 0)
	}
	k := store.KeyOf(sc, s.st.RelationByOID(sc.Table), s.env)
	if k == nil {
		return s.splits(n, leaf, manifests, 0)
	}
	keep := k.MayHave
	if !k.IsInt() {
		pr := s.pin.Pruner(sc, s.env)
		keep = pr.MayMatchSegment
	}
	return s.pin.KeySplits(ctx, s.manifest(sc, manifests), leaf, k, keep)
}

// ProvenAbsent reports whether indexes prove that no row of a manifest has these values of a
// constraint's columns.
func (s *Statement) ProvenAbsent(ctx context.Context, m *catalog.Manifest, rel *catalog.Relation, c *catalog.Constraint, vals []types.Datum) bool {
	k := store.KeyFor(rel, c, vals)
	return k != nil && s.pin.Lacks(ctx, m, k)
}

// Row reads the row of a manifest that has a key, nil for none, in the columns of a scan: without a plan, and
// without the scan's filter. known is false where a plan must find it, as where a file is damaged.
func (s *Statement) Row(ctx context.Context, m *catalog.Manifest, sc *plan.Scan, k *store.Key) (b *batch.Batch, known bool, err error) {
	err = op.Guard("key", func() (err error) {
		b, known, err = s.pin.Row(ctx, m, sc, k)
		return err
	})
	var bad *store.CorruptError
	var repaired *store.RepairedError
	if errors.As(err, &bad) || errors.As(err, &repaired) {
		return nil, false, nil
	}
	return b, known, err
}

// Next implements op.BatchReader. Damage that a task meets is repaired, and where no
// row was returned or written the task restarts.
func (r *singleStage) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		b, err := r.task.Next(ctx)
		if err == nil {
			r.left = true
		}
		if err == nil || err == io.EOF {
			return b, err
		}
		err = r.s.g.w.cfg.Store.Repair(ctx, err)
		var repaired *store.RepairedError
		if !errors.As(err, &repaired) || r.left || r.attempts > maxRepairs {
			return nil, err
		}
		if _, writes, _ := inspect(&plan.Staged{Stages: []plan.Stage{*r.root}}, r.s.common()); writes {
			return nil, err
		}
		if err := r.task.Close(); err != nil {
			return nil, err
		}
		if err := r.s.again(); err != nil {
			return nil, err
		}
		if err := r.start(); err != nil {
			return nil, err
		}
	}
}

// Close implements op.BatchReader.
func (r *singleStage) Close() error {
	err := r.task.Close()
	r.closed.Do(func() {
		r.rest()
		r.s.unset()
		r.s.g.w.cfg.noted(r.s.id, r.root, r.task)
	})
	return err
}

// now returns the running task and its splits.
func (r *singleStage) now() (*task.Task, *queue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.task, r.queue
}

func (r *singleStage) actuals() stage.Actuals {
	out := stage.Actuals{}
	t, _ := r.now()
	addStats(out, statsOf(r.root.ID, t.Stats()))
	return out
}
