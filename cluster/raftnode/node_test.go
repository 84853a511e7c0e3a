package raftnode_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// wires is the network of a test cluster: a connection between partitioned nodes breaks and stays
// broken when the partition ends.
type wires struct {
	mu    sync.Mutex
	group map[string]int // by address; nodes of different groups cannot connect
	conns map[net.Conn][2]string
}

func (w *wires) dialer(from string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, to string) (net.Conn, error) {
		w.mu.Lock()
		apart := w.group[from] != w.group[to]
		w.mu.Unlock()
		if apart {
			return nil, errors.New("cut")
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.group[from] != w.group[to] { // partitioned while it was made
			c.Close()
			return nil, errors.New("cut")
		}
		w.conns[c] = [2]string{from, to}
		return c, nil
	}
}

// split moves the nodes at these addresses into a partition of their own.
func (w *wires) split(addrs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.group)
	for _, a := range addrs {
		w.group[a] = 1
	}
	for c, ends := range w.conns {
		if w.group[ends[0]] != w.group[ends[1]] {
			c.Close()
			delete(w.conns, c)
		}
	}
}

type member struct {
	*raftnode.Node
	addr, data string
	srv        *rpc.Server
	dir        *raftnode.Dir
}

func (m *member) stop(t *testing.T) {
	t.Helper()
	m.srv.Close()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	m.dir.Close()
}

// trust is the cluster secret that the nodes of these tests share.
var trust = rpc.Trust{Secret: rpc.Secret{1}}

type cluster struct {
	t        *testing.T
	w        *wires
	m        []*member
	patience time.Duration // 0 for longest
	tell     time.Duration
	beat     time.Duration                   // after which nodes that start from now on stand for election; 0 for 300 ms
	reserve  func(data string) *disk.Reserve // nil for none
	log      slog.Handler                    // of nodes that start from now on; nil for none
	without  raftnode.Deviation
}

// longest is how long what must come is waited for, on the busiest of machines.
const longest = time.Minute

func newCluster(t *testing.T, n int, with ...func(*cluster)) *cluster {
	c := &cluster{t: t, w: &wires{group: map[string]int{}, conns: map[net.Conn][2]string{}}}
	if list := os.Getenv("RAFT_WITHOUT"); list != "" { // the tests with deviations from raft turned off
		var err error
		if c.without, err = raftnode.ParseDeviations(list); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range with {
		f(c)
	}
	for i := range n {
		m := c.start(t.TempDir(), "", fmt.Sprint("n", i))
		c.m = append(c.m, m)
		if i == 0 {
			c.ready(m)
		}
	}
	for _, m := range c.m {
		c.ready(m)
	}
	t.Cleanup(func() {
		for _, m := range c.m {
			if m != nil {
				m.stop(t)
			}
		}
	})
	return c
}

func (c *cluster) start(data, addr, name string) *member {
	c.t.Helper()
	m, err := c.tryStart(data, addr, name)
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// starts returns why a node does not start from a directory.
func (c *cluster) starts(data string) error {
	c.t.Helper()
	m, err := c.tryStart(data, "", "n0")
	if err == nil {
		m.stop(c.t)
	}
	return err
}

// listen returns a listener at an address, "" for any. A node that comes back listens where it was; in between, a connection
// that somebody else makes may have been given that port.
func listen(addr string) (net.Listener, error) {
	if addr == "" {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	for end := time.Now().Add(longest); ; time.Sleep(10 * time.Millisecond) {
		if ln, err := net.Listen("tcp", addr); !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return ln, err
		}
	}
}

func (c *cluster) tryStart(data, addr, name string) (*member, error) {
	c.t.Helper()
	ln, err := listen(addr)
	if err != nil {
		c.t.Fatal(err)
	}
	addr = ln.Addr().String()
	dir, err := raftnode.OpenDir(data, len(c.m) > 0)
	if err != nil {
		ln.Close()
		return nil, err
	}
	if c.reserve != nil {
		dir.Reserve = c.reserve(data)
	}
	log := slog.New(slog.DiscardHandler)
	if c.log != nil {
		log = slog.New(c.log)
	}
	if os.Getenv("RAFT_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("at", name)
	}
	srv := rpc.Listen(ln, trust, dir.Identity, log)
	o := raftnode.Options{Dir: dir, Self: catalog.Node{Name: name, Addr: addr, Cores: 2}, Server: srv, Log: log,
		Dialer: &rpc.Dialer{Trust: trust, Self: dir.Identity, Net: c.w.dialer(addr)}, Heartbeat: cmp.Or(c.beat, 300*time.Millisecond), Ping: 50 * time.Millisecond, DeadAfter: 800 * time.Millisecond, ReplaceAfter: 2 * time.Second, Patience: cmp.Or(c.patience, longest), CommitTimeout: c.tell, Without: c.without,
		Report: func() []byte { return []byte("load of " + name) }, OldestRead: func() uint64 { return 0 }}
	if len(c.m) > 0 && c.m[0] != nil {
		o.Join = []string{c.m[0].addr}
	}
	n, err := raftnode.Start(o)
	if err != nil {
		srv.Close()
		dir.Close()
		return nil, err
	}
	srv.Serve()
	return &member{Node: n, addr: addr, data: data, srv: srv, dir: dir}, nil
}

func (c *cluster) ready(m *member) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := m.WaitReady(ctx); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) restart(i int) {
	c.t.Helper()
	old := c.m[i]
	c.m[i] = c.start(old.data, old.addr, fmt.Sprint("n", i))
}

func (c *cluster) kill(i int) { c.m[i].stop(c.t) }

// leader returns the index of the leader that a majority agrees on.
func (c *cluster) leader(among ...int) int {
	c.t.Helper()
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, i := range among {
			if c.m[i].Leads() {
				return i
			}
		}
	}
	c.t.Fatal("no leader")
	return -1
}

