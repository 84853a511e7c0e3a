package op

import (
	"context"

	"github.com/tributarydb/tributary/exec/batch"
)

// NewFilter keeps the rows that filters, one a thread, select.
func NewFilter(in []Operator, filters []Filter) []Operator {
	out := make([]Operator, len(in))
	for i := range in {
		out[i] = &filter{in: in[i], f: filters[i]}
	}
	return out
}

type filter struct {
	in   Operator
	f    Filter
	todo []*batch.Batch // rows of a batch that was too large at once, the first last
}

func (o *filter) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *filter) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		var b *batch.Batch
		var err error
		if n := len(o.todo); n > 0 {
			b, o.todo = o.todo[n-1], o.todo[:n-1]
		} else if b, err = o.in.Next(ctx); err != nil {
			release(o.f)
			return nil, err
		}
		out, err := o.f.Select(ctx, b)
		if n := b.Rows(); TooLong(err, n) {
			o.todo = append(o.todo, b.Slice(n/2, n), b.Slice(0, n/2))
			continue
		}
		if err != nil {
			return nil, err
		}
		if out.Rows() > 0 {
			return out, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// AllowReuse implements Reuser: what waits in todo is gone before more is asked for.
func (o *filter) AllowReuse() { AllowReuse(o.in) }

func (o *filter) Close() error {
	o.todo = nil
	release(o.f)
	return o.in.Close()
}
