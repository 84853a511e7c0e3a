package rows

import (
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/feature"
)

// learns separates the encoders of the further targets from those of the features. The
// numbers are the positions of these targets in blocks.
func (r *base) learns() (*feature.Fitted, []int) {
	if r.More == nil {
		return r.fitted, nil
	}
	return r.fitted.Without(r.More)
}

// checkTargets checks that no target besides the label is missing.
func (r *base) checkTargets(b *block.Block) error {
	_, cols := r.learns()
	for k, c := range cols {
		for i := range b.Rows {
			if v := b.Value(i, c); v != v {
				return feature.ErrLabelNull(r.More[k])
			}
		}
	}
	return nil
}

// part separates the further targets from a block's features. Both blocks are charged.
func (r *base) part(b *block.Block) (*block.Block, error) {
	_, cols := r.learns()
	if cols == nil {
		return b, nil
	}
	if err := r.checkTargets(b); err != nil {
		return nil, err
	}
	if err := r.blocks.Reserve(r.partedBytes(b.Rows) - b.OwnWeightsBytes() + b.MarksBytes()); err != nil { // temporarily there are two copies
		return nil, err
	}
	r.blocks.Unreserve(b.Bytes())
	return b.Part(cols), nil
}

// partedBytes returns the size of a block of so many rows with the targets separated.
func (r *base) partedBytes(rows int) int64 {
	f, cols := r.learns()
	one := block.Bytes(rows, 0, 0, true) / 2 // one number for each row
	return block.Bytes(rows, f.Dense, f.Codes, f.Narrow) + one*int64(len(cols))
}
