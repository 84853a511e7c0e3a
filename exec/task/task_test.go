package task_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tributarydb/tributary/cluster/flow"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/exec/task"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // tests panic on purpose
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

// cluster is several nodes in one process; their tables are lists of rows divided into splits.
type cluster struct {
	t       *testing.T
	threads int
	nodes   int
	tables  map[types.OID]optest.Table
	limit   int64
	open    func() error // called when a split is opened; may be nil
	pool    *mem.Pool
}

const splitRows = 100

type splits struct {
	all map[int]chan *op.Split
}

func (s *splits) Next(ctx context.Context, leaf int, _ *op.Split) (*op.Split, error) {
	sp, ok := <-s.all[leaf]
	if !ok {
		return nil, io.EOF
	}
	return sp, ctx.Err()
}

type reader struct{ batches []*batch.Batch }

func (r *reader) Next(context.Context) (*batch.Batch, error) {
	if len(r.batches) == 0 {
		return nil, io.EOF
	}
	b := r.batches[0]
	r.batches = r.batches[1:]
	return b, nil
}

func (r *reader) Close() error { return nil }

// Intact implements op.Tables.
func (c *cluster) Intact() error { return nil }

// Open implements op.Tables.
func (c *cluster) Open(_ context.Context, s *plan.Scan, sp *op.Split, _ *function.Env, _ []op.ScanKeys) (op.BatchReader, error) {
	if c.open != nil {
		if err := c.open(); err != nil {
			return nil, err
		}
	}
	tb := c.tables[s.Table]
	cut := optest.Table{Types: tb.Types, Rows: tb.Rows[sp.From:sp.To]}
	return &reader{cut.Batches(c.t, optest.Form{Size: 33, Dict: true, Mix: true})}, nil
}

// splitsOf distributes the splits of a stage's leaves to its tasks.
func (c *cluster) splitsOf(s *plan.Stage, tasks int) []*splits {
	out := make([]*splits, tasks)
	for i := range out {
		out[i] = &splits{all: map[int]chan *op.Split{}}
	}
	for leaf, n := range build.Leaves(s.Root) {
		rows := int64(len(c.tables[n.(*plan.Scan).Table].Rows))
		for i := range out {
			out[i].all[leaf] = make(chan *op.Split, rows/splitRows+1)
		}
		k := 0
		for from := int64(0); from < rows; from += splitRows {
			out[k%tasks].all[leaf] <- &op.Split{Scan: leaf, From: from, To: min(from+splitRows, rows)}
			k++
		}
		for i := range out {
			close(out[i].all[leaf])
		}
	}
	return out
}

// flows opens the exchanges of a plan between nodes 1 to n, which are in one process and connect
// over loopback.
func (c *cluster) flows(ctx context.Context, staged *plan.Staged) ([]*flow.Flow, func()) {
	c.t.Helper()
	trust := rpc.Trust{Secret: rpc.Secret{1}}
	addrs := map[uint64]string{}
	var nodes []uint64
	var hubs []*flow.Hub
	var servers []*rpc.Server
	var peers []*rpc.Peers
	for i := range c.nodes {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			c.t.Fatal(err)
		}
		id := uint64(i + 1)
		nodes, addrs[id] = append(nodes, id), ln.Addr().String()
		self := rpc.Fixed(catalog.ClusterID{1}, id)
		srv := rpc.Listen(ln, trust, self, slog.Default())
		p := rpc.NewPeers(&rpc.Dialer{Trust: trust, Self: self}, func(n uint64) (string, bool) { a, ok := addrs[n]; return a, ok })
		servers, peers, hubs = append(servers, srv), append(peers, p), append(hubs, flow.NewHub(id, p, srv, nil))
	}
	for _, srv := range servers {
		srv.Serve()
	}
	var out []*flow.Flow
	for _, h := range hubs {
		f, err := h.Open(ctx, flow.Options{Run: "r", Stages: staged.Stages, Nodes: nodes, Window: 10_000, Pool: c.pool})
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, f)
	}
	return out, func() {
		for i, f := range out {
			f.Close()
			peers[i].Close()
			servers[i].Close()
		}
	}
}

