package task

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// outlet sends a thread's rows to their readers, and to those of the stage's runtime filter.
type outlet struct {
	rows *Router
	keys *Router // of the runtime filter; nil: there is none
	cols []int   // of the stage: what the filter is of
}

func (o *outlet) send(ctx context.Context, b *batch.Batch) error {
	if o.keys != nil && b.Rows() > 0 {
		if err := o.keys.Send(ctx, b.Columns(o.cols)); err != nil {
			return err
		}
	}
	return o.rows.Send(ctx, b)
}

func (o *outlet) flush(ctx context.Context) error {
	if o.keys != nil {
		if err := o.keys.Flush(ctx); err != nil {
			return err
		}
	}
	return o.rows.Flush(ctx)
}

// outlets makes the outlet of each thread.
func (t *Task) outlets(ctx context.Context, c build.Config) ([]*outlet, error) {
	out := make([]*outlet, len(t.tree.Root))
	for i := range out {
		out[i] = &outlet{}
	}
	rows, err := t.routers(ctx, c, c.Stage.ID, c.Stage.Out, t.tree.Cols)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		out[i].rows = r
	}
	if c.Stage.RuntimeFilter == nil {
		return out, nil
	}
	var at []int
	var cols []plan.Column
	for _, k := range c.Stage.RuntimeFilter.Keys {
		col, ok := k.(*expr.Col)
		if !ok || ordinal(t.tree.Cols, col.ID) < 0 {
			return nil, pgerr.Internal("the runtime filter of stage %d is of no column of it", c.Stage.ID)
		}
		at = append(at, ordinal(t.tree.Cols, col.ID))
		cols = append(cols, t.tree.Cols[at[len(at)-1]])
	}
	filter, err := t.routers(ctx, c, c.Stage.ID.RuntimeFilter(), c.Stage.RuntimeFilter, cols)
	if err != nil {
		return nil, err
	}
	for i, r := range filter {
		out[i].keys, out[i].cols = r, at
	}
	return out, nil
}

// routers makes each thread's router for one of the stage's outputs, whose rows have cols and are
// sent under id.
func (t *Task) routers(ctx context.Context, c build.Config, id plan.StageID, to *plan.Output, cols []plan.Column) ([]*Router, error) {
	if c.Exchange == nil {
		return nil, pgerr.Internal("the task has no exchange")
	}
	w, err := c.Exchange.Writer(ctx, &plan.Stage{ID: id, Out: to, Where: c.Stage.Where})
	if err != nil {
		return nil, err
	}
	t.writers = append(t.writers, w)
	ts := make([]types.Type, len(cols))
	for i, col := range cols {
		ts[i] = col.Type
	}
	keys := to.Keys
	if to.Kind != plan.HashBy {
		keys = nil
	}
	turn := new(atomic.Int64)
	out := make([]*Router, len(t.tree.Root))
	for thread := range out {
		var items []op.Item
		var kts []types.Type
		for _, k := range keys {
			kts = append(kts, k.Type())
			if col, ok := k.(*expr.Col); ok {
				if at := ordinal(cols, col.ID); at >= 0 {
					items = append(items, op.Item{Col: at})
					continue
				}
			}
			p, err := eval.Compile(k, cols, c.Env)
			if err != nil {
				return nil, err
			}
			items = append(items, op.Item{Program: p})
		}
		out[thread] = NewRouter(w, to.Kind, ts, items, kts, c.Runtime.Rows(), turn)
	}
	return out, nil
}

// closeSend ends all streams that the task sends, concurrently: their readers may depend on each
// other.
func (t *Task) closeSend(err error) error {
	errs := make([]error, len(t.writers))
	var wg sync.WaitGroup
	for i, w := range t.writers {
		wg.Go(func() { errs[i] = op.Guard("exchange", func() error { return w.CloseSend(err) }) })
	}
	wg.Wait()
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

func ordinal(cols []plan.Column, id expr.ColID) int {
	for i, c := range cols {
		if c.ID == id {
			return i
		}
	}
	return -1
}
