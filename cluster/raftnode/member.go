package raftnode

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

type joinRequest struct {
	Node catalog.Node
	// Nonce comes back with the dialBack message: it proves that the leader who dials is
	// the one who was asked.
	Nonce [16]byte
}

// dialBack is what a leader sends to a node at the node's announced address, before it
// admits the node.
type dialBack struct{ Nonce [16]byte }

type joinReply struct {
	NotLeader bool
	Leader    string // address to ask instead
	Index     uint64
}

// admission has the node become a member, and admits others.
type admission struct {
	*Node
	nonce      [16]byte                     // of this start; see joinRequest
	joining    sync.Mutex                   // serialises admissions
	self       atomic.Pointer[catalog.Node] // as it describes itself
	announcing sync.Mutex                   // serialised, so that the newest description is sent last

	refusal atomic.Pointer[error] // why the cluster does not admit this node
	refused chan struct{}         // closed when refusal is set
}

// announce sends this node's description to the leader until it is accepted: for
// admission on the first start, and later where the description changed. A permanent
// refusal ends it, and WaitReady returns it.
func (n *admission) announce(fresh bool) {
	n.announcing.Lock()
	defer n.announcing.Unlock()
	wait, begun, said := 20*time.Millisecond, time.Now(), ""
	for n.ctx.Err() == nil {
		err := n.announceOnce(fresh)
		switch {
		case err == nil:
			if l := n.Leader(); l != 0 && l != n.o.Self.ID {
				n.pinger.ask(l) // so that the leader learns at once that this node has caught up
			}
			return
		case refusedForGood(err):
			n.refuse(err)
			return
		case fresh && wrongSecret(err) != nil:
			n.refuse(wrongSecret(err))
			return
		case said != err.Error() && time.Since(begun) > n.o.DeadAfter:
			said = err.Error()
			n.o.Log.Warn("the cluster has not taken this node in yet", "err", err)
		}
		select {
		case <-time.After(wait):
		case <-n.ctx.Done():
		}
		wait = min(wait*2, time.Second)
	}
}

// refusedForGood reports whether asking again for admission is of no use.
func refusedForGood(err error) bool {
	switch pgerr.CodeOf(err) {
	case pgerr.DuplicateObject, pgerr.InvalidParameterValue, pgerr.ObjectNotInPrerequisiteState:
		return true
	}
	return false
}

// Use announces the memory (in bytes) and threads that this node uses from now on.
func (n *Node) Use(memory int64, threads int) {
	self := *n.admission.self.Load()
	self.Memory, self.Threads = memory, threads
	n.admission.self.Store(&self)
	n.goFunc(func() { n.admission.announce(false) })
}

// wrongSecret returns the refusal of a node that does not have the cluster's secret.
// Only a joining node stops for it: for a member, the refusal may come from whoever has
// another member's address now.
func wrongSecret(err error) error {
	if no := rpc.Refusal(err); no != nil && no.Code == pgerr.InvalidAuthorizationSpecification {
		return no
	}
	return nil
}

// refuse records that the cluster does not admit this node.
func (n *admission) refuse(err error) {
	n.o.Log.Error("the cluster refuses this node", "err", err)
	if n.refusal.CompareAndSwap(nil, &err) {
		close(n.refused)
	}
}

func (n *admission) announceOnce(fresh bool) error {
	ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
	defer cancel()
	req := joinRequest{Node: *n.self.Load(), Nonce: n.nonce}
	if leader := n.Leader(); leader == n.o.Self.ID {
		r, err := n.handleJoin(ctx, req)
		if err == nil && r.NotLeader {
			err = errors.New("not yet the leader")
		}
		return err
	} else if leader != 0 {
		if r, err := rpc.Call[joinReply](ctx, n.peers, leader, callJoin, req); refusedForGood(err) {
			return err
		} else if err == nil && !r.NotLeader {
			return n.fsm.WaitFor(ctx, r.Index)
		}
	}
	// Members by address: those configured, and those in the catalog.
	addrs := append([]string(nil), n.o.Join...)
	if !fresh {
		for _, m := range n.fsm.Current().Nodes() {
			if m.ID != n.o.Self.ID {
				addrs = append(addrs, m.Addr)
			}
		}
		// The catalog is empty until a leader sends the commit index, and the leader cannot
		// send it to a node whose address has changed.
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
		} else if refusedForGood(err) {
			return err
		}
	}
	return err
}

