package op

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
)

// Item is a column to give: input column Col, or what Program computes where
// that is set.
type Item struct {
	Col     int
	Program Program
}

// NewProject gives items, a list for each lane.
func NewProject(in []Operator, items [][]Item) []Operator {
	out := make([]Operator, len(in))
	for i := range in {
		out[i] = &project{in: in[i], items: items[i]}
	}
	return out
}

type project struct {
	in    Operator
	items []Item
}

func (o *project) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *project) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := o.in.Next(ctx)
	if err != nil {
		return nil, err
	}
	return projectBatch(ctx, b, o.items)
}

func (o *project) Close() error { return o.in.Close() }

// projectBatch computes items over b. A selection is kept where nothing is
// computed, since columns then stay as they are.
func projectBatch(ctx context.Context, b *batch.Batch, items []Item) (*batch.Batch, error) {
	computed := false
	for _, it := range items {
		computed = computed || it.Program != nil
	}
	cols := make([]arrow.Array, len(items))
	for i, it := range items {
		switch {
		case it.Program != nil:
			c, err := it.Program.Eval(ctx, b)
			if err != nil {
				return nil, err
			}
			cols[i] = c
		case computed && b.Sel != nil:
			cols[i] = kernel.Take(b.Cols[it.Col], b.Sel)
		default:
			cols[i] = b.Cols[it.Col]
		}
	}
	if !computed {
		return b.With(cols), nil
	}
	out := batch.New(cols, b.Rows())
	if b.Sel == nil {
		out.Seq = b.Seq
	}
	return out, nil
}

// columns computes items over b as dense arrays of b.Rows() rows.
func columns(ctx context.Context, b *batch.Batch, items []Item) ([]arrow.Array, error) {
	cols := make([]arrow.Array, len(items))
	for i, it := range items {
		switch {
		case it.Program != nil:
			c, err := it.Program.Eval(ctx, b)
			if err != nil {
				return nil, err
			}
			cols[i] = c
		case b.Sel != nil:
			cols[i] = kernel.Take(b.Cols[it.Col], b.Sel)
		default:
			cols[i] = b.Cols[it.Col]
		}
	}
	return cols, nil
}
