package raftnode

import (
	"context"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// turns lets an only voter's proposals into its log together: those that come while others are
// not answered wait, and go one behind the other when the last of these is. Raft's loop
// takes all that wait into one batch, too; but when it has written one and others wait
// already, it chooses by chance between answering the first and writing the others. So
// with eight clients an answer waited for further syncs, and batches were small. It is
// group commit (DeWitt et al., Implementation Techniques for Main Memory Database Systems,
// 1984) without a timer: a lone proposal waits for nobody.
type turns struct {
	apply func(cmd []byte) raft.ApplyFuture

	mu      sync.Mutex
	inside  int // of this turn, not answered
	waiting []*turn
}

// turn is a proposal that waits.
type turn struct {
	cmd    []byte
	future chan raft.ApplyFuture // has room for one
}

// enter proposes a command when it is its turn. An error says that the log has not got
// it, and will not; otherwise it must leave.
func (t *turns) enter(ctx context.Context, cmd []byte) (raft.ApplyFuture, error) {
	t.mu.Lock()
	if t.inside == 0 {
		t.inside = 1
		t.mu.Unlock()
		return t.apply(cmd), nil
	}
	w := &turn{cmd, make(chan raft.ApplyFuture, 1)}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	select {
	case f := <-w.future:
		return f, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting, w)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i >= 0 {
		return nil, ctx.Err()
	}
	return <-w.future, nil // its turn has come
}

// leave says that a proposal is answered, or that nobody waits for its answer. The last
// of a turn lets the next in.
func (t *turns) leave() {
	t.mu.Lock()
	var next []*turn
	if t.inside--; t.inside == 0 {
		next, t.waiting = t.waiting, nil
		t.inside = len(next)
	}
	t.mu.Unlock()
	for _, w := range next {
		w.future <- t.apply(w.cmd)
	}
}
