package raftnode

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
)

// soleVoter writes and applies the commands of a cluster's only member in the goroutines that
// propose them. With raft's loop each command would take two more wake-ups, of the loop and then of
// the proposer, on processors that went to sleep while the disk synced: a fifth of a statement's
// time. It is a group commit: proposals that arrive during a write wait, and one of their goroutines
// writes all of them next.
//
// By Raft's rule an entry is committed once it is in the journal, if its node is the only voter and
// leads the entry's term; requiring that there is no other member at all keeps this simple. Raft
// gets the same entries in the same order within feedEvery, and finds them in its log. So raft's
// memory lags behind its log for a while, as in a node that has just started, and nothing else may
// be appended to the log meanwhile: a change of raft's configuration, or a barrier, must call pause
// first.
//
//	propose ─▶ journal (sync) ─▶ meta.FSM ─▶ answer
//	                  └─ within 5 ms ─▶ raft.Apply ─▶ journal: has it ─▶ meta.FSM: has it
//
// If raft appends another entry all the same, or refuses these, the journal returns an error and the
// node stops; the next process finds all committed entries in the journal.
type soleVoter struct {
	ctx   context.Context
	early *earlyApplier
	fsm   *meta.FSM
	self  raft.ServerID
	store func(entries []*raft.Log) error // the journal's storeAhead
	leads func(term uint64) bool          // whether this node leads, as raft knows it now
	apply func(cmd []byte) raft.ApplyFuture
	await func(ctx context.Context, f raft.Future) error
	fail  func(error)

	hurry chan struct{} // of capacity 1
	timer *time.Timer   // for the feeder

	mu      sync.Mutex
	changed sync.Cond
	led     bool   // this node leads term, and has applied all entries before it
	term    uint64 // the term that this node leads; 0 for none
	open    bool   // commands may be written here, instead of through raft
	outside int    // operations of raft that may be appending to the log
	over    bool   // set once the feeder has ended
	writing bool
	waiting []*proposal
	last    uint64      // last entry of the log
	behind  []*raft.Log // entries that were not passed to raft yet
	given   int         // entries that were passed to raft and not answered
	ahead   uint64      // the last entry that raft has not stored; 0 for none
}

// feedEvery is how long raft may lag behind. Raft's loop, and the goroutine of its state machine, wake
// up once for all commands in that time.
const feedEvery = 5 * time.Millisecond

// proposal is a command that waits to be written.
type proposal struct {
	cmd    meta.Command
	turn   chan bool // true: write all that wait; false: this one is written
	answer meta.Answer
	err    error
}

var errNotLed = errors.New("the node does not lead the term any more")

// propose writes and applies a command; ok is false where it must go through raft.
func (s *soleVoter) propose(cmd meta.Command) (a meta.Answer, err error, ok bool) {
	s.mu.Lock()
	for !s.open && s.led && !s.over && s.early.single(s.term) {
		s.changed.Wait() // commands that go through raft pause this writer, so others must not follow them there
	}
	if !s.open {
		s.mu.Unlock()
		return a, nil, false
	}
	p := &proposal{cmd: cmd}
	s.waiting = append(s.waiting, p)
	if s.writing {
		p.turn = make(chan bool, 1)
		s.mu.Unlock()
		if !<-p.turn {
			return p.answer, p.err, true
		}
		s.mu.Lock()
	}
	s.writing = true
	batch := s.waiting
	s.waiting = nil
	term, at := s.term, s.last
	s.mu.Unlock()
	entries := s.write(batch, term, at)
	s.mu.Lock()
	if len(entries) > 0 {
		s.last = entries[len(entries)-1].Index
		s.ahead = s.last
		if len(s.behind) == 0 {
			s.timer.Reset(feedEvery)
		}
		s.behind = append(s.behind, entries...)
	}
	for _, o := range batch[1:] {
		o.turn <- false
	}
	next := len(s.waiting) > 0
	if next { // woken last, as the scheduler runs the goroutine first that was woken last
		s.waiting[0].turn <- true
	} else {
		s.writing = false
		s.changed.Broadcast()
	}
	s.mu.Unlock()
	if next {
		// Lets the next writer start before this batch's goroutines answer their clients, so that
		// the disk is not idle meanwhile.
		runtime.Gosched()
	}
	return p.answer, p.err, true
}

