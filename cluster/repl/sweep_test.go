package repl

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// fakeCluster is a node's membership in a cluster, with two catalogs: that which the node has applied
// and the newest that a majority has committed.
type fakeCluster struct {
	Cluster // nil: methods that tests do not call
	id      uint64
	peers   *rpc.Peers

	mu      sync.Mutex
	current *catalog.State // as this node has applied it
	newest  *catalog.State // as the majority has committed it
	alone   bool
	doubt   bool
}

func (f *fakeCluster) ID() uint64                        { return f.id }
func (f *fakeCluster) Peers() *rpc.Peers                 { return f.peers }
func (f *fakeCluster) Horizon() uint64                   { return f.Current().Version() }
func (f *fakeCluster) Liveness(uint64) (bool, time.Time) { return true, time.Time{} }

func (f *fakeCluster) Current() *catalog.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

func (f *fakeCluster) InDoubt() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.doubt
}

func (f *fakeCluster) ReadIndex(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.alone {
		return errors.New("no majority")
	}
	f.current = f.newest
	return nil
}

// trust is the cluster secret that the nodes of these tests share.
var trust = rpc.Trust{Secret: rpc.Secret{1}}

// site is a node and its files.
type site struct {
	t    *testing.T
	c    *fakeCluster
	r    *Repl
	dir  string
	open uint64 // Options.OldestOpen
}

// sites makes nodes 1, 2, … that can call each other.
func sites(t *testing.T, n int) []*site {
	state, _, err := catalog.New().Commit(1, []catalog.Change{&catalog.PutRelation{Rel: &catalog.Relation{OID: 20000, Schema: catalog.PublicOID, Name: "t", Kind: catalog.KindTable, Partitions: 1}}})
	var out []*site
	addrs := map[uint64]string{}
	for i := range n {
		id := uint64(i + 1)
		if err == nil {
			state, _, err = state.Commit(id+1, []catalog.Change{&catalog.PutNode{Node: &catalog.Node{ID: id, Name: string(rune('a' + i))}}})
		}
		ln, lerr := net.Listen("tcp", "127.0.0.1:0")
		if lerr != nil {
			t.Fatal(lerr)
		}
		addrs[id] = ln.Addr().String()
		log := slog.New(slog.DiscardHandler)
		srv := rpc.Listen(ln, trust, rpc.Fixed(catalog.ClusterID{1}, id), log)
		x := &site{t: t, dir: t.TempDir(), c: &fakeCluster{id: id, peers: rpc.NewPeers(&rpc.Dialer{Trust: trust, Self: rpc.Fixed(catalog.ClusterID{1}, id)}, func(id uint64) (string, bool) { return addrs[id], addrs[id] != "" })}}
		x.r = New(Options{Store: x.openStore(), Server: srv, Log: log, OldestOpen: func() uint64 { return x.open }})
		x.r.Attach(x.c)
		srv.Serve()
		t.Cleanup(func() {
			srv.Close()
			x.r.Close()
			x.c.peers.Close()
			x.r.o.Store.Close()
		})
		out = append(out, x)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range out {
		x.c.current, x.c.newest = state, state
	}
	return out
}

func (x *site) openStore() *store.Store {
	s, err := store.Open(store.Options{Dir: x.dir, Node: x.c.id})
	if err != nil {
		x.t.Fatal(err)
	}
	return s
}

// restart clears what a process keeps in memory about its files.
func (x *site) restart() {
	x.r.o.Store.Close()
	x.r.o.Store = x.openStore()
}

func (x *site) file() *catalog.Segment {
	x.t.Helper()
	s, err := x.r.o.Store.PutBlob(0, func(w io.Writer) error { _, err := io.WriteString(w, "rows"); return err })
	if err != nil {
		x.t.Fatal(err)
	}
	s.Rows = 1
	return s
}

// looks sweeps n times and returns whether the file is still there.
func (x *site) looks(n int, s *catalog.Segment) bool {
	for range n {
		_, _ = x.r.sweepOnce(context.Background())
	}
	return x.r.o.Store.Has(s.ID)
}

// commit adds a file to the majority's catalog, but not to the one that this node has applied.
func (x *site) commit(s *catalog.Segment) {
	x.t.Helper()
	next, _, err := x.c.newest.Commit(x.c.newest.Version()+1, []catalog.Change{&catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{s}}})
	if err != nil {
		x.t.Fatal(err)
	}
	x.c.newest = next
}

// TestSweepByAnOldCatalog: a node that has not applied a commit yet removes none of the commit's
// files, however often it sweeps.
func TestSweepByAnOldCatalog(t *testing.T) {
	x := sites(t, 1)[0]
	f := x.file()
	x.commit(f)
	x.c.alone = true
	if !x.looks(5, f) {
		t.Fatal("removed by what the node knew alone")
	}
	x.c.alone = false
	if !x.looks(5, f) {
		t.Fatal("removed though it is committed")
	}
	// The same holds for a commit between two sweeps.
	g := x.file()
	if !x.looks(1, g) {
		t.Fatal("removed at the first look")
	}
	x.commit(g)
	if !x.looks(5, g) {
		t.Fatal("removed though it was committed since")
	}
	if h := x.file(); x.looks(2, h) {
		t.Fatal("two looks leave what nobody needs")
	}
}

