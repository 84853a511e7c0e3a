package raftnode

import (
	"context"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// ping is the heartbeat message between two nodes.
type ping struct {
	ID     uint64
	Addr   string
	Oldest uint64 // Options.OldestRead
	Report []byte
	// Applied is the index of the last entry of the log that it has applied.
	Applied uint64
	// Full is whether its disk is full (Dir.Reserve).
	Full bool
	// Log is the number of its log, and Heard what it knows of that of the node which it
	// writes to (marks.go).
	Log   uint64
	Heard heardMark
}

// peer is what this node knows of another.
type peer struct {
	addr   string
	silent time.Duration // time since it was last heard, while this node itself was running
	alive  bool
	since  time.Time // of the last change of alive
	oldest uint64
	report []byte
	// applied and full are from its last ping.
	applied uint64
	full    bool
}

// liveness is the table of peers.
type liveness struct {
	deadAfter, ping time.Duration
	start           time.Time

	mu    sync.Mutex
	check time.Time // time of the last look
	peers map[uint64]*peer
	watch chan struct{} // closed when somebody dies or comes back
	lost  time.Time     // since when there has been no known leader; zero: there is one
	gave  time.Time     // when a wait for a leader last timed out
}

func newLiveness(o Options) *liveness {
	return &liveness{deadAfter: o.DeadAfter, ping: o.Ping, start: time.Now(), peers: map[uint64]*peer{}, watch: make(chan struct{})}
}

// addr returns the address at which a node was last heard, and whether it counts as
// alive.
func (l *liveness) addr(id uint64) (addr string, alive bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.peers[id]; p != nil {
		return p.addr, p.alive
	}
	return "", false
}

// get returns the entry of a node, which it makes if there is none: a new one counts as
// alive until it has been silent for too long.
func (l *liveness) get(id uint64) *peer {
	p := l.peers[id]
	if p == nil {
		now := time.Now()
		p = &peer{alive: true, since: now}
		l.peers[id] = p
	}
	return p
}

func (l *liveness) changed() {
	close(l.watch)
	l.watch = make(chan struct{})
}

// heard records a message from a node.
func (l *liveness) heard(m ping) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.get(m.ID)
	p.addr, p.silent, p.oldest, p.report, p.applied, p.full = m.Addr, 0, m.Oldest, m.Report, m.Applied, m.Full
	if !p.alive {
		p.alive, p.since = true, time.Now()
		l.changed()
	}
}

// led records whether a leader is known.
func (l *liveness) led(known bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case known:
		l.lost = time.Time{}
	case l.lost.IsZero():
		l.lost = now
	}
}

// leaderless reports whether waiting for a leader is of little use: there has been none
// for some time, or a wait has timed out since it was lost.
func (l *liveness) leaderless(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.lost.IsZero() && (now.Sub(l.lost) >= leaderTime || l.gave.After(l.lost))
}

// gaveUp records that a wait for a leader has timed out.
func (l *liveness) gaveUp(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gave = now
}

// at records the address at which a node answered that has not pinged from there yet.
func (l *liveness) at(id uint64, addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.get(id)
	p.addr, p.silent = addr, 0
	if !p.alive {
		p.alive, p.since = true, time.Now()
		l.changed()
	}
}

// applied returns the log index that a node last reported as applied.
func (l *liveness) applied(id uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.peers[id]; p != nil {
		return p.applied
	}
	return 0
}

// full reports whether a node last reported a full disk.
func (l *liveness) full(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peers[id]
	return p != nil && p.full
}

// forget resets the applied index of a node.
func (l *liveness) forget(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.peers[id]; p != nil {
		p.applied = 0
	}
}

// look returns the nodes that have now been silent for too long. It is called at each
// ping. A node that was not running itself, for want of CPU or because it was
// suspended, has not listened either: of a longer gap between two looks no more than
// two ping intervals count as silence.
func (l *liveness) look(now time.Time) (died []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var passed time.Duration
	if !l.check.IsZero() {
		passed = min(now.Sub(l.check), 2*l.ping)
	}
	l.check = now
	for id, p := range l.peers {
		if p.silent += passed; p.alive && p.silent > l.deadAfter {
			p.alive, p.since = false, now
			died = append(died, id)
		}
	}
	if died != nil {
		l.changed()
	}
	return died
}

// keep removes nodes that are no longer members.
func (l *liveness) keep(member func(uint64) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.peers {
		if !member(id) {
			delete(l.peers, id)
		}
	}
}

// Liveness reports whether a member is alive as this node sees it, and since
// when. A node is alive to itself.
func (n *Node) Liveness(id uint64) (alive bool, since time.Time) {
	if id == n.o.Self.ID {
		return true, n.pinger.live.start
	}
	n.pinger.live.mu.Lock()
	defer n.pinger.live.mu.Unlock()
	if p := n.pinger.live.peers[id]; p != nil {
		return p.alive, p.since
	}
	return n.fsm.Current().Node(id) != nil, n.pinger.live.start
}

// LivenessChanged returns a channel that is closed when a member next dies or
// comes back.
func (n *Node) LivenessChanged() <-chan struct{} {
	n.pinger.live.mu.Lock()
	defer n.pinger.live.mu.Unlock()
	return n.pinger.live.watch
}

