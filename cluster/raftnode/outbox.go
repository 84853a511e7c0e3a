package raftnode

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/meta"
)

// outbox numbers this node's commits and knows which of them may still be
// proposed. Its methods may be called from any goroutine.
//
// Commits whose outcome is unknown are in doubt until the log has a later one whose
// mark is past them: from then on the state machine refuses them. When the node starts,
// the commits of its earlier epochs are in doubt likewise.
type outbox struct {
	gateway uint64

	mu     sync.Mutex
	epoch  uint64
	next   uint64
	open   map[uint64]struct{} // numbers that may still be proposed
	fenced uint64              // highest mark that was answered by the log in this epoch
	need   uint64              // the mark past all commits in doubt
	wake   chan struct{}       // of capacity 1: something is in doubt
	opened chan struct{}       // closed when the log first answered in this epoch
}

// newOutbox begins an epoch of a node: later than the earlier ones unless the clock was
// set back, which supersede repairs.
func newOutbox(gateway uint64, now time.Time) *outbox {
	var b [4]byte
	rand.Read(b[:])
	return &outbox{gateway: gateway, epoch: uint64(now.Unix())<<32 | uint64(binary.LittleEndian.Uint32(b[:])),
		next: 1, open: map[uint64]struct{}{}, need: 1, wake: make(chan struct{}, 1), opened: make(chan struct{})}
}

// begin returns the id of a new commit. One of the methods below must end it.
func (o *outbox) begin() meta.CommitID {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := meta.CommitID{Gateway: o.gateway, Epoch: o.epoch, Seq: o.next, Mark: o.next}
	o.next++
	o.open[id.Seq] = struct{}{}
	for seq := range o.open {
		id.Mark = min(id.Mark, seq)
	}
	return id
}

// withdraw ends a commit that reached no log.
func (o *outbox) withdraw(id meta.CommitID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, id.Seq)
}

// answered ends a commit that the log answered: it was applied or refused.
func (o *outbox) answered(id meta.CommitID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, id.Seq)
	if id.Epoch != o.epoch {
		return
	}
	if o.fenced == 0 {
		close(o.opened)
	}
	o.fenced = max(o.fenced, id.Mark)
}

// unknown ends a commit whose outcome is unknown.
func (o *outbox) unknown(id meta.CommitID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, id.Seq)
	o.need = max(o.need, id.Seq+1)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// supersede moves to an epoch past the one that the log knows of this node, as long as
// the log has no commit of the current one; it returns false if it has: the node was
// removed.
func (o *outbox) supersede(id meta.CommitID, ended uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, id.Seq)
	if o.fenced > 0 && id.Epoch == o.epoch {
		return false
	}
	o.epoch = max(o.epoch, ended+1)
	return true
}

// waitOpened waits until the log has answered a commit of this epoch: from then on it
// accepts none of an earlier one.
func (o *outbox) waitOpened(ctx context.Context) error {
	select {
	case <-o.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inDoubt reports whether a commit of unknown outcome may still be applied.
func (o *outbox) inDoubt() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fenced < o.need
}
