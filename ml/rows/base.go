package rows

import (
	"context"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// base is what the rows of a training have in all their forms, one after the other.
type base struct {
	*Training
	cfg      Config
	layout   *record.Layout
	store    record.Config // of the stores of rows as they come
	blocks   *block.Blocks
	tally    *tally // of rows that are not kept; nil: they cannot be read again
	unfitted unfittedBlocks
	gate     mem.Gate // limits the leaves whose rows are in memory
	owners   []int    // of the leaves
	drawer   *holdout.Drawer
	fitted   *feature.Fitted

	termsMemory *mem.Account // of the terms of texts, until rows are encoded; nil: none were seen

	reads          int64
	moved, encoded atomic.Int64
}

func (b *base) Owners() []int { return b.owners }

// OverLeaves implements Rows.
func (b *base) OverLeaves(leaf func(ctx context.Context, leaf int) (family.Message, error)) Work {
	return Work{Leaf: leaf, Sum: b.InPlace}
}

func (b *base) Usage() Usage { return Usage{b.reads, b.moved.Load(), b.encoded.Load()} }

// end frees what is needed until the rows are blocks.
func (b *base) end() {
	if b.tally != nil {
		b.tally.close()
	}
	if b.termsMemory != nil {
		b.termsMemory.Close()
		b.termsMemory = nil
	}
	b.cfg.Send = nil
}

func errNoStats() error {
	return pgerr.Internal("a training task to encode came before one to fit")
}

// own makes so many leaves, all of this node.
func (b *base) own(leaves int) []int {
	b.owners = make([]int, leaves)
	for i := range b.owners {
		b.owners[i] = b.cfg.Self
	}
	return b.owners
}

// encode encodes the block of the training rows (i = 0) or the rows held out (1) of a
// view, from its unfitted block if it has one. The block is charged.
func (b *base) encode(e *Encoding, part *record.View, d *unfitted, i int) (out *block.Block, err error) {
	f := e.Fitted
	n := 4 * int64(len(part.Windows()))
	sparse := int64(0)
	if d == nil {
		sparse = feature.SparseBytes(b.Spec, part)
		n += sparse + block.Bytes(part.Rows, f.Dense, f.Codes, f.Narrow)
	}
	if err := b.blocks.Reserve(n); err != nil {
		b.unfitted.drop(b.blocks) // they can be had again
		if err := b.blocks.Reserve(n); err != nil {
			return nil, err
		}
	}
	if d != nil {
		out = e.Fitted.Finish(b.Spec, [...]*feature.UnfittedBlock{d.Train, d.Held}[i], part, e.ClassWeights)
	} else {
		if out, err = e.Fitted.EncodeLeaf(b.Spec, part, i == 1, e.ClassWeights); err != nil {
			b.blocks.Unreserve(n)
			return nil, err
		}
		b.blocks.Unreserve(sparse - out.Sparse.Bytes())
	}
	if b.Windows != nil {
		b.Windows.Mark(out, part)
	}
	return out, nil
}

// encodeView encodes the blocks of a leaf's rows, from its unfitted block if it has
// one.
func (b *base) encodeView(leaf int, e *Encoding, v *record.View, d *unfitted) (*Encoded, error) {
	train, held := b.Spec.Split(v)
	s := encodedOf(train.Units(), held.Units())
	if d != nil && !e.Fitted.Finishes(d.Unfitted) {
		b.blocks.Unreserve(d.bytes)
		d = nil
	}
	for i, part := range []*record.View{train, held} {
		if part.Rows == 0 {
			continue
		}
		out, err := b.encode(e, part, d, i)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			_, weights := out.Targets()
			s.weigh(weights)
		}
		if err := b.order(out, part); err != nil {
			b.blocks.Unreserve(out.Bytes())
			return nil, err
		}
		if err := b.put(BlockOf(leaf, i == 1), out); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// put keeps a block, which is charged, its further targets apart from its features, and
// releases its bytes if it cannot.
func (b *base) put(id int, whole *block.Block) error {
	bytes := whole.Bytes()
	out, err := b.part(whole)
	if err == nil {
		bytes = out.Bytes()
		err = b.blocks.Put(id, out)
	}
	if err != nil {
		b.blocks.Unreserve(bytes)
		return err
	}
	b.encoded.Add(bytes)
	return nil
}

// twice calls f, which takes memory, and gives it back where it fails: again with more room
// if there was too little.
func (b *base) twice(ctx context.Context, f func() error) error {
	err := f()
	if pgerr.Is(err, pgerr.OutOfMemory) && ctx.Err() == nil {
		b.unfitted.drop(b.blocks)
		if err = b.blocks.Evict(); err == nil {
			err = f()
		}
	}
	return err
}

// withRoom calls f likewise, and where there is memory for one goroutine alone, once more
// when others have finished.
func (b *base) withRoom(ctx context.Context, f func() error) error {
	var failed error // for another reason
	return b.gate.Hold(func() error {
		err := b.twice(ctx, f)
		if err != nil && !pgerr.Is(err, pgerr.OutOfMemory) {
			failed, err = err, nil
		}
		return err
	}, func() error { return failed })
}

// order sorts the rows of a leaf's block, made from a view, where they have an order:
// that of windows, by a column.
func (b *base) order(out *block.Block, v *record.View) error {
	weighted := b.Spec.WeightCol() >= 0
	switch {
	case b.InPlace:
		return nil
	case b.Windows != nil:
		v.OrderTies(out, weighted)
		return nil
	}
	n := record.OrderBytes(out)
	if err := b.blocks.Reserve(n); err != nil {
		return err
	}
	defer b.blocks.Unreserve(n)
	record.Order(out, b.Seed, weighted)
	return nil
}

// ofLeaves is the work that encodes this node's leaves; last is called after the last one.
func (b *base) ofLeaves(f func(ctx context.Context, leaf int) (*Encoded, error), last func() error) Work {
	left := &atomic.Int64{}
	for _, o := range b.owners {
		if o == b.cfg.Self {
			left.Add(1)
		}
	}
	return b.OverLeaves(func(ctx context.Context, leaf int) (family.Message, error) {
		s, err := f(ctx, leaf)
		if err == nil && left.Add(-1) == 0 {
			err = last()
		}
		return s, err
	})
}
