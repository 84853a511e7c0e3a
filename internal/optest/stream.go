package optest

import (
	"context"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Reader returns batches, then Err or the end. Closed counts the readers that are
// closed.
type Reader struct {
	Batches []*batch.Batch
	Err     error
	Closed  *int
}

func (r *Reader) Next(ctx context.Context) (*batch.Batch, error) {
	if len(r.Batches) == 0 {
		if r.Err != nil {
			return nil, r.Err
		}
		return nil, io.EOF
	}
	b := r.Batches[0]
	r.Batches = r.Batches[1:]
	return b, ctx.Err()
}

func (r *Reader) Close() error {
	if r.Closed != nil {
		*r.Closed++
		r.Closed = nil
	}
	return nil
}

// Repeating makes strings of Len times the row's number, as eval does: with results of
// more than Limit bytes it reports that the batch is too large.
type Repeating struct{ Len, Limit int }

func (p Repeating) Eval(_ context.Context, b *batch.Batch) (arrow.Array, error) {
	offs, n := []int32{0}, 0
	for k := range b.Rows() {
		row := k
		if b.Sel != nil {
			row = int(b.Sel[k])
		}
		n += p.Len * int(types.DatumAt(types.Int4, b.Cols[0], row).(int64))
		offs = append(offs, int32(n))
	}
	if n > p.Limit && b.Rows() > 1 {
		return nil, pgerr.Wrap(pgerr.ProgramLimitExceeded, vector.ErrBatchTooLarge, "too large")
	}
	return batch.FromOffsets(types.Text.Arrow(), offs, []byte(strings.Repeat("x", n)), nil), nil
}

func (p Repeating) EvalScratch(ctx context.Context, b *batch.Batch) (arrow.Array, error) {
	return p.Eval(ctx, b)
}
