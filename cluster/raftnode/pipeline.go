package raftnode

import (
	"sync"

	"github.com/hashicorp/raft"
)

// transport is raft's network transport, with pipelines that end when a follower
// refuses (pipeline), heartbeats that end with the node (beats), and early knowledge of
// the commit index (commits).
type transport struct {
	*raft.NetworkTransport
	beats   *beats
	commits *commits
}

// Consumer implements raft.Transport.
func (t transport) Consumer() <-chan raft.RPC { return t.commits.out }

// SetHeartbeatHandler implements raft.Transport.
func (t transport) SetHeartbeatHandler(fn func(raft.RPC)) {
	t.NetworkTransport.SetHeartbeatHandler(t.beats.handler(fn))
}

// AppendEntriesPipeline implements raft.Transport.
func (t transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return newPipeline(p), nil
}

// pipeline forwards a pipeline's answers and closes it after the first that is not a
// success. raft stops reading then, while its sender may be waiting for room in the
// pipeline, which nobody frees any more: a follower whose disk was full once was never
// sent anything again.
type pipeline struct {
	raft.AppendPipeline
	answers chan raft.AppendFuture
	done    chan struct{}
	once    sync.Once
	err     error // of Close
}

func newPipeline(p raft.AppendPipeline) *pipeline {
	w := &pipeline{AppendPipeline: p, answers: make(chan raft.AppendFuture), done: make(chan struct{})}
	go w.pass()
	return w
}

func (p *pipeline) pass() {
	for {
		select {
		case f := <-p.AppendPipeline.Consumer():
			ok := f.Error() == nil && f.Response().Success
			select {
			case p.answers <- f:
			case <-p.done:
				return
			}
			if !ok {
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
