package op

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
)

// Item is a column of the result: input column Col, or what Program computes where that is set.
type Item struct {
	Col     int
	Program Program
}

// NewProject returns items, a list for each thread.
func NewProject(in []Operator, items [][]Item) []Operator {
	out := make([]Operator, len(in))
	for i := range in {
		out[i] = newProject(in[i], items[i])
	}
	return out
}

// NewProjectRows is NewProject one row after the other, for items that see what
// the ones before them did.
func NewProjectRows(in []Operator, items [][]Item) []Operator {
	out := NewProject(in, items)
	for _, o := range out {
		p := o.(*project)
		p.rows, p.most = 1, 1
	}
	return out
}

type project struct {
	in    Operator
	items []Item
	todo  []*batch.Batch // rows of a batch that was too large at once, the first last
	rows  int            // how many rows at a time keep results small
	most  int            // how many they may be
	wary  bool           // a larger number was too many once
	reuse bool           // computed columns lie in their programs' scratch memory
}

// projectProbe is how many rows are computed before it is known how long results
// are.
const projectProbe = 256

func (o *project) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *project) Next(ctx context.Context) (*batch.Batch, error) {
	var b *batch.Batch
	if n := len(o.todo); n > 0 {
		b, o.todo = o.todo[n-1], o.todo[:n-1]
	} else {
		var err error
		if b, err = o.in.Next(ctx); err != nil {
			o.release()
			return nil, err
		}
	}
	for {
		n := b.Rows()
		if n > o.rows {
			o.todo = append(o.todo, b.Slice(o.rows, n))
			n, b = o.rows, b.Slice(0, o.rows)
		}
		out, err := projectBatch(ctx, b, o.items, o.reuse)
		if TooLong(err, n) {
			o.rows, o.wary = n/2, true
			continue
		}
		if err == nil && n > 0 {
			o.rows = max(int(min(BatchBytes*int64(n)/max(out.Bytes(), 1), int64(o.most))), 1)
			if o.wary {
				// intermediate values may have been longer than the results
				o.rows = min(o.rows, n+n/8+1)
			}
		}
		return out, err
	}
}

func newProject(in Operator, items []Item) *project {
	p := &project{in: in, items: items, rows: 1 << 20, most: 1 << 20}
	for _, it := range items {
		if it.Program != nil {
			p.rows = projectProbe
		}
	}
	return p
}

// AllowReuse implements Reuser: what waits in todo is gone before more is asked for.
func (o *project) AllowReuse() {
	o.reuse = true
	AllowReuse(o.in)
}

func (o *project) release() {
	for _, it := range o.items {
		release(it.Program)
	}
}

func (o *project) Close() error {
	o.todo = nil
	o.release()
	return o.in.Close()
}

// projectBatch computes items over b. A selection is kept where nothing is
// computed, since columns then stay as they are.
func projectBatch(ctx context.Context, b *batch.Batch, items []Item, reuse bool) (*batch.Batch, error) {
	computed := false
	for _, it := range items {
		computed = computed || it.Program != nil
	}
	cols := make([]arrow.Array, len(items))
	for i, it := range items {
		switch {
		case it.Program != nil:
			eval := it.Program.Eval
			if reuse {
				eval = it.Program.EvalScratch
			}
			c, err := eval(ctx, b)
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

// Columns computes items over b as dense arrays of b.Rows() rows.
func Columns(ctx context.Context, b *batch.Batch, items []Item) ([]arrow.Array, error) {
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
