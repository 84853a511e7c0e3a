package write

import (
	"context"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/plan"
)

// keyedRow reads the row of a query with a generic plan that filters and computes what a key finds, without a task; nil where
// the plan must run.
func keyedRow(r *Executor, q *plan.Query, idle *planner.Idle) (op.BatchReader, error) {
	schema := q.Root.Schema()
	at := make([]int, len(q.Cols))
	for i, c := range q.Cols {
		if at[i] = slices.IndexFunc(schema, func(s plan.Column) bool { return s.ID == c.ID }); at[i] < 0 {
			return nil, nil
		}
	}
	b, _, known, err := rowsInPlace(r, idle, q.Root, nil)
	if err != nil || !known {
		return nil, err
	}
	if b.Rows() == 0 {
		return &oneBatch{}, nil
	}
	b = kernel.Compact(b)
	cols := make([]arrow.Array, len(at))
	for i, at := range at {
		cols[i] = b.Cols[at]
	}
	return &oneBatch{batch.New(cols, b.N)}, nil
}

// oneBatch gives a batch, or none.
type oneBatch struct{ b *batch.Batch }

// Next implements op.BatchReader.
func (o *oneBatch) Next(context.Context) (*batch.Batch, error) {
	if o.b == nil {
		return nil, io.EOF
	}
	b := o.b
	o.b = nil
	return b, nil
}

// Close implements op.BatchReader.
func (o *oneBatch) Close() error { return nil }
