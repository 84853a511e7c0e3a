package worker_test

import (
	"context"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

const (
	partsOf  = 12
	partRows = 100
)

// gate is a source of parts of partRows consecutive numbers. A node returns no rows until its gate is
// opened.
type gate struct {
	mu     sync.Mutex
	opened map[uint64]chan struct{} // by node: closed when it may return rows
	asked  map[uint64]chan struct{} // by node: closed when it has been asked for a part
}

func newGate(nodes int) *gate {
	g := &gate{opened: map[uint64]chan struct{}{}, asked: map[uint64]chan struct{}{}}
	for i := range nodes {
		g.opened[uint64(i+1)], g.asked[uint64(i+1)] = make(chan struct{}), make(chan struct{})
	}
	return g
}

func (g *gate) open(nodes ...uint64) {
	for _, n := range nodes {
		close(g.opened[n])
	}
}

type gateOf struct {
	*gate
	node uint64
}

func (g gateOf) Open(_ context.Context, _ *plan.Source, part, _ int, _ *mem.Pool) (op.BatchReader, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ch := g.asked[g.node]; ch != nil {
		close(ch)
		g.asked[g.node] = nil
	}
	return &gateReader{g: g, part: part}, nil
}

type gateReader struct {
	g    gateOf
	part int
	done bool
}

func (r *gateReader) Next(ctx context.Context) (*batch.Batch, error) {
	if r.done {
		return nil, io.EOF
	}
	select {
	case <-r.g.opened[r.g.node]:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r.done = true
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range partRows {
		b.Append(int64(r.part*partRows + i))
	}
	return batch.New([]arrow.Array{b.NewArray()}, partRows), nil
}

func (r *gateReader) Close() error { return nil }

var gateCol = plan.Column{ID: 1, Name: "n", Type: types.Int8}

func gateSource() *plan.Source {
	return &plan.Source{Name: "gate", Cols: []plan.Column{gateCol}, Rows: 1e6}
}

// gatherPlan sends the source's rows to the gateway.
func gatherPlan() *plan.Staged {
	return &plan.Staged{Stages: []plan.Stage{
		{ID: 0, Root: &plan.Receive{From: 1, Cols: []plan.Column{gateCol}}},
		{ID: 1, Root: gateSource(), Where: plan.OnAll, Out: &plan.Output{To: 0, Kind: plan.Gather}},
	}}
}

// sumPlan sends the rows through a hash exchange and sums them in two phases.
func sumPlan() *plan.Staged {
	sum := fn.ByID(sumID())
	col := &expr.Col{ID: 1, Typ: types.Int8, Name: "n"}
	agg := plan.AggItem{Col: plan.Column{ID: 2, Name: "sum", Type: types.Numeric}, Call: expr.AggCall{Fn: sum, Args: []expr.Expr{col}, Typ: types.Numeric}}
	partial := &plan.Aggregate{Input: &plan.Receive{From: 2, Cols: []plan.Column{gateCol}}, Aggs: []plan.AggItem{agg}, Phase: plan.AggPartial, States: []expr.ColID{3}}
	final := &plan.Aggregate{Input: &plan.Receive{From: 1, Cols: partial.Schema()}, Aggs: []plan.AggItem{agg}, Phase: plan.AggFinal, States: []expr.ColID{3}}
	return &plan.Staged{Holds: true, Stages: []plan.Stage{
		{ID: 0, Root: final},
		{ID: 1, Root: partial, Where: plan.OnAll, Out: &plan.Output{To: 0, Kind: plan.Gather}},
		{ID: 2, Root: gateSource(), Where: plan.OnAll, Out: &plan.Output{To: 1, Kind: plan.HashBy, Keys: []expr.Expr{col}}},
	}}
}

func sumID() string {
	for _, f := range fn.Lookup("sum") {
		if len(f.Args) == 1 && f.Args[0] == types.Int8OID {
			return f.ID
		}
	}
	return ""
}

func gated(t *testing.T, g *gate, nodes int) *cluster {
	return newCluster(t, nodes, 1<<30, func(n uint64) op.Sources { return gateOf{g, n} }, func(*plan.Source) int { return partsOf })
}

// TestLostBeforeRows kills a node before a row has been returned: the statement is run a second time,
// without an error.
func TestLostBeforeRows(t *testing.T) {
	for _, sat := range []float64{0, math.Inf(1)} {
		g := newGate(3)
		c := gated(t, g, 3)
		asked := g.asked[3]
		s, end := c.statement(t, "lost", worker.Options{Saturation: sat})
		ctx := context.Background()
		p := sumPlan()
		r, err := s.Execute(ctx, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		g.open(2) // its rows are sent to all three nodes
		<-asked
		c.nodes[2].kill()
		g.open(1)
		got, err := rowsOf(ctx, r, p.Stages[0].Root.Schema())
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0] != "719400" {
			t.Errorf("saturation %v: %v", sat, got)
		}
		r.Close()
		end()
	}
}

// TestLostAtStart: a plan is run without a member that does not answer.
func TestLostAtStart(t *testing.T) {
	g := newGate(3)
	c := gated(t, g, 3)
	c.nodes[1].kill()
	g.open(1, 2, 3)
	s, end := c.statement(t, "dead", worker.Options{})
	defer end()
	p := sumPlan()
	r, err := s.Execute(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := rowsOf(context.Background(), r, p.Stages[0].Root.Schema()); err != nil || len(got) != 1 || got[0] != "719400" {
		t.Error(got, err)
	}
}

// TestCannotReachGateway: a plan is run without a member that can be reached but cannot reach the
// others.
func TestCannotReachGateway(t *testing.T) {
	g := newGate(3)
	c := gated(t, g, 3)
	c.nodes[1].peers.Close()
	g.open(1, 2, 3)
	s, end := c.statement(t, "oneway", worker.Options{})
	defer end()
	// The sum is the only row and the last thing computed, so no row can have been returned before the
	// node is found missing.
	p := sumPlan()
	p.Stages[1].Root.(*plan.Aggregate).Input = gateSource()
	p.Stages = p.Stages[:2]
	r, err := s.Execute(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := rowsOf(context.Background(), r, p.Stages[0].Root.Schema()); err != nil || len(got) != 1 || got[0] != "719400" {
		t.Error(got, err)
	}
}

// TestLostAfterRows kills a node after rows were returned: the statement fails with that reason,
// since a second run would return those rows to the client a second time.
func TestLostAfterRows(t *testing.T) {
	g := newGate(3)
	c := gated(t, g, 3)
	asked := g.asked[3]
	s, end := c.statement(t, "late", worker.Options{})
	defer end()
	ctx := context.Background()
	p := gatherPlan()
	r, err := s.Execute(ctx, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	g.open(1, 2)
	if _, err := r.Next(ctx); err != nil {
		t.Fatal(err)
	}
	<-asked
	c.nodes[2].kill()
	_, err = rowsOf(ctx, r, []plan.Column{gateCol})
	e := pgerr.From(err)
	if e.Code != pgerr.AdminShutdown || !strings.Contains(e.Message, `"n3"`) || e.Hint == "" {
		t.Errorf("%+v", e)
	}
}

// TestLostWhileWriting: a plan that writes is not run a second time.
func TestLostWhileWriting(t *testing.T) {
	g := newGate(3)
	c := gated(t, g, 3)
	asked := g.asked[3]
	s, end := c.statement(t, "write", worker.Options{})
	defer end()
	out := plan.Column{ID: 9, Name: "segment", Type: types.Bytea}
	rel := &catalog.Relation{OID: 99999, Name: "w", Kind: catalog.KindTable, Partitions: 1, Columns: []catalog.Column{{Name: "n", Num: 1, Type: types.Int8}}}
	r, err := s.Execute(context.Background(), &plan.Staged{Stages: []plan.Stage{
		{ID: 0, Root: &plan.Receive{From: 1, Cols: []plan.Column{out}}},
		{ID: 1, Root: &plan.TableWrite{Input: gateSource(), Table: rel, Cols: []int16{1}, Out: out}, Where: plan.OnAll, Out: &plan.Output{To: 0, Kind: plan.Gather}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	<-asked
	c.nodes[2].kill()
	g.open(1, 2)
	if _, err := rowsOf(context.Background(), r, []plan.Column{out}); !pgerr.Is(err, pgerr.AdminShutdown) {
		t.Error(err)
	}
}

// TestNodeStops shuts a node down: its tasks end with an error upon which the plan is run on the other
// nodes.
func TestNodeStops(t *testing.T) {
	g := newGate(3)
	c := gated(t, g, 3)
	asked := g.asked[2]
	s, end := c.statement(t, "stops", worker.Options{})
	defer end()
	p := sumPlan()
	r, err := s.Execute(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	<-asked
	if list := c.nodes[1].worker.Tasks(); len(list) == 0 || list[0].Gateway != 1 || list[0].Statement != "stops" || list[0].Number == 0 {
		t.Errorf("%+v", list)
	}
	c.nodes[1].worker.Close()
	g.open(1, 3)
	if got, err := rowsOf(context.Background(), r, p.Stages[0].Root.Schema()); err != nil || len(got) != 1 || got[0] != "719400" {
		t.Error(got, err)
	}
}

// TestGatewayDies kills the gateway: the other nodes end the tasks that it started.
func TestGatewayDies(t *testing.T) {
	g := newGate(3)
	c := gated(t, g, 3)
	a2, a3 := g.asked[2], g.asked[3]
	pool := c.nodes[0].pool.Child("gone", 0)
	s := c.nodes[0].worker.Gateway(c.members).Statement("gone", catalog.New(), pool, envOf(), worker.Options{})
	r, err := s.Execute(context.Background(), gatherPlan(), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-a2
	<-a3
	c.nodes[0].kill()
	for _, n := range c.nodes[1:] {
		n.worker.Wait()
		if u := n.pool.Used(); u != 0 {
			t.Errorf("node %d holds %d bytes", n.id, u)
		}
	}
	r.Close()
	s.Close()
	pool.Close()
}

// TestSmallMemory sends more rows than fit in the statement's memory.
func TestSmallMemory(t *testing.T) {
	g := newGate(3)
	c := gated(t, g, 3)
	c.limit = 200 << 10
	g.open(1, 2, 3)
	s, end := c.statement(t, "small", worker.Options{})
	defer end()
	r, err := s.Execute(context.Background(), gatherPlan(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := rowsOf(context.Background(), r, []plan.Column{gateCol})
	if err != nil || len(got) != partsOf*partRows {
		t.Error(len(got), err)
	}
}