// Report returns what a member last reported; nil for nothing.
func (n *Node) Report(id uint64) []byte {
	if id == n.o.Self.ID {
		if n.o.Report != nil {
			return n.o.Report()
		}
		return nil
	}
	n.pinger.live.mu.Lock()
	defer n.pinger.live.mu.Unlock()
	if p := n.pinger.live.peers[id]; p != nil {
		return p.report
	}
	return nil
}

// Horizon returns the version of the oldest state that a statement anywhere in the
// cluster reads: nobody needs what was removed from the catalog before it. Nodes that
// are dead do not count: their statements have ended.
func (n *Node) Horizon() uint64 {
	h := n.fsm.Current().Version()
	if n.o.OldestRead != nil {
		if v := n.o.OldestRead(); v != 0 {
			h = min(h, v)
		}
	}
	members := n.fsm.Current().Nodes()
	n.pinger.live.mu.Lock()
	defer n.pinger.live.mu.Unlock()
	for _, m := range members {
		if p := n.pinger.live.peers[m.ID]; m.ID == n.o.Self.ID || p != nil && !p.alive {
			continue
		} else if p == nil {
			return 0
		} else {
			h = min(h, p.oldest) // 0 until it has been heard
		}
	}
	return h
}

// pinger hears from the other members.
type pinger struct {
	*Node
	live  *liveness
	gone  chan struct{} // closed when this node has been removed
	going sync.Once
}

func (n *pinger) pingMessage(to uint64) ping {
	m := ping{ID: n.o.Self.ID, Addr: n.o.Self.Addr, Applied: n.raft.AppliedIndex(), Full: n.o.Dir.Reserve.Room() != nil, Log: n.keeper.marks.log}
	m.Heard = n.keeper.knows(to)
	// Without a running statement the oldest version read is the newest: a
	// statement that begins now reads no older one.
	m.Oldest = n.fsm.Current().Version()
	if n.o.OldestRead != nil {
		if v := n.o.OldestRead(); v != 0 {
			m.Oldest = v
		}
	}
	if n.o.Report != nil {
		m.Report = n.o.Report()
	}
	return m
}

func (n *pinger) handlePing(_ context.Context, m ping) (ping, error) {
	state := n.fsm.Current()
	if state.Removed(m.ID) {
		return ping{}, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "node %x was removed from the cluster", m.ID)
	}
	if state.Node(m.ID) != nil {
		n.hear(m)
		n.electorate.wakeReconcile()
	}
	return n.pingMessage(m.ID), nil
}

// hear records a ping.
func (n *pinger) hear(m ping) {
	n.live.heard(m)
	n.keeper.marks.hear(m.ID, m.Log, m.Applied)
	n.keeper.told(m.ID, m.Heard)
}

// recordRemoval records that this node was removed from the cluster: it must not start from
// its directory again.
func (n *pinger) recordRemoval() {
	n.going.Do(func() {
		if err := n.o.Dir.become(removed, n.o.Dir.Identity().Cluster); err != nil {
			n.o.Log.Warn("could not write down that the node was removed", "err", err)
		}
		n.admission.refuse(pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the node was removed from its cluster").
			WithHint("To be a member again it starts with an empty directory and --join."))
		close(n.gone)
	})
}

// Gone returns a channel that is closed when the node has been removed from the
// cluster.
func (n *Node) Gone() <-chan struct{} { return n.pinger.gone }

// ask pings a member and reports whether it answers. A late answer still counts as a
// sign of life as long as the member does not count as dead.
func (n *pinger) ask(id uint64) bool {
	ctx, cancel := context.WithTimeout(n.ctx, max(n.o.Ping, n.o.DeadAfter))
	defer cancel()
	r, err := rpc.Call[ping](ctx, n.peers, id, callPing, n.pingMessage(id))
	switch {
	case err == nil && r.ID == id:
		n.hear(r)
		return true
	case pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState):
		n.recordRemoval()
	}
	return false
}

// pingAll pings all members, each in its own goroutine so that a dead one does not
// delay the others.
func (n *pinger) pingAll() {
	tick := time.NewTicker(n.o.Ping)
	defer tick.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	busy := map[uint64]bool{}
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
		if err := n.o.Dir.held(); err != nil {
			n.leave(err)
			return
		}
		n.live.led(n.Leader() != 0, time.Now())
		state := n.fsm.Current()
		n.live.keep(func(id uint64) bool { return state.Node(id) != nil })
		for _, m := range state.Nodes() {
			if m.ID == n.o.Self.ID {
				continue
			}
			n.live.mu.Lock()
			n.live.get(m.ID)
			n.live.mu.Unlock()
			mu.Lock()
			skip := busy[m.ID]
			busy[m.ID] = true
			mu.Unlock()
			if skip {
				continue
			}
			wg.Add(1)
			go func() {
				defer wg.Done()
				n.ask(m.ID)
				mu.Lock()
				delete(busy, m.ID)
				mu.Unlock()
			}()
		}
		for _, id := range n.live.look(time.Now()) {
			n.o.Log.Warn("node is silent", "node", id)
			// Streams to it end now, not when TCP times out.
			n.peers.Drop(id)
		}
	}
}
