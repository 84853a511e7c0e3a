package train

import (
	"context"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
)

// Rows of windows that there is no memory for are read twice too, where that is worth
// it: raw rows may take more space in the file than encoded ones, since blocks have
// numbers as float32. Training uses the rows that are in windows. Where no windows are
// held out, and there are no rows between two windows, these are all rows of a
// partition except a remainder at its end, and without a remainder the number of its
// rows suffices (record.Lengths). Otherwise a partition's rows are needed in order:
// then they are held.

// flowsWindows reports whether a job's rows of windows may be read again.
func (j *Job) flowsWindows(l *record.Layout) bool {
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
func (w *Worker) worth(v *record.View, packed int) bool {
	block := w.job.Spec().BlockBytes(v) + 4*int64(v.Rows/w.job.windows.Stride)
	n := int64(w.cfg.Workers)
	written := int64(packed) * (2*n - 1) / n // rows of other nodes are written twice: where they are read, and where they belong
	return written > block-block/16 && 16*w.job.windows.Left(v) < v.Rows
}

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
func (w *Worker) waited(short []block.RowHash) error {
	f := &w.flow
	if f.short = short; f.task == nil {
		if err := f.lengths.Rest(w.store.Layout(), short, w.flowedBy); err != nil {
			return err
		}
	}
	st, err := w.job.Spec().Collect(w.cfg.Context, &record.View{})
	if err != nil {
		return err
	}
	return f.collected(w.job.Spec(), 0, st)
}

// codedLayout returns the layout of encoded rows, and for windows their order.
func (w *Worker) codedLayout(f *feature.Fitted) (*record.Layout, *record.Windows) {
	l, ws := record.CodedLayout(f.Dense, f.Codes, f.Narrow, w.job.spec.WeightCol() >= 0), w.job.windows
	if ws == nil {
		return l, nil
	}
	by := &record.Windows{Length: ws.Length, Stride: ws.Stride}
	for i := range ws.Order {
		by.Order = append(by.Order, i)
	}
	return l.Keyed(len(by.Order)), by
}

// encodeSeries registers the block of a leaf of encoded rows of windows to be
// re-created when it is opened.
func (w *Worker) encodeSeries(leaf int, l *record.Leaf, t *encodeTask) (*encodedRows, error) {
	s := &encodedRows{}
	if l.Rows > 0 {
		var rows, windows int
		look := func() (err error) {
			rows, windows, err = l.Windows(s.weight.Add) // it has not called Add if it had no memory
			return err
		}
		if err := w.gate.Hold(look, func() error { return nil }); err != nil {
			return nil, err
		}
		if rows != l.Rows { // a partition was longer in the first reading
			return nil, ErrOtherRows
		}
		bytes := w.partedBytes(rows) + 4*int64(windows)
		w.encoded.Add(bytes)
		w.blocks.PutMade(2*leaf, rows, windows, bytes, func() (*block.Block, error) { return w.make(l, t, windows) })
		s.rows = int64(windows)
	}
	s.leaves = []int64{s.rows}
	return s, nil
}