// joinAt asks the node at an address for admission, following it to the leader.
func (n *admission) joinAt(ctx context.Context, addr string, req joinRequest) (joinReply, error) {
	body := rpc.Encode(req)
	for range 3 {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		b, err := n.peers.ActionAt(one, 0, addr, callJoin, body)
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

// handleJoin admits a node, or records its new description: the leader's side.
func (n *admission) handleJoin(ctx context.Context, req joinRequest) (joinReply, error) {
	if !n.leads.Load() {
		a, _ := n.Addr(n.Leader())
		if n.Leader() == 0 {
			a = ""
		}
		return joinReply{NotLeader: true, Leader: a}, nil
	}
	m := req.Node
	from, self := rpc.Caller(ctx), m.ID == n.o.Self.ID
	guest := from.Cluster.IsZero() && !self
	if m.ID == 0 || m.ID != from.Node && !self {
		return joinReply{}, pgerr.New(pgerr.InvalidParameterValue, "a node asks for admission for itself")
	}
	// Admissions are serialised: each depends on the state that the previous one left.
	n.joining.Lock()
	defer n.joining.Unlock()
	state := n.fsm.Current()
	old := state.Node(m.ID)
	if old != nil {
		m.Keep(old)
		if *old == m && !guest {
			return joinReply{Index: n.fsm.Applied()}, nil
		}
	} else if m.JoinedAt.IsZero() {
		m.JoinedAt = time.Now().UTC()
	}
	if guest && slices.Contains(n.Voters(), m.ID) {
		// It has cast votes that it no longer remembers.
		return joinReply{}, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "node %q votes in this cluster and cannot enter it without its log", m.Name).
			WithHint("Decommission it and start an empty directory with --join.")
	}
	if guest || !self && (old == nil || old.Addr != m.Addr) {
		if err := reachable(m.Addr, rpc.CallerAddr(ctx), state.Nodes()); err != nil {
			return joinReply{}, err
		}
		change := []catalog.Change{&catalog.PutNode{Node: &m}}
		if _, err := state.Apply(change); err != nil {
			return joinReply{}, err
		}
		if err := n.dialBack(ctx, &m, req.Nonce); err != nil {
			return joinReply{}, err
		}
	}
	if old == nil && !self && n.o.BeforeSecond != nil && len(state.Nodes()) == 1 {
		if err := n.o.BeforeSecond(ctx); err != nil {
			return joinReply{}, err
		}
	}
	r, err := n.Propose(ctx, []catalog.Change{&catalog.PutNode{Node: &m}})
	if err == nil && old == nil {
		n.o.Log.Info("node admitted", "node", m.ID, "name", m.Name, "addr", m.Addr)
	}
	n.electorate.wakeReconcile()
	return joinReply{Index: r.Index}, err
}

// dialBack dials a node back at the address that it gave. The cluster does not depend on
// the node in any way before it has answered there.
func (n *admission) dialBack(ctx context.Context, m *catalog.Node, nonce [16]byte) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	if _, err := n.peers.ActionAt(ctx, m.ID, m.Addr, callGreet, rpc.Encode(dialBack{nonce})); err != nil {
		n.o.Log.Warn("a node that asks for admission does not answer", "name", m.Name, "addr", m.Addr, "err", err)
		return pgerr.Wrap(pgerr.CannotConnectNow, err, "the leader could not reach node %q at %s", m.Name, m.Addr).
			WithHint("Give --advertise with an address at which the other nodes reach it.")
	}
	n.pinger.live.at(m.ID, m.Addr)
	return nil
}

