package op

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/exec/batch"
)

// NewAppend returns the rows of its inputs one after the other: UNION ALL. All
// threads take the inputs in the same order (see the package comment).
func NewAppend(rt *Runtime, inputs [][]Operator) []Operator {
	return Instances(rt, func(i int) *concat {
		o := &concat{}
		for _, in := range inputs {
			o.in = append(o.in, in[i])
		}
		return o
	})
}

type concat struct {
	in []Operator
	at int
}

func (o *concat) Open(ctx context.Context) error { return OpenAll(ctx, o.in...) }

func (o *concat) Next(ctx context.Context) (*batch.Batch, error) {
	for o.at < len(o.in) {
		b, err := o.in[o.at].Next(ctx)
		if err != io.EOF {
			return b, err
		}
		if err := o.in[o.at].Close(); err != nil {
			return nil, err
		}
		o.at++
	}
	return nil, io.EOF
}

func (o *concat) Close() error { return CloseAll(o.in...) }
