package raftnode

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// maxVoters is how many members vote. More make every commit slower and the
// cluster no safer in practice.
const maxVoters = 5

type joinRequest struct {
	Node catalog.Node
	// Hops keeps a request from going round between nodes that disagree on who
	// leads.
	Hops int
}

type joinReply struct {
	NotLeader bool
	Leader    string // address to ask instead
	Index     uint64
}

// announce tells the leader of this node until it has been heard: for
// admission on the first start, and afterwards where its description changed.
func (n *Node) announce(fresh bool) {
	wait := 20 * time.Millisecond
	for n.ctx.Err() == nil {
		if err := n.announceOnce(fresh); err == nil {
			return
		} else {
			n.o.Log.Debug("announcing the node", "err", err)
		}
		select {
		case <-time.After(wait):
		case <-n.ctx.Done():
		}
		wait = min(wait*2, time.Second)
	}
}

func (n *Node) announceOnce(fresh bool) error {
	ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
	defer cancel()
	req := joinRequest{Node: n.o.Self}
	if leader := n.Leader(); leader == n.o.Self.ID {
		r, err := n.handleJoin(ctx, req)
		if err == nil && r.NotLeader {
			err = errors.New("not yet the leader")
		}
		return err
	} else if leader != 0 {
		if r, err := rpc.Call[joinReply](ctx, n.peers, leader, callJoin, req); err == nil && !r.NotLeader {
			return n.fsm.WaitFor(ctx, r.Index)
		}
	}
	// Members by address: those given, and those the catalog knows.
	addrs := append([]string(nil), n.o.Join...)
	if !fresh {
		for _, m := range n.fsm.Current().Nodes() {
			if m.ID != n.o.Self.ID {
				addrs = append(addrs, m.Addr)
			}
		}
		// The catalog is empty until a leader says what of the log is committed,
		// and the leader cannot say it to a node that has moved.
		if f := n.raft.GetConfiguration(); f.Error() == nil {
			for _, s := range f.Configuration().Servers {
				if s.ID != serverID(n.o.Self.ID) && !slices.Contains(addrs, string(s.Address)) {
					addrs = append(addrs, string(s.Address))
				}
			}
		}
	}
	err := errors.New("no leader yet")
	for _, a := range addrs {
		if a == n.o.Self.Addr {
			continue
		}
		var r joinReply
		if r, err = n.joinAt(ctx, a, req); err == nil {
			return n.fsm.WaitFor(ctx, r.Index)
		}
	}
	return err
}

// joinAt asks the node at an address for admission, following it to the leader.
func (n *Node) joinAt(ctx context.Context, addr string, req joinRequest) (joinReply, error) {
	body, err := rpc.Encode(req)
	if err != nil {
		return joinReply{}, err
	}
	for range 3 {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		b, err := n.peers.ActionAt(one, addr, callJoin, body)
		cancel()
		if err != nil {
			return joinReply{}, err
		}
		r, err := rpc.Decode[joinReply](b)
		if err != nil || !r.NotLeader {
			return r, err
		}
		if r.Leader == "" {
			break
		}
		addr = r.Leader
	}
	return joinReply{}, errors.New("no leader yet")
}

// handleJoin admits a node, or takes in its new description: the leader's side.
func (n *Node) handleJoin(ctx context.Context, req joinRequest) (joinReply, error) {
	if !n.leads.Load() {
		a, _ := n.Addr(n.Leader())
		if n.Leader() == 0 {
			a = ""
		}
		return joinReply{NotLeader: true, Leader: a}, nil
	}
	m := req.Node
	if m.ID == 0 || m.Addr == "" {
		return joinReply{}, pgerr.New(pgerr.InvalidParameterValue, "a node needs an id and an address to join")
	}
	for _, o := range n.fsm.Current().Nodes() {
		if o.ID != m.ID && o.Name == m.Name {
			return joinReply{}, pgerr.New(pgerr.DuplicateObject, "node %q already exists", m.Name).
				WithHint("Start the node with another --node name, or remove the old one.")
		}
	}
	if err := n.admit(ctx, &m); err != nil {
		return joinReply{}, err
	}
	old := n.fsm.Current().Node(m.ID)
	if old != nil {
		m.JoinedAt, m.Draining = old.JoinedAt, old.Draining
		if *old == m {
			return joinReply{Index: n.fsm.Applied()}, nil
		}
	} else if m.JoinedAt.IsZero() {
		m.JoinedAt = time.Now().UTC()
	}
	r, err := n.Propose(ctx, []catalog.Change{&catalog.PutNode{Node: &m}})
	return joinReply{Index: r.Index}, err
}

