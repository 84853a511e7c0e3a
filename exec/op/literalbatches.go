package op

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
)

// NewStatic returns batches made beforehand: VALUES.
func NewStatic(rt *Runtime, batches []*batch.Batch) []Operator {
	next := new(atomic.Int64)
	return Instances(rt, func(int) *static { return &static{next: next, batches: batches} })
}

type static struct {
	next    *atomic.Int64
	batches []*batch.Batch
}

func (o *static) Open(context.Context) error { return nil }

func (o *static) Next(context.Context) (*batch.Batch, error) {
	i := int(o.next.Add(1)) - 1
	if i >= len(o.batches) {
		return nil, io.EOF
	}
	return o.batches[i], nil
}

func (o *static) Close() error { return nil }
