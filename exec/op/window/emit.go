package window

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// emitting is a block whose rows are being returned, with the results of the functions as further
// columns.
type emitting struct {
	p    *block
	cols []arrow.Array // by call; nil: each value may be as long as the partition, so values are computed when their rows are returned
	at   int           // the next row
	long int64         // bytes charged for long values of cols
}

// functions computes the functions over a block and returns its first rows.
func (o *window) functions(ctx context.Context, r *rows, p *block) (*batch.Batch, error) {
	g := &emitting{p: p, cols: make([]arrow.Array, len(o.funcs))}
	for k, f := range o.funcs {
		var err error
		if g.cols[k], err = f.compute(ctx, r, p); err != nil {
			return nil, err
		}
	}
	g.long, o.long = o.long, 0
	o.emitting = g
	return o.emit(ctx)
}

// emit returns the next rows of the block: a batch, or fewer where their values are long.
func (o *window) emit(ctx context.Context) (*batch.Batch, error) {
	g := o.emitting
	o.acct.Shrink(o.long) // the previous batch is not used any more
	o.long = 0
	to := min(g.at+o.rt.Rows(), g.p.n)
	made := make([]arrow.Array, len(o.funcs))
	bounded := true
	for _, long := range []bool{true, false} { // the long values first: they decide how many rows are returned
		for k, col := range g.cols {
			if col != nil || o.funcs[k].writes != long {
				continue
			}
			var err error
			if made[k], err = g.p.calls[k].later(ctx, g.at, to, bounded); err != nil {
				return nil, err
			}
			to, bounded = g.at+made[k].Len(), false
		}
	}
	for k, col := range g.cols {
		if col != nil {
			made[k] = array.NewSlice(col, int64(g.at), int64(to))
		}
	}
	out := batch.New(slices.Concat(g.p.b.Slice(g.at, to).Cols, made), to-g.at)
	if g.at = to; g.at == g.p.n {
		o.emitting = nil
		o.long += g.long
	}
	return out, nil
}

// began reports whether rows of the block were returned already; the block can then no longer be
// spilled to a file.
func (o *window) began() bool { return o.emitting != nil && o.emitting.at > 0 }

// column builds a column of values. One value may take a pass over all rows, and be as long as all
// of them.
func (o *window) column(ctx context.Context, t types.Type, n int, f func(i int) (types.Datum, error)) (arrow.Array, error) {
	return o.columnOf(ctx, t, 0, n, false, f)
}

// longValues is about how many bytes of long values a batch has.
const longValues = 256 << 10

// columnOf is column for rows [from, to), or with bounded set, for only the first of them if the
// values are long.
func (o *window) columnOf(ctx context.Context, t types.Type, from, to int, bounded bool, f func(i int) (types.Datum, error)) (arrow.Array, error) {
	b := array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	b.Reserve(to - from)
	var long, all int64 // bytes not charged yet, and in all
	for i := from; i < to; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := f(i)
		if err != nil {
			return nil, err
		}
		// Arrow's builders double their buffers, and copy the old one.
		n := 3 * types.DatumBytes(d)
		if long, all = long+n, all+n; long > 1<<20 {
			if err := o.insist(ctx, long); err != nil {
				return nil, err
			}
			long = 0
		}
		if err := types.AppendDatum(b, t, d); err != nil {
			return nil, err
		}
		if bounded && all > 3*longValues {
			break
		}
	}
	return b.NewArray(), nil
}