// admit puts the node into raft's configuration with its address.
func (n *Node) admit(ctx context.Context, m *catalog.Node) error {
	f := n.raft.GetConfiguration()
	if err := n.await(ctx, f); err != nil {
		return pgerr.Wrap(pgerr.InternalError, err, "could not read the cluster's configuration")
	}
	id, addr := serverID(m.ID), raft.ServerAddress(m.Addr)
	voters := 0
	for _, s := range f.Configuration().Servers {
		if s.ID == id && s.Address == addr {
			return nil
		}
		if s.ID != id && s.Suffrage == raft.Voter {
			voters++
		}
	}
	var done raft.IndexFuture
	if voters < maxVoters {
		done = n.raft.AddVoter(id, addr, 0, 10*time.Second)
	} else {
		done = n.raft.AddNonvoter(id, addr, 0, 10*time.Second)
	}
	if err := n.await(ctx, done); err != nil {
		return pgerr.Wrap(pgerr.CannotConnectNow, err, "could not admit node %q", m.Name)
	}
	n.o.Log.Info("node admitted", "node", m.ID, "name", m.Name, "addr", m.Addr)
	return nil
}

// promote gives members without a vote the places that are free: a duty of the
// leader.
func (n *Node) promote(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		f := n.raft.GetConfiguration()
		if n.await(ctx, f) != nil {
			continue
		}
		voters := 0
		var next *raft.Server
		for _, s := range f.Configuration().Servers {
			if s.Suffrage == raft.Voter {
				voters++
			} else if alive, _ := n.Liveness(nodeID(s.ID)); alive && next == nil {
				next = &s
			}
		}
		if next != nil && voters < maxVoters {
			if err := n.await(ctx, n.raft.AddVoter(next.ID, next.Address, 0, 5*time.Second)); err != nil {
				n.o.Log.Warn("could not give a node a vote", "node", nodeID(next.ID), "err", err)
			}
		}
	}
}

// Remove takes a member out of the cluster, dead or alive. Its replicas are
// made again elsewhere. A node that leaves in peace is drained before.
func (n *Node) Remove(ctx context.Context, id uint64) error {
	if n.fsm.Current().Node(id) == nil {
		return pgerr.New(pgerr.UndefinedObject, "node %d does not exist", id)
	}
	return n.atLeader(ctx, func(ctx context.Context, leader uint64) (bool, error) {
		if leader == id && leader == n.o.Self.ID && len(n.fsm.Current().Nodes()) > 1 {
			// A leader hands over before it goes.
			if err := n.await(ctx, n.raft.LeadershipTransfer()); err != nil {
				return true, err
			}
			return true, nil
		}
		r, err := n.leaveAt(ctx, leader, id)
		if err != nil {
			return rpc.Unreachable(err), err
		}
		return r.NotLeader, nil
	})
}

func (n *Node) leaveAt(ctx context.Context, leader, id uint64) (joinReply, error) {
	if leader == n.o.Self.ID {
		return n.handleLeave(ctx, id)
	}
	return rpc.Call[joinReply](ctx, n.peers, leader, callLeave, id)
}

// handleLeave is the leader's side of Remove.
func (n *Node) handleLeave(ctx context.Context, id uint64) (joinReply, error) {
	if !n.leads.Load() {
		return joinReply{NotLeader: true}, nil
	}
	if id == n.o.Self.ID {
		if len(n.fsm.Current().Nodes()) <= 1 {
			return joinReply{}, pgerr.New(pgerr.ObjectInUse, "the last node cannot leave the cluster")
		}
		n.raft.LeadershipTransfer()
		return joinReply{NotLeader: true}, nil
	}
	r, err := n.Propose(ctx, []catalog.Change{&catalog.DropNode{ID: id}})
	if err != nil {
		return joinReply{}, err
	}
	if err := n.await(ctx, n.raft.RemoveServer(serverID(id), 0, 10*time.Second)); err != nil {
		return joinReply{}, pgerr.Wrap(pgerr.CannotConnectNow, err, "could not remove node %d", id)
	}
	n.o.Log.Info("node removed", "node", id)
	return joinReply{Index: r.Index}, nil
}
