package join_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// asked is a context whose Err calls a function once an input has ended, which the tests use to
// stop a thread there.
type asked struct {
	context.Context
	ended atomic.Bool
	err   func() error
}

func (c *asked) Err() error {
	if c.ended.Load() {
		return c.err()
	}
	return c.Context.Err()
}

// ending tells its context when its input has ended.
type ending struct {
	op.Operator
	ctx *asked
}

func (o ending) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := o.Operator.Next(ctx)
	if err == io.EOF {
		o.ctx.ended.Store(true)
	}
	return b, err
}

func numbers(of ...int64) op.Operator {
	return optest.Source(1, []*batch.Batch{batch.New([]arrow.Array{optest.Int8s(len(of), func(i int) int64 { return of[i] })}, len(of))})[0]
}

// TestCancelledWhileOthersBuild: a thread that is cancelled while threads build the hash table
// together returns its share of the rows; the others insert all of them and continue.
func TestCancelledWhileOthersBuild(t *testing.T) {
	left := make(chan struct{})
	ctxs := []*asked{
		{Context: t.Context(), err: func() error { return context.Canceled }},
		{Context: t.Context(), err: func() error { <-left; return nil }},
	}
	ts := []types.Type{types.Int8}
	rt := &op.Runtime{Pool: mem.NewPool("test", 0), Threads: 2}
	c := joinCase{kind: plan.Inner, keys: []int{0}}
	l, r := optest.Source(2, nil), make([]op.Operator, 2)
	for i := range r {
		r[i] = ending{numbers(int64(i)), ctxs[i]}
	}
	l[1] = numbers(0, 1)
	root := join.New(rt, nil, c.config(ts, 2), l, r)
	var wg sync.WaitGroup
	for i, o := range root {
		if err := o.Open(ctxs[i]); err != nil {
			t.Fatal(err)
		}
	}
	wg.Go(func() {
		if _, err := root[0].Next(ctxs[0]); !errors.Is(err, context.Canceled) {
			t.Errorf("the first thread: %v", err)
		}
		root[0].Close()
		close(left)
	})
	if b, err := root[1].Next(ctxs[1]); err != nil || b.Rows() != 2 {
		t.Errorf("the second thread: %v, %v", b, err)
	}
	root[1].Close()
	wg.Wait()
}
