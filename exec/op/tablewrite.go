package op

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// NewTableWrite writes the rows of its input with a writer a thread and returns a row (bytea:
// catalog.Written) for each segment that was written or lost rows. Each Emit, one a thread or none,
// adds columns for the rows that were changed: those of RETURNING. They come in rows of their own,
// where the first column is NULL.
func NewTableWrite(rt *Runtime, in []Operator, writers []*RowWriter, emits []*Emit) []Operator {
	out := make([]Operator, len(in))
	for i := range in {
		o := &tableWrite{rt: rt, in: in[i], w: writers[i]}
		if emits != nil {
			o.emit = emits[i]
			o.w.Done = o.changed
		}
		out[i] = o
	}
	return out
}

// Emit computes the columns that are returned for changed rows: Returning of all, Updated of those
// that were updated. Types are those of the columns of both.
type Emit struct {
	Returning, Updated []Item
	Types              []types.Type
}

type tableWrite struct {
	rt    *Runtime
	in    Operator
	w     *RowWriter
	emit  *Emit // may be nil
	ready []*batch.Batch
	done  bool
}

func (o *tableWrite) Open(ctx context.Context) error {
	o.w.Acct = o.rt.Pool.Account("changed rows", false)
	return o.in.Open(ctx)
}

func (o *tableWrite) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if len(o.ready) > 0 {
			b := o.ready[0]
			o.ready = o.ready[1:]
			return b, nil
		}
		if o.done {
			return nil, io.EOF
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := o.in.Next(ctx)
		if err == nil && b.Rows() > 0 {
			err = o.w.Rows(ctx, b)
		}
		if err == io.EOF {
			o.done = true
			err = o.finish(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// changed keeps what is returned for changed rows until the next call of Next.
func (o *tableWrite) changed(ctx context.Context, src *batch.Batch, updated bool) error {
	if !updated && len(o.emit.Returning) == 0 {
		return nil
	}
	return InHalves(src, func(src *batch.Batch) error {
		n := src.Rows()
		cols, err := Columns(ctx, src, o.emit.Returning)
		if err != nil {
			return err
		}
		if updated {
			keys, err := Columns(ctx, src, o.emit.Updated)
			if err != nil {
				return err
			}
			cols = append(cols, keys...)
		}
		for _, t := range o.emit.Types[len(cols):] {
			cols = append(cols, batch.Nulls(t.Arrow(), n))
		}
		o.ready = append(o.ready, batch.New(append([]arrow.Array{batch.Nulls(types.Bytea.Arrow(), n)}, cols...), n))
		return nil
	})
}

// finish reports what was written.
func (o *tableWrite) finish(ctx context.Context) error {
	list, err := o.w.Finish(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	offs := []int32{0}
	var data []byte
	for _, s := range list {
		data = append(data, s.Marshal()...)
		offs = append(offs, int32(len(data)))
	}
	cols := []arrow.Array{batch.FromOffsets(types.Bytea.Arrow(), offs, data, nil)}
	if o.emit != nil {
		for _, t := range o.emit.Types {
			cols = append(cols, batch.Nulls(t.Arrow(), len(list)))
		}
	}
	o.ready = append(o.ready, batch.New(cols, len(list)))
	return nil
}

// Close aborts a write that has not ended.
func (o *tableWrite) Close() error {
	o.done, o.ready = true, nil
	o.w.Abort()
	if o.w.Acct != nil {
		o.w.Acct.Close()
	}
	return o.in.Close()
}
