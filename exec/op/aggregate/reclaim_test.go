package aggregate_test

import (
	"context"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/aggregate"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// greedy requests most of the memory after each batch, and releases it: other operators of the
// statement must spill for that.
type greedy struct {
	op.Operator
	acct    *mem.Account
	bytes   int64
	alone   bool // no other thread runs: a busy one would be skipped, and the request refused
	granted *atomic.Int64
	// With several threads, which share state above: the first one requests memory while the others
	// wait, each having returned a batch.
	thread int
	meet   *meeting
	met    bool
}

type meeting struct {
	all   sync.WaitGroup
	asked chan struct{}
}

func (o *greedy) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := o.Operator.Next(ctx)
	if o.meet != nil && !o.met {
		o.met = true
		o.meet.all.Done()
		o.meet.all.Wait()
		if o.thread > 0 {
			<-o.meet.asked
		} else {
			defer close(o.meet.asked)
		}
	}
	if err != nil {
		return nil, err
	}
	switch err := o.acct.Grow(o.bytes); {
	case err == nil:
		o.granted.Add(1)
		o.acct.Shrink(o.bytes)
	case o.alone || !pgerr.Is(err, pgerr.OutOfMemory):
		return nil, err
	}
	return b, nil
}

func (o *greedy) Close() error {
	o.acct.Close()
	return o.Operator.Close()
}

// TestGivesWay: a sort and an aggregation spill when an operator below or above them needs memory,
// and the rows are the same.
func TestGivesWay(t *testing.T) {
	const budget, most = 8 << 20, 7 << 20
	ts := []types.Type{types.Int4, types.Int8, types.Text}
	r := rand.New(rand.NewSource(8))
	tb := optest.Table{Types: ts}
	for i := range 30000 {
		tb.Rows = append(tb.Rows, types.Row{int64(r.Intn(500)), int64(i), optest.Value(r, types.Text, 1000)})
	}
	sort := func(split int) func(rt *op.Runtime, in []op.Operator) []op.Operator {
		return func(rt *op.Runtime, in []op.Operator) []op.Operator {
			cfg := order.Config{Types: ts, Specs: []kernel.KeySpec{{Type: ts[0]}, {Type: ts[1]}}, Limit: -1, Split: split}
			for range rt.Threads {
				cfg.Keys = append(cfg.Keys, []op.Item{{Col: 0}, {Col: 1}})
			}
			return order.NewSort(rt, nil, cfg, in)
		}
	}
	group := aggCase{tb: tb, keys: []int{0, 1, 2}, drop: -1}
	for name, c := range map[string]struct {
		make    func(rt *op.Runtime, in []op.Operator) []op.Operator
		threads int
		above   bool
	}{
		"sort, below":                 {make: sort(0), threads: 1},
		"sort, above":                 {make: sort(0), threads: 1, above: true},
		"sort, below, threads":        {make: sort(0), threads: 3},
		"sort of ranges, above":       {make: sort(1), threads: 3, above: true},
		"hash aggregate, below":       {make: group.aggregate(t), threads: 1},
		"hash aggregate, two threads": {make: group.aggregate(t), threads: 2},
	} {
		t.Run(name, func(t *testing.T) {
			var granted atomic.Int64
			spilled := optest.Once(t, optest.Case{Inputs: []optest.Table{tb}, Out: ts, Want: tb.Rows, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
				ask := func(in []op.Operator) []op.Operator {
					var meet *meeting
					if c.above && c.threads > 1 {
						meet = &meeting{asked: make(chan struct{})}
						meet.all.Add(c.threads)
					}
					for i := range in {
						in[i] = &greedy{Operator: in[i], acct: rt.Pool.Account("greedy", false), bytes: most, alone: c.threads == 1, granted: &granted, thread: i, meet: meet}
					}
					return in
				}
				if c.above {
					return ask(c.make(rt, in[0]))
				}
				return c.make(rt, ask(in[0]))
			}}, c.threads, optest.Form{Size: 500}, budget)
			if spilled == 0 || granted.Load() == 0 {
				t.Errorf("%d bytes were spilled, %d requests granted", spilled, granted.Load())
			}
		})
	}
}

