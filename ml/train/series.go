package train

import (
	"context"

	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/feature"
)

// Rows of windows that there is no memory for are read twice too, where that is worth
// it: raw rows may take more space in the file than encoded ones, since blocks have
// numbers as float32. Training uses the rows that are in windows. Where no windows are
// held out, and there are no rows between two windows, these are all rows of a
// partition except a remainder at its end, and without a remainder the number of its
// rows suffices (dataset.Lengths). Otherwise a partition's rows are needed in order:
// then they are held.

// flowsWindows reports whether a job's rows of windows may be read again.
func (j *Job) flowsWindows(l *dataset.Layout) bool {
	return j.windows.Counts() && j.split() == "no_split" && j.windows.Ranks(l)
}

// lengthsShare bounds the memory, as all of it divided by this, for the partitions'
// numbers of rows and for waiting rows in the first reading, which keeps nothing else:
// where they need more, rows are held.
const lengthsShare = 2

// worth reports whether it is better to read rows again, of which v is a sample that
// takes packed bytes in the file: not if they take less than their block, nor if
// partitions seem to have remainders, or to be so short that many rows would be kept
// until all have been read.
func (w *Worker) worth(v *dataset.View, packed int) bool {
	block := w.job.Spec().BlockBytes(v) + 4*int64(v.Rows/w.job.windows.Stride)
	n := int64(w.cfg.Workers)
	written := int64(packed) * (2*n - 1) / n // rows of other nodes are written twice: where they are read, and where they belong
	return written > block-block/16 && 16*w.job.windows.Left(v) < v.Rows
}

// shorter returns the partitions that have fewer rows than a window, of rows that are read twice.
func (r *runner) shorter(ctx context.Context) (short []dataset.RowHash, err error) {
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
		return nil, errDraw
	}
	if len(short) == 0 || w.Stride > 1 { // which all nodes have reported
		return short, nil
	}
	// A partition that is too short on one node may have enough rows on another.
	if c, err = r.copies(ctx, &copiesTask{rows: short}); err != nil {
		return nil, err
	}
	short, _ = w.Short(c)
	return short, nil
}

// waited processes rows that waited for their partition to be long enough. Afterwards
// there are statistics, even if of no row.
func (w *Worker) waited(short []dataset.RowHash) error {
	f := &w.flow
	if f.short = short; f.task == nil {
		if err := f.lengths.Rest(w.store.Layout(), short, w.flowedBy); err != nil {
			return err
		}
	}
	st, err := w.job.Spec().Collect(w.cfg.Context, &dataset.View{})
	if err != nil {
		return err
	}
	return f.collected(w.job.Spec(), 0, st)
}

// codedLayout returns the layout of encoded rows, and for windows their order.
func (w *Worker) codedLayout(f *feature.Fitted) (*dataset.Layout, *dataset.Windows) {
	l, ws := dataset.CodedLayout(f.Dense, f.Codes, f.Narrow, w.job.spec.WeightCol() >= 0), w.job.windows
	if ws == nil {
		return l, nil
	}
	by := &dataset.Windows{Length: ws.Length, Stride: ws.Stride}
	for i := range ws.Order {
		by.Order = append(by.Order, i)
	}
	return l.Keyed(len(by.Order)), by
}
