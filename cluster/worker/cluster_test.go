package worker_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"go.uber.org/goleak"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

// trust is the cluster secret that the nodes of these tests share.
var trust = rpc.Trust{Secret: rpc.Secret{1}}

// node is one of several nodes that run in this process.
type node struct {
	id     uint64
	dir    string
	srv    *rpc.Server
	peers  *rpc.Peers
	store  *store.Store
	pool   *mem.Pool
	worker *worker.Worker
	dead   bool
}

// fetcher implements store.Remote: it copies segments from other nodes' directories.
type fetcher struct {
	c  *cluster
	to *node
}

func (f fetcher) Fetch(_ context.Context, s *catalog.Segment) error {
	for _, n := range f.c.nodes {
		if n != f.to && slices.Contains(s.Nodes, n.id) {
			return n.copyTo(f.to, s)
		}
	}
	return pgerr.New(pgerr.DataCorrupted, "nobody has segment %s", s.ID)
}

func (f fetcher) Repair(ctx context.Context, s *catalog.Segment) error { return f.Fetch(ctx, s) }

// copyTo copies a segment's file to another node.
func (n *node) copyTo(to *node, s *catalog.Segment) error {
	in, err := to.store.Receive(s)
	if err != nil {
		return err
	}
	err = n.store.Send(context.Background(), s.ID, store.OneBlock(), func(b []byte) error {
		_, err := in.Write(b)
		return err
	})
	if err != nil {
		in.Abort()
		return err
	}
	return in.Commit()
}

// kill ends a node as a crash does: connections break without a message.
func (n *node) kill() {
	n.dead = true
	n.peers.Close()
	n.srv.Close()
}

// cluster is nodes 1 to n; node 1 is the gateway.
type cluster struct {
	t     testing.TB
	nodes []*node
	limit int64
	mu    sync.Mutex
	alive map[uint64]bool
}

func (c *cluster) members() []worker.Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []worker.Member
	for _, n := range c.nodes {
		if c.alive[n.id] {
			out = append(out, worker.Member{ID: n.id, Name: fmt.Sprintf("n%d", n.id), Threads: 2})
		}
	}
	return out
}

// sourcesOf returns the sources of a node; it may be nil.
type sourcesOf func(node uint64) op.Sources

func newCluster(t testing.TB, n int, memory int64, sources sourcesOf, parts func(*plan.Source) int) *cluster {
	t.Helper()
	c := &cluster{t: t, alive: map[uint64]bool{}}
	addrs := map[uint64]string{}
	var lns []net.Listener
	for i := range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		lns = append(lns, ln)
		addrs[uint64(i+1)] = ln.Addr().String()
	}
	for i := range n {
		id := uint64(i + 1)
		d := &node{id: id, dir: t.TempDir(), pool: mem.NewPool(fmt.Sprintf("n%d", id), memory)}
		d.srv = rpc.Listen(lns[i], trust, rpc.Fixed(catalog.ClusterID{1}, id), slog.New(slog.DiscardHandler))
		d.peers = rpc.NewPeers(&rpc.Dialer{Trust: trust, Self: rpc.Fixed(catalog.ClusterID{1}, id)}, func(n uint64) (string, bool) { a, ok := addrs[n]; return a, ok })
		var err error
		if d.store, err = store.Open(store.Options{Dir: filepath.Join(d.dir, "segments"), Node: id, Remote: fetcher{c, d}}); err != nil {
			t.Fatal(err)
		}
		conf := worker.Config{Self: id, Peers: d.peers, Server: d.srv, Store: d.store, Pool: d.pool, Threads: func() int { return 2 }, Temp: t.TempDir(), Parts: parts,
			State: func(context.Context, uint64) (*catalog.State, error) { return catalog.New(), nil }}
		if sources != nil {
			conf.Sources = sources(id)
		}
		d.worker = worker.New(conf)
		d.srv.Serve()
		c.nodes = append(c.nodes, d)
		c.alive[id] = true
	}
	t.Cleanup(func() {
		for _, d := range c.nodes {
			d.worker.Close()
			if !d.dead {
				d.peers.Close()
				d.srv.Close()
			}
			if err := d.store.Close(); err != nil {
				t.Errorf("node %d: %v", d.id, err)
			}
			if u := d.pool.Used(); u != 0 {
				t.Errorf("node %d holds %d bytes", d.id, u)
			}
			if r := d.worker.Tasks(); len(r) != 0 {
				t.Errorf("node %d runs %v", d.id, r)
			}
		}
	})
	return c
}

