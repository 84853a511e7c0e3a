package raftnode

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/rpc"
)

// renewals are when nodes last renewed their lease on advisory locks with this one.
type renewals struct {
	mu sync.Mutex
	at map[uint64]time.Time
}

// Renew has the leader know that this node is alive. Without an error the one that was
// told led a majority after the call began.
func (n *Node) Renew(ctx context.Context) error {
	r, err := n.leases.renew(ctx)
	if err == nil && r.NotLeader {
		err = errors.New("no leader")
	}
	return err
}

// leases are those of the members, at the leader.
type leases struct {
	*Node
	renewed renewals
}

func (n *leases) renew(ctx context.Context) (reply, error) {
	switch leader := n.Leader(); leader {
	case 0:
		return reply{NotLeader: true}, nil
	case n.o.Self.ID:
		return n.handleRenew(ctx, leader)
	default:
		return rpc.Call[reply](ctx, n.peers, leader, callRenew, n.o.Self.ID)
	}
}

func (n *leases) handleRenew(ctx context.Context, id uint64) (reply, error) {
	n.renewed.mu.Lock()
	n.renewed.at[id] = time.Now()
	n.renewed.mu.Unlock()
	return n.proposals.readIndexHere(ctx)
}

// endSilentLives ends the lives of gateways that have advisory locks and have not renewed
// their lease for so long: a duty of the leader. See cluster/advisory.
func (n *leases) endSilentLives(expiry time.Duration) func(ctx context.Context) {
	return func(ctx context.Context) {
		tick := time.NewTicker(expiry / 12)
		defer tick.Stop()
		first := map[uint64]time.Time{} // when this leader first saw a gateway's locks
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now := time.Now()
			seen := map[uint64]time.Time{}
			var silent []advisory.Op
			n.fsm.Locks(func(t *advisory.Table) {
				for _, g := range t.Gateways() {
					at, ok := first[g]
					if !ok {
						at = now
					}
					seen[g] = at
					n.renewed.mu.Lock()
					if r := n.renewed.at[g]; r.After(at) {
						at = r
					}
					n.renewed.mu.Unlock()
					if now.Sub(at) > expiry {
						silent = append(silent, advisory.Op{Kind: advisory.EndLife, Owner: advisory.Owner{Gateway: g, Life: t.Life(g)}})
					}
				}
			})
			first = seen
			if len(silent) == 0 {
				continue
			}
			// No other leader has heard of them up to now, if this node leads still.
			if r, err := n.proposals.readIndexHere(ctx); err != nil || r.NotLeader {
				continue
			}
			if _, err := n.Lock(ctx, nil, silent); err == nil {
				for _, o := range silent {
					n.o.Log.Warn("the advisory locks of a node's sessions are given up: the node was not heard", "node", o.Owner.Gateway)
				}
			}
		}
	}
}
