package op

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/exec/batch"
)

// NewScan reads the splits of a leaf, each by open. A split is read by one
// lane, whichever is free.
func NewScan(rt *Runtime, st *Stats, leaf int, splits Splits, open func(ctx context.Context, sp *Split) (BatchReader, error)) []Operator {
	return lanes(rt, func(int) *scan { return &scan{st: st, leaf: leaf, splits: splits, open: open} })
}

type scan struct {
	st     *Stats
	leaf   int
	splits Splits
	open   func(ctx context.Context, sp *Split) (BatchReader, error)
	cur    BatchReader
	done   bool
}

func (o *scan) Open(context.Context) error { return nil }

func (o *scan) Next(ctx context.Context) (*batch.Batch, error) {
	for !o.done {
		if o.cur == nil {
			sp, err := o.splits.Next(ctx, o.leaf)
			if err == io.EOF {
				o.done = true
				break
			}
			if err != nil {
				return nil, err
			}
			if o.cur, err = o.open(ctx, sp); err != nil {
				return nil, err
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
			return b, nil
		}
	}
	return nil, io.EOF
}

func (o *scan) Close() error {
	o.done = true
	if o.cur == nil {
		return nil
	}
	err := o.cur.Close()
	o.cur = nil
	return err
}