// handleDialBack answers a leader that is about to admit this node. From here on the node
// belongs to the leader's cluster.
func (n *admission) handleDialBack(ctx context.Context, g dialBack) (bool, error) {
	if g.Nonce != n.nonce {
		return false, pgerr.New(pgerr.ConnectionRejected, "this node has not asked for admission")
	}
	if n.o.Dir.standing() != joining {
		return true, nil
	}
	c := rpc.Caller(ctx).Cluster
	if c.IsZero() {
		return false, pgerr.New(pgerr.ConnectionRejected, "a node of no cluster cannot admit another")
	}
	return true, n.o.Dir.become(member, c)
}

// reachable returns an error for an address that others cannot dial. from is the
// address that the announcing node calls from.
func reachable(addr string, from net.Addr, members []*catalog.Node) error {
	if err := checkAddr(addr); err != nil {
		return err
	}
	if from == nil {
		return nil
	}
	if isLoopback(addr) && !isLoopback(from.String()) {
		return pgerr.New(pgerr.InvalidParameterValue, "the address %s of a node on another machine (%s) is its own loopback", addr, from).
			WithHint("Give it --advertise with an address at which the other nodes reach it.")
	}
	if !isLoopback(addr) {
		for _, m := range members {
			if isLoopback(m.Addr) {
				return pgerr.New(pgerr.InvalidParameterValue, "a node at %s could not reach member %q, whose address is %s", addr, m.Name, m.Addr).
					WithHint("Restart the member with --listen-cluster and --advertise at an address that other machines reach.")
			}
		}
	}
	return nil
}

// checkAddr returns an error for an address that no other node could dial.
func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	bad := func(what string) error {
		return pgerr.New(pgerr.InvalidParameterValue, "%s: other nodes cannot reach this one at %q", what, addr).
			WithHint("Give --advertise HOST:PORT with an address at which they can.")
	}
	switch {
	case err != nil:
		return bad("the address is not HOST:PORT")
	case host == "":
		return bad("the address has no host")
	case port == "0" || port == "":
		return bad("the address has no port")
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		return bad("the address is unspecified")
	}
	return nil
}

func isLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Remove removes a member, dead or alive, from the cluster. Its replicas are re-created
// elsewhere. A node that can be reached should be drained before.
func (n *Node) Remove(ctx context.Context, id uint64) error {
	if n.fsm.Current().Node(id) == nil {
		return pgerr.New(pgerr.UndefinedObject, "node %d does not exist", id)
	}
	err := n.proposals.atLeader(ctx, func(ctx context.Context, leader uint64) (bool, error) {
		if leader == id && leader == n.o.Self.ID && len(n.fsm.Current().Nodes()) > 1 {
			// A leader hands over before it goes.
			if err := n.await(ctx, n.raft.LeadershipTransfer()); err != nil {
				return true, err
			}
			return true, nil
		}
		r, err := n.admission.leaveAt(ctx, leader, id)
		if err != nil {
			return rpc.Unreachable(err), err
		}
		return r.NotLeader, nil
	})
	if err == nil && id != n.o.Self.ID {
		_ = n.ReadIndex(ctx) // so that it is gone here too; it has been removed, whether this node knows it now or later
	}
	return err
}

func (n *admission) leaveAt(ctx context.Context, leader, id uint64) (joinReply, error) {
	if leader == n.o.Self.ID {
		return n.handleLeave(ctx, id)
	}
	return rpc.Call[joinReply](ctx, n.peers, leader, callLeave, id)
}

// handleLeave is the leader's side of Remove.
func (n *admission) handleLeave(ctx context.Context, id uint64) (joinReply, error) {
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
	n.o.Log.Info("node removed", "node", id)
	n.electorate.wakeReconcile()
	return joinReply{Index: r.Index}, nil
}
