package raftnode

import (
	"sync"

	"github.com/hashicorp/raft"
)

// beats lets heartbeats in until the node ends. raft takes them beside its own
// goroutines, whose end Shutdown waits for: one that came just before it with a new
// term made raft write to a log that was closed meanwhile, and raft panics at that.
type beats struct {
	mu    sync.RWMutex // held for reading while a heartbeat is being handled
	ended bool
}

// handler returns a handler that calls raft's handler fn until end is called.
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

// end waits for heartbeats being handled and lets no more in.
func (b *beats) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}
