package flow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"go.uber.org/goleak"

	"github.com/tributarydb/tributary/cluster/flow"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

var ctx = context.Background()

var cols = []plan.Column{{ID: 1, Name: "n", Type: types.Int8}, {ID: 2, Name: "s", Type: types.Text}}

// trust is the cluster secret that the nodes of these tests share.
var trust = rpc.Trust{Secret: rpc.Secret{1}}

type end struct {
	hub  *flow.Hub
	srv  *rpc.Server
	pool *mem.Pool
	peer *rpc.Peers
}

func (e *end) kill() {
	e.peer.Close()
	e.srv.Close()
}

// ends makes the exchange endpoints of nodes 1 to n.
func ends(t *testing.T, n int) []*end {
	t.Helper()
	addrs := map[uint64]string{}
	var out []*end
	for i := range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		id := uint64(i + 1)
		addrs[id] = ln.Addr().String()
		e := &end{srv: rpc.Listen(ln, trust, rpc.Fixed(catalog.ClusterID{1}, id), slog.New(slog.DiscardHandler)), pool: mem.NewPool(fmt.Sprint("n", id), 0)}
		e.peer = rpc.NewPeers(&rpc.Dialer{Trust: trust, Self: rpc.Fixed(catalog.ClusterID{1}, id)}, func(n uint64) (string, bool) { a, ok := addrs[n]; return a, ok })
		e.hub = flow.NewHub(id, e.peer, e.srv, nil)
		out = append(out, e)
	}
	for _, e := range out {
		e.srv.Serve()
	}
	t.Cleanup(func() {
		for _, e := range out {
			e.kill()
			if u := e.pool.Used(); u != 0 {
				t.Errorf("%s holds %d bytes", e.pool.Name(), u)
			}
		}
	})
	return out
}

// shape is a plan of two stages, in which stage 1 sends its rows to stage 0.
func shape(kind plan.ExchangeKind, merge bool) []plan.Stage {
	r := &plan.Receive{From: 1, Cols: cols}
	if merge {
		r.Merge = []plan.SortKey{{Expr: &expr.Col{ID: 1, Typ: types.Int8}}}
	}
	where := plan.OnAll
	if kind == plan.Gather {
		where = plan.OnGateway
	}
	return []plan.Stage{{ID: 0, Root: r, Where: where}, {ID: 1, Root: &plan.Values{Cols: cols}, Where: plan.OnAll, Out: &plan.Output{To: 0, Kind: kind}}}
}

func open(t *testing.T, es []*end, stages []plan.Stage, window int64) []*flow.Flow {
	t.Helper()
	var nodes []uint64
	for i := range es {
		nodes = append(nodes, uint64(i+1))
	}
	var out []*flow.Flow
	for _, e := range es {
		f, err := e.hub.Open(ctx, flow.Options{Run: "r", Stages: stages, Nodes: nodes, Window: window, Pool: e.pool})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		out = append(out, f)
	}
	return out
}

func rows(from, n int, text string) *batch.Batch {
	a, b := array.NewInt64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		a.Append(int64(from + i))
		b.Append(text)
	}
	return batch.New([]arrow.Array{a.NewArray(), b.NewArray()}, n)
}

func drain(r op.BatchReader) (n int, sum int64, err error) {
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return n, sum, nil
		}
		if err != nil {
			return n, sum, err
		}
		for i := range b.Rows() {
			sum += b.Cols[0].(*array.Int64).Value(i)
		}
		n += b.Rows()
	}
}

