package raftnode

import (
	"context"
	"sync"
)

// callRedefined asks a follower to read the commit index.
const callRedefined = "raft.redefined"

// notifier tells followers of changed definitions, while the node leads.
type notifier struct{ *Node }

// notifyFollowers tells followers of commits that changed definitions. An idle follower learns the
// commit index only every CommitTimeout: the node that was to drive a training began it a
// quarter of a second late, and the gateway learned as late that it had ended. The message
// carries nothing. Whoever gets it asks the leader, as for any read, and takes no more from it
// than from that answer. Commits of rows, of which there are thousands, send none.
func (n *notifier) notifyFollowers(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wake := map[uint64]chan struct{}{}
	for {
		redefined := n.fsm.Redefined()
		for _, m := range n.fsm.Current().Nodes() {
			if m.ID == n.o.Self.ID {
				continue
			}
			ch := wake[m.ID]
			if ch == nil {
				ch = make(chan struct{}, 1)
				wake[m.ID] = ch
				wg.Go(func() { n.notify(ctx, m.ID, ch) })
			}
			select {
			case ch <- struct{}{}:
			default: // it is told of this commit with an earlier one
			}
		}
		select {
		case <-redefined:
		case <-ctx.Done():
			return
		}
	}
}

// notify sends a follower a message whenever it is woken. One that does not answer learns of the commits
// from raft.
func (n *notifier) notify(ctx context.Context, id uint64, wake <-chan struct{}) {
	for {
		select {
		case <-wake:
		case <-ctx.Done():
			return
		}
		if _, alive := n.pinger.live.addr(id); !alive {
			continue
		}
		one, cancel := context.WithTimeout(ctx, readTime)
		if _, err := n.peers.Action(one, id, callRedefined, nil); err != nil && ctx.Err() == nil {
			n.o.Log.Debug("a follower was not told of a commit", "node", id, "err", err)
		}
		cancel()
	}
}