// write makes log entries of commands, following entry at, and writes and applies them. It returns the
// entries that are in the log.
func (s *soleVoter) write(batch []*proposal, term, at uint64) []*raft.Log {
	failed := func(err error) []*raft.Log {
		for _, p := range batch {
			p.err = err
		}
		return nil
	}
	if !s.leads(term) {
		return failed(errNotLed)
	}
	entries, cmds := make([]*raft.Log, len(batch)), make([]meta.Command, len(batch))
	for i, p := range batch {
		entries[i] = &raft.Log{Index: at + 1 + uint64(i), Term: term, Type: raft.LogCommand, Data: p.cmd.Bytes}
		cmds[i] = p.cmd
	}
	if err := s.store(entries); err != nil {
		return failed(err)
	}
	before, _ := s.early.note(s.self, entries)
	out := s.fsm.ApplyAfter(before, entries, cmds)
	for i, p := range batch {
		p.answer = meta.Answer{Response: meta.Response{Index: entries[i].Index, Stopped: true}, At: entries[i].Index}
		if out != nil {
			p.answer.Response, _ = out[i].(meta.Response)
		}
	}
	return entries
}

// pause waits until raft has all entries that were written here. Only raft may then append to the log
// until resume is called, whose argument says whether it is known that raft's operation is in the
// log or never will be. If not, commands go through raft until the node becomes leader again: by then
// raft has answered earlier operations.
func (s *soleVoter) pause() (resume func(known bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outside++
	s.open = false
	for (s.writing || len(s.behind)+s.given > 0) && !s.over {
		select {
		case s.hurry <- struct{}{}:
		default:
		}
		s.changed.Wait()
	}
	return func(known bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.outside--
		s.led = s.led && known
		s.reopen()
	}
}

// reopen allows writing here again once no operation of raft may append to the log; mu is held.
func (s *soleVoter) reopen() {
	s.open = s.led && s.outside == 0 && !s.over && s.early.single(s.term)
	s.changed.Broadcast()
}

// lead records that the node leads a term and has applied all entries before it, or for 0 that it no
// longer leads.
func (s *soleVoter) lead(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term, s.led = term, term != 0
	s.reopen()
}

// stored is called with entries that raft stores. It returns those that the log does not have yet.
func (s *soleVoter) stored(entries []*raft.Log) []*raft.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(entries) > 0 && entries[0].Index <= s.ahead {
		if entries[0].Index == s.ahead {
			s.ahead = 0
		}
		entries = entries[1:]
	}
	if n := len(entries); n > 0 {
		s.last = entries[n-1].Index
	}
	return entries
}

// feed passes the written entries to raft until the node ends.
func (s *soleVoter) feed() {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open, s.over = false, true
		s.changed.Broadcast()
	}()
	for {
		select {
		case <-s.timer.C:
		case <-s.hurry:
		case <-s.ctx.Done():
			return
		}
		s.mu.Lock()
		list := s.behind
		s.behind, s.given = nil, len(list)
		s.mu.Unlock()
		err := s.await(s.ctx, s.give(list))
		if s.ctx.Err() != nil || errors.Is(err, raft.ErrRaftShutdown) {
			return // they are in the log, for the next process
		}
		if err != nil {
			s.fail(err)
			return
		}
		s.mu.Lock()
		s.given = 0
		s.changed.Broadcast()
		s.mu.Unlock()
	}
}

// give passes entries to raft.
func (s *soleVoter) give(list []*raft.Log) raft.Future {
	out := make(futures, len(list))
	for i, l := range list {
		out[i] = s.apply(l.Data)
	}
	return out
}

// futures are waited for one after the other.
type futures []raft.ApplyFuture

// Error implements raft.Future.
func (f futures) Error() error {
	for _, x := range f {
		if err := x.Error(); err != nil {
			return err
		}
	}
	return nil
}
