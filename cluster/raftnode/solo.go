package raftnode

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
)

// solo writes and applies the commands of an only member in the goroutines that propose
// them. Raft's loop would be woken for each, and would wake the proposer again, and by the time
// a disk takes to sync a processor sleeps: both cost a statement a fifth of its time. Who comes
// while another writes waits; one of those who wait writes for all of them next.
//
// An entry in the journal is committed by Raft's rule where its node is the only voter and leads
// the entry's term; that no other node takes part at all makes it simple to see. Raft gets the
// same entries in the same order within feedEvery, and its log's part is to find them there
// already. So its memory is behind its log for a while, as that of a node that has just started
// is, and nothing else may be given a place in the log meanwhile: whoever changes raft's
// configuration, or asks for a barrier, pauses this before.
//
//	propose ─▶ journal (sync) ─▶ meta.FSM ─▶ answer
//	                  └─ within 5 ms ─▶ raft.Apply ─▶ journal: has it ─▶ meta.FSM: has it
//
// Should raft give such a place to another entry all the same, or take the entries no more, the
// journal refuses the other and the node stops; the next process finds what was committed.
type solo struct {
	ctx   context.Context
	early *early
	fsm   *meta.FSM
	self  raft.ServerID
	store func(entries []*raft.Log) error // the journal's storeAhead
	leads func(term uint64) bool          // this node does, as raft knows it now
	apply func(cmd []byte) raft.ApplyFuture
	await func(ctx context.Context, f raft.Future) error
	fail  func(error)

	hurry chan struct{} // has room for one
	timer *time.Timer   // for the feeder

	mu      sync.Mutex
	changed sync.Cond
	led     bool   // term is led, and all from before it is applied
	term    uint64 // that is led
	open    bool
	outside int  // how much else may get a place in the log
	over    bool // the feeder has ended
	writing bool
	waiting []*proposal
	last    uint64      // entry of the log
	behind  []*raft.Log // that raft is to be given
	given   int         // those that it was given and has not answered
	ahead   uint64      // the last that it has not stored; 0 for none
}

// feedEvery is how far raft may be behind: so many statements cost its loop, and its machine's
// goroutine, one turn.
const feedEvery = 5 * time.Millisecond

// proposal is a command that is to be written with others.
type proposal struct {
	cmd    meta.Command
	turn   chan bool // true: to write for all who wait; false: it is done
	answer meta.Answer
	err    error
}

var errNotLed = errors.New("the node does not lead the term any more")

// propose has a command written and applied; ok is false where raft must do that.
func (s *solo) propose(cmd meta.Command) (a meta.Answer, err error, ok bool) {
	s.mu.Lock()
	for !s.open && s.led && !s.over && s.early.single(s.term) {
		s.changed.Wait() // or those who propose by way of raft would keep each other there
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
	if len(s.waiting) > 0 {
		s.waiting[0].turn <- true
	} else {
		s.writing = false
		s.changed.Broadcast()
	}
	s.mu.Unlock()
	for _, o := range batch[1:] {
		o.turn <- false
	}
	return p.answer, p.err, true
}

// write makes entries of commands behind entry at, writes them and has them applied; it
// gives those that are in the log.
func (s *solo) write(batch []*proposal, term, at uint64) []*raft.Log {
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

// pause has raft get all that was written here, and leaves the log to it until resume is
// called: where what was asked of it is in its log, or will never be, with true. Where that is not
// known, raft keeps the log until the node leads again: before it does, raft answers
// what it was asked earlier.
func (s *solo) pause() (resume func(known bool)) {
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

// reopen takes the log back where nothing else may get a place in it; mu is held.
func (s *solo) reopen() {
	s.open = s.led && s.outside == 0 && !s.over && s.early.single(s.term)
	s.changed.Broadcast()
}

// lead says that the node leads a term, and all from before it is applied; 0 that it does
// not lead any more.
func (s *solo) lead(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term, s.led = term, term != 0
	s.reopen()
}

// stored is told of entries that raft has stored; it returns those that it had not from here.
func (s *solo) stored(entries []*raft.Log) []*raft.Log {
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

// feed gives raft what was written until the node ends.
func (s *solo) feed() {
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

// give returns raft entries.
func (s *solo) give(list []*raft.Log) raft.Future {
	out := make(futures, len(list))
	for i, l := range list {
		out[i] = s.apply(l.Data)
	}
	return out
}

// futures are one after the other.
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