func set(name, value string) []catalog.Change {
	return []catalog.Change{&catalog.PutSetting{Name: name, Value: value}}
}

func (c *cluster) propose(i int, ch []catalog.Change) error {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	_, err := c.m[i].Propose(ctx, ch)
	return err
}

func (c *cluster) must(i int, ch []catalog.Change) {
	c.t.Helper()
	if err := c.propose(i, ch); err != nil {
		c.t.Fatal(err)
	}
}

// reads returns a setting's value on a node, read after a barrier.
func (c *cluster) reads(i int, name string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := c.m[i].ReadIndex(ctx); err != nil {
		c.t.Fatal(err)
	}
	v, _ := c.m[i].Current().Setting(name)
	return v
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatal("not reached: " + what)
}

func TestSingle(t *testing.T) {
	c := newCluster(t, 1, func(c *cluster) {
		if c.without&raftnode.Campaigning == 0 { // it need not wait for its heartbeat's time
			c.beat = 2 * longest
		}
	})
	c.must(0, set("a", "1"))
	if _, err := raftnode.OpenDir(c.m[0].data, false); !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Fatal("the directory is not locked", err)
	}
	id := c.m[0].ID()
	c.kill(0)
	c.restart(0)
	c.ready(c.m[0])
	if c.reads(0, "a") != "1" || c.m[0].ID() != id {
		t.Fatal("lost after a restart")
	}
	err := c.propose(0, []catalog.Change{&catalog.DropSchema{OID: 98765}})
	if !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Fatal(err)
	}
	if err := c.m[0].Remove(context.Background(), id); !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Fatal(err)
	}
}

// TestOneBecomesMore writes on one node while others join and leave: all confirmed commits are on all
// nodes, also after a restart.
func TestOneBecomesMore(t *testing.T) {
	c := newCluster(t, 1)
	const writers = 4
	var wrote [writers]int
	stop := make(chan struct{})
	var wg sync.WaitGroup
	first := c.m[0]
	for w := range writers {
		wg.Go(func() {
			for i := 1; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(context.Background(), longest)
				_, err := first.Propose(ctx, set(fmt.Sprint("w", w), fmt.Sprint(i)))
				cancel()
				if err != nil {
					t.Error(err)
					return
				}
				wrote[w] = i
			}
		})
	}
	for i := 1; i <= 2; i++ {
		c.m = append(c.m, c.start(t.TempDir(), "", fmt.Sprint("n", i)))
		c.ready(c.m[i])
	}
	eventually(t, "both take part", func() bool { return len(first.Voters()) == 3 })
	for i := 2; i >= 1; i-- {
		lead := c.leader(0, 1, 2)
		ctx, cancel := context.WithTimeout(context.Background(), longest)
		err := c.m[lead].Remove(ctx, c.m[i].ID())
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "one is left", func() bool { return len(first.Voters()) == 1 && first.Leads() })
	for w := range writers { // alone again
		c.must(0, set(fmt.Sprint("x", w), "1"))
	}
	close(stop)
	wg.Wait()
	for i := 1; i <= 2; i++ {
		c.kill(i)
	}
	c.m = c.m[:1]
	check := func() {
		t.Helper()
		for w, n := range wrote {
			if got := c.reads(0, fmt.Sprint("w", w)); got != fmt.Sprint(n) {
				t.Errorf("writer %d: %s, want %d", w, got, n)
			}
		}
	}
	check()
	c.kill(0)
	c.restart(0)
	c.ready(c.m[0])
	check()
}

