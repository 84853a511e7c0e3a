package raftnode

import (
	"context"
	"math/rand"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func logsOf(n int) []*raft.Log {
	out := make([]*raft.Log, n)
	for i := range out {
		out[i] = &raft.Log{}
	}
	return out
}

// TestCommitsAreLearnt: a follower that reads the leader's commit index in the answer to a proposal
// passes it on to raft, with the entry when that arrives or at once if it is in the log already.
func TestCommitsAreLearnt(t *testing.T) {
	in := make(chan raft.RPC)
	c := newCommits(in)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { c.pump(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	pass := func(a *raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
		t.Helper()
		in <- raft.RPC{Command: a}
		return (<-c.out).Command.(*raft.AppendEntriesRequest)
	}
	lead := raft.RPCHeader{ID: []byte("l"), Addr: []byte("at")}
	if a := pass(&raft.AppendEntriesRequest{RPCHeader: lead, Term: 3, PrevLogEntry: 10, PrevLogTerm: 2, Entries: logsOf(2), LeaderCommitIndex: 9}); a.LeaderCommitIndex != 9 {
		t.Error("nothing is known yet:", a.LeaderCommitIndex)
	}
	c.learn(3, 12)
	a := (<-c.out).Command.(*raft.AppendEntriesRequest)
	if a.Term != 3 || a.PrevLogEntry != 12 || a.PrevLogTerm != 3 || a.LeaderCommitIndex != 12 || len(a.Entries) != 0 || string(a.ID) != "l" || string(a.Addr) != "at" {
		t.Errorf("%+v", a)
	}
	c.learn(3, 15) // before the entry has arrived
	if a := pass(&raft.AppendEntriesRequest{RPCHeader: lead, Term: 3, PrevLogEntry: 12, PrevLogTerm: 3, Entries: logsOf(1), LeaderCommitIndex: 12}); a.LeaderCommitIndex != 13 {
		t.Error("no further than the message shows:", a.LeaderCommitIndex)
	}
	if a := pass(&raft.AppendEntriesRequest{RPCHeader: lead, Term: 3, PrevLogEntry: 13, PrevLogTerm: 3, Entries: logsOf(3), LeaderCommitIndex: 12}); a.LeaderCommitIndex != 15 {
		t.Error("what is known:", a.LeaderCommitIndex)
	}
	// A commit index learnt from another leader says nothing of this leader's log.
	c.learn(3, 99)
	if a := pass(&raft.AppendEntriesRequest{RPCHeader: lead, Term: 4, PrevLogEntry: 13, PrevLogTerm: 3, Entries: logsOf(90), LeaderCommitIndex: 15}); a.LeaderCommitIndex != 15 {
		t.Error("of another term:", a.LeaderCommitIndex)
	}
	c.learn(0, 1000)
	c.learn(2, 1000)
	if a := pass(&raft.AppendEntriesRequest{RPCHeader: lead, Term: 4, PrevLogEntry: 103, PrevLogTerm: 4, LeaderCommitIndex: 15}); a.LeaderCommitIndex != 15 {
		t.Error("of no term:", a.LeaderCommitIndex)
	}
}

// TestCommitsNeverLie: in whatever order messages arrive, a follower never commits an entry that its
// leader has not committed or that the leader's log does not have.
func TestCommitsNeverLie(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	for range 300 {
		c := newCommits(nil)
		// Committed entries are never changed; later ones may differ between leaders.
		committed := uint64(0)
		var leader, follower []uint64 // terms, by index - 1
		term := uint64(1)
		knows := uint64(0) // the follower's commit index
		take := func(a *raft.AppendEntriesRequest) {
			if a.PrevLogEntry > uint64(len(follower)) || a.PrevLogEntry > 0 && follower[a.PrevLogEntry-1] != a.PrevLogTerm {
				return
			}
			for i := range a.Entries {
				at := a.PrevLogEntry + uint64(i)
				if at < uint64(len(follower)) && follower[at] != a.Entries[i].Term {
					follower = follower[:at]
				}
				if at >= uint64(len(follower)) {
					follower = append(follower, a.Entries[i].Term)
				}
			}
			knows = max(knows, min(a.LeaderCommitIndex, uint64(len(follower))))
			for i := range knows {
				if i >= committed || leader[i] != follower[i] {
					t.Fatalf("entry %d is committed by the follower only (%d committed)", i+1, committed)
				}
			}
		}
		var answers []mark
		for range 60 {
			switch rng.Intn(6) {
			case 0, 1:
				leader = append(leader, term)
			case 2: // some of the leader's own entries are committed
				if n := uint64(len(leader)); n > committed && leader[n-1] == term {
					committed = n
					answers = append(answers, mark{term, n})
				}
			case 3:
				from := uint64(rng.Intn(len(leader) + 1))
				a := &raft.AppendEntriesRequest{Term: term, PrevLogEntry: from}
				if from > 0 {
					a.PrevLogTerm = leader[from-1]
				}
				for _, e := range leader[from : from+uint64(rng.Intn(len(leader)-int(from)+1))] {
					a.Entries = append(a.Entries, &raft.Log{Term: e})
				}
				a.LeaderCommitIndex = uint64(rng.Intn(int(committed) + 1))
				c.pass(a)
				take(a)
			case 4: // answers are delayed and reordered
				if len(answers) > 0 {
					m := answers[rng.Intn(len(answers))]
					c.learn(m.term, m.index)
					if a := c.own(); a != nil && a.Term == term {
						take(a)
					}
				}
			case 5: // another leader, which has all committed entries
				if rng.Intn(4) == 0 {
					term++
					leader = leader[:committed:committed]
				}
			}
		}
	}
}

// TestSnapshotsOfOldAreAnswered: a snapshot whose last entry is in the log is read to its end and answered, and all others
// reach raft.
func TestSnapshotsOfOldAreAnswered(t *testing.T) {
	in := make(chan raft.RPC)
	c := newCommits(in)
	c.has = func(index, term uint64) bool { return index <= 10 && term == 2 }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { c.pump(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	in <- raft.RPC{Command: &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 10, PrevLogTerm: 2}}
	<-c.out
	for _, x := range []struct {
		term, index, last uint64
		answered          bool
	}{{3, 10, 2, true}, {4, 7, 2, true}, {3, 11, 2, false}, {3, 10, 1, false}, {2, 7, 2, false}} {
		data, answers := strings.NewReader("state"), make(chan raft.RPCResponse, 1)
		in <- raft.RPC{Command: &raft.InstallSnapshotRequest{Term: x.term, LastLogIndex: x.index, LastLogTerm: x.last}, Reader: data, RespChan: answers}
		select {
		case a := <-answers:
			if r, ok := a.Response.(*raft.InstallSnapshotResponse); !x.answered || !ok || !r.Success || r.Term != x.term || a.Error != nil || data.Len() > 0 {
				t.Errorf("%+v: answered %+v, %d bytes left", x, a, data.Len())
			}
		case <-c.out:
			if x.answered || data.Len() != 5 {
				t.Errorf("%+v reached raft", x)
			}
		}
	}
}
