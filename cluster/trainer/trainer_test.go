package trainer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"go.uber.org/goleak"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/trainer"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestMain(m *testing.M) {
	if id, err := strconv.ParseUint(os.Getenv(nodeVar), 10, 64); err == nil {
		if err := beNode(id); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

// trust is the cluster secret that the nodes of these tests share.
var trust = rpc.Trust{Secret: rpc.Secret{1}}

type node struct {
	id      uint64
	addr    string
	srv     *rpc.Server
	peers   *rpc.Peers
	pool    *mem.Pool
	tr      *trainer.Trainer
	threads int
	writes  atomic.Int64 // to connections that it dialed
}

// cluster is nodes 1 to n.
type cluster struct {
	nodes   []*node
	remote  []*remote
	groups  int // groups opened so far
	mu      sync.Mutex
	dead    map[uint64]bool
	changed chan struct{}
	addr    map[uint64]string
}

// newNode makes a node that does not serve yet.
func newNode(id uint64, limit int64, temp string, where func(uint64) (string, bool), alive func(uint64) bool, changed func() <-chan struct{}) (*node, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	self := rpc.Fixed(catalog.ClusterID{1}, id)
	nd := &node{id: id, addr: ln.Addr().String(), srv: rpc.Listen(ln, trust, self, log), pool: mem.NewPool(fmt.Sprint("node", id), limit), threads: 2}
	nd.peers = rpc.NewPeers(&rpc.Dialer{Trust: trust, Self: self, Net: func(ctx context.Context, addr string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", addr)
		return &countedWrites{c, &nd.writes}, err
	}}, where)
	nd.tr = trainer.New(trainer.Config{Self: id, Peers: nd.peers, Server: nd.srv, Pool: nd.pool, Temp: temp, Threads: func() int { return nd.threads }, Log: log, Alive: alive, Changed: changed})
	return nd, nil
}

type countedWrites struct {
	net.Conn
	n *atomic.Int64
}

func (c *countedWrites) Write(b []byte) (int, error) {
	c.n.Add(1)
	return c.Conn.Write(b)
}

func start(t *testing.T, n int, limit int64) *cluster {
	t.Helper()
	c := &cluster{dead: map[uint64]bool{}, changed: make(chan struct{}), addr: map[uint64]string{}}
	for i := range n {
		nd, err := newNode(uint64(i+1), limit, t.TempDir(), c.where, c.alive, c.watch)
		if err != nil {
			t.Fatal(err)
		}
		c.addr[nd.id] = nd.addr
		c.nodes = append(c.nodes, nd)
	}
	for _, nd := range c.nodes {
		nd.srv.Serve()
	}
	t.Cleanup(func() {
		for _, nd := range c.nodes {
			nd.kill()
			if used := nd.pool.Used(); used != 0 {
				t.Errorf("node %d still has %d bytes charged", nd.id, used)
			}
		}
	})
	return c
}

// kill ends a node as a crash does, without a shutdown.
func (n *node) kill() {
	n.peers.Close()
	n.srv.Close()
	n.tr.Close()
}

// kill ends node i as a crash does, and marks it as dead for the others.
func (c *cluster) kill(at int) {
	c.nodes[at].kill()
	c.declareDead(c.nodes[at].id)
}

func (c *cluster) where(id uint64) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.addr[id]
	return a, ok
}

func (c *cluster) alive(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.dead[id]
}

func (c *cluster) watch() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *cluster) declareDead(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead[id] = true
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *cluster) others() (ids []uint64) {
	for _, n := range c.nodes[1:] {
		ids = append(ids, n.id)
	}
	return ids
}

const features = 4

