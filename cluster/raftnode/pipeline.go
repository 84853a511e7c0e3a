package raftnode

import (
	"sync"

	"github.com/hashicorp/raft"
)

// transport is raft's network transport, with pipelines that end when a follower
// refuses (pipeline), heartbeats that end with the node (beats), early knowledge of
// the commit index (commits), and notes of what the others have stored (marks).
type transport struct {
	*raft.NetworkTransport
	n *Node
}

// Consumer implements raft.Transport.
func (t transport) Consumer() <-chan raft.RPC { return t.n.deviations.commits.out }

// RequestVote implements raft.Transport: no election before the marks were compared.
func (t transport) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	if err := t.wait(); err != nil {
		return err
	}
	return t.NetworkTransport.RequestVote(id, target, args, resp)
}

// RequestPreVote implements raft.WithPreVote.
func (t transport) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	if err := t.wait(); err != nil {
		return err
	}
	return t.NetworkTransport.RequestPreVote(id, target, args, resp)
}

func (t transport) wait() error {
	select {
	case <-t.n.keeper.compared:
		return t.n.ctx.Err()
	case <-t.n.ctx.Done():
		return t.n.ctx.Err()
	}
}

// AppendEntries implements raft.Transport.
func (t transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	err := t.NetworkTransport.AppendEntries(id, target, args, resp)
	if err == nil && resp.Success {
		t.n.keeper.marks.stored(nodeID(id), args.Term, args.PrevLogEntry+uint64(len(args.Entries)))
	}
	return err
}

// SetHeartbeatHandler implements raft.Transport.
func (t transport) SetHeartbeatHandler(fn func(raft.RPC)) {
	t.NetworkTransport.SetHeartbeatHandler(t.n.deviations.heartbeats(fn))
}

// AppendEntriesPipeline implements raft.Transport.
func (t transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return t.n.deviations.pipeline(p, func(a *raft.AppendEntriesRequest) {
		t.n.keeper.marks.stored(nodeID(id), a.Term, a.PrevLogEntry+uint64(len(a.Entries)))
	}), nil
}

// pipeline forwards a pipeline's answers and closes it after the first that is not a
// success. raft stops reading then, while its sender may be waiting for room in the
// pipeline, which nobody frees any more: a follower whose disk was full once was never
// sent anything again.
type pipeline struct {
	raft.AppendPipeline
	stored  func(*raft.AppendEntriesRequest)
	stays   bool // is not closed by itself (Ending)
	answers chan raft.AppendFuture
	done    chan struct{}
	once    sync.Once
	err     error // of Close
}

// newPipeline returns a pipeline whose pass calls stored for each request that succeeded.
func newPipeline(p raft.AppendPipeline, stored func(*raft.AppendEntriesRequest)) *pipeline {
	return &pipeline{AppendPipeline: p, stored: stored, answers: make(chan raft.AppendFuture), done: make(chan struct{})}
}

func (p *pipeline) pass() {
	for {
		select {
		case f := <-p.AppendPipeline.Consumer():
			ok := f.Error() == nil && f.Response().Success
			if ok {
				p.stored(f.Request())
			}
			select {
			case p.answers <- f:
			case <-p.done:
				return
			}
			if !ok && !p.stays {
				_ = p.Close()
				return
			}
		case <-p.done:
			return
		}
	}
}

// Consumer implements raft.AppendPipeline.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.answers }

// Close implements raft.AppendPipeline.
func (p *pipeline) Close() error {
	p.once.Do(func() {
		close(p.done)
		p.err = p.AppendPipeline.Close()
	})
	return p.err
}
