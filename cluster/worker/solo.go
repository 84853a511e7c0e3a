package worker

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/task"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
)

// solo is a plan of one stage, which runs on this node: a task and nothing
// around it, for most statements are short.
type solo struct {
	*task.Task
	id     plan.StageID
	splits int
	queue  *queue
}

func newSolo(ctx context.Context, s *Statement, root *plan.Stage, manifests map[*plan.Scan]*catalog.Manifest) (*solo, error) {
	c := &s.g.w.cfg
	r := &solo{id: root.ID, queue: &queue{}}
	for i, n := range build.Leaves(root.Root) {
		list := s.splits(n, i, manifests)
		r.queue.lists = append(r.queue.lists, list)
		r.splits += len(list)
	}
	t, err := task.Start(ctx, build.Config{
		Stage: root, Runtime: s.runtime(), Env: s.env, Splits: r.queue, Tables: s.pin, Virtuals: s.o.Virtual, Sources: c.Sources, Buffers: s.buffers,
		Writers: c.writers(s.pool), Collects: c.Collects,
	})
	r.Task = t
	return r, err
}

func (r *solo) actuals() stage.Actuals {
	out := stage.Actuals{}
	addStats(out, statsOf(r.id, r.Stats()))
	return out
}

// queue hands out splits in order: op.Splits.
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

// left is how many splits wait.
func (q *queue) left() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lists {
		n += len(l)
	}
	return n
}
