package raftnode

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Node is this process's membership. Its methods may be called from any
// goroutine.
type Node struct {
	o     Options
	fsm   *meta.FSM
	raft  *raft.Raft
	trans *raft.NetworkTransport
	bolt  *journal
	peers *rpc.Peers

	deviations deviations // from what raft does by itself
	metrics    *Metrics

	// What it does, each with its own state.
	proposals  *proposals
	leases     *leases
	electorate *electorate
	admission  *admission
	pinger     *pinger
	keeper     *keeper
	notifier   *notifier

	leads   atomic.Bool   // leader, and all that was committed before is applied
	term    atomic.Uint64 // in which it leads
	ledFrom atomic.Uint64 // all up to this index was applied before it led
	stop    context.CancelFunc
	ctx     context.Context
	wg      sync.WaitGroup
	closing sync.Once
	failed  chan error
	astray  chan error // why the node must leave its cluster at once
}

// Start runs the node. It returns before the cluster has a leader; WaitReady
// waits for that.
func Start(o Options) (*Node, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	n := &Node{o: o, fsm: meta.New(o.Log), failed: make(chan error, 1), astray: make(chan error, 1)}
	if o.Recorder != nil {
		n.fsm.Record(o.Recorder)
	}
	n.metrics = newMetrics(func() *raft.Raft { return n.raft }, n.fsm.Applied)
	n.proposals, n.leases, n.notifier = &proposals{Node: n}, &leases{Node: n, renewed: renewals{at: map[uint64]time.Time{}}}, &notifier{n}
	n.electorate, n.admission = &electorate{Node: n, kick: make(chan struct{}, 1)}, &admission{Node: n, refused: make(chan struct{})}
	n.pinger, n.keeper = &pinger{Node: n, live: newLiveness(o), gone: make(chan struct{})}, &keeper{Node: n, compared: make(chan struct{})}
	rand.Read(n.admission.nonce[:])
	n.admission.self.Store(&n.o.Self)
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.peers = rpc.NewPeers(o.Dialer, n.Addr)
	n.proposals.proposer, n.proposals.batcher = n.proposals.newProposer(), n.proposals.newBatcher()
	n.initDeviations()
	n.proposals.asks = coalescer[reply]{spawn: n.goFunc, call: n.proposals.askLeader}
	n.proposals.verified = coalescer[reply]{spawn: n.goFunc, call: n.proposals.verify}
	fresh := o.Dir.standing() == joining
	err := n.startRaft()
	if err != nil {
		n.stop()
		n.release()
		return nil, err
	}
	n.register()
	n.goFunc(n.watchMachine)
	n.goFunc(n.keeper.keepMarks)
	n.goFunc(func() {
		n.keeper.compareMarks()
		n.deviations.commits.pump(n.ctx)
	})
	n.goFunc(n.watchLead)
	n.goFunc(n.deviations.writer.feed)
	n.goFunc(n.pinger.pingAll)
	n.goFunc(n.proposals.fence)
	n.goFunc(func() { n.admission.announce(fresh) })
	return n, nil
}

func serverID(id uint64) raft.ServerID { return raft.ServerID(strconv.FormatUint(id, 16)) }

func nodeID(id raft.ServerID) uint64 {
	n, _ := strconv.ParseUint(string(id), 16, 64)
	return n
}

func (n *Node) config() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = serverID(n.o.Self.ID)
	c.HeartbeatTimeout, c.ElectionTimeout = n.o.Heartbeat, n.o.Heartbeat
	// As long as followers wait before they start an election: a leader on a busy machine
	// should not step down before them. Reads do not rely on the lease.
	c.LeaderLeaseTimeout = n.o.Heartbeat
	// How long a follower that does not ask (commits.go) may lag behind the commit index.
	c.CommitTimeout = n.o.CommitTimeout
	// raft allocates room for this many entries with each commit, of which most have one.
	c.MaxAppendEntries = 128
	c.BatchApplyCh = true
	c.SnapshotThreshold, c.TrailingLogs = n.o.Snapshot, n.o.Snapshot
	// A small threshold asks for frequent checks too.
	c.SnapshotInterval = min(30*time.Second, time.Duration(n.o.Snapshot)*10*time.Millisecond)
	c.Logger = newHlog(n.o.Log)
	return c
}

