package raftnode

import (
	"context"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// commits passes the commit index in the leader's answers on to raft on a follower.
// raft would learn it with the leader's next message, milliseconds later, and a gateway
// that does not lead waits for that with each commit and each read.
//
// It sits between the transport and raft. The commit index is put into the
// AppendEntries that pass, or where the entry has passed already, into a generated one
// without entries: a message that the leader could have sent. Raft's safety asks no
// more of it than of the leader's: the term is that of the entry and of the leader, and
// the follower is told to commit no further than the entry up to which the message
// proves its log equal to the leader's.
type commits struct {
	in  <-chan raft.RPC
	out chan raft.RPC
	// refuse, if not nil, reports whether a message must not reach raft.
	refuse func(a *raft.AppendEntriesRequest) bool
	// has, if not nil, reports whether the log has an entry (Retaining).
	has func(index, term uint64) bool
	// unbound leaves raft to commit beyond a message's entries (Bounding).
	unbound bool

	mu    sync.Mutex
	known mark
	wake  chan struct{} // of capacity 1: signals that known has changed

	// For the pump only: the leader's newest message.
	last raft.AppendEntriesRequest
	sent mark // the last entry that the leader of a term sent
	told uint64
}

// mark is a committed entry of the log.
type mark struct{ term, index uint64 }

func newCommits(in <-chan raft.RPC) *commits {
	return &commits{in: in, out: make(chan raft.RPC), wake: make(chan struct{}, 1)}
}

// learn records that the log is committed up to an entry of a term; a term of 0 is
// ignored.
func (c *commits) learn(term, index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := (mark{term, index}); term != 0 && (m.term > c.known.term || m.term == c.known.term && m.index > c.known.index) {
		c.known = m
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// pump passes the transport's messages on until ctx ends.
func (c *commits) pump(ctx context.Context) {
	for {
		var rpc raft.RPC
		select {
		case rpc = <-c.in:
			switch a := rpc.Command.(type) {
			case *raft.AppendEntriesRequest:
				if c.refuse != nil && c.refuse(a) {
					rpc.Respond(nil, raft.ErrRaftShutdown)
					return
				}
				c.pass(a)
			case *raft.InstallSnapshotRequest:
				if c.retain(rpc, a) {
					continue
				}
			}
		case <-c.wake:
			a := c.own()
			if a == nil {
				continue
			}
			rpc = raft.RPC{Command: a, RespChan: make(chan raft.RPCResponse, 1)}
		case <-ctx.Done():
			return
		}
		select {
		case c.out <- rpc:
		case <-ctx.Done():
			return
		}
	}
}

// pass puts the known commit index into a message of the leader's.
func (c *commits) pass(a *raft.AppendEntriesRequest) {
	c.mu.Lock()
	known := c.known
	c.mu.Unlock()
	end := a.PrevLogEntry + uint64(len(a.Entries))
	if a.Term == known.term {
		a.LeaderCommitIndex = max(a.LeaderCommitIndex, min(known.index, end))
	}
	if !c.unbound {
		// After that entry a follower may still have entries of an earlier leader, which raft
		// (as of 1.8) would commit.
		a.LeaderCommitIndex = min(a.LeaderCommitIndex, end)
	}
	if a.Term < c.sent.term {
		return // from a deposed leader
	}
	if a.Term > c.sent.term || end > c.sent.index {
		c.sent = mark{a.Term, end}
	}
	c.last = raft.AppendEntriesRequest{RPCHeader: a.RPCHeader, Term: a.Term}
	c.told = max(c.told, a.LeaderCommitIndex)
}

// retain answers a snapshot that has nothing new. One of a deposed leader has an earlier term than raft, which says so.
func (c *commits) retain(rpc raft.RPC, a *raft.InstallSnapshotRequest) bool {
	if c.has == nil || a.Term < c.sent.term || !c.has(a.LastLogIndex, a.LastLogTerm) {
		return false
	}
	_, err := io.Copy(io.Discard, rpc.Reader) // the connection's next message comes after it
	rpc.Respond(&raft.InstallSnapshotResponse{Term: a.Term, Success: err == nil}, err)
	return true
}

// own returns a message that carries the known commit index; nil where raft has been
// told it, or has not been sent the entry yet.
func (c *commits) own() *raft.AppendEntriesRequest {
	c.mu.Lock()
	known := c.known
	c.mu.Unlock()
	if known.term != c.sent.term || known.index > c.sent.index || known.index <= c.told {
		return nil
	}
	a := c.last
	a.PrevLogEntry, a.PrevLogTerm, a.LeaderCommitIndex = known.index, known.term, known.index
	c.told = known.index
	return &a
}
