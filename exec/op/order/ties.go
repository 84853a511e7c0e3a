package order

import (
	"bytes"
	"context"
	"io"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
)

// rowKeys computes the keys of batches.
type rowKeys struct {
	items []op.Item
	enc   *kernel.KeyEncoder
	keys  kernel.Keys
}

func newRowKeys(items []op.Item, specs []kernel.KeySpec) *rowKeys {
	return &rowKeys{items: items, enc: kernel.NewKeyEncoder(specs)}
}

// of returns the keys of b, until the next call.
func (r *rowKeys) of(ctx context.Context, b *batch.Batch) (*kernel.Keys, error) {
	r.keys.Reset()
	err := op.AppendKeys(ctx, b, r.items, r.enc, &r.keys)
	return &r.keys, err
}

// NewLimitTies skips offset rows, gives count, and then those that follow with
// the same keys as the last. The input is sorted by the keys.
func NewLimitTies(in []op.Operator, offset, count int64, keys [][]op.Item, specs []kernel.KeySpec) []op.Operator {
	out := make([]op.Operator, len(in))
	for i := range in {
		out[i] = &limitTies{in: in[i], from: offset, to: offset + count, keys: newRowKeys(keys[i], specs)}
	}
	return out
}

type limitTies struct {
	in       op.Operator
	from, to int64
	seen     int64
	keys     *rowKeys
	last     []byte // key of row number to-1
	hasLast  bool
	done     bool
}

func (o *limitTies) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *limitTies) Next(ctx context.Context) (*batch.Batch, error) {
	for !o.done && o.from < o.to {
		b, err := o.in.Next(ctx)
		if err != nil {
			return nil, err
		}
		n := int64(b.Rows())
		start := o.seen
		o.seen += n
		end := min(o.to-start, n) // rows of b within the count
		if start+n >= o.to {
			k, err := o.keys.of(ctx, b)
			if err != nil {
				return nil, err
			}
			if !o.hasLast {
				o.hasLast = true
				o.last = bytes.Clone(k.At(int(o.to - 1 - start)))
			}
			for end = max(end, 0); end < n && bytes.Equal(k.At(int(end)), o.last); end++ {
			}
			o.done = end < n
		}
		if lo := max(o.from-start, 0); lo < end {
			return b.Slice(int(lo), int(end)), nil
		}
	}
	o.done = true
	if err := o.in.Close(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

func (o *limitTies) Close() error { return o.in.Close() }

// NewDistinctOn keeps the first of the rows with equal keys. The input is
// sorted by the keys first.
func NewDistinctOn(in []op.Operator, keys [][]op.Item, specs []kernel.KeySpec) []op.Operator {
	out := make([]op.Operator, len(in))
	for i := range in {
		out[i] = &distinctOn{in: in[i], keys: newRowKeys(keys[i], specs)}
	}
	return out
}

type distinctOn struct {
	in   op.Operator
	keys *rowKeys
	last []byte
	any  bool
}

func (o *distinctOn) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *distinctOn) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		b, err := o.in.Next(ctx)
		if err != nil {
			return nil, err
		}
		k, err := o.keys.of(ctx, b)
		if err != nil {
			return nil, err
		}
		var sel []int32
		for i := 0; i < k.N; i++ {
			if o.any && bytes.Equal(k.At(i), o.last) {
				continue
			}
			o.any = true
			o.last = append(o.last[:0], k.At(i)...)
			sel = append(sel, int32(i))
		}
		if len(sel) > 0 {
			out := b.With(b.Cols)
			out.Sel = b.SourceRows(sel)
			return out, nil
		}
	}
}

func (o *distinctOn) Close() error { return o.in.Close() }
