package raftnode

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// proposer proposes commits to the log and determines their outcomes: it alone decides
// whether an outcome is known.
//
//	           before a log may have it         after
//	ctx ends   its error: nothing happened      goes on for patience, then 40003
//	error      (there is none)                  proposed again, the same id
//	answer     applied or refused               applied or refused
type proposer struct {
	ctx context.Context // the node's: no wait outlasts it
	box *outbox
	// atLeader calls try with the leader until that returns retry = false, as
	// Node.atLeader does.
	atLeader func(ctx context.Context, try func(ctx context.Context, leader uint64) (retry bool, err error)) error
	// here writes a command to this node's log and applies it, where this node is the only
	// member: it waits for the disk only. ok is false where there are others.
	here func(cmd meta.Command) (r reply, ok bool)
	// deliver sends a command to the leader. After an error its outcome is unknown.
	deliver func(ctx context.Context, leader uint64, cmd meta.Command) (reply, error)
	// applied returns the index of the command that was applied here last.
	applied func() uint64
	// waitFor waits until the command with this index is applied here.
	waitFor  func(ctx context.Context, index uint64) error
	patience time.Duration
}

// propose commits changes; see Node.Propose.
func (p *proposer) propose(ctx context.Context, changes []catalog.Change, locks ...advisory.Op) (meta.Response, error) {
	for {
		id := p.box.begin()
		cmd := meta.NewCommand(id, time.Now(), changes, locks...)
		if len(cmd.Bytes) > maxCommand {
			p.box.withdraw(id)
			return meta.Response{}, pgerr.New(pgerr.ProgramLimitExceeded, "the transaction's catalog changes are too large (%d bytes)", len(cmd.Bytes))
		}
		r, err := p.resolve(ctx, id, cmd)
		if err != nil {
			return meta.Response{}, err
		}
		if r.Ended != 0 {
			if p.box.supersede(id, r.Ended) {
				continue
			}
			return meta.Response{}, pgerr.New(pgerr.AdminShutdown, "the node was removed from the cluster")
		}
		p.box.answered(id)
		if r.Refused != nil {
			return meta.Response{}, r.Refused
		}
		return meta.Response{Index: r.Index, Outcome: r.Outcome, Lock: r.Lock}, nil
	}
}

// resolve proposes a command until its outcome is known. A reply is certain; an error
// other than 40003 means that nothing happened.
func (p *proposer) resolve(ctx context.Context, id meta.CommitID, cmd meta.Command) (r reply, err error) {
	lost := false
	if ctx.Err() == nil && p.ctx.Err() == nil {
		r, ok := p.here(cmd)
		if ok && r.known() && (r.Refused != nil || r.Ended != 0 || p.applied() >= r.Index) {
			return r, nil // the common case: nothing is left to wait for
		}
		lost = ok && (r.Unsure || r.known()) // else no log has it
	}
	w := newWait(ctx, p.ctx, p.patience)
	defer w.end()
	if lost {
		w.lost()
	}
	answered := false
	err = p.atLeader(w.ctx, func(wait context.Context, leader uint64) (bool, error) {
		if err := w.send(); err != nil {
			return false, err
		}
		got, err := p.deliver(wait, leader, cmd)
		switch {
		case err != nil || got.Unsure:
			w.lost()
			return true, err
		case got.NotLeader:
			w.returned()
			return true, nil
		case w.unsure && (got.Ended != 0 || got.Unlogged != nil):
			return false, unknownOutcome() // this copy had no effect; an earlier one may have had
		case got.Unlogged != nil:
			return false, got.Unlogged
		}
		r, answered = got, true
		return false, nil
	})
	switch {
	case answered && r.Refused == nil && r.Ended == 0:
		// It is committed, whether this node applies it now or later.
		if p.applied() < r.Index {
			w.hurry()
			_ = p.waitFor(w.ctx, r.Index)
		}
		return r, nil
	case answered:
		return r, nil
	case w.unsure:
		p.box.unknown(id)
		return r, unknownOutcome()
	}
	p.box.withdraw(id)
	if gone := ctx.Err(); gone != nil && (errors.Is(err, context.Canceled) || errors.Is(err, gone)) {
		err = noLeader(gone, err)
	}
	return r, err
}

func unknownOutcome() error {
	// It wraps no cause: why the wait ended says nothing about the commit's outcome.
	return pgerr.New(pgerr.StatementCompletionUnknown, "the outcome of the transaction is not known").
		WithDetail("The cluster did not confirm the commit in time. It is applied whole or not at all.")
}

// proposalWait bounds how long a proposal goes on: until its caller's context ends, or where a
// log may have the command, patience longer.
type proposalWait struct {
	ctx    context.Context // for the requests of the proposal
	cancel context.CancelFunc
	caller context.Context
	leave  []func() bool
	unsure bool // a log may have the command; only for the proposal's goroutine

	patience time.Duration
	mu       sync.Mutex
	sent     bool // or is about to be
	over     bool
	timer    *time.Timer
}

func newWait(caller, node context.Context, patience time.Duration) *proposalWait {
	w := &proposalWait{caller: caller, patience: patience}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(caller))
	w.leave = append(w.leave, context.AfterFunc(node, w.cancel), context.AfterFunc(caller, func() {
		w.mu.Lock()
		sent := w.sent
		w.mu.Unlock()
		if sent {
			w.hurry()
		} else {
			w.cancel()
		}
	}))
	return w
}

// send records that the command is about to be sent; it returns an error if the caller
// has gone and no log can have the command.
func (w *proposalWait) send() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = w.unsure || w.caller.Err() == nil
	if !w.sent {
		return w.caller.Err()
	}
	return nil
}

// returned records that the command that was sent did not get into a log.
func (w *proposalWait) returned() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = w.unsure
	if !w.sent && w.caller.Err() != nil {
		w.cancel()
	}
}

// lost records that the command may be in a log.
func (w *proposalWait) lost() {
	w.unsure = true
	w.hurry()
}

// hurry ends the wait after patience, counted from the first call.
func (w *proposalWait) hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil && !w.over {
		w.timer = time.AfterFunc(w.patience, w.cancel)
	}
}

func (w *proposalWait) end() {
	for _, f := range w.leave {
		f()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel()
}