// start starts all tasks of a plan and returns the root task. A task that fails ends all of them,
// which the gateway of a statement does otherwise.
func (c *cluster) start(ctx context.Context, staged *plan.Staged) (*task.Task, func()) {
	c.t.Helper()
	c.pool = mem.NewPool("n", c.limit)
	dir := spill.NewDir(spill.Options{Parent: c.t.TempDir(), Pool: c.pool})
	ctx, stop := context.WithCancelCause(ctx)
	flows, closeFlows := c.flows(ctx, staged)
	var root *task.Task
	var all, waited []*task.Task
	var waits sync.WaitGroup
	for i := len(staged.Stages) - 1; i >= 0; i-- {
		s := &staged.Stages[i]
		tasks := c.nodes
		if s.Where == plan.OnGateway {
			tasks = 1
		}
		sp := c.splitsOf(s, tasks)
		for n := range tasks {
			tk, err := task.Start(ctx, build.Config{Stage: s, Env: &function.Env{}, Splits: sp[n], Tables: c, Exchange: flows[n],
				Runtime: &op.Runtime{Threads: c.threads, BatchSize: 64, Pool: c.pool, Spill: dir}})
			if err != nil {
				c.t.Fatal(err)
			}
			all = append(all, tk)
			if i == 0 {
				root = tk
				continue // its reader returns the error
			}
			waited = append(waited, tk)
		}
	}
	for _, tk := range waited { // once all have started: a failure stops them
		waits.Go(func() {
			if err := wait(ctx, tk); err != nil {
				stop(err)
			}
		})
	}
	return root, func() {
		stop(context.Canceled)
		for _, tk := range all {
			tk.Close()
			tk.Close()
		}
		waits.Wait()
		closeFlows()
		if n := c.pool.Used(); n != 0 {
			c.t.Errorf("%d bytes are still charged", n)
		}
		dir.Close()
	}
}

// wait returns the error of a task whose threads have ended. A root stage ends when its rows are
// read.
func wait(ctx context.Context, tk *task.Task) error {
	select {
	case <-tk.Done():
		return tk.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *cluster) rows(staged *plan.Staged) ([]types.Row, error) {
	root, end := c.start(context.Background(), staged)
	defer end()
	var ts []types.Type
	for _, col := range staged.Stages[0].Root.Schema() {
		ts = append(ts, col.Type)
	}
	var out []types.Row
	for {
		b, err := root.Next(context.Background())
		if err == io.EOF {
			return out, wait(context.Background(), root)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, optest.RowsOf(b, ts)...)
	}
}

func col(id int, name string, t types.Type) plan.Column {
	return plan.Column{ID: expr.ColID(id), Name: name, Type: t}
}

func ref(c plan.Column) *expr.Col { return &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name} }

func operator(name string, l, r types.OID) *fn.Func {
	for _, o := range fn.Operators(name) {
		if o.Left == l && o.Right == r {
			return o.Func
		}
	}
	panic("no operator " + name)
}

func call(name string, t types.Type, a, b expr.Expr) expr.Expr {
	return &expr.Call{Fn: operator(name, a.Type().OID, b.Type().OID), Args: []expr.Expr{a, b}, Typ: t, Op: name}
}

func konst(v int64) expr.Expr { return &expr.Const{Val: v, Typ: types.Int4} }

var (
	a0, a1 = col(1, "a", types.Int4), col(2, "b", types.Text)
	b0, b1 = col(3, "c", types.Int8), col(4, "d", types.Text)
	sum    = col(5, "e", types.Int4)
	scanA  = &plan.Scan{Table: 1, Name: "a", Cols: []plan.Column{a0, a1}}
	scanB  = &plan.Scan{Table: 2, Name: "b", Cols: []plan.Column{b0, b1}}
)

func tables(n int) map[types.OID]optest.Table {
	r := rand.New(rand.NewSource(1))
	a := optest.Random(r, n, types.Int4, types.Text)
	b := optest.Random(r, n/2, types.Int8, types.Text)
	return map[types.OID]optest.Table{1: a, 2: b}
}

