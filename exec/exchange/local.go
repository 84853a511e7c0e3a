package exchange

import (
	"context"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Local connects the stages of one statement whose tasks all run in this
// process, on one node or on several that tests make up. Batches are handed
// on as they are.
type Local struct {
	staged *plan.Staged
	nodes  int
	window int64
	mu     sync.Mutex
	queues map[streamID]*Queue
	merged map[plan.StageID]bool // whose streams are read apart
	ended  error
}

// streamID names the stream of a stage from a sender (-1: all of them, mixed)
// to a destination. Streams are apart only where they are merged: a reader that
// takes what comes first never waits for one sender while another has no credit
// left.
type streamID struct {
	stage        plan.StageID
	sender, dest int
}

// NewLocal makes the exchange of a statement on nodes 0 to nodes-1, 0 being the
// gateway. window bounds the bytes of each stream (0: Window).
func NewLocal(staged *plan.Staged, nodes int, window int64) *Local {
	l := &Local{staged: staged, nodes: nodes, window: window, queues: map[streamID]*Queue{}, merged: map[plan.StageID]bool{}}
	for _, s := range staged.Stages {
		l.receives(s.Root)
	}
	return l
}

func (l *Local) receives(n plan.Node) {
	if r, ok := n.(*plan.Receive); ok && len(r.Merge) > 0 {
		l.merged[r.From] = true
	}
	for _, c := range n.Children() {
		l.receives(c)
	}
}

// Node returns the exchange as the tasks of node i see it.
func (l *Local) Node(i int) op.Exchange { return &localNode{l: l, node: i} }

// Fail ends all streams, those to come too, with an error: a task has failed.
func (l *Local) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = err
	for _, q := range l.queues {
		q.End(err)
	}
}

// queue returns a stream; senders are all of the stage's.
func (l *Local) queue(id streamID, senders int) *Queue {
	if l.merged[id.stage] {
		senders = 1
	} else {
		id.sender = -1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[id]
	if q == nil {
		q = NewQueue(l.window, senders, nil)
		if l.ended != nil {
			q.End(l.ended)
		}
		l.queues[id] = q
	}
	return q
}

func (l *Local) stage(id plan.StageID) (*plan.Stage, error) {
	for i := range l.staged.Stages {
		if l.staged.Stages[i].ID == id.Sender() {
			return &l.staged.Stages[i], nil
		}
	}
	return nil, pgerr.Internal("there is no stage %d", id)
}

// tasks is on how many nodes a stage runs.
func (l *Local) tasks(s *plan.Stage) int {
	if s.Where == plan.OnGateway {
		return 1
	}
	return l.nodes
}

type localNode struct {
	l    *Local
	node int
}

func (n *localNode) Writer(_ context.Context, stage *plan.Stage) (op.ExchangeWriter, error) {
	if stage.Out == nil {
		return nil, pgerr.Internal("stage %d sends to nobody", stage.ID)
	}
	to, err := n.l.stage(stage.Out.To)
	if err != nil {
		return nil, err
	}
	w := &localWriter{}
	for d := 0; d < n.l.tasks(to); d++ {
		w.to = append(w.to, n.l.queue(streamID{stage.ID, n.node, d}, n.l.tasks(stage)))
	}
	return w, nil
}

func (n *localNode) Readers(_ context.Context, r *plan.Receive) ([]op.BatchReader, error) {
	from, err := n.l.stage(r.From)
	if err != nil {
		return nil, err
	}
	var out []op.BatchReader
	senders := n.l.tasks(from)
	if len(r.Merge) == 0 {
		return []op.BatchReader{n.l.queue(streamID{r.From, -1, n.node}, senders)}, nil
	}
	for s := 0; s < senders; s++ {
		out = append(out, n.l.queue(streamID{r.From, s, n.node}, senders))
	}
	return out, nil
}

type localWriter struct{ to []*Queue }

func (w *localWriter) Dests() int { return len(w.to) }

// Sent implements op.ExchangeWriter: there are no other nodes.
func (w *localWriter) Sent() (bytes, messages int64) { return 0, 0 }

func (w *localWriter) Send(ctx context.Context, dest int, b *batch.Batch) error {
	return w.to[dest].Push(ctx, b)
}

func (w *localWriter) CloseSend(err error) error {
	for _, q := range w.to {
		q.End(err)
	}
	return nil
}
