package raftnode

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// heldMessages is a leader whose answers are held back.
type heldMessages struct {
	sent   chan [][]byte
	answer chan error
	old    bool // it knows no messages of several
}

func (h *heldMessages) alone(_ context.Context, _ uint64, cmd []byte) (reply, error) {
	h.sent <- [][]byte{cmd}
	return reply{Index: uint64(len(cmd))}, <-h.answer
}

func (h *heldMessages) all(_ context.Context, _ uint64, cmds [][]byte) (out []reply, err error) {
	if h.old {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "the node does not know this call")
	}
	h.sent <- cmds
	for _, c := range cmds {
		out = append(out, reply{Index: uint64(len(c))})
	}
	return out, <-h.answer
}

// batch is a batcher over it, with functions that propose n bytes, and that wait until n proposals wait.
func (h *heldMessages) batch(t *testing.T) (propose func(ctx context.Context, n int) <-chan batched, waiting func(n int)) {
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	b := &batcher{ctx: t.Context(), alone: h.alone, all: h.all, spawn: func(f func()) { wg.Go(f) }}
	return func(ctx context.Context, n int) <-chan batched {
			out := make(chan batched, 1)
			wg.Go(func() {
				r, err := b.do(ctx, 1, make([]byte, n))
				out <- batched{reply: r, err: err}
			})
			return out
		}, func(n int) {
			for has := -1; has != n; runtime.Gosched() {
				b.mu.Lock()
				if l := b.lanes[1]; l != nil {
					has = len(l.waiting)
				}
				b.mu.Unlock()
			}
		}
}

// four proposes four times, of which the first is under way and the others wait.
func (h *heldMessages) four(t *testing.T) (all []<-chan batched) {
	propose, waiting := h.batch(t)
	for range 4 {
		all = append(all, propose(t.Context(), 1))
		if len(all) == 1 {
			<-h.sent
		}
	}
	waiting(3)
	return all
}

func newHeldMessages() *heldMessages {
	return &heldMessages{sent: make(chan [][]byte), answer: make(chan error)}
}

// TestProposalsTogether: proposals that come while others are on their way go together, each gets its own answer, those that
// leave before are not sent, and long ones do not wait.
func TestProposalsTogether(t *testing.T) {
	h := newHeldMessages()
	propose, waiting := h.batch(t)
	var later []<-chan batched
	first := propose(t.Context(), 1)
	<-h.sent
	for n := range 10 {
		later = append(later, propose(t.Context(), n+2))
	}
	waiting(10)
	gone, cancel := context.WithCancel(t.Context())
	left := propose(gone, 1)
	waiting(11)
	cancel()
	if o := <-left; o.err != nil || !o.reply.NotLeader {
		t.Errorf("%+v", o)
	}
	long := propose(t.Context(), maxBatched+1)
	<-h.sent
	h.answer <- nil // either of the two that are on their way
	h.answer <- nil
	if cmds := <-h.sent; len(cmds) != 10 {
		t.Fatalf("%d proposals in a message", len(cmds))
	}
	h.answer <- nil
	if o := <-long; o.err != nil || o.reply.Index != maxBatched+1 {
		t.Errorf("%+v", o)
	}
	for n, l := range later {
		if o := <-l; o.err != nil || o.reply.Index != uint64(n+2) {
			t.Errorf("%d: %+v", n, o)
		}
	}
	if o := <-first; o.err != nil || o.reply.Index != 1 {
		t.Errorf("%+v", o)
	}
	// Nothing is under way any more: the next one goes at once.
	last := propose(t.Context(), 3)
	<-h.sent
	h.answer <- nil
	if o := <-last; o.err != nil || o.reply.Index != 3 {
		t.Errorf("%+v", o)
	}
}

// TestProposalsLost: where a message is lost the outcome of all its proposals is unknown.
func TestProposalsLost(t *testing.T) {
	h := newHeldMessages()
	all := h.four(t)
	h.answer <- nil
	if cmds := <-h.sent; len(cmds) != 3 {
		t.Fatalf("%d proposals in a message", len(cmds))
	}
	lost := errors.New("lost")
	h.answer <- lost
	for i, p := range all {
		if o := <-p; (o.err == nil) != (i == 0) || o.err != nil && !errors.Is(o.err, lost) {
			t.Errorf("%d: %v", i, o.err)
		}
	}
}

// TestProposalsToAnOlderLeader: a leader that knows no messages of several gets one for each.
func TestProposalsToAnOlderLeader(t *testing.T) {
	h := newHeldMessages()
	h.old = true
	all := h.four(t)
	h.answer <- nil
	for range 3 {
		if cmds := <-h.sent; len(cmds) != 1 {
			t.Fatal(fmt.Sprint(cmds))
		}
		h.answer <- nil
	}
	for _, p := range all {
		if o := <-p; o.err != nil || o.reply.Index != 1 {
			t.Errorf("%+v", o)
		}
	}
}
