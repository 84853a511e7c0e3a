package rows

import (
	"github.com/tributarydb/tributary/ml/record"
)

// New makes the rows of a training on one node.
func New(t *Training, c Config) (Rows, error) {
	layout, err := record.NewLayout(t.Columns)
	if err != nil {
		return nil, err
	}
	b := &base{Training: t, cfg: c, layout: layout, blocks: c.Blocks, reads: 1,
		store: record.Config{Pool: c.Pool, Temp: c.Temp, Seed: t.Seed, InPlace: t.InPlace, Windows: t.Windows}}
	again := c.Rescan && t.readAgain(layout)
	b.store.Copies = t.Counts || again && !t.InPlace && t.Windows == nil
	if again {
		b.tally = newTally(b)
		b.store.Flow = b.tally.view
		if t.Windows != nil {
			b.tally.lengths = record.NewLengths(t.Windows, c.Pool.Limit()/lengthsShare, b.tally.charge)
			b.store.Worth, b.store.Lengths = b.worth, b.tally.lengths
			b.store.Flow = func(v *record.View) error { return b.tally.lengths.Sift(v, b.tally.view) }
		}
	}
	return b.reader(), nil
}

// Rows of windows that there is no memory for are read twice too, where that is worth
// it: raw rows may take more space in the file than encoded ones, since blocks have
// numbers as float32. Training uses the rows that are in windows. Where no windows are
// held out, and there are no rows between two windows, these are all rows of a
// partition except a remainder at its end, and without a remainder the number of its
// rows suffices (record.Lengths). Otherwise a partition's rows are needed in order:
// then they are held.

// readAgain reports whether rows of this layout may be read again.
func (t *Training) readAgain(l *record.Layout) bool {
	if w := t.Windows; w != nil {
		return w.Counts() && !t.Holds && w.Ranks(l)
	}
	return t.Folds <= mostFolds && !t.Spec.OutOfFold()
}

// reader makes what takes the rows: in place where it can, else records.
func (b *base) reader() reader {
	if b.InPlace && b.Spec.TakesIn() && b.Folds == 0 && !b.cfg.Records { // folds need the rows again
		return &inPlace{base: b}
	}
	return &held{base: b, store: record.NewStore(b.layout, b.store), leaves: map[int]*record.Leaf{}}
}

// lengthsShare bounds the memory, as all of it divided by this, for the partitions'
// numbers of rows and for waiting rows in the first reading, which keeps nothing else:
// where they need more, rows are held.
const lengthsShare = 2

// worth reports whether it is better to read rows again, of which v is a sample that
// takes packed bytes in the file: not if they take less than their block, nor if
// partitions seem to have remainders, or to be so short that many rows would be kept
// until all have been read. Of remainders half of the sample decides: partitions that
// have not come whole, of which each thread may have two, seem to have them as well,
// and where partitions really have them it is nearly all.
func (b *base) worth(v *record.View, packed int) bool {
	size := b.Spec.BlockBytes(v) + 4*int64(v.Rows/b.Windows.Stride)
	n := int64(b.cfg.Workers)
	written := int64(packed) * (2*n - 1) / n // rows of other nodes are written twice: where they are read, and where they belong
	short, uneven := b.Windows.Left(v)
	return written > size-size/16 && 16*short < v.Rows && 2*uneven < v.Rows
}