// TestSweepLeavesOpenTransactions: files of an open transaction are kept, also on replicas that have
// restarted. A transaction whose gateway cannot be reached counts as open.
func TestSweepLeavesOpenTransactions(t *testing.T) {
	n := sites(t, 2)
	replica, gateway := n[0], n[1]
	gateway.open = gateway.c.Current().Version()
	f := replica.file()
	for range 3 {
		if !replica.looks(3, f) {
			t.Fatal("removed while its transaction is open")
		}
		replica.restart()
	}
	// Other transactions begin and commit.
	replica.commit(replica.file())
	if !replica.looks(3, f) {
		t.Fatal("removed while its transaction is open")
	}
	gateway.open, gateway.c.doubt = 0, true
	if !replica.looks(3, f) {
		t.Fatal("removed while its commit is in doubt")
	}
	gateway.c.doubt = false
	release := gateway.r.Hold()
	if !replica.looks(3, f) {
		t.Fatal("removed while it is held")
	}
	release()
	replica.c.peers.Close()
	if !replica.looks(3, f) {
		t.Fatal("removed though its gateway was not asked")
	}
	// A removed node has no open transactions.
	next, _, err := replica.c.newest.Commit(replica.c.newest.Version()+1, []catalog.Change{&catalog.DropNode{ID: 2}})
	if err != nil {
		t.Fatal(err)
	}
	replica.c.newest = next
	if replica.looks(2, f) {
		t.Fatal("not removed")
	}
}

// TestSweepWhenTheyEnd: the files of a transaction are removed soon after it ends without a commit.
func TestSweepWhenTheyEnd(t *testing.T) {
	n := sites(t, 2)
	n[1].open = n[1].c.Current().Version()
	f := n[0].file()
	if !n[0].looks(3, f) {
		t.Fatal("removed")
	}
	n[1].open = 0
	if n[0].looks(1, f) {
		t.Fatal("kept")
	}
}

// TestSweepSoon: files that are no longer in the catalog are removed long before the next periodic
// sweep.
func TestSweepSoon(t *testing.T) {
	x := sites(t, 1)[0]
	x.r.o.Sweep, x.r.o.Soon = time.Hour, time.Millisecond
	kept, dropped := x.file(), x.file()
	x.commit(kept)
	x.c.current = x.c.newest
	x.r.wg.Go(x.r.sweep)
	for deadline := time.Now().Add(time.Minute); x.r.o.Store.Has(dropped.ID); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a file that nobody needs stays")
		}
	}
	if !x.r.o.Store.Has(kept.ID) {
		t.Error("a file that is needed was removed")
	}
	x.r.stop()
	x.r.wg.Wait()
	// A node whose files are all in the catalog sends no requests.
	known := orphans{}
	if known.update(x.r) || known.version != x.c.Current().Version() {
		t.Errorf("of one file that is needed: %+v", known)
	}
	x.file()
	if known.update(x.r) {
		t.Error("the catalog is as it was, and the files were listed")
	}
	x.commit(x.file())
	x.c.current = x.c.newest
	if !known.update(x.r) {
		t.Error("a file that nobody needs is not seen")
	}
}

// TestNextLook: sweeps take a small share of a node's time; yet one that had to wait for a slow node
// does not postpone the next by minutes.
func TestNextLook(t *testing.T) {
	r := &Repl{o: Options{Sweep: 30 * time.Second, Soon: time.Second}}
	for _, c := range []struct{ took, want time.Duration }{
		{0, time.Second}, {20 * time.Millisecond, time.Second}, {100 * time.Millisecond, 5 * time.Second}, {10 * time.Second, 30 * time.Second},
	} {
		if got := r.nextSweep(c.took); got != c.want {
			t.Errorf("after a look of %v: %v, want %v", c.took, got, c.want)
		}
	}
}

// TestDiscardAsks: a file is not removed if it is in a commit that this node has not applied, or if
// that cannot be found out; neither on this node nor on others.
func TestDiscardAsks(t *testing.T) {
	n := sites(t, 2)
	for at, x := range n {
		committed, refused := x.file(), x.file()
		x.commit(committed)
		both := []*catalog.Segment{committed, refused}
		x.c.alone = true
		n[0].r.Discard(context.Background(), both)
		if !x.r.o.Store.Has(committed.ID) || !x.r.o.Store.Has(refused.ID) {
			t.Fatalf("node %d discards without asking", at+1)
		}
		x.c.alone = false
		n[0].r.Discard(context.Background(), both)
		if !x.r.o.Store.Has(committed.ID) || x.r.o.Store.Has(refused.ID) {
			t.Fatalf("node %d discards the wrong file", at+1)
		}
	}
}

// TestProve: a commit succeeds only if a majority of the replicas have its files; these nodes keep
// them from then on.
func TestProve(t *testing.T) {
	for holders, mayLose := range map[int]int{1: 0, 2: 0, 3: 1} {
		n := sites(t, holders)
		f := n[0].file()
		f.Nodes = nil
		for i, x := range n {
			if i > 0 {
				if err := n[0].r.send(context.Background(), x.c.id, f); err != nil {
					t.Fatal(err)
				}
			}
			f.Nodes = append(f.Nodes, x.c.id)
			x.looks(1, f)
		}
		if err := n[0].r.Prove(context.Background(), []*catalog.Segment{f}); err != nil {
			t.Fatal(err)
		}
		kept := 0
		for _, x := range n {
			if x.looks(1, f) {
				kept++
			}
		}
		if kept <= holders/2 {
			t.Fatalf("%d of %d were kept after they were proved", kept, holders)
		}
		for lost := kept - holders + mayLose + 1; lost > 0; lost-- {
			at := 0
			for !n[at].r.o.Store.Has(f.ID) {
				at++
			}
			n[at].r.o.Store.Discard(f.ID)
		}
		if err := n[0].r.Prove(context.Background(), []*catalog.Segment{f}); !pgerr.Is(err, pgerr.IOError) {
			t.Fatalf("%d holders: %v", holders, err)
		}
	}
}