// joined is SELECT a + 1, b, d FROM a JOIN b ON a = c WHERE a > 0 ORDER BY …
func joined() plan.Node {
	j := &plan.Join{Kind: plan.Inner, L: &plan.Filter{Input: scanA, Conds: []expr.Expr{call(">", types.Bool, ref(a0), konst(0))}}, R: scanB,
		LKeys: []expr.Expr{ref(a0)}, RKeys: []expr.Expr{ref(b0)}, NullSafe: []bool{false}}
	return &plan.Project{Input: j, Items: []plan.Item{{Col: sum, Expr: call("+", types.Int4, ref(a0), konst(1))}, {Col: a1, Expr: ref(a1)}, {Col: b1, Expr: ref(b1)}}}
}

var keys = []plan.SortKey{{Expr: ref(sum)}, {Expr: ref(a1)}, {Expr: ref(b1), Desc: true}}

func wantJoined(tbs map[types.OID]optest.Table) (out []types.Row) {
	for _, x := range tbs[1].Rows {
		for _, y := range tbs[2].Rows {
			if x[0] != nil && x[0].(int64) > 0 && x[0] == y[0] {
				out = append(out, types.Row{x[0].(int64) + 1, x[1], y[1]})
			}
		}
	}
	return out
}

var outTypes = []types.Type{types.Int4, types.Text, types.Text}

func TestOneStage(t *testing.T) {
	for _, threads := range []int{1, 3} {
		c := &cluster{t: t, threads: threads, nodes: 1, tables: tables(700)}
		root := &plan.Limit{Input: &plan.Sort{Input: joined(), Keys: keys, Limit: -1}, Count: konst8(50), Offset: konst8(3)}
		got, err := c.rows(&plan.Staged{Stages: []plan.Stage{{Root: root}}})
		if err != nil {
			t.Fatal(err)
		}
		all, err := c.rows(&plan.Staged{Stages: []plan.Stage{{Root: &plan.Sort{Input: joined(), Keys: keys, Limit: -1}}}})
		if err != nil {
			t.Fatal(err)
		}
		optest.Compare(t, all, wantJoined(c.tables), outTypes, false)
		optest.Compare(t, got, all[3:53], outTypes, true)
	}
}

func konst8(v int64) expr.Expr { return &expr.Const{Val: v, Typ: types.Int8} }

// stagedJoin repartitions both sides, joins and sorts on every node, and merges at the gateway. The
// right side may publish a runtime filter for the left one.
func stagedJoin(broadcast, filter bool) *plan.Staged {
	kind := plan.HashBy
	lk, rk := []expr.Expr{ref(a0)}, []expr.Expr{ref(b0)}
	right := &plan.Output{To: 1, Kind: kind, Keys: rk}
	if broadcast {
		right = &plan.Output{To: 1, Kind: plan.Broadcast}
	}
	pr := joined().(*plan.Project)
	j := *pr.Input.(*plan.Join)
	left := j.L
	j.L = &plan.Receive{From: 2, Cols: scanA.Cols}
	j.R = &plan.Receive{From: 3, Cols: scanB.Cols}
	mid := &plan.Sort{Input: pr.WithChildren([]plan.Node{&j}), Keys: keys, Limit: -1}
	st := []plan.Stage{
		{ID: 0, Root: &plan.Receive{From: 1, Cols: pr.Schema(), Merge: keys}},
		{ID: 1, Root: mid, Out: &plan.Output{To: 0, Kind: plan.Gather}, Where: plan.OnAll},
		{ID: 2, Root: left, Out: &plan.Output{To: 1, Kind: kind, Keys: lk}, Where: plan.OnAll},
		{ID: 3, Root: scanB, Out: right, Where: plan.OnAll},
	}
	if broadcast {
		st[2].Out = &plan.Output{To: 1, Kind: plan.Spread}
	}
	if filter {
		key := plan.StageID(3).RuntimeFilter()
		st[2].Root = &plan.Join{Kind: plan.Semi, L: left, R: &plan.Receive{From: key, Cols: []plan.Column{b0}}, LKeys: lk, RKeys: rk, NullSafe: []bool{false}, Broadcast: true}
		st[3].RuntimeFilter = &plan.Output{To: 2, Kind: plan.Broadcast, Keys: rk}
	}
	return &plan.Staged{Stages: st}
}

