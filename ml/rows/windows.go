package rows

import (
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

// lengthsShare bounds the memory, as all of it divided by this, for the partitions'
// numbers of rows and for waiting rows in the first reading, which keeps nothing else:
// where they need more, rows are held.
const lengthsShare = 2

// worth reports whether it is better to read rows again, of which v is a sample that
// takes packed bytes in the file: not if they take less than their block, nor if
// partitions seem to have remainders, or to be so short that many rows would be kept
// until all have been read.
func (b *base) worth(v *record.View, packed int) bool {
	size := b.Spec.BlockBytes(v) + 4*int64(v.Rows/b.Windows.Stride)
	n := int64(b.cfg.Workers)
	written := int64(packed) * (2*n - 1) / n // rows of other nodes are written twice: where they are read, and where they belong
	return written > size-size/16 && 16*b.Windows.Left(v) < v.Rows
}

// waited processes rows that waited for their partition to be long enough; short are the
// partitions that are not. Afterwards there are statistics, even if of no row.
func (r *Reread) waited(short []block.RowHash) error {
	if r.short = short; r.enc == nil {
		if err := r.tally.lengths.Rest(r.layout, short, r.tally.view); err != nil {
			return err
		}
	}
	st, err := r.Spec.Collect(r.cfg.Context, &record.View{})
	if err != nil {
		return err
	}
	return r.tally.add(0, st)
}

// codedLayout returns the layout of encoded rows, and for windows their order.
func (b *base) codedLayout(f *feature.Fitted) (*record.Layout, *record.Windows) {
	l, w := record.CodedLayout(f.Dense, f.Codes, f.Narrow, b.Spec.WeightCol() >= 0), b.Windows
	if w == nil {
		return l, nil
	}
	by := &record.Windows{Length: w.Length, Stride: w.Stride}
	for i := range w.Order {
		by.Order = append(by.Order, i)
	}
	return l.Keyed(len(by.Order)), by
}
