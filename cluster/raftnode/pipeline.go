package raftnode

import (
	"sync"

	"github.com/hashicorp/raft"
)

// transport is raft's over the network, with pipelines that end when a follower
// refuses, heartbeats that end with the node, and what is known to be committed.
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

// pipeline passes a pipeline's answers on and closes it behind the first that is
// not a success. raft reads no further then, while its sender may be waiting for
// room in the pipeline, which nobody makes any more: a follower whose disk was
// full once was never sent anything again.
type pipeline struct {
	raft.AppendPipeline
	answers chan raft.AppendFuture
	done    chan struct{}
	once    sync.Once
	err     error // of closing
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
