package order

import (
	"context"
	"errors"
	"io"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/sql/types"
)

// NewMergeReceive merges readers whose rows ascend by keys. The rows come out
// of thread 0. keys is a list for each reader that may come: programs have
// scratch, so newKeys makes one a reader.
func NewMergeReceive(rt *op.Runtime, ts []types.Type, newKeys func() ([]op.Item, error), specs []kernel.KeySpec, open func(ctx context.Context) ([]op.BatchReader, error)) []op.Operator {
	return op.Instances(rt, func(i int) *mergeReceive {
		return &mergeReceive{rt: rt, types: ts, newKeys: newKeys, specs: specs, open: open, thread: i}
	})
}

type mergeReceive struct {
	rt      *op.Runtime
	types   []types.Type
	newKeys func() ([]op.Item, error)
	specs   []kernel.KeySpec
	open    func(ctx context.Context) ([]op.BatchReader, error)
	thread  int
	m       *merger
	readers []op.BatchReader
	done    bool
}

func (o *mergeReceive) Open(context.Context) error { return nil }

func (o *mergeReceive) Next(ctx context.Context) (*batch.Batch, error) {
	if o.thread > 0 || o.done {
		return nil, io.EOF
	}
	if o.m == nil {
		rs, err := o.open(ctx)
		if err != nil {
			return nil, err
		}
		o.readers = rs
		var in []sortedStream
		for _, r := range rs {
			items, err := o.newKeys()
			if err != nil {
				return nil, err
			}
			in = append(in, &keyedReader{r: r, keys: items, enc: kernel.NewKeyEncoder(o.specs)})
		}
		o.m = newMerger(o.types, in, o.rt.Rows(), false)
	}
	sb, err := o.m.next(ctx)
	if err != nil {
		return nil, err
	}
	if sb == nil {
		o.done = true
		return nil, io.EOF
	}
	return sb.b, nil
}

func (o *mergeReceive) Close() error {
	o.done = true
	var all error
	for _, r := range o.readers {
		all = errors.Join(all, r.Close())
	}
	return all
}

// keyedReader is a reader as a sorted stream.
type keyedReader struct {
	r    op.BatchReader
	keys []op.Item
	enc  *kernel.KeyEncoder
	rest *batch.Batch
}

func (k *keyedReader) next(ctx context.Context) (*sortedBatch, error) {
	b := k.rest
	k.rest = nil
	if b == nil {
		var err error
		if b, err = k.r.Next(ctx); err != nil {
			if err == io.EOF {
				return nil, nil
			}
			return nil, err
		}
		b = kernel.Compact(b)
	}
	if b.N > kernel.ChunkRows {
		b, k.rest = b.Slice(0, kernel.ChunkRows), b.Slice(kernel.ChunkRows, b.N)
	}
	keys := &kernel.Keys{}
	if err := op.AppendKeys(ctx, b, k.keys, k.enc, keys); err != nil {
		return nil, err
	}
	return &sortedBatch{b: b, keys: keys}, nil
}

func (k *keyedReader) close() {}
