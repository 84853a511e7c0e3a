package op

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// NewLimit skips offset rows and returns count (-1: all the rest), counted over all threads. Sorted
// rows come from one thread, so that their order is respected.
func NewLimit(in []Operator, offset, count int64) []Operator {
	seen := new(atomic.Int64)
	out := make([]Operator, len(in))
	for i := range in {
		out[i] = &limit{in: in[i], seen: seen, from: offset, to: offset + count}
		if count < 0 {
			out[i].(*limit).to = 1<<63 - 1
		}
	}
	return out
}

type limit struct {
	in       Operator
	seen     *atomic.Int64
	from, to int64
	done     bool
}

func (o *limit) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *limit) Next(ctx context.Context) (*batch.Batch, error) {
	for !o.done {
		if o.seen.Load() >= o.to {
			break
		}
		b, err := o.in.Next(ctx)
		if err != nil {
			return nil, err
		}
		n := int64(b.Rows())
		start := o.seen.Add(n) - n
		lo, hi := max(o.from-start, 0), min(o.to-start, n)
		if lo >= hi {
			continue
		}
		if lo > 0 || hi < n {
			b = b.Slice(int(lo), int(hi))
		}
		return b, nil
	}
	if !o.done {
		o.done = true
		// The threads below may wait for this one: let them go.
		if err := o.in.Close(); err != nil {
			return nil, err
		}
	}
	return nil, io.EOF
}

func (o *limit) Close() error { return o.in.Close() }

// NewMax1Row fails with 21000 on a second row.
func NewMax1Row(in []Operator) []Operator {
	seen := new(atomic.Int64)
	out := make([]Operator, len(in))
	for i := range in {
		out[i] = &max1{in: in[i], seen: seen}
	}
	return out
}

type max1 struct {
	in   Operator
	seen *atomic.Int64
}

func (o *max1) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *max1) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := o.in.Next(ctx)
	if err != nil {
		return nil, err
	}
	if o.seen.Add(int64(b.Rows())) > 1 {
		return nil, ErrSecondRow()
	}
	return b, nil
}

func (o *max1) Close() error { return o.in.Close() }

// ErrSecondRow returns the error of a scalar subquery that has two rows: 21000.
func ErrSecondRow() error {
	return pgerr.New(pgerr.CardinalityViolation, "more than one row returned by a subquery used as an expression")
}