func job(t *testing.T, more ...family.Arg) *train.Job {
	t.Helper()
	var cols []record.Column
	for i := range features {
		cols = append(cols, record.Column{Name: fmt.Sprint("x", i), Type: types.Float8})
	}
	cols = append(cols, record.Column{Name: "y", Type: types.Int4})
	j, err := train.NewJob("logistic_regression", []string{"y"}, append(more, family.Arg{Name: "max_iterations", Value: int64(15)}), nil, cols)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// rows returns the same n rows each time, in batches whose order depends on the seed.
func rows(n int, seed uint64) (out []*batch.Batch) {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([][]float64, n)
	for i := range data {
		data[i] = make([]float64, features+1)
		s := 0.0
		for k := range features {
			data[i][k] = r.NormFloat64()
			s += data[i][k] * float64(k-1)
		}
		if s+r.NormFloat64() > 0 {
			data[i][features] = 1
		}
	}
	o := rand.New(rand.NewPCG(seed, 3))
	o.Shuffle(n, func(i, j int) { data[i], data[j] = data[j], data[i] })
	for len(data) > 0 {
		k := min(len(data), 1+o.IntN(900))
		cols := make([]arrow.Array, features+1)
		for c := range cols {
			if c == features {
				b := array.NewInt32Builder(memory.DefaultAllocator)
				for _, row := range data[:k] {
					b.Append(int32(row[c]))
				}
				cols[c] = b.NewArray()
				continue
			}
			b := array.NewFloat64Builder(memory.DefaultAllocator)
			for _, row := range data[:k] {
				b.Append(row[c])
			}
			cols[c] = b.NewArray()
		}
		out = append(out, batch.New(cols, k))
		data = data[k:]
	}
	return out
}

// distribute assigns the batches to members chosen by the seed.
func distribute(list []*batch.Batch, members []uint64, seed uint64, add func(id uint64, b *batch.Batch) error) error {
	r := rand.New(rand.NewPCG(seed, 4))
	for _, b := range list {
		if err := add(members[r.IntN(len(members))], b); err != nil {
			return err
		}
	}
	return nil
}

// spread adds the batches to the group's parts, as a dataset stage does.
func (c *cluster) spread(t *testing.T, g *trainer.Group, list []*batch.Batch, seed uint64) {
	t.Helper()
	if err := c.add(g, list, seed); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) add(g *trainer.Group, list []*batch.Batch, seed uint64) error {
	return distribute(list, g.Members(), seed, func(id uint64, b *batch.Batch) error {
		if int(id) > len(c.nodes) {
			return nil // a remote node adds its own
		}
		p, err := c.nodes[id-1].tr.Collector(g.Name())
		if err != nil {
			return err
		}
		return p.Add(context.Background(), b)
	})
}

// failing is a reducer that calls f before the nth task.
type failing struct {
	*trainer.Group
	n int
	f func()
}

func (r *failing) Reduce(ctx context.Context, t train.Task) (family.Message, error) {
	if r.n--; r.n == 0 {
		r.f()
	}
	return r.Group.Reduce(ctx, t)
}

// counting is a reducer that counts the writes of each task after the first ones.
type counting struct {
	*trainer.Group
	c     *cluster
	after int
	most  int64
}

func (r *counting) writes() (n int64) {
	for _, nd := range r.c.nodes {
		n += nd.writes.Load()
	}
	return n
}

func (r *counting) Reduce(ctx context.Context, t train.Task) (family.Message, error) {
	before := r.writes()
	m, err := r.Group.Reduce(ctx, t)
	if r.after--; r.after < 0 {
		r.most = max(r.most, r.writes()-before)
	}
	return m, err
}

// TestShortSteps: a short step is one message to each of the others, whose answers have the partials.
func TestShortSteps(t *testing.T) {
	c := start(t, 3, 0)
	ctx := context.Background()
	j := job(t)
	g, err := c.nodes[0].tr.Open(ctx, "t", j, c.others(), true, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	c.spread(t, g, rows(5000, 1), 1)
	total, err := g.Distribute(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := &counting{Group: g, c: c, after: 4} // connections are made
	if _, err = train.Run(ctx, train.Input{Job: j, Rows: total}, r); err != nil || r.after >= 0 || r.most != 2 {
		t.Errorf("a step of two others takes %d writes, %v", r.most, err)
	}
}

// TestSilentMember: a member that is declared dead while it still runs ends the group too, with an
// error of class 08.
func TestSilentMember(t *testing.T) {
	c := start(t, 3, 0)
	ctx := context.Background()
	j := job(t)
	g, err := c.nodes[0].tr.Open(ctx, "t", j, c.others(), true, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	c.spread(t, g, rows(30000, 5), 5)
	total, err := g.Distribute(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = train.Run(ctx, train.Input{Job: j, Rows: total}, &failing{g, 9, func() { c.declareDead(3) }})
	if pgerr.CodeOf(err) != pgerr.ConnectionFailure {
		t.Fatal(err)
	}
}

// TestTakenAddress: a member's address may be taken by another member when nodes restart on ports that
// the system chooses. The member that was there counts as lost, and the driver retries; it is not an
// internal error of the member that answers.
func TestTakenAddress(t *testing.T) {
	c := start(t, 3, 0)
	ctx := context.Background()
	right, _ := c.where(2)
	other, _ := c.where(3)
	move := func(to string) {
		c.mu.Lock()
		c.addr[2] = to
		c.mu.Unlock()
	}
	move(other)
	g, err := c.nodes[0].tr.Open(ctx, "t.1", job(t), c.others(), true, 0)
	if err == nil {
		g.Close()
	}
	if pgerr.CodeOf(err) != pgerr.ConnectionFailure {
		t.Fatalf("a part on the wrong node: %v", err)
	}
	move(right)
	if g, err = c.nodes[0].tr.Open(ctx, "t.2", job(t), c.others(), true, 0); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	// The group is open: a call meant for one node must have no effect on another that receives it.
	move(other)
	if n, err := g.Distribute(ctx); pgerr.CodeOf(err) != pgerr.ConnectionFailure {
		t.Errorf("rows for the wrong node: %d, %v", n, err)
	}
}

// TestErrorOfARow: the error of a row is returned, not that of the tasks that are cancelled because of
// it.
func TestErrorOfARow(t *testing.T) {
	c := start(t, 3, 0)
	ctx := context.Background()
	j := job(t)
	g, err := c.nodes[0].tr.Open(ctx, "t", j, c.others(), true, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	total, err := g.Distribute(ctx)
	if err != nil || total != 0 {
		t.Fatal(total, err)
	}
	if _, err = train.Run(ctx, train.Input{Job: j, Rows: total}, g); pgerr.CodeOf(err)[:2] != "22" {
		t.Errorf("a training of no rows ended with %v", err)
	}
}

// TestCancel: when the driver's context ends, all tasks end, and the context's cause is returned.
func TestCancel(t *testing.T) {
	c := start(t, 3, 0)
	j := job(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	g, err := c.nodes[0].tr.Open(ctx, "t", j, c.others(), true, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	c.spread(t, g, rows(5000, 1), 1)
	total, err := g.Distribute(ctx)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	if _, err = train.Run(ctx, train.Input{Job: j, Rows: total}, &failing{g, 5, func() { cancel(why) }}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// TestDriverGone: a group's parts on the other nodes are freed when its driver dies.
func TestDriverGone(t *testing.T) {
	c := start(t, 3, 0)
	g, err := c.nodes[0].tr.Open(context.Background(), "t", job(t), c.others(), true, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.spread(t, g, rows(5000, 1), 1)
	c.nodes[0].kill()
	g.Close()
	deadline := time.Now().Add(20 * time.Second)
	for _, n := range c.nodes[1:] {
		for {
			if _, err := n.tr.Collector("t"); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("a part outlived its driver")
			}
			time.Sleep(time.Millisecond) // polls a state whose change has no signal
		}
	}
}
