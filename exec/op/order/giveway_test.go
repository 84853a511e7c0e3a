package order_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// lateThread has no rows, and ends only when the rows of another thread, which has all of its own and waits
// for this one, were written away.
type lateThread struct {
	op.Operator
	rt    *op.Runtime
	ready *atomic.Bool
}

func (o lateThread) Next(ctx context.Context) (*batch.Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for after := 0; after < 1000; runtime.Gosched() {
		if o.ready.Load() {
			after++ // the other thread goes on to where it waits
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for {
		if n, err := o.rt.Pool.ReclaimAll(); n > 0 || err != nil {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return o.Operator.Next(ctx)
}

// fullThread tells when its reader has all rows.
type fullThread struct {
	op.Operator
	ready *atomic.Bool
}

func (o fullThread) Close() error {
	o.ready.Store(true)
	return o.Operator.Close()
}

// TestSortGivesWayWhileItWaits: the rows that a thread has sorted, and that are written away while it waits
// for the others to divide them, are returned.
func TestSortGivesWayWhileItWaits(t *testing.T) {
	ts := []types.Type{types.Int4, types.Int4}
	tb := optest.Table{Types: ts}
	for i := range 5000 {
		tb.Rows = append(tb.Rows, types.Row{int64(i % 7), int64(i)})
	}
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			spilled := optest.Once(t, optest.Case{Inputs: []optest.Table{{Types: ts}, tb}, Out: ts, Want: tb.Rows, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
				var ready atomic.Bool
				return order.NewSort(rt, nil, order.Config{Types: ts, Keys: optest.Columns(rt.Threads, 0, 1), Specs: []kernel.KeySpec{{Type: ts[0]}, {Type: ts[1]}}, Limit: -1, Split: 1},
					[]op.Operator{lateThread{in[0][0], rt, &ready}, fullThread{in[1][1], &ready}})
			}}, 2, optest.Form{Size: 500}, 0)
			if spilled == 0 {
				t.Error("nothing was written away")
			}
		})
	}
}
