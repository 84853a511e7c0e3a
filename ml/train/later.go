package train

import (
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
)

// Distributed rows that were spilled, because the query cannot be read again or that
// does not pay, are not written once more as blocks: blocks are re-created from them
// each time they are opened.

// encodeLater registers the blocks of a leaf's rows to be re-created when they are
// opened.
func (w *Worker) encodeLater(leaf int, spec *feature.Spec, p *encodeTask, v *record.View) (*encodedRows, error) {
	w.later.Store(true)
	train, held := spec.Split(v)
	s := &encodedRows{rows: int64(train.Units()), held: int64(held.Units()), leaves: []int64{int64(train.Units())}}
	for i, part := range []*record.View{train, held} {
		if part.Rows == 0 {
			continue
		}
		windows := len(part.Windows())
		bytes := w.partedBytes(part.Rows) + 4*int64(windows)
		if i == 0 && spec.WeightCol() < 0 && p.classWeights == nil && w.job.targets == nil {
			for range part.Units() {
				s.weight.Add(1)
			}
		} else if err := w.look(spec, p, part, i, s); err != nil {
			return nil, err
		}
		w.encoded.Add(bytes)
		w.blocks.PutMade(2*leaf+i, part.Rows, windows, bytes, func() (*block.Block, error) { return w.remake(leaf, spec, p, i, bytes) })
	}
	return s, nil
}

// look encodes rows to sum their weights, and to check that no target is missing.
func (w *Worker) look(spec *feature.Spec, p *encodeTask, part *record.View, i int, s *encodedRows) error {
	b, err := w.encode(spec, p, part, nil, i)
	if err != nil {
		return err
	}
	defer w.blocks.Unreserve(b.Bytes())
	if i == 0 {
		_, weights := b.Targets()
		for _, x := range weights {
			s.weight.Add(x)
		}
	}
	return w.checkTargets(b)
}

// remake re-creates a block, for which so many bytes are charged: of the rows to train
// on, or of those held out.
func (w *Worker) remake(leaf int, spec *feature.Spec, p *encodeTask, i int, bytes int64) (b *block.Block, err error) {
	if w.job.targets != nil { // separating them takes a copy
		bytes = 0
	}
	err = w.withLeaf(w.cfg.Context, leaf, bytes, func(l *record.Leaf, v *record.View) error {
		if err := l.Draw(w.drawer, v); err != nil {
			return err
		}
		train, held := spec.Split(v)
		part := [...]*record.View{train, held}[i]
		if bytes > 0 {
			b = w.encodePaid(spec, p, part, nil, i)
			return w.order(b, part)
		}
		whole, err := w.encode(spec, p, part, nil, i)
		if err != nil {
			return err
		}
		if err = w.order(whole, part); err == nil {
			b, err = w.part(whole)
		}
		if err != nil {
			w.blocks.Unreserve(whole.Bytes())
			return err
		}
		w.blocks.Unreserve(b.Bytes()) // it was charged before
		return nil
	})
	return b, err
}
