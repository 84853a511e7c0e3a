package rows

import (
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/record"
)

// Distributed rows that were spilled, because the query cannot be read again or that
// does not pay, are not written once more as blocks: blocks are re-created from them
// each time they are opened.

// recreate registers the blocks of a leaf's rows to be re-created when they are
// opened.
func (h *held) recreate(leaf int, e *Encoding, v *record.View) (*Encoded, error) {
	h.recreated.Store(true)
	train, out := h.Spec.Split(v)
	s := encodedOf(train.Units(), out.Units())
	for i, part := range []*record.View{train, out} {
		if part.Rows == 0 {
			continue
		}
		windows := len(part.Windows())
		bytes := h.partedBytes(part.Rows) + 4*int64(windows)
		if i == 0 && h.Spec.WeightCol() < 0 && e.ClassWeights == nil && h.More == nil {
			for range part.Units() {
				s.Weight.Add(1)
			}
		} else if err := h.look(e, part, i, s); err != nil {
			return nil, err
		}
		h.encoded.Add(bytes)
		h.blocks.PutMade(BlockOf(leaf, i == 1), part.Rows, windows, bytes, func() (*block.Block, error) { return h.remake(leaf, e, i, bytes) })
	}
	return s, nil
}

// look encodes rows to sum their weights, and to check that no target is missing.
func (h *held) look(e *Encoding, part *record.View, i int, s *Encoded) error {
	b, err := h.encode(e, part, nil, i)
	if err != nil {
		return err
	}
	defer h.blocks.Unreserve(b.Bytes())
	if i == 0 {
		_, weights := b.Targets()
		s.weigh(weights)
	}
	return h.checkTargets(b)
}

// remake re-creates a block, for which so many bytes are charged: of the rows to train
// on, or of those held out.
func (h *held) remake(leaf int, e *Encoding, i int, bytes int64) (b *block.Block, err error) {
	if h.More != nil { // separating them takes a copy
		bytes = 0
	}
	err = h.withLeaf(h.cfg.Context, leaf, bytes, func(l *record.Leaf, v *record.View) error {
		if err := l.Draw(h.drawer, v); err != nil {
			return err
		}
		train, out := h.Spec.Split(v)
		part := [...]*record.View{train, out}[i]
		if bytes > 0 {
			b = h.encodeCharged(e, part, nil, i)
			return h.order(b, part)
		}
		whole, err := h.encode(e, part, nil, i)
		if err != nil {
			return err
		}
		if err = h.order(whole, part); err == nil {
			b, err = h.part(whole)
		}
		if err != nil {
			h.blocks.Unreserve(whole.Bytes())
			return err
		}
		h.blocks.Unreserve(b.Bytes()) // it was charged before
		return nil
	})
	return b, err
}
