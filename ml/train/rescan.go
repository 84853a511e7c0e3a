package train

import (
	"bytes"
	"context"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/rows"
)

// ErrOtherRows is the error of a query that returns other rows when it is read again: see
// rows.ErrOtherRows.
var ErrOtherRows = rows.ErrOtherRows

// shorter returns the partitions that have fewer rows than a window, of rows that are read twice.
func (r *runner) shorter(ctx context.Context) (short []block.RowHash, err error) {
	w := r.job.windows
	if r.in.Rescan == nil || w == nil {
		return nil, nil
	}
	c, err := r.copies(ctx, &copiesTask{})
	if err != nil {
		return nil, err
	}
	short, whole := w.Short(c)
	if c.Missed > 0 || !whole {
		return nil, rows.ErrDraw
	}
	if len(short) == 0 || w.Stride > 1 { // which all nodes have reported
		return short, nil
	}
	// A partition that is too short on one node may have enough rows on another.
	if c, err = r.copies(ctx, &copiesTask{Rows: short}); err != nil {
		return nil, err
	}
	short, _ = w.Short(c)
	return short, nil
}

// rescan reads the query again where the workers do not hold its rows. It fails where
// the second reading's rows would have produced other encoders than the first's: then
// the query returned other rows.
func (r *runner) rescan(ctx context.Context, t *encodeTask) error {
	if r.in.Rescan == nil {
		return nil
	}
	a := &rescanTask{encodeTask: *t}
	if r.job.SpreadsCopies(record.Leaves(r.in.Rows)) {
		c, err := r.copies(ctx, &copiesTask{})
		if err != nil {
			return err
		}
		a.count = c.Exceeding(record.FrequentIn)
	}
	if _, err := r.reduce(ctx, a); err != nil {
		return err
	}
	if err := r.in.Rescan(ctx); err != nil {
		return err
	}
	st, err := r.statistics(ctx, r.holdout)
	if err != nil {
		return err
	}
	fitted, cw, err := r.encoders(st)
	if err != nil {
		return err
	}
	var first, second canon.E
	r.fitted.Encode(&first)
	first.F64s(r.cw)
	first.I64(r.seen)
	first.I64(r.stats.Held)
	fitted.Encode(&second)
	second.F64s(cw)
	second.I64(st.Rows + st.Held)
	second.I64(st.Held)
	if !bytes.Equal(first.B, second.B) {
		return ErrOtherRows
	}
	return nil
}
