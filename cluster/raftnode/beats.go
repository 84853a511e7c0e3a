package raftnode

import (
	"sync"

	"github.com/hashicorp/raft"
)

// beats lets heartbeats in until the node ends. raft takes them beside its own
// goroutines, whose end Shutdown waits for: one that came before it and told of a
// new term was written to a log that was closed meanwhile, which raft answers
// with a panic.
type beats struct {
	mu    sync.RWMutex // held for reading while a heartbeat is at work
	ended bool
}

// handler is raft's handler fn as long as the node lives.
func (b *beats) handler(fn func(raft.RPC)) func(raft.RPC) {
	if fn == nil {
		return nil
	}
	return func(rpc raft.RPC) {
		b.mu.RLock()
		defer b.mu.RUnlock()
		if b.ended {
			rpc.Respond(nil, raft.ErrRaftShutdown)
			return
		}
		fn(rpc)
	}
}

// end waits for those at work and lets no more in.
func (b *beats) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}