// statement opens a statement on the gateway; the returned function closes it and checks that all was
// released.
func (c *cluster) statement(t testing.TB, id string, o worker.Options) (*worker.Statement, func()) {
	gw := c.nodes[0]
	pool := gw.pool.Child(id, c.limit)
	env := envOf()
	g := gw.worker.Gateway(c.members)
	o.Admission = g.Admission(types.OID(10), pool)
	s := g.Statement(id, catalog.New(), pool, env, o)
	return s, func() {
		t.Helper()
		s.Close()
		o.Admission.Close()
		if leaked := pool.Close(); leaked != 0 {
			t.Errorf("%s: %d bytes of the statement are left", id, leaked)
		}
		for _, n := range c.nodes {
			if u := n.pool.Used(); u != 0 && !n.dead {
				t.Errorf("%s: node %d holds %d bytes", id, n.id, u)
			}
		}
	}
}

func envOf() *function.Env {
	return &function.Env{Types: &types.Env{ExtraFloatDigits: 1, Settings: datetime.Settings{Now: time.Unix(1700000000, 0)}}}
}

// tableCol is a column of a test table.
type tableCol struct {
	num int16
	typ types.Type
}

// write makes a table's manifest: segments of a few rows, each on two of the
// nodes, in the partitions in turn.
func (c *cluster) write(t testing.TB, oid types.OID, cols []tableCol, rows [][]types.Datum, per int) *catalog.Manifest {
	t.Helper()
	m := &catalog.Manifest{Table: oid, Partitions: make([][]*catalog.Segment, 4)}
	for i := 0; i < len(rows); i += per {
		part := i / per
		home := c.nodes[part%len(c.nodes)]
		o := store.WriterOptions{InlineBytes: -1}
		if part%2 == 1 {
			o.InlineBytes = 1 << 20
		}
		arrs := make([]arrow.Array, len(cols))
		for j, col := range cols {
			o.Columns = append(o.Columns, store.WriterColumn{Num: col.num, Type: col.typ})
			b := array.NewBuilder(memory.DefaultAllocator, col.typ.Arrow())
			for _, r := range rows[i:min(i+per, len(rows))] {
				if err := types.AppendDatum(b, col.typ, r[j]); err != nil {
					t.Fatal(err)
				}
			}
			arrs[j] = b.NewArray()
		}
		w := home.store.NewWriter(o)
		if err := w.Write(context.Background(), batch.New(arrs, min(per, len(rows)-i))); err != nil {
			t.Fatal(err)
		}
		segs, err := w.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range segs {
			if s.Inline == nil {
				other := c.nodes[(part+1)%len(c.nodes)]
				s.Nodes = []uint64{home.id, other.id}
				if err := home.copyTo(other, s); err != nil {
					t.Fatal(err)
				}
			}
			m.Partitions[part%4] = append(m.Partitions[part%4], s)
		}
	}
	return m
}

// walk calls f for n and all nodes below it, in depth-first order.
func walk(n plan.Node, f func(plan.Node)) {
	f(n)
	for _, k := range n.Children() {
		walk(k, f)
	}
}

// scans lists the scans of a plan.
func scans(p *plan.Staged) []*plan.Scan {
	var out []*plan.Scan
	for i := range p.Stages {
		walk(p.Stages[i].Root, func(n plan.Node) {
			if s, ok := n.(*plan.Scan); ok {
				out = append(out, s)
			}
		})
	}
	return out
}

// rowsOf reads all rows and returns each as a line of text.
func rowsOf(ctx context.Context, r op.BatchReader, cols []plan.Column) ([]string, error) {
	var out []string
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, lines(b, cols)...)
	}
}

func lines(b *batch.Batch, cols []plan.Column) []string {
	var out []string
	for i := range b.Rows() {
		at := i
		if b.Sel != nil {
			at = int(b.Sel[i])
		}
		line := ""
		for j, c := range cols {
			if j > 0 {
				line += "|"
			}
			if d := types.DatumAt(c.Type, b.Cols[j], at); d == nil {
				line += "NULL"
			} else {
				line += types.TextOf(c.Type, d, nil)
			}
		}
		out = append(out, line)
	}
	return out
}
