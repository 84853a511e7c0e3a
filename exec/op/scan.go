package op

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/exec/batch"
)

// NewScan reads the splits of a leaf, each by open. A split is read by one
// thread, whichever is free.
func NewScan(rt *Runtime, st *Stats, leaf int, splits Splits, open func(ctx context.Context, sp *Split) (BatchReader, error)) []Operator {
	return Instances(rt, func(int) *scan { return &scan{st: st, leaf: leaf, splits: splits, open: open} })
}

type scan struct {
	st     *Stats
	leaf   int
	splits Splits
	open   func(ctx context.Context, sp *Split) (BatchReader, error)
	last   *Split // cur is of it
	cur    BatchReader
	rest   *batch.Batch // rows of a large batch that are still to be returned
	reuse  bool
	done   bool
}

// AllowReuse implements Reuser: what waits in rest is gone before more is asked for.
func (o *scan) AllowReuse() {
	o.reuse = true
	AllowReuse(o.cur)
}

// BatchBytes is what a batch should have at most: operators hold a few batches
// each that no account counts.
const BatchBytes = 8 << 20

func (o *scan) Open(context.Context) error { return nil }

func (o *scan) Next(ctx context.Context) (*batch.Batch, error) {
	for !o.done {
		if o.rest != nil {
			return o.cut(o.rest), nil
		}
		if o.cur == nil {
			sp, err := o.splits.Next(ctx, o.leaf, o.last)
			if err == io.EOF {
				o.done = true
				break
			}
			if err != nil {
				return nil, err
			}
			o.last = sp
			if o.cur, err = o.open(ctx, sp); err != nil {
				return nil, err
			}
			if o.reuse {
				AllowReuse(o.cur)
			}
			if o.st != nil {
				o.st.Splits.Add(1)
			}
		}
		b, err := o.cur.Next(ctx)
		if err == io.EOF {
			err = o.cur.Close()
			o.cur = nil
			if err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if b.Rows() > 0 {
			return o.cut(b), nil
		}
	}
	return nil, io.EOF
}

// cut returns the first rows of a batch and keeps the others for later.
func (o *scan) cut(b *batch.Batch) *batch.Batch {
	o.rest = nil
	size := b.Bytes()
	if size <= BatchBytes {
		return b
	}
	if n, at := b.Rows(), max(int(BatchBytes*int64(b.N)/size), 1); at < n {
		b, o.rest = b.Slice(0, at), b.Slice(at, n)
	}
	return b
}

func (o *scan) Close() error {
	o.done = true
	o.rest = nil
	if o.cur == nil {
		return nil
	}
	err := o.cur.Close()
	o.cur = nil
	return err
}
