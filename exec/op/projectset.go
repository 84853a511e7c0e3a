package op

import (
	"bytes"
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// SetProgram runs set-returning calls in lock step: eval.Sets. After Start, Next returns up to max
// rows: parents are the input rows they belong to, among those that count; cols the calls' columns;
// ord the number of a row among its parent's, from 1. io.EOF is the end of the batch.
type SetProgram interface {
	Start(ctx context.Context, b *batch.Batch) error
	Next(ctx context.Context, max int) (parents []int32, cols []arrow.Array, ord []int64, err error)
}

// NewProjectSet returns, for each row of the programs (one a thread), the columns keep of its input
// row, the calls' columns, and with ordinality its number.
func NewProjectSet(rt *Runtime, in []Operator, keep []int, programs []SetProgram, ordinality bool) []Operator {
	return Instances(rt, func(i int) *projectSet {
		return &projectSet{in: in[i], keep: keep, p: programs[i], ord: ordinality, max: rt.Rows()}
	})
}

type projectSet struct {
	in   Operator
	keep []int
	p    SetProgram
	ord  bool
	max  int
	b    *batch.Batch
}

func (o *projectSet) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *projectSet) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if o.b == nil {
			b, err := o.in.Next(ctx)
			if err != nil {
				return nil, err
			}
			if b.Rows() == 0 {
				continue
			}
			if err := o.p.Start(ctx, b); err != nil {
				return nil, err
			}
			o.b = b
		}
		parents, got, ord, err := o.p.Next(ctx, o.max)
		if err == io.EOF {
			o.b = nil
			continue
		}
		if err != nil {
			return nil, err
		}
		cols := make([]arrow.Array, 0, len(o.keep)+len(got)+1)
		src := o.b.SourceRows(parents)
		for _, k := range o.keep {
			cols = append(cols, kernel.Take(o.b.Cols[k], src))
		}
		cols = append(cols, got...)
		if o.ord {
			cols = append(cols, numbers(ord))
		}
		return batch.New(cols, len(parents)), nil
	}
}

// numbers is a column of ordinal numbers, NULL for 0.
func numbers(ord []int64) arrow.Array {
	var valid []byte
	for i, n := range ord {
		if n != 0 {
			continue
		}
		if valid == nil {
			valid = bytes.Repeat([]byte{0xff}, batch.BitmapBytes(len(ord)))
		}
		valid[i>>3] &^= 1 << (i & 7)
	}
	return batch.FromSlice(types.Int8.Arrow(), ord, valid)
}

func (o *projectSet) Close() error { return o.in.Close() }