// startRaft opens the stores and runs raft. The directory's membership decides
// whether a new cluster begins.
func (n *Node) startRaft() (err error) {
	conf := n.config()
	st, err := openStores(n.o.Dir, conf.Logger)
	if err != nil {
		return err
	}
	n.bolt, n.keeper.marks = st.bolt, st.marks
	n.bolt.applied, n.bolt.syncs = n.fsm.Applied, n.metrics.syncs
	dir, logs, snaps := st.dir, st.logs, st.snaps
	logs.stored = n.deviations.stored
	n.bolt.unused = n.o.Without.Has(Journal)
	n.trans = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream:  &stream{n.o.Server.RaftListener(), n.o.Dialer, address(n.o.Self.Addr)},
		MaxPool: 3, Timeout: 5 * time.Second, Logger: conf.Logger, ServerAddressProvider: resolver{n},
	})
	n.deviations.receive(n.trans.Consumer(), n.keeper.contradicts, n.keeper.has)
	known, err := raft.HasExistingState(logs, n.bolt, snaps)
	if err != nil {
		return dirError(err, dir)
	}
	self := raft.Server{ID: conf.LocalID, Address: raft.ServerAddress(n.o.Self.Addr), Suffrage: raft.Voter}
	if n.o.Dir.standing() == founding {
		if !known {
			if err := raft.BootstrapCluster(conf, logs, n.bolt, snaps, n.trans, raft.Configuration{Servers: []raft.Server{self}}); err != nil {
				return dirError(err, dir)
			}
		}
		if err := n.o.Dir.become(member, n.o.Dir.Identity().Cluster); err != nil {
			return err
		}
	}
	// raft panics where the log lacks an entry that it should have.
	err = n.bolt.guard(func() (err error) {
		n.raft, err = raft.NewRaft(conf, n.fsm, logs, n.bolt, snaps, transport{n.trans, n})
		return err
	})
	if err != nil {
		return dirError(err, dir)
	}
	if s, _, err := n.electorate.configuration(n.ctx); err == nil && !n.o.Without.Has(Campaigning) {
		s = slices.DeleteFunc(s, func(s server) bool { return !s.Voter })
		if len(s) == 1 && s[0].ID == n.o.Self.ID {
			n.goFunc(func() {
				var resp raft.TimeoutNowResponse
				req := raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: conf.ProtocolVersion, ID: []byte(conf.LocalID), Addr: []byte(self.Address)}}
				n.trans.TimeoutNow(conf.LocalID, self.Address, &req, &resp)
			})
		}
	}
	return nil
}

// resolver returns the newest address of a member to raft.
type resolver struct{ n *Node }

// ServerAddr implements raft.ServerAddressProvider.
func (r resolver) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if a, ok := r.n.Addr(nodeID(id)); ok {
		return raft.ServerAddress(string(id) + "@" + a), nil // see stream.Dial
	}
	return "", errors.New("not known")
}

func (n *Node) goFunc(f func()) {
	n.wg.Add(1)
	go func() {
		defer n.wg.Done()
		f()
	}()
}

// ID is the node's id.
func (n *Node) ID() uint64 { return n.o.Self.ID }

// Metrics returns what the node counts.
func (n *Node) Metrics() *Metrics { return n.metrics }

// Peers returns the connections to the other nodes.
func (n *Node) Peers() *rpc.Peers { return n.peers }

// Current returns the newest state applied on this node.
func (n *Node) Current() *catalog.State { return n.fsm.Current() }

// Changed returns a channel that is closed with the next change of Current.
func (n *Node) Changed() <-chan struct{} { return n.fsm.Changed() }

// Redefined returns a channel that is closed when the definitions in Current next
// change.
func (n *Node) Redefined() <-chan struct{} { return n.fsm.Redefined() }

// WaitFor waits until this node has applied the commit with this index.
func (n *Node) WaitFor(ctx context.Context, index uint64) error { return n.fsm.WaitFor(ctx, index) }

// Addr returns a member's address: as it last announced itself, or as the catalog has
// it.
func (n *Node) Addr(id uint64) (string, bool) {
	if id == n.o.Self.ID {
		return n.o.Self.Addr, true
	}
	heard, alive := n.pinger.live.addr(id)
	m := n.fsm.Current().Node(id)
	switch {
	case m == nil:
		return heard, heard != ""
	case alive && heard != "":
		return heard, true
	}
	// It may have come back under another address, which the catalog knows first.
	return m.Addr, true
}

// Leader returns the id of the leader, as far as this node knows; 0 for none.
func (n *Node) Leader() uint64 {
	if n.fsm.Err() != nil {
		return 0 // it neither follows nor leads
	}
	_, id := n.raft.LeaderWithID()
	return nodeID(id)
}

// Leads reports whether this node leads.
func (n *Node) Leads() bool { return n.leads.Load() && n.fsm.Err() == nil }

