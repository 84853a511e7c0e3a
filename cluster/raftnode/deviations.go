package raftnode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
)

// Deviation is something that this package does otherwise than hashicorp/raft does by itself.
// This file is the list of all of them, and the only way by which the rest of the package gets
// at them. Each can be turned off (Options.Without): it must then be slower, or as wrong as raft
// is, and everything else must still hold. The nemesis runs both ways.
//
// The rules below are those of the paper: an entry is committed once a majority of the voters has
// stored it in the term of the leader that made it; what is committed never changes; a follower
// that has an entry in common with a leader has all before it in common.
type Deviation uint16

const (
	// Learning: a follower learns the commit index from the leader's answers to its own
	// proposals and reads, and tells its raft by a message of the leader's (commits.go).
	//
	// Safe: the answer names the leader's term, and the index that this leader has committed in
	// it. A message of the same term has proved the follower's log equal to the leader's up to an
	// entry, and raft is told no index beyond that entry. It is what the leader's next message
	// would say.
	//
	// Without: a gateway that does not lead waits for that next message, up to CommitTimeout,
	// with each commit and each read.
	Learning Deviation = 1 << iota

	// Applying: a cluster's only voter applies a command once it is on its own disk, before raft
	// says that it is committed; and it reads without a round of heartbeats (soloapply.go).
	//
	// Safe: one voter is a majority. The term is the one that it leads, all from before it is
	// applied, and the configuration looked at is the last in the log, committed or not, as raft's
	// rule for changes of the configuration has it. Another node could lead only with this node's
	// vote, in a later term. meta.FSM skips what it has applied when raft delivers it.
	//
	// Without: two more hand-overs between goroutines for each commit, and a read asks raft.
	Applying

	// Writing: a cluster's only member writes and applies commands in the goroutines that propose
	// them, and gives them to raft's loop afterwards (solevoter.go). It needs Applying.
	//
	// Safe: as Applying is; and nothing else may append to the log meanwhile: whoever has raft do
	// so waits first until raft has all that was written (pause). Should raft give an entry's place
	// to another one, or remove it, the journal refuses (StoreLogs, DeleteRange) and the node stops
	// with all committed entries in its log. A process that ends before raft was told finds them
	// in the log as after a crash.
	//
	// Without: a commit takes two more wake-ups, a fifth of a small statement's time.
	Writing

	// Journal: the newest entries are in a file in front of bbolt (journal.go).
	//
	// Safe: an entry is in the journal, synced, before StoreLogs returns; records carry a
	// checksum, a number and a generation, so that a torn or old one is told from a good one; one
	// that was acknowledged and cannot be read is an error at the start, never a shorter log.
	// Votes and terms go to bbolt alone.
	//
	// Without: bbolt writes pages and syncs twice for each commit.
	Journal

	// Campaigning: the only voter stands for election as soon as it starts, by the message with
	// which a leader hands over its office.
	//
	// Safe: whoever stands for election may do so at any time; votes decide.
	//
	// Without: a cluster of one is not ready before a heartbeat's time has passed.
	Campaigning

	// Bounding, a repair: a follower commits no further than the last entry that a message has
	// proved equal to the leader's (commits.go). raft takes the end of its log, which may still
	// have entries of an earlier leader; figure 2 of the paper has the minimum with "index of last
	// new entry". docs/upstream/raft-commit-bound.patch.
	//
	// Without: raft as it is. A leader of raft's sends such a message only in a narrow case: one
	// without entries, to a follower with a tail of an earlier leader's.
	Bounding

	// Ending, a repair: a pipeline to a follower is closed after the first answer that is no
	// success (pipeline.go). docs/upstream/raft-pipeline.patch.
	//
	// Safe: raft opens another, after it has found where the logs are equal.
	//
	// Without: a follower whose disk was full once may never be sent anything again.
	Ending

	// Beating, a repair: no heartbeat is handled once the node's log is closed (beats.go).
	// docs/upstream/raft-heartbeat-shutdown.patch.
	//
	// Safe: to the leader the node is one that has ended.
	//
	// Without: a heartbeat with a new term, which comes as the node ends, makes raft panic.
	Beating

	// Retaining, a repair: a snapshot whose last entry this node has already is answered and not
	// installed (commits.go). docs/upstream/raft-old-snapshot.patch.
	//
	// Safe: whoever has its last entry, of the same index and term, has all before it in common
	// with the leader. Figure 13 of the paper, step 6: "If existing log entry has same index and term
	// as snapshot's last included entry, retain log entries following it and reply".
	//
	// Without: one that a paused leader or a slow link delivers late sets the configuration of then,
	// although the log has newer ones: a voter for who it is none stands for no election and votes
	// in none, until the configuration changes again.
	Retaining
)

