package raftnode

import (
	"context"
	"sync/atomic"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// LoseReads makes the next n read requests to the leader fail as if they had timed out. No
// request may be in progress.
func (n *Node) LoseReads(times int64) {
	call, left := n.proposals.asks.call, &atomic.Int64{}
	left.Store(times)
	n.proposals.asks.call = func() (reply, error) {
		switch k := left.Add(-1); {
		case k < 0:
			return call()
		case k%2 == 0:
			return reply{}, context.DeadlineExceeded
		}
		return reply{}, pgerr.From(context.DeadlineExceeded) // as the leader encodes it
	}
}
