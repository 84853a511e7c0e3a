package raftnode

import (
	"runtime"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
)

// earlyApplier applies a single voter's commands as soon as they are on its disk. They are
// committed then, by raft's own rule: stored by a majority of the voters of the log's
// last configuration, in the term of the leader who stores them. raft notifies the
// state machine through two more goroutines, which each statement would wait for; and
// its loop chooses at random between that and writing the entries that have arrived
// meanwhile, so that an answer might wait for further syncs. The state machine skips
// what it has already applied when raft delivers it.
type earlyApplier struct {
	fsm *meta.FSM

	mu     sync.Mutex
	term   uint64 // of the last entry that was stored
	led    uint64 // the term that this node leads; 0 until all from before it is applied
	alone  bool   // this node is the only voter of the log's last configuration; for the term that is led
	sole   bool   // and there are no other members in it
	stated bool   // a configuration was stored in this term
	last   uint64 // the last command that was stored
}

// lead says that the node leads a term and that all commands from before it are
// applied; latest returns the log's last configuration, as raft knows it.
func (e *earlyApplier) lead(term uint64, self raft.ServerID, latest func() raft.Configuration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term != term {
		return // another leader's entries have been stored since
	}
	// raft adopts a configuration when its entry has been stored, and reverts it if the
	// entry is removed.
	if !e.stated {
		e.configured(latest(), self)
	}
	e.led = term
}

// leads reports whether this node leads a term as the only voter.
func (e *earlyApplier) leads(term uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.led == term && e.term == term && e.alone
}

// single reports whether this node leads a term and is the only member of the raft
// configuration.
func (e *earlyApplier) single(term uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.led == term && e.term == term && e.alone && e.sole
}

func (e *earlyApplier) configured(c raft.Configuration, self raft.ServerID) {
	e.alone, e.sole = onlyVoter(c, self), len(c.Servers) == 1
}

// stored is called with entries that are on disk, in order, by raft's own goroutine.
func (e *earlyApplier) stored(self raft.ServerID, entries []*raft.Log) {
	if before, ok := e.note(self, entries); ok {
		e.fsm.ApplyAfter(before, entries, nil)
		// Let the waiting proposer run before raft's bookkeeping.
		runtime.Gosched()
	}
}

// note records stored entries: it returns the last command before them, and whether
// they have commands and are committed.
func (e *earlyApplier) note(self raft.ServerID, entries []*raft.Log) (before uint64, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, ok = e.last, true
	for _, l := range entries {
		if l.Term != e.term {
			e.term, e.stated = l.Term, false
		}
		switch l.Type {
		case raft.LogConfiguration:
			e.stated = true
			e.configured(raft.DecodeConfiguration(l.Data), self)
			ok = false
		case raft.LogCommand:
			e.last = l.Index
		}
		ok = ok && l.Term == e.led
	}
	return before, ok && e.alone && e.last != before
}

func onlyVoter(c raft.Configuration, self raft.ServerID) bool {
	only := false
	for _, s := range c.Servers {
		if s.Suffrage != raft.Voter {
			continue
		}
		if only || s.ID != self {
			return false
		}
		only = true
	}
	return only
}