var deviationNames = []string{"learning", "applying", "writing", "journal", "campaigning", "bounding", "ending", "beating", "retaining"}

// ParseDeviations reads names joined by +, or all.
func ParseDeviations(list string) (d Deviation, err error) {
	for name := range strings.SplitSeq(list, "+") {
		i := slices.Index(deviationNames, name)
		switch {
		case name == "all":
			d = 1<<len(deviationNames) - 1
		case i >= 0:
			d |= 1 << i
		default:
			return 0, fmt.Errorf("there is no deviation %q from raft; there are all, %s", name, strings.Join(deviationNames, ", "))
		}
	}
	return d, nil
}

// Has reports whether o is among them.
func (d Deviation) Has(o Deviation) bool { return d&o != 0 }

// deviations are those of a node.
type deviations struct {
	without Deviation
	self    raft.ServerID
	early   earlyApplier
	writer  soleVoter
	commits *commits
	beats   beats
}

// receive puts commits between the transport and raft. has reports whether the log has an entry of a term, or had it.
func (d *deviations) receive(in <-chan raft.RPC, refuse func(*raft.AppendEntriesRequest) bool, has func(index, term uint64) bool) {
	d.commits = newCommits(in)
	d.commits.refuse, d.commits.unbound = refuse, d.without.Has(Bounding)
	if !d.without.Has(Retaining) {
		d.commits.has = has
	}
}

// learn is told a term's commit index by its leader.
func (d *deviations) learn(term, index uint64) {
	if !d.without.Has(Learning) {
		d.commits.learn(term, index)
	}
}

// stored is called with entries that raft has stored.
func (d *deviations) stored(entries []*raft.Log) {
	if entries = d.writer.stored(entries); len(entries) > 0 && !d.without.Has(Applying) {
		d.early.stored(d.self, entries)
	}
}

// lead is called once the node leads a term and has applied all from before it.
func (d *deviations) lead(term uint64, latest func() raft.Configuration) {
	if !d.without.Has(Applying) {
		d.early.lead(term, d.self, latest)
	}
}

// write lets the only member write a term's commands, 0 for none.
func (d *deviations) write(term uint64) {
	if d.without.Has(Writing | Applying) {
		term = 0
	}
	d.writer.lead(term)
}

// propose writes and applies a command; ok is false where it must go through raft.
func (d *deviations) propose(cmd meta.Command) (a meta.Answer, err error, ok bool) {
	return d.writer.propose(cmd)
}

// pause must be called before raft is made to append to the log; see soleVoter.pause.
func (d *deviations) pause() (resume func(known bool)) { return d.writer.pause() }

// alone reports whether the node leads a term as the only voter, and so may answer reads.
func (d *deviations) alone(term uint64) bool { return d.early.leads(term) }

// heartbeats returns the handler of heartbeats in place of raft's own.
func (d *deviations) heartbeats(fn func(raft.RPC)) func(raft.RPC) {
	if d.without.Has(Beating) {
		return fn
	}
	return d.beats.handler(fn)
}

// pipeline returns raft's pipeline p to a follower with its repair; stored is called for each
// request that succeeded.
func (d *deviations) pipeline(p raft.AppendPipeline, stored func(*raft.AppendEntriesRequest)) raft.AppendPipeline {
	w := newPipeline(p, stored)
	w.stays = d.without.Has(Ending)
	go w.pass()
	return w
}
