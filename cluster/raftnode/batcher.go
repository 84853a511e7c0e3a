package raftnode

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// batcher sends a node's proposals to the leader. Those that come while a message is on its way wait, and
// go together in the next one. The leader writes them at once, so that each node's disk syncs once for
// all of them, and one call costs both ends less than many. With two messages on their way eight clients
// filled neither: there were half again as many syncs.
//
//	do ─▶ no message to that leader under way? ─▶ one of its own
//	  └▶ waits ─▶ a message of all that wait, once there is an answer
type batcher struct {
	ctx   context.Context // the node's, for messages of several
	spawn func(func())    // runs a function in a goroutine of the owner's
	alone func(ctx context.Context, leader uint64, cmd []byte) (reply, error)
	// all returns a reply for each command. FeatureNotSupported: the leader does not know such
	// messages, and has none of the commands.
	all func(ctx context.Context, leader uint64, cmds [][]byte) ([]reply, error)

	mu    sync.Mutex
	lanes map[uint64]*lane // by leader
}

const (
	// A longer proposal waits for no other, and no other for it.
	maxBatched = 64 << 10
	// A message has so many proposals, and bytes, at most.
	maxBatch, maxBatchBytes = 128, 1 << 20
	// plainTime is how long a leader that knows no messages of several is sent none: it may be upgraded.
	plainTime = time.Minute
)

// lane is what is on its way to one node; the batcher's mu guards it.
type lane struct {
	busy    bool // a message is on its way
	waiting []*batched
	plain   time.Time // until then all go alone
}

// batched is a proposal that waits for a message.
type batched struct {
	cmd   []byte
	done  chan struct{}
	reply reply
	err   error
}

// do sends a command to the leader. After an error its outcome is unknown.
func (b *batcher) do(ctx context.Context, leader uint64, cmd []byte) (reply, error) {
	if len(cmd) > maxBatched {
		return b.alone(ctx, leader, cmd)
	}
	b.mu.Lock()
	l := b.lanes[leader]
	if l == nil {
		l = &lane{}
		if b.lanes == nil {
			b.lanes = map[uint64]*lane{}
		}
		b.lanes[leader] = l
	}
	if !l.plain.IsZero() {
		if time.Now().Before(l.plain) {
			b.mu.Unlock()
			return b.alone(ctx, leader, cmd)
		}
		l.plain = time.Time{}
	}
	if !l.busy {
		l.busy = true
		b.mu.Unlock()
		defer b.ended(leader, l)
		return b.alone(ctx, leader, cmd)
	}
	w := &batched{cmd: cmd, done: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	b.mu.Unlock()
	select {
	case <-w.done:
		return w.reply, w.err
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(l.waiting, w); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		return reply{NotLeader: true}, nil // it was not sent
	}
	return reply{}, ctx.Err()
}

// ended is called when a message of one proposal is answered: what waits goes next.
func (b *batcher) ended(leader uint64, l *lane) {
	list := b.next(l)
	if list == nil {
		return
	}
	b.spawn(func() {
		for ; list != nil; list = b.next(l) {
			b.send(leader, l, list)
		}
	})
}

// next takes what goes in the next message; nil, and none is on its way any more, where nothing waits.
func (b *batcher) next(l *lane) (list []*batched) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(l.waiting) == 0 {
		l.busy = false
		return nil
	}
	n, size := 0, 0
	for n < len(l.waiting) && n < maxBatch && size < maxBatchBytes {
		size += len(l.waiting[n].cmd)
		n++
	}
	list = slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return list
}

// send sends proposals and answers those who wait for them.
func (b *batcher) send(leader uint64, l *lane, list []*batched) {
	if len(list) > 1 {
		cmds := make([][]byte, len(list))
		for i, w := range list {
			cmds[i] = w.cmd
		}
		replies, err := b.all(b.ctx, leader, cmds)
		if err == nil && len(replies) != len(list) {
			err = pgerr.Internal("the leader answered %d of %d proposals", len(replies), len(list))
		}
		if pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
			for i, w := range list {
				if w.err = err; err == nil {
					w.reply = replies[i]
				}
				close(w.done)
			}
			return
		}
		b.mu.Lock()
		l.plain = time.Now().Add(plainTime)
		b.mu.Unlock()
	}
	for _, w := range list {
		w.reply, w.err = b.alone(b.ctx, leader, w.cmd)
		close(w.done)
	}
}
