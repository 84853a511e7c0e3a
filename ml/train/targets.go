package train

import (
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/feature"
)

// part parts the targets beside the label from a block's features, and keeps them.
func (w *Worker) part(id int, b *dataset.Block) (_ *dataset.Block, err error) {
	_, cols := w.job.learns(w.fitted)
	if cols == nil {
		return b, nil
	}
	n := dataset.BlockBytes(b.Rows, b.Dense-len(cols), 0, b.X32 != nil)
	if err := w.blocks.Reserve(n); err != nil { // for a while it is there twice
		return nil, err
	}
	spilled := w.blocks.Spilled() // the values go the same way
	if !spilled {
		if err := w.blocks.Reserve(8 * int64(b.Padded()*len(cols))); err != nil { // kept as long as they are
			return nil, err
		}
	}
	parted, more := b.Part(cols)
	for k, values := range more {
		for _, v := range values[:b.Rows] {
			if v != v {
				return nil, feature.ErrLabelNull(w.job.more()[k])
			}
		}
	}
	w.blocks.Unreserve(b.Bytes() + n - parted.Bytes())
	for k, values := range more {
		if !spilled {
			break
		}
		if more[k], err = w.state.Numbers(values); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.more == nil {
		w.more = map[int][][]float64{}
	}
	w.more[id] = more
	return parted, nil
}

// aimed gives a block whose labels are the values of a target.
func (w *Worker) aimed(id int, b *dataset.Block, target int) *dataset.Block {
	if target == 0 {
		return b
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c := *b
	c.Y = w.more[id][target-1]
	return &c
}
