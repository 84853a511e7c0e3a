package train

import (
	"context"

	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/feature"
)

// Rows of windows that there is no memory for are read twice too, where that is worth it: as
// they came they may take more in the file than encoded, for a block has numbers as float32.
// What is trained on is what windows have. Where none are held out, and no row lies between two,
// that is all rows of a partition but for those left over at its end, and where none are left over
// its number of rows says all (dataset.Lengths). Else it takes a partition's rows in their order:
// then they are held.

// flowsWindows reports whether a job's rows of windows may be read again.
func (j *Job) flowsWindows(l *dataset.Layout) bool {
	return j.windows.Counts() && j.split() == "no_split" && j.windows.Ranks(l)
}

// lengthsShare is the memory, as a share of all, that partitions' numbers of rows and rows that wait
// may have in the first reading, which keeps nothing else: where they are more, rows are held.
const lengthsShare = 2

// worth reports whether rows, of which v is a sample that takes so many bytes in the file, are
// rather read again: not if they take less than their block, nor if partitions seem to have rows
// left over, or to be so short that many would be kept until all have come.
func (w *Worker) worth(v *dataset.View, packed int) bool {
	block := w.job.Spec().BlockBytes(v) + 4*int64(v.Rows/w.job.windows.Stride)
	n := int64(w.cfg.Workers)
	written := int64(packed) * (2*n - 1) / n // those of others where they come, and where they belong
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
		return nil, ErrDraw
	}
	if len(short) == 0 || w.Stride > 1 { // of which all nodes have said of all
		return short, nil
	}
	// Another node may have enough of what is too short on one.
	if c, err = r.copies(ctx, &copiesTask{rows: short}); err != nil {
		return nil, err
	}
	short, _ = w.Short(c)
	return short, nil
}

// waited takes rows that waited for their partition to be long enough. There are statistics after
// it, be it of no row.
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

// codedLayout is the form of encoded rows, and of those of windows how they lie.
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

// encodeSeries makes the block of a leaf of encoded rows of windows one that is made when it is
// wanted.
func (w *Worker) encodeSeries(leaf int, l *dataset.Leaf, t *encodeTask) (*encodedRows, error) {
	s := &encodedRows{}
	if l.Rows > 0 {
		var rows, windows int
		look := func() (err error) {
			rows, windows, err = l.Windows(s.weight.Add) // which has called nothing if it had no room
			return err
		}
		if err := w.gate.Enter(look); err != nil {
			return nil, err
		}
		w.gate.Leave()
		if rows != l.Rows { // some are of a partition that was longer before
			return nil, ErrOtherRows
		}
		bytes := w.partedBytes(rows) + 4*int64(windows)
		w.encoded.Add(bytes)
		w.blocks.PutMade(2*leaf, rows, windows, bytes, func() (*dataset.Block, error) { return w.make(l, t, windows) })
		s.rows = int64(windows)
	}
	s.leaves = []int64{s.rows}
	return s, nil
}