func TestStages(t *testing.T) {
	for _, nodes := range []int{1, 2, 3} {
		for way := range 4 {
			broadcast, filter := way&1 != 0, way&2 != 0
			for _, threads := range []int{1, 2} {
				t.Run(fmt.Sprintf("nodes=%d/broadcast=%v/filter=%v/threads=%d", nodes, broadcast, filter, threads), func(t *testing.T) {
					c := &cluster{t: t, threads: threads, nodes: nodes, tables: tables(700)}
					got, err := c.rows(stagedJoin(broadcast, filter))
					if err != nil {
						t.Fatal(err)
					}
					optest.Compare(t, got, wantJoined(c.tables), outTypes, false)
					one, err := (&cluster{t: t, threads: 1, nodes: 1, tables: c.tables}).rows(&plan.Staged{Stages: []plan.Stage{{Root: &plan.Sort{Input: joined(), Keys: keys, Limit: -1}}}})
					if err != nil {
						t.Fatal(err)
					}
					optest.Compare(t, got, one, outTypes, true)
				})
			}
		}
	}
}

// TestSlowReader: a reader that stops reading blocks the stages below it (back-pressure), and
// closing it ends them.
func TestSlowReader(t *testing.T) {
	c := &cluster{t: t, threads: 2, nodes: 2, tables: tables(2000)}
	for _, staged := range []*plan.Staged{stagedJoin(false, true), {Stages: []plan.Stage{{Root: joined()}}}} {
		root, end := c.start(context.Background(), staged)
		if _, err := root.Next(context.Background()); err != nil {
			t.Error(err)
		}
		end()
	}
}

func TestErrors(t *testing.T) {
	boom := pgerr.New(pgerr.DataException, "boom")
	for _, threads := range []int{1, 3} {
		var n atomic.Int32
		c := &cluster{t: t, threads: threads, nodes: 2, tables: tables(700), open: func() error {
			if n.Add(1) == 5 {
				return boom
			}
			return nil
		}}
		if _, err := c.rows(stagedJoin(false, true)); !errors.Is(err, boom) {
			t.Errorf("error %v", err)
		}
		c.open = func() error { panic("boom") }
		if _, err := c.rows(&plan.Staged{Stages: []plan.Stage{{Root: joined()}}}); !pgerr.Is(err, pgerr.InternalError) {
			t.Errorf("error %v", err)
		}
		// division by zero in an expression
		c.open = nil
		root := &plan.Project{Input: scanA, Items: []plan.Item{{Col: sum, Expr: call("/", types.Int4, konst(1), call("-", types.Int4, ref(a0), ref(a0)))}}}
		if _, err := c.rows(&plan.Staged{Stages: []plan.Stage{{Root: root}}}); !pgerr.Is(err, pgerr.DivisionByZero) {
			t.Errorf("error %v", err)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command")
	c := &cluster{t: t, threads: 2, nodes: 1, tables: tables(2000)}
	root, end := c.start(ctx, &plan.Staged{Stages: []plan.Stage{{Root: joined()}}})
	defer end()
	cancel(stop)
	var err error
	for err == nil {
		_, err = root.Next(context.Background())
	}
	if !errors.Is(err, stop) && err != io.EOF {
		t.Errorf("error %v", err)
	}
	ctx, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	if err := wait(ctx, root); err != nil && !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func TestStats(t *testing.T) {
	c := &cluster{t: t, threads: 2, nodes: 1, tables: tables(700)}
	root, end := c.start(context.Background(), &plan.Staged{Stages: []plan.Stage{{Root: &plan.Sort{Input: joined(), Keys: keys, Limit: -1}}}})
	defer end()
	n := int64(0)
	for {
		b, err := root.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n += int64(b.Rows())
	}
	st := root.Stats()
	if len(st) != 6 || st[0].Rows.Load() != n || st[4].Rows.Load() != 700 || st[4].Splits.Load() != 7 || st[0].Memory.Load() == 0 || st[2].Memory.Load() == 0 {
		for _, s := range st {
			t.Logf("%d %T rows %d batches %d splits %d memory %d", s.ID, s.Node, s.Rows.Load(), s.Batches.Load(), s.Splits.Load(), s.Memory.Load())
		}
		t.Error("the counters are wrong")
	}
}
