package raftnode

import (
	"context"
	"sync/atomic"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// LoseReads has the next so many questions to the leader end as those do which it, or this
// node, gave up on. Nobody may be asking.
func (n *Node) LoseReads(times int64) {
	call, left := n.asks.call, &atomic.Int64{}
	left.Store(times)
	n.asks.call = func() (reply, error) {
		switch k := left.Add(-1); {
		case k < 0:
			return call()
		case k%2 == 0:
			return reply{}, context.DeadlineExceeded
		}
		return reply{}, pgerr.From(context.DeadlineExceeded) // as it comes from the leader
	}
}
