package raftnode

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/version"
)

// lag is how many entries a member may be behind to count as caught up.
const lag = 1024

// electorate has raft's configuration follow the catalog's members, while the node leads.
type electorate struct {
	*Node
	kick chan struct{} // see wakeReconcile
}

// wakeReconcile wakes the leader's loop.
func (n *electorate) wakeReconcile() {
	select {
	case n.kick <- struct{}{}:
	default:
	}
}

// reconcileVoters brings raft's configuration in line with the catalog's members: a duty of the
// leader.
func (n *electorate) reconcileVoters(ctx context.Context) {
	tick := time.NewTicker(n.o.Ping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-n.kick:
		}
		for n.reconcileOnce(ctx) {
		}
		n.transferLeadership(ctx)
	}
}

// transferLeadership transfers leadership to another voter where this node is to leave, or where its
// disk is full and the other's is not: the leader refuses the rows of all nodes when its disk is full.
func (n *electorate) transferLeadership(ctx context.Context) {
	self := n.fsm.Current().Node(n.o.Self.ID)
	if self == nil || !self.Draining && n.o.Dir.Reserve.Room() == nil {
		return
	}
	conf, _, err := n.configuration(ctx)
	if err != nil {
		return
	}
	for _, s := range conf {
		m := n.fsm.Current().Node(s.ID)
		if alive, _ := n.Liveness(s.ID); s.Voter && s.ID != n.o.Self.ID && alive && m != nil && !m.Draining && (self.Draining || !n.pinger.live.full(s.ID)) {
			if err := n.await(ctx, n.raft.LeadershipTransferToServer(serverID(s.ID), raft.ServerAddress(s.Addr))); err != nil && ctx.Err() == nil {
				n.o.Log.Warn("could not hand over the lead", "to", s.ID, "err", err)
			}
			return
		}
	}
}

// reconcileOnce makes one change; it reports whether there was one to make.
func (n *electorate) reconcileOnce(ctx context.Context) bool {
	conf, index, err := n.configuration(ctx)
	if err != nil {
		return false
	}
	next := func() step { return nextStep(n.o.Self.ID, conf, n.memberStates(), n.voters(), n.o.ReplaceAfter) }
	s := next()
	if s.Kind == stepPromote {
		// The state of learners may be a few seconds old: they must answer now.
		n.askLearners(ctx, conf)
		s = next()
	}
	if s.Kind == stepNone {
		return false
	}
	resume := n.deviations.writer.pause()
	var f raft.Future
	switch id, addr := serverID(s.ID), raft.ServerAddress(s.Addr); s.Kind {
	case stepAdd:
		f = n.raft.AddNonvoter(id, addr, index, 5*time.Second)
	case stepPromote:
		f = n.raft.AddVoter(id, addr, index, 5*time.Second)
	case stepDemote:
		f = n.raft.DemoteVoter(id, index, 5*time.Second)
	case stepRemove:
		f = n.raft.RemoveServer(id, index, 5*time.Second)
	}
	err = n.await(ctx, f)
	resume(ctx.Err() == nil)
	if err != nil {
		if ctx.Err() == nil {
			n.o.Log.Warn("could not change who takes part in the log", "node", s.ID, "change", s.Kind.String(), "err", err)
		}
		return false
	}
	n.o.Log.Info("who takes part in the log has changed", "node", s.ID, "change", s.Kind.String())
	return true
}

// askLearners pings the members without a vote. One that does not answer has not
// caught up.
func (n *electorate) askLearners(ctx context.Context, conf []server) {
	var wg sync.WaitGroup
	for _, s := range conf {
		if alive, _ := n.Liveness(s.ID); !s.Voter && alive && ctx.Err() == nil {
			wg.Go(func() {
				if !n.pinger.ask(s.ID) {
					n.pinger.live.forget(s.ID)
				}
			})
		}
	}
	wg.Wait()
}

// configuration returns raft's configuration as this node knows it, and its index.
func (n *electorate) configuration(ctx context.Context) ([]server, uint64, error) {
	f := n.raft.GetConfiguration()
	if err := n.await(ctx, f); err != nil {
		return nil, 0, pgerr.Wrap(pgerr.InternalError, err, "could not read the cluster's configuration")
	}
	var out []server
	for _, s := range f.Configuration().Servers {
		out = append(out, server{ID: nodeID(s.ID), Addr: string(s.Address), Voter: s.Suffrage == raft.Voter})
	}
	return out, f.Index(), nil
}

// Voters returns the ids of the voting members, as far as this node knows.
func (n *Node) Voters() (ids []uint64) {
	conf, _, err := n.electorate.configuration(n.ctx)
	for _, s := range conf {
		if err == nil && s.Voter {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// memberStates returns the members with their state as this node sees it.
func (n *electorate) memberStates() []memberState {
	var out []memberState
	now, last := time.Now(), n.raft.AppliedIndex()
	for _, m := range n.fsm.Current().Nodes() {
		s := memberState{ID: m.ID, Addr: m.Addr, Zone: m.Zone, Draining: m.Draining}
		alive, since := n.Liveness(m.ID)
		if s.Alive = alive; !alive {
			s.DeadFor = now.Sub(since)
		}
		at := n.pinger.live.applied(m.ID)
		s.CaughtUp = at > 0 && at+lag >= last
		out = append(out, s)
	}
	return out
}

// VotersSetting is the name of the cluster setting for the maximum number of voters; 0
// leaves it to the cluster.
const VotersSetting = "voters"

// voters returns that setting; 0 where the user has not set it.
func (n *electorate) voters() int {
	v, _ := n.fsm.Current().Setting(VotersSetting)
	ask, err := strconv.Atoi(v)
	if err != nil || ask < 0 {
		return 0
	}
	return ask
}

// recordClusterID records the cluster's id in the catalog, which makes it a new one's, of this program's
// version: a duty of the leader.
func (n *electorate) recordClusterID(ctx context.Context) {
	id := n.o.Dir.Identity().Cluster
	if n.fsm.Current().Cluster().IsZero() && !id.IsZero() {
		if _, err := n.Propose(ctx, []catalog.Change{&catalog.SetCluster{ID: id}, &catalog.FinalizeVersion{Version: version.Binary}}); err != nil && ctx.Err() == nil {
			n.o.Log.Warn("could not write down the cluster's id", "err", err)
		}
	}
}

// ownCluster returns an error for a catalog of another cluster: the log was copied here
// from elsewhere.
func (n *electorate) ownCluster() error {
	has, is := n.fsm.Current().Cluster(), n.o.Dir.Identity().Cluster
	if has.IsZero() || has == is {
		return nil
	}
	return pgerr.New(pgerr.DataCorrupted, "data directory %q belongs to cluster %s, its log to cluster %s", n.o.Dir.Path, is, has).
		WithHint("Put the directory's own parts back together, or start with an empty one and --join.")
}

// waitVoters waits until as many members vote as should, so that the cluster survives the
// loss of one. Members may be down, so it does not wait for ever.
func (n *electorate) waitVoters(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for {
		conf, _, err := n.configuration(ctx)
		if err != nil || allVote(conf, len(n.fsm.Current().Nodes()), n.voters()) {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// String names a step in the log.
func (k stepKind) String() string {
	return [...]string{"none", "takes part", "votes", "votes no more", "takes part no more"}[k]
}