func TestThree(t *testing.T) {
	c := newCluster(t, 3)
	for i := range 3 {
		c.must(i, set(fmt.Sprint("k", i), "v"))
		for j := range 3 {
			if c.reads(j, fmt.Sprint("k", i)) != "v" {
				t.Fatalf("a write on node %d is not seen on node %d", i, j)
			}
		}
	}
	if nodes := c.m[2].Current().Nodes(); len(nodes) != 3 {
		t.Fatal(nodes)
	}
	// The error of an invalid change has the same code and text on whichever node proposes it.
	for i := range 3 {
		rel := &catalog.Relation{OID: types.OID(30000 + i), Schema: 777, Name: "x", Kind: catalog.KindTable}
		if err := c.propose(i, []catalog.Change{&catalog.PutRelation{Rel: rel}}); !pgerr.Is(err, pgerr.InvalidSchemaName) {
			t.Fatal(err)
		}
	}
	// OIDs are unique.
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := map[types.OID]bool{}
	for i := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				r, err := c.m[i].Propose(context.Background(), []catalog.Change{&catalog.AllocOIDs{N: 1}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if seen[r.Outcome.OIDs[0]] {
					t.Error("an OID was given twice")
				}
				seen[r.Outcome.OIDs[0]] = true
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	eventually(t, "reports", func() bool { return string(c.m[0].Report(c.m[1].ID())) == "load of n1" })
	eventually(t, "horizon", func() bool { return c.m[0].Horizon() == c.m[0].Current().Version() })
}

// TestFollowersAskOnly: even if raft never tells followers of commits unasked, a follower sees its own
// commits, after a barrier all that others committed before it, and a changed definition without one.
func TestFollowersAskOnly(t *testing.T) {
	c := newCluster(t, 3, func(c *cluster) { c.tell, c.without = time.Hour, c.without&^raftnode.Learning })
	for round := range 20 {
		for i := range 3 {
			k := fmt.Sprint("k", round, i)
			c.must(i, set(k, "v"))
			if v, _ := c.m[i].Current().Setting(k); v != "v" {
				t.Fatalf("node %d does not see its own commit", i)
			}
			for j := range 3 {
				if c.reads(j, k) != "v" {
					t.Fatalf("a write on node %d is not seen on node %d", i, j)
				}
			}
		}
	}
	for i := range 3 {
		k := fmt.Sprint("unasked", i)
		c.must(i, set(k, "v"))
		for j := range 3 {
			eventually(t, fmt.Sprintf("node %d knows what node %d defined", j, i), func() bool {
				v, _ := c.m[j].Current().Setting(k)
				return v == "v"
			})
		}
	}
}

func TestLeaderDies(t *testing.T) {
	c := newCluster(t, 3)
	old := c.leader(0, 1, 2)
	a, b := (old+1)%3, (old+2)%3
	c.kill(old)
	c.must(a, set("x", "1"))
	if c.reads(b, "x") != "1" {
		t.Fatal("not seen")
	}
	dead := c.m[old].ID()
	eventually(t, "death is seen", func() bool { alive, _ := c.m[a].Liveness(dead); return !alive })
	c.restart(old)
	c.ready(c.m[old])
	if c.reads(old, "x") != "1" {
		t.Fatal("not caught up")
	}
	eventually(t, "return is seen", func() bool { alive, _ := c.m[b].Liveness(dead); return alive })
}

// TestMoves restarts nodes at other addresses, without --join: a follower, the leader, and a node that
// the others have not yet noticed as missing.
func TestMoves(t *testing.T) {
	c := newCluster(t, 3)
	move := func(i int) {
		old, members := c.m[i], c.m
		c.m = nil // so that start gives no address to join at
		moved := c.start(old.data, "", fmt.Sprint("n", i))
		c.m = members
		c.m[i] = moved
		c.ready(moved)
		if moved.addr == old.addr {
			t.Fatal("it has not moved")
		}
	}
	lead := c.leader(0, 1, 2)
	for n, i := range []int{(lead + 1) % 3, lead, (lead + 2) % 3} {
		c.kill(i)
		if n < 2 {
			dead, other := c.m[i].ID(), c.m[(i+1)%3]
			eventually(t, "death is seen", func() bool { alive, _ := other.Liveness(dead); return !alive })
		}
		move(i)
		want := fmt.Sprint(n)
		c.must(i, set("x", want))
		for k := range c.m {
			if c.reads(k, "x") != want {
				t.Fatalf("node %d has not seen what node %d wrote", k, i)
			}
			eventually(t, "return is seen", func() bool {
				alive, _ := c.m[k].Liveness(c.m[i].ID())
				addr, _ := c.m[k].Addr(c.m[i].ID())
				return alive && addr == c.m[i].addr
			})
		}
	}
}

func TestPartition(t *testing.T) {
	c := newCluster(t, 3, func(c *cluster) { c.patience = time.Second })
	old := c.leader(0, 1, 2)
	a, b := (old+1)%3, (old+2)%3
	c.w.split(c.m[old].addr)
	// The old leader, partitioned from the others, can neither commit nor read.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	alone := make(chan error, 2)
	go func() {
		_, err := c.m[old].Propose(ctx, set("lost", "?"))
		alone <- err
	}()
	go func() { alone <- c.m[old].ReadIndex(ctx) }()
	c.must(a, set("x", "2"))
	if c.reads(b, "x") != "2" {
		t.Fatal("not seen")
	}
	for range 2 {
		if err := <-alone; err == nil {
			// A read may have been answered before the leader noticed the
			// partition; its value must be one that was current at that time.
			if v, _ := c.m[old].Current().Setting("x"); v == "2" {
				t.Fatal("how?")
			}
			if v, ok := c.m[old].Current().Setting("lost"); ok {
				t.Fatal("committed without a majority", v)
			}
		}
	}
	c.w.split()
	c.must(old, set("y", "3"))
	if c.reads(a, "y") != "3" || c.reads(old, "x") != "2" {
		t.Fatal("not one cluster again")
	}
}

// TestLeaderGivesUp: a read that fails at the leader with a timeout is retried until the statement's
// own time is over.
func TestLeaderGivesUp(t *testing.T) {
	c := newCluster(t, 3)
	follower := (c.leader(0, 1, 2) + 1) % 3
	c.must(follower, set("x", "1"))
	c.m[follower].LoseReads(4)
	if c.reads(follower, "x") != "1" {
		t.Fatal("not seen")
	}
}

// TestOnceUnderCuts partitions the network and heals it while all nodes propose: each commit is
// applied once or not at all, as its proposer's result says.
func TestOnceUnderCuts(t *testing.T) {
	c := newCluster(t, 3, func(c *cluster) { c.patience = 50 * time.Millisecond })
	first := c.m[0].Current().NextOID()
	type told struct {
		name string
		err  error
	}
	const threads, each = 4, 40
	var mu sync.Mutex
	var all []told
	progress := make(chan struct{}, 3*threads*each)
	var wg sync.WaitGroup
	for i := range 3 {
		for thread := range threads {
			wg.Go(func() {
				for k := range each {
					name := fmt.Sprint(i, "/", thread, "/", k)
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+(k*7)%400)*time.Millisecond)
					_, err := c.m[i].Propose(ctx, append(set(name, "1"), &catalog.AllocOIDs{N: 1}))
					cancel()
					mu.Lock()
					all = append(all, told{name, err})
					mu.Unlock()
					progress <- struct{}{}
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	wait := func(n int) bool {
		for range n {
			select {
			case <-progress:
			case <-done:
				return false
			}
		}
		return true
	}
	for n := 0; wait(10); n++ {
		c.w.split(c.m[n%3].addr)
		wait(20)
		c.w.split()
	}
	c.w.split()
	<-done
	for i := range 3 {
		c.reads(i, "") // the node has applied all entries
	}
	counts := map[string]int{}
	applied := 0
	for _, x := range all {
		_, there := c.m[0].Current().Setting(x.name)
		if there {
			applied++
		}
		unknown := pgerr.Is(x.err, pgerr.StatementCompletionUnknown)
		if !unknown && there != (x.err == nil) {
			t.Errorf("%s came to %v, and applied is %t", x.name, x.err, there)
		}
		counts[string(pgerr.CodeOf(x.err))]++
	}
	if got := int(c.m[0].Current().NextOID() - first); got != applied {
		t.Errorf("%d commits were applied, %d times", applied, got)
	}
	t.Log("proposers were told", counts)
}

func TestAllRestart(t *testing.T) {
	c := newCluster(t, 3)
	for i := range 50 {
		c.must(i%3, set(fmt.Sprint("k", i), fmt.Sprint(i)))
	}
	for i := range 3 {
		c.kill(i)
	}
	for i := range 3 {
		c.restart(i)
	}
	for i := range 3 {
		c.ready(c.m[i])
		for k := range 50 {
			if c.reads(i, fmt.Sprint("k", k)) != fmt.Sprint(k) {
				t.Fatal("lost", k)
			}
		}
	}
}

func TestSevenNodes(t *testing.T) {
	c := newCluster(t, 7) // two of seven do not vote
	for i := range 7 {
		c.must(i, set(fmt.Sprint("k", i), "v"))
	}
	for i := range 7 {
		if c.reads((i+3)%7, fmt.Sprint("k", i)) != "v" {
			t.Fatal("not seen")
		}
	}
}

func BenchmarkPropose(b *testing.B) {
	t := &testing.T{}
	c := &cluster{t: t, w: &wires{group: map[string]int{}, conns: map[net.Conn][2]string{}}}
	m := c.start(b.TempDir(), "", "n")
	defer m.stop(t)
	c.ready(m)
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.Propose(context.Background(), set("a", "b")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := m.Propose(context.Background(), set("a", "b")); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// TestDirectoryReplaced: when a node's directory was removed and another node has created one at its
// path, the first node stops: its lock is on an unlinked file and no longer protects the path.
func TestDirectoryReplaced(t *testing.T) {
	c := newCluster(t, 1)
	m := c.m[0]
	if err := os.Rename(m.data, m.data+"-away"); err != nil {
		t.Fatal(err)
	}
	other, err := raftnode.OpenDir(m.data, false)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := <-m.Failed(); !pgerr.Is(err, pgerr.IOError) {
		t.Fatal(err)
	}
	m.stop(t)
}

// TestBadCommandStopsTheNode: a node that cannot apply a command stops. Its log is kept, so that it
// stops at the same command whenever it starts, until a version that can apply the command is
// installed.
func TestBadCommandStopsTheNode(t *testing.T) {
	c := newCluster(t, 1)
	m := c.m[0]
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if _, err := m.Propose(ctx, []catalog.Change{&catalog.PutSetting{Name: "kept", Value: "1"}}); err != nil {
		t.Fatal(err)
	}
	bad := meta.EncodeCommit(meta.CommitID{Gateway: 7, Epoch: 1, Seq: 1, Mark: 1}, []catalog.Change{&catalog.PutRelation{}})
	unsure, err := m.Peers().ActionAt(ctx, 0, m.addr, "raft.propose", bad)
	if err != nil {
		t.Fatal(unsure, err)
	}
	for range 2 {
		if err := <-m.Failed(); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Fatal(err)
		}
		if m.Leader() != 0 || m.Leads() {
			t.Fatal("leads with a state machine that has stopped")
		}
		if v, _ := m.Current().Setting("kept"); v != "1" {
			t.Fatalf("what was before is %q", v)
		}
		if err := m.ReadIndex(ctx); err == nil {
			t.Fatal("answers for what is committed")
		}
		m.stop(t)
		m = c.start(m.data, m.addr, "n0")
	}
	if err := m.WaitReady(ctx); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Fatal(err)
	}
	m.stop(t)
	c.m = nil
}

// TestUnreadableProposals: a leader refuses a proposal that it cannot decode, such as a command of a
// newer version. In the log, it would stop every node.
func TestUnreadableProposals(t *testing.T) {
	c := newCluster(t, 3)
	leader := c.m[c.leader(0, 1, 2)]
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	good := meta.EncodeCommit(meta.CommitID{Gateway: 7, Epoch: 1, Seq: 1, Mark: 1}, []catalog.Change{&catalog.PutSetting{Name: "x", Value: "1"}})
	empty := meta.EncodeCommit(meta.CommitID{Gateway: 7, Epoch: 1, Seq: 2, Mark: 1}, []catalog.Change{nil})
	for want, cmd := range map[string][]byte{
		"command 16 of the log is not known": {0x10},
		"an empty command":                   {},
		"a commit with an empty change":      empty,
		"invalid encoding":                   good[:len(good)-3],
	} {
		got, err := c.m[0].Peers().ActionAt(ctx, 0, leader.addr, "raft.propose", cmd)
		if err != nil || !bytes.Contains(got, []byte(want)) {
			t.Errorf("%q, %v, want %s", got, err, want)
		}
	}
	for _, m := range c.m {
		if _, err := m.Propose(ctx, []catalog.Change{&catalog.PutSetting{Name: "kept", Value: m.addr}}); err != nil {
			t.Error(err)
		}
	}
}

// TestVotersSetting sets the number of voters lower than the number of members, and raises it.
func TestVotersSetting(t *testing.T) {
	c := newCluster(t, 3)
	for _, want := range []string{"1", "3"} {
		c.must(0, set(raftnode.VotersSetting, want))
		eventually(t, want+" vote", func() bool {
			for _, m := range c.m {
				if fmt.Sprint(len(m.Voters())) != want {
					return false
				}
			}
			return true
		})
		c.must(1, set("a", want))
	}
}
