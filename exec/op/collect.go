package op

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// NewCollect passes all rows to a collector and returns a row a thread: how many they were.
func NewCollect(in []Operator, to Collector) []Operator {
	out := make([]Operator, len(in))
	for i := range in {
		out[i] = &collect{in: in[i], to: to}
	}
	return out
}

type collect struct {
	in   Operator
	to   Collector
	done bool
}

func (o *collect) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *collect) Next(ctx context.Context) (*batch.Batch, error) {
	if o.done {
		return nil, io.EOF
	}
	var rows int64
	err := Drain(ctx, o.in, func(b *batch.Batch) error {
		rows += int64(b.Rows())
		return o.to.Add(ctx, b)
	})
	if err != nil {
		return nil, err
	}
	o.done = true
	b := batch.New(nil, 1)
	b.Cols = append(b.Cols, batch.FromSlice(types.Int8.Arrow(), []int64{rows}, nil))
	return b, nil
}

func (o *collect) Close() error { return o.in.Close() }
