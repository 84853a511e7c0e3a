package session

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/cluster/copydata"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Command is what a statement does: what it returns is known, and Run does it. One
// may be run many times.
type Command struct {
	Columns []plan.Column
	Params  []types.Type
	// Shape gives the columns as they are when the command is bound, where a name decides them that
	// may stand for something else by then (EXECUTE, FETCH). nil: they are Columns.
	Shape func() []plan.Column
	// Run starts an execution. The result's columns may differ from Columns only
	// where those are nil or there is a Shape.
	Run func(ctx context.Context, x *Execution) (*Result, error)
	// Repeatable marks a statement that may be run anew where its commit met a
	// conflict.
	Repeatable bool
	// Control commands run in a failed transaction and start none.
	Control bool
}

// Result is an execution's outcome.
type Result struct {
	Columns []plan.Column
	Rows    op.BatchReader   // nil for none
	Copy    *copydata.Stream // nil for none
	Tag     func() string    // once the rows or the bytes are at their end; nil for none
	Free    func() error     // nil for nothing
}

// Close stops the execution and frees what it holds.
func (r *Result) Close() (err error) {
	if r.Rows != nil {
		err = r.Rows.Close()
	}
	if r.Copy != nil {
		err = r.Copy.Close()
	}
	if r.Free != nil {
		err = r.Free()
	}
	return err
}

// rows are the result's rows, with whom it closes.
func (r *Result) rows() op.BatchReader { return &closing{r.Rows, r} }

type closing struct {
	op.BatchReader
	of *Result
}

func (c *closing) Close() error { return c.of.Close() }

// Done is the result of a statement that gives no rows.
func Done(tag string) *Result { return &Result{Tag: func() string { return tag }} }

// Simple is a command without rows or parameters.
func Simple(run func(ctx context.Context, x *Execution) (tag string, err error)) *Command {
	return &Command{Run: func(ctx context.Context, x *Execution) (*Result, error) {
		tag, err := run(ctx, x)
		if err != nil {
			return nil, err
		}
		return Done(tag), nil
	}}
}

// Table is a result of a few rows made here.
func Table(cols []plan.Column, rows [][]types.Datum, tag string) (*Result, error) {
	arrs := make([]arrow.Array, len(cols))
	for i, c := range cols {
		b := array.NewBuilder(memory.DefaultAllocator, c.Type.Arrow())
		for _, r := range rows {
			if err := types.AppendDatum(b, c.Type, r[i]); err != nil {
				return nil, err
			}
		}
		arrs[i] = b.NewArray()
	}
	res := Done(tag)
	res.Columns, res.Rows = cols, &singleBatch{batch.New(arrs, len(rows))}
	return res, nil
}

// TextColumns describes columns of type text.
func TextColumns(names ...string) []plan.Column {
	out := make([]plan.Column, len(names))
	for i, n := range names {
		out[i] = plan.Column{ID: expr.ColID(i + 1), Name: n, Type: types.Text}
	}
	return out
}

// singleBatch gives one batch.
type singleBatch struct{ b *batch.Batch }

func (r *singleBatch) Next(context.Context) (*batch.Batch, error) {
	b := r.b
	if r.b = nil; b == nil {
		return nil, io.EOF
	}
	return b, nil
}

func (r *singleBatch) Close() error { return nil }