// WaitReady waits until the cluster has a leader and this node is a member that has
// caught up with it, and no commit of the node's previous run can still be applied.
func (n *Node) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.goFunc(func() {
		defer cancel()
		select {
		case <-n.admission.refused:
		case <-ctx.Done():
		}
	})
	said := false
	for {
		err := n.ReadIndex(ctx)
		if r := n.admission.refusal.Load(); r != nil {
			return *r
		}
		if pgerr.Is(err, pgerr.CannotConnectNow) && ctx.Err() == nil {
			if !said { // after a restart of all nodes on other ports they would look for each other for ever
				said = true
				n.o.Log.Warn("the node waits for its cluster: a majority of the voting nodes must be running at the addresses that it knows", "at", n.knownAddresses(), "err", err)
			}
			continue // a node that starts waits for its cluster
		}
		if err != nil {
			if why := n.fsm.Err(); why != nil {
				return why
			}
			return err
		}
		ch := n.fsm.Changed()
		if m := n.fsm.Current().Node(n.o.Self.ID); m != nil && m.Addr == n.o.Self.Addr {
			if err := n.electorate.ownCluster(); err != nil {
				return err
			}
			n.electorate.waitVoters(ctx)
			return n.proposals.proposer.box.waitOpened(ctx)
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// knownAddresses returns the addresses at which the node looks for the others, as its
// log has them.
func (n *Node) knownAddresses() (out []string) {
	for _, s := range n.raft.GetConfiguration().Configuration().Servers {
		if s.ID == serverID(n.o.Self.ID) {
			continue
		}
		addr, _ := n.Addr(nodeID(s.ID))
		out = append(out, cmp.Or(addr, string(s.Address)))
	}
	return out
}

// Failed returns a channel that receives an error when the node cannot continue; the
// process must end.
func (n *Node) Failed() <-chan error { return n.failed }

// watchMachine shuts raft down when the state machine stops: the node must not vote
// for, or acknowledge, what it cannot apply. The log stays as it is, for the next
// process.
func (n *Node) watchMachine() {
	var why error
	select {
	case <-n.fsm.Stopped():
	case why = <-n.astray:
	case <-n.ctx.Done():
		return
	}
	err := errors.Join(why, n.fsm.Err(), n.raft.Shutdown().Error())
	n.o.Log.Error("the node stops: it cannot follow its cluster", "err", err)
	n.failed <- err
	n.stop()
}

// leave has the node leave its cluster and end; the first reason counts.
func (n *Node) leave(why error) {
	select {
	case n.astray <- why:
	default:
	}
}

// watchLead runs the leader's duties while the node leads.
func (n *Node) watchLead() {
	var end func()
	for {
		select {
		case lead := <-n.raft.LeaderCh():
			if end != nil {
				end()
				end = nil
			}
			if lead {
				end = n.lead()
			}
		case <-n.ctx.Done():
			if end != nil {
				end()
			}
			return
		}
	}
}

// initDeviations initialises what the node does beside raft.
func (n *Node) initDeviations() {
	n.deviations.without, n.deviations.self, n.deviations.early.fsm = n.o.Without, serverID(n.o.Self.ID), n.fsm
	d := &n.deviations.writer
	d.ctx, d.early, d.fsm, d.self = n.ctx, &n.deviations.early, n.fsm, serverID(n.o.Self.ID)
	d.changed.L = &d.mu
	d.hurry, d.timer = make(chan struct{}, 1), time.NewTimer(feedEvery)
	d.store = func(entries []*raft.Log) error { return n.bolt.storeAhead(entries) }
	d.leads = func(term uint64) bool { return n.raft.State() == raft.Leader && n.raft.CurrentTerm() == term }
	d.apply = func(cmd []byte) raft.ApplyFuture { return n.raft.Apply(cmd, 0) }
	d.await = n.await
	d.fail = func(err error) {
		n.leave(pgerr.Wrap(pgerr.InternalError, err, "raft did not take what the node has committed; it is in its log, for the next start"))
	}
}

// lead starts the leader's term; end ends it.
func (n *Node) lead() (end func()) {
	ctx, cancel := context.WithCancel(n.ctx)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		// The commits of earlier leaders must be applied before this one may report what is
		// committed.
		resume := n.deviations.pause()
		term, barrier := n.raft.CurrentTerm(), n.raft.Barrier(0)
		if err := n.await(ctx, barrier); err != nil || ctx.Err() != nil || n.raft.CurrentTerm() != term {
			resume(false)
			return
		}
		if f, ok := barrier.(raft.IndexFuture); ok {
			n.ledFrom.Store(f.Index())
		}
		n.term.Store(term)
		n.deviations.lead(term, func() raft.Configuration { return n.raft.GetConfiguration().Configuration() })
		n.leads.Store(true)
		n.deviations.write(term)
		resume(true)
		n.o.Log.Info("node leads the cluster", "node", n.o.Self.ID)
		for _, f := range append([]func(context.Context){n.electorate.reconcileVoters, n.electorate.recordClusterID, n.notifier.notifyFollowers, n.leases.endSilentLives(advisory.Expiry * n.o.DeadAfter)}, n.o.OnLead...) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				f(ctx)
			}()
		}
	}()
	return func() {
		n.leads.Store(false)
		n.deviations.write(0)
		cancel()
		wg.Wait()
		n.deviations.write(0)
		n.leads.Store(false) // the barrier may have completed meanwhile
	}
}

// Close stops the node. The rpc server must still be open, or already closed;
// Dir stays the caller's.
func (n *Node) Close() error {
	var err error
	n.closing.Do(func() {
		n.stop()
		err = n.raft.Shutdown().Error()
		n.wg.Wait()
		err = errors.Join(err, n.release())
	})
	return err
}

func (n *Node) release() error {
	var err error
	if n.peers != nil {
		err = errors.Join(err, n.peers.Close())
	}
	if n.trans != nil {
		n.trans.CloseStreams()
		err = errors.Join(err, n.trans.Close())
	}
	if n.bolt != nil {
		n.deviations.beats.end()
		err = errors.Join(err, n.bolt.Close())
	}
	if err != nil {
		return pgerr.Wrap(pgerr.IOError, err, "could not close the node")
	}
	return nil
}