func (c aggCase) aggregate(t *testing.T) func(rt *op.Runtime, in []op.Operator) []op.Operator {
	return func(rt *op.Runtime, in []op.Operator) []op.Operator {
		ops, err := aggregate.New(rt, nil, c.node(), nil, nil, c.columns(), nil, in)
		if err != nil {
			t.Fatal(err)
		}
		return ops
	}
}

// TestHashAggRangeCharges: a table whose only key is found by an array over its range has no hashes
// and is not charged for any: it fits in memory for its groups alone.
func TestHashAggRangeCharges(t *testing.T) {
	const groups = 300_000
	ts := []types.Type{types.Int8, types.Int4}
	c := aggCase{tb: optest.Table{Types: ts}, keys: []int{0}, drop: -1}
	c.aggs = []expr.AggCall{c.call("sum(int4)", c.col(1))}
	var want []types.Row
	for i := range int64(groups) {
		c.tb.Rows = append(c.tb.Rows, types.Row{i, i % 7}, types.Row{i, i % 5})
		want = append(want, types.Row{i, i%7 + i%5})
	}
	tc := optest.Case{Inputs: []optest.Table{c.tb}, Out: []types.Type{types.Int8, types.Int8}, Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		return c.aggregate(t)(rt, in[0])
	}}
	if spilled := optest.Once(t, tc, 1, optest.Form{Size: 8192}, 36<<20); spilled > 0 {
		t.Errorf("%d bytes were spilled", spilled)
	}
}

// insists asks, while another thread returns the groups of a partition, for more than is free: it is granted
// once those are returned.
type insists struct {
	op.Operator
	pool    *mem.Pool
	acct    *mem.Account
	thread  int
	returns chan struct{} // closed when thread 1 has returned its first groups
	asks    chan struct{} // closed when thread 0 is about to ask
	begun   bool
}

func (o *insists) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := o.Operator.Next(ctx)
	if o.begun {
		return b, err
	}
	o.begun = true
	if o.thread == 1 {
		close(o.returns)
		<-o.asks
		return b, err
	}
	<-o.returns
	close(o.asks)
	more := o.pool.Limit() - o.pool.Used() + 64<<10
	if err := o.acct.Insist(ctx, more); err != nil {
		return nil, err
	}
	o.acct.Shrink(more)
	return b, err
}

func (o *insists) Close() error {
	o.acct.Close()
	return o.Operator.Close()
}

// TestMergingGivesWay: an operator that must have memory waits for threads that merge or return spilled
// groups.
func TestMergingGivesWay(t *testing.T) {
	c := aggCase{tb: optest.Table{Types: []types.Type{types.Int8, types.Int8}}, keys: []int{0}, drop: -1}
	var want []types.Row
	for i := range int64(200_000) {
		c.tb.Rows = append(c.tb.Rows, types.Row{i * 7919, i})
		want = append(want, types.Row{i * 7919, i})
	}
	c.aggs = []expr.AggCall{c.call("max(int8)", c.col(1))}
	spilled := optest.Once(t, optest.Case{Inputs: []optest.Table{c.tb}, Out: []types.Type{types.Int8, types.Int8}, Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		out := c.aggregate(t)(rt, in[0])
		returns, asks := make(chan struct{}), make(chan struct{})
		for i := range out {
			out[i] = &insists{Operator: out[i], pool: rt.Pool, acct: rt.Pool.Account("insists", false), thread: i, returns: returns, asks: asks}
		}
		return out
	}}, 2, optest.Form{Size: 500}, 3<<20)
	if spilled == 0 {
		t.Error("nothing was spilled")
	}
}
