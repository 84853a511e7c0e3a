package op

import (
	"context"

	"github.com/tributarydb/tributary/exec/batch"
)

// NewFilter keeps the rows that filters, one a lane, select.
func NewFilter(in []Operator, filters []Filter) []Operator {
	out := make([]Operator, len(in))
	for i := range in {
		out[i] = &filter{in: in[i], f: filters[i]}
	}
	return out
}

type filter struct {
	in Operator
	f  Filter
}

func (o *filter) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *filter) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		b, err := o.in.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b, err = o.f.Select(ctx, b); err != nil {
			return nil, err
		}
		if b.Rows() > 0 {
			return b, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func (o *filter) Close() error { return o.in.Close() }
