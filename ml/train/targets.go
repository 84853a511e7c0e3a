package train

import (
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/feature"
)

// checkTargets checks that no target besides the label is missing.
func (w *Worker) checkTargets(b *block.Block) error {
	_, cols := w.job.learns(w.fitted)
	for k, c := range cols {
		for i := range b.Rows {
			if v := b.Value(i, c); v != v {
				return feature.ErrLabelNull(w.job.more()[k])
			}
		}
	}
	return nil
}

// part separates the further targets from a block's features. Both blocks are charged.
func (w *Worker) part(b *block.Block) (*block.Block, error) {
	_, cols := w.job.learns(w.fitted)
	if cols == nil {
		return b, nil
	}
	if err := w.checkTargets(b); err != nil {
		return nil, err
	}
	if err := w.blocks.Reserve(w.partedBytes(b.Rows) - b.OwnWeightsBytes() + 4*int64(len(b.Windows))); err != nil { // temporarily there are two copies
		return nil, err
	}
	w.blocks.Unreserve(b.Bytes())
	return b.Part(cols), nil
}

// partedBytes returns the size of a block of so many rows with the targets separated.
func (w *Worker) partedBytes(rows int) int64 {
	f, cols := w.job.learns(w.fitted)
	one := block.Bytes(rows, 0, 0, true) / 2 // one number for each row
	return block.Bytes(rows, f.Dense, f.Codes, f.Narrow) + one*int64(len(cols))
}

// aimed returns a block whose labels are the values of a target.
func aimed(b *block.Block, target int) *block.Block {
	if target <= 0 || target > len(b.More) {
		return b
	}
	c := *b
	c.Y = b.More[target-1]
	return &c
}