// TestExchange sends rows from all nodes to all, with flow-control windows of any size.
func TestExchange(t *testing.T) {
	for _, window := range []int64{1, 5000, 0} {
		for _, merge := range []bool{false, true} {
			t.Run(fmt.Sprint(window, merge), func(t *testing.T) {
				es := ends(t, 3)
				stages := shape(plan.Broadcast, merge)
				fs := open(t, es, stages, window)
				var wg sync.WaitGroup
				for i, f := range fs {
					wg.Go(func() {
						w, err := f.Writer(ctx, &stages[1])
						if err != nil || w.Dests() != 3 {
							t.Error(err)
							return
						}
						for k := range 40 {
							for d := range 3 {
								if err := w.Send(ctx, d, rows(i*10000+k*100, 100, "text")); err != nil {
									t.Error(err)
								}
							}
						}
						if err := w.CloseSend(nil); err != nil {
							t.Error(err)
						}
					})
					wg.Go(func() {
						rs, err := f.Readers(ctx, stages[0].Root.(*plan.Receive))
						if want := map[bool]int{false: 1, true: 3}[merge]; err != nil || len(rs) != want {
							t.Error(len(rs), err)
						}
						total, all := 0, int64(0)
						for _, r := range rs {
							n, sum, err := drain(r)
							if err != nil {
								t.Error(err)
							}
							total, all = total+n, all+sum
						}
						if total != 12000 || all != 3*4000*3999/2+4000*30000 {
							t.Error(total, all)
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// TestLargeRows sends batches larger than a message, which are divided.
func TestLargeRows(t *testing.T) {
	es := ends(t, 2)
	stages := shape(plan.Gather, false)
	fs := open(t, es, stages, 0)
	var wg sync.WaitGroup
	wg.Go(func() {
		w, _ := fs[1].Writer(ctx, &stages[1])
		if err := w.Send(ctx, 0, rows(0, 80, strings.Repeat("x", 1<<20))); err != nil {
			t.Error(err)
		}
		w.CloseSend(nil)
	})
	wg.Go(func() {
		w, _ := fs[0].Writer(ctx, &stages[1])
		w.CloseSend(nil)
	})
	rs, err := fs[0].Readers(ctx, stages[0].Root.(*plan.Receive))
	if err != nil {
		t.Fatal(err)
	}
	if n, _, err := drain(rs[0]); n != 80 || err != nil {
		t.Error(n, err)
	}
	wg.Wait()
}

// TestBackPressure: if the receiver does not read, the sender blocks instead of buffering more, until
// it is cancelled.
func TestBackPressure(t *testing.T) {
	es := ends(t, 2)
	stages := shape(plan.Gather, false)
	fs := open(t, es, stages, 1000)
	w, err := fs[1].Writer(ctx, &stages[1])
	if err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancelCause(ctx)
	cause := errors.New("stopped")
	full, sent := make(chan struct{}), 0
	var wg sync.WaitGroup
	wg.Go(func() {
		b := rows(0, 8, strings.Repeat("x", 100_000))
		for ; ; sent++ {
			if sent == 3 {
				close(full)
			}
			if err := w.Send(stop, 0, b); err != nil {
				if !errors.Is(err, cause) {
					t.Error(err)
				}
				return
			}
			if sent > 100 {
				t.Error("nothing holds the sender back")
				return
			}
		}
	})
	<-full
	cancel(cause)
	wg.Wait()
	w.CloseSend(cause)
	if p := es[0].pool.Peak(); p > 2<<20 {
		t.Errorf("the reader's node held %d bytes", p)
	}
}

// TestLost kills the sender or the receiver.
func TestLost(t *testing.T) {
	t.Run("reader", func(t *testing.T) {
		es := ends(t, 2)
		stages := shape(plan.Gather, false)
		fs := open(t, es, stages, 0)
		w, _ := fs[1].Writer(ctx, &stages[1])
		if err := w.Send(ctx, 0, rows(0, 10, "")); err != nil {
			t.Fatal(err)
		}
		es[0].kill()
		var lost *flow.LostError
		err := w.Send(ctx, 0, rows(0, 10, ""))
		if err == nil {
			err = w.CloseSend(nil)
		}
		if !errors.As(err, &lost) || lost.Node != 1 {
			t.Error(err)
		}
	})
	t.Run("sender", func(t *testing.T) {
		es := ends(t, 2)
		stages := shape(plan.Gather, false)
		fs := open(t, es, stages, 0)
		w, _ := fs[1].Writer(ctx, &stages[1])
		if err := w.Send(ctx, 0, rows(0, 10, "")); err != nil {
			t.Fatal(err)
		}
		rs, _ := fs[0].Readers(ctx, stages[0].Root.(*plan.Receive))
		if b, err := rs[0].Next(ctx); err != nil || b.Rows() != 10 {
			t.Fatal(err)
		}
		es[1].kill()
		// A reader does not report that its sender is lost: the gateway does, and
		// the reader waits until the gateway cancels the plan.
		stop, cancel := context.WithCancelCause(ctx)
		cause := errors.New("the gateway says so")
		cancel(cause)
		if _, err := rs[0].Next(stop); err != cause {
			t.Error(err)
		}
	})
	t.Run("not open", func(t *testing.T) {
		es := ends(t, 2)
		stages := shape(plan.Gather, false)
		fs := open(t, es, stages, 0)
		fs[0].Close()
		w, _ := fs[1].Writer(ctx, &stages[1])
		var lost *flow.LostError
		if err := w.CloseSend(nil); !errors.As(err, &lost) {
			t.Error(err)
		}
	})
}

// TestFailure: readers on the sender's own node get its error at once.
func TestFailure(t *testing.T) {
	es := ends(t, 1)
	stages := shape(plan.Gather, false)
	fs := open(t, es, stages, 0)
	w, _ := fs[0].Writer(ctx, &stages[1])
	w.Send(ctx, 0, rows(0, 10, ""))
	boom := errors.New("boom")
	w.CloseSend(boom)
	rs, _ := fs[0].Readers(ctx, stages[0].Root.(*plan.Receive))
	if _, _, err := drain(rs[0]); err != boom {
		t.Error(err)
	}
}

// TestDrained: a run counts as drained once every sender has ended, whether or not its rows are read.
func TestDrained(t *testing.T) {
	es := ends(t, 2)
	stages := shape(plan.Broadcast, false)
	fs := open(t, es, stages, 0)
	readers, err := fs[1].Readers(ctx, stages[0].Root.(*plan.Receive))
	if err != nil {
		t.Fatal(err)
	}
	readers[0].Close() // closed without reading
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for i, f := range fs {
		if err := fs[1].Drained(ended); !errors.Is(err, context.Canceled) {
			t.Fatalf("drained with %d of 2 senders at their end: %v", i, err)
		}
		w, err := f.Writer(ctx, &stages[1])
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Send(ctx, 1, rows(0, 5000, "x")); err != nil {
			t.Fatal(err)
		}
		if err := w.CloseSend(nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs[1].Drained(ctx); err != nil {
		t.Fatal(err)
	}
}
