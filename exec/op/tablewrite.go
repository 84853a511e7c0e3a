package op

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// NewTableWrite hands columns values of its input to a writer a lane and gives
// a row (bytea) for each segment that was written. checks, one a lane or none,
// see the rows first.
func NewTableWrite(in []Operator, values []int, checks []*RowCheck, open func(ctx context.Context) (Writer, error)) []Operator {
	out := make([]Operator, len(in))
	for i := range in {
		o := &tableWrite{in: in[i], values: values, open: open}
		if checks != nil {
			o.check = checks[i]
		}
		out[i] = o
	}
	return out
}

type tableWrite struct {
	in     Operator
	values []int
	check  *RowCheck // may be nil
	open   func(ctx context.Context) (Writer, error)
	w      Writer
	done   bool
}

func (o *tableWrite) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *tableWrite) Next(ctx context.Context) (*batch.Batch, error) {
	if o.done {
		return nil, io.EOF
	}
	err := drain(ctx, o.in, func(src *batch.Batch) error {
		cols := make([]arrow.Array, len(o.values))
		for i, at := range o.values {
			cols[i] = src.Cols[at]
		}
		b := src.With(cols)
		if o.check != nil {
			if err := o.check.Rows(ctx, src, b); err != nil {
				return err
			}
		}
		if o.w == nil {
			w, err := o.open(ctx)
			if err != nil {
				return err
			}
			o.w = w
		}
		return o.w.Write(ctx, b)
	})
	if err != nil {
		return nil, err
	}
	o.done = true
	if o.w == nil {
		return nil, io.EOF
	}
	segs, err := o.w.Flush(ctx)
	if err != nil {
		return nil, err
	}
	o.w = nil
	if len(segs) == 0 {
		return nil, io.EOF
	}
	offs := []int32{0}
	var data []byte
	for _, s := range segs {
		data = append(data, s...)
		offs = append(offs, int32(len(data)))
	}
	col := batch.FromOffsets(types.Bytea.Arrow(), offs, data, nil)
	b := batch.New(nil, len(segs))
	b.Cols = append(b.Cols, col)
	return b, nil
}

// Close aborts a write that has not ended.
func (o *tableWrite) Close() error {
	o.done = true
	if o.w != nil {
		o.w.Abort() // its files are swept in any case
		o.w = nil
	}
	return o.in.Close()
}
