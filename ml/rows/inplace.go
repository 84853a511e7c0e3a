package rows

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// inPlace is rows that go straight into tiles: no leaf is sorted, distributed or
// read twice, and each block that a goroutine fills is a leaf.
type inPlace struct {
	*base
	again  *Reread // encodes blocks that are not kept; nil: only their statistics are taken
	mu     sync.Mutex
	idle   []*taker
	all    []*taker
	leaves []*feature.Taken // by the number of the leaf; nil for one that was not kept
	// passing says that blocks are not kept: see tally.
	passing atomic.Bool
	shed    sync.Mutex // held while kept blocks are processed and dropped
}

// taker is the state of one goroutine at a time.
type taker struct {
	*feature.Intake
	hasher *record.Hasher // nil where no copies are counted
	b      *block.Block   // being filled; nil for none
	rows   int            // rows taken before b
	keys   int64          // bytes charged for keys of categories
}

// bytes returns the size of a block for so many rows.
func (n *inPlace) bytes(rows int) int64 {
	size := n.Spec.TakenBytes(rows)
	if n.Counts {
		size += int64(rows * len(block.RowHash{}))
	}
	return size
}

func (n *inPlace) Add(ctx context.Context, b *batch.Batch) error {
	b = kernel.Compact(b)
	t, err := n.checkout()
	if err != nil {
		return err
	}
	defer n.checkin(t)
	if err := t.Open(b); err != nil {
		return err
	}
	for from := 0; from < b.N; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t.b == nil {
			if err := n.start(t); err != nil {
				return err
			}
		}
		at := t.Rows()
		k := min(b.N-from, record.ViewRows, t.b.Rows-at)
		if t.hasher != nil {
			if err := t.hasher.Add(b, from, t.b.Hashes[at:at+k]); err != nil {
				return err
			}
		}
		if err := t.Add(from, k); err != nil {
			return err
		}
		if from += k; t.Rows() == t.b.Rows {
			if err := n.end(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *inPlace) checkout() (*taker, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := len(n.idle); k > 0 {
		t := n.idle[k-1]
		n.idle = n.idle[:k-1]
		return t, nil
	}
	counts := n.Counts
	if err := n.blocks.Reserve(n.takerBytes()); err != nil {
		return nil, err
	}
	t := &taker{Intake: n.Spec.NewIntake(counts)}
	if counts {
		t.hasher = record.NewHasher(n.layout, n.Seed)
	}
	n.all = append(n.all, t)
	return t, nil
}

// takerBytes returns the size of a taker without its block.
func (n *inPlace) takerBytes() int64 {
	if n.Counts {
		return record.HasherBytes
	}
	return n.Spec.StatsBytes()
}

func (n *inPlace) checkin(t *taker) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.idle = append(n.idle, t)
}

// start gives a taker a new block for an eighth of the rows it has taken so far, so
// that leaves are many and of similar sizes, but a small one where memory is scarce.
func (n *inPlace) start(t *taker) error {
	each := (n.bytes(record.ViewRows) + block.WeightBytes(record.ViewRows)) / record.ViewRows // it may get weights
	rows := func(bytes int64) int {
		return max(min(int(bytes/each), takenRows)&^(record.ViewRows-1), record.ViewRows)
	}
	least := rows(leastTaken)
	want := max(min(t.rows/8&^(record.ViewRows-1), rows(mostTaken)), least)
	if n.passing.Load() || !n.blocks.TryReserve(n.bytes(want)) {
		if want = least; n.tally != nil {
			want = rows(min(max(n.cfg.Pool.Limit()/passShare, leastTaken), mostTaken))
			if err := n.shedAll(); err != nil {
				return err
			}
		}
		if err := n.blocks.Reserve(n.bytes(want)); err != nil {
			want = record.ViewRows
			if err := n.flush(); err != nil {
				return err
			}
			if err := n.blocks.Reserve(n.bytes(want)); err != nil {
				return err
			}
		}
	}
	t.b = t.Start(want)
	return nil
}

// end makes a leaf of a taker's block as far as it is filled.
func (n *inPlace) end(t *taker) error {
	b := t.b
	if b == nil {
		return nil
	}
	t.b = nil
	taken := t.End()
	t.rows += taken.Rows
	if more := t.KeyBytes() - t.keys; more > 0 {
		if err := n.blocks.Reserve(more); err != nil {
			return err
		}
		t.keys += more
	}
	if n.passing.Load() {
		return n.pass(b, taken)
	}
	if taken.Held != nil {
		if err := n.blocks.Reserve(taken.HeldBytes()); err != nil {
			return err
		}
	}
	b = n.trim(b, taken.Rows)
	n.mu.Lock()
	leaf := len(n.leaves)
	n.leaves = append(n.leaves, taken)
	n.mu.Unlock()
	return n.blocks.Put(BlockOf(leaf, false), b)
}

// trim copies a block to one of the size of its rows, so that only these stay charged.
// Where there is no memory for both, the block stays as it is and is likely to be
// spilled soon.
func (n *inPlace) trim(b *block.Block, rows int) *block.Block {
	if rows == b.Rows {
		return b
	}
	was, is := n.bytes(b.Rows), n.bytes(rows)
	copied := n.blocks.TryReserve(is)
	if copied {
		n.blocks.Unreserve(was)
	} else {
		n.blocks.Unreserve(was - is)
	}
	return b.First(rows, copied)
}

// flush ends the blocks of idle takers, to free their memory.
func (n *inPlace) flush() error {
	n.mu.Lock()
	idle := n.idle
	n.idle = nil
	n.mu.Unlock()
	var err error
	for _, t := range idle {
		if err == nil {
			err = n.end(t)
		}
	}
	n.mu.Lock()
	n.idle = append(n.idle, idle...)
	n.mu.Unlock()
	return err
}

func (n *inPlace) Assign([]int, []record.Frequent) ([]int, error) {
	var g errgroup.Group
	for _, t := range n.all { // none is in use now
		g.Go(func() error {
			return op.Guard("training", func() error {
				if err := n.end(t); err != nil {
					return err
				}
				return t.Close()
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if len(n.leaves) == 0 { // no rows: a node has at least one leaf
		n.leaves = append(n.leaves, &feature.Taken{})
	}
	return n.own(len(n.leaves)), nil
}

func (n *inPlace) Finish() (buckets []int64, short bool) {
	rows := int64(0)
	n.mu.Lock()
	for _, t := range n.all {
		rows += int64(t.rows)
		if t.b != nil {
			rows += int64(t.Rows())
		}
	}
	n.mu.Unlock()
	return []int64{rows}, n.tally != nil && (n.passing.Load() || n.blocks.Spilled())
}

func (n *inPlace) ReadAgain(owners []int) (*Reread, error) { return n.readAgain(n, owners) }

// release frees what only the taking needed.
func (n *inPlace) release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.all {
		n.blocks.Unreserve(n.takerBytes() + t.keys)
	}
	n.all, n.idle = nil, nil
}

func (n *inPlace) copies() *holdout.Copies {
	var all []*record.Hasher
	for _, t := range n.all {
		if t.hasher != nil {
			all = append(all, t.hasher)
		}
	}
	return record.CopiesOf(all, n.cfg.Self)
}

func (n *inPlace) Copies(of []block.RowHash) (Work, error) {
	if of == nil {
		return ofNode(n.copies()), nil
	}
	return n.OverLeaves(func(_ context.Context, leaf int) (family.Message, error) {
		b, release, err := n.blocks.Open(BlockOf(leaf, false))
		if err != nil || b == nil {
			return &holdout.Copies{}, err
		}
		defer release()
		return holdout.OfBlock(b, of, n.cfg.Self), nil
	}), nil
}

func (n *inPlace) Stats(out *holdout.Holdout, _ []block.RowHash) (Work, error) {
	if n.drawer == nil {
		n.drawer = out.On(n.cfg.Self)
	}
	return n.OverLeaves(n.stats), nil
}

// stats draws what is held out of a leaf, and returns its statistics.
func (n *inPlace) stats(ctx context.Context, leaf int) (family.Message, error) {
	b, release, err := n.blocks.Open(BlockOf(leaf, false))
	if err != nil {
		return nil, err
	}
	defer release()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	taken := n.leaves[leaf]
	if b == nil {
		b = &block.Block{}
	}
	if n.drawer.Draws() && taken.Held == nil && taken.Rows > 0 {
		if err := n.blocks.Reserve(taken.HeldBytes()); err != nil {
			return nil, err
		}
		n.hold(b, taken)
		if taken.Held == nil {
			n.blocks.Unreserve(taken.HeldBytes())
		}
	}
	return n.Spec.CollectTaken(b, taken)
}

// hold marks the rows that are held out.
func (n *inPlace) hold(b *block.Block, taken *feature.Taken) {
	for i, h := range b.Hashes {
		if n.drawer.Drawn(h) {
			taken.Hold(i)
		}
	}
}

func (n *inPlace) NextFold() error { return pgerr.Internal("rows in place have one fold") }

func (n *inPlace) free() error { return nil }

// Close frees nothing else: all that is charged is the blocks'.
func (n *inPlace) Close() error {
	n.base.end()
	return nil
}

func (n *inPlace) Encode(e *Encoding) (Work, error) {
	if n.drawer == nil {
		return Work{}, errNoStats()
	}
	if n.fitted = e.Fitted; !e.Again {
		n.base.end()
	}
	return n.ofLeaves(func(_ context.Context, leaf int) (*Encoded, error) { return n.encodeLeaf(leaf, e) }, func() error {
		if !e.Again {
			n.release()
		}
		return nil
	}), nil
}

// encodeLeaf encodes the leaf's blocks from the unfitted rows.
func (n *inPlace) encodeLeaf(leaf int, p *Encoding) (*Encoded, error) {
	taken, blocks, at := n.leaves[leaf], n.blocks, BlockOf(leaf, false)
	b, release, err := blocks.Open(at)
	if err != nil || b == nil {
		return &Encoded{Leaves: []int64{0}}, err
	}
	defer release()
	if p.Fitted.FinishesTaken(b, taken) {
		if b, err = blocks.Take(at); err != nil {
			return nil, err
		}
		blocks.Unreserve(int64(len(b.Hashes) * len(block.RowHash{})))
		n.leaves[leaf] = nil
		return n.encodeBlock(leaf, b, taken, p, nil)
	}
	return n.encodeBlock(leaf, b, taken, p, func() {
		blocks.Drop(at)
		if taken.Held != nil {
			blocks.Unreserve(taken.HeldBytes())
		}
		n.leaves[leaf] = nil
	})
}

// encodeBlock encodes a leaf's blocks from a block of unfitted rows: in place, or into
// new blocks, after which free releases it.
func (n *inPlace) encodeBlock(leaf int, b *block.Block, taken *feature.Taken, p *Encoding, free func()) (*Encoded, error) {
	rows, held := taken.Parts()
	s, f := encodedOf(rows, held), p.Fitted
	var parts [2]*block.Block
	if f.FinishesTaken(b, taken) {
		if p.ClassWeights != nil {
			if err := n.blocks.Reserve(b.OwnWeightsBytes()); err != nil {
				return nil, err
			}
			b.OwnWeights()
		}
		f.FinishTaken(b, taken, p.ClassWeights)
		parts[0] = b
	} else {
		for i, rows := range [...]int{rows, held} {
			if rows == 0 {
				continue
			}
			if err := n.blocks.Reserve(block.Bytes(rows, f.Dense, f.Codes, f.Narrow)); err != nil {
				return nil, err
			}
			parts[i] = f.EncodeTaken(b, taken, i == 1, p.ClassWeights)
		}
		free()
	}
	for i, b := range parts {
		if b == nil {
			continue
		}
		switch {
		case i > 0:
		case p.ClassWeights == nil: // each row has weight 1
			s.Weight.AddTimes(1, b.Rows)
		default:
			s.addWeights(b)
		}
		if err := n.put(BlockOf(leaf, i == 1), b); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// pass takes the statistics of a block of rows that is not kept, and encodes it in the
// last reading.
func (n *inPlace) pass(b *block.Block, taken *feature.Taken) error {
	if err := n.tally.block(b, taken); err != nil || n.again == nil {
		n.blocks.Unreserve(n.bytes(b.Rows))
		return err
	}
	b = n.trim(b, taken.Rows)
	if n.drawer.Draws() {
		n.hold(b, taken)
	}
	e := n.again.enc
	if e.Fitted.FinishesTaken(b, taken) { // the block itself is kept, encoded in place
		n.blocks.Unreserve(int64(len(b.Hashes) * len(block.RowHash{})))
	}
	s, err := n.encodeBlock(n.again.next(), b, taken, e, func() { n.blocks.Unreserve(n.bytes(b.Rows)) })
	if err == nil {
		n.again.add(s)
	}
	return err
}

func (n *inPlace) drop() { n.passing.Store(true) }

// shedAll has all blocks pass, those that are kept too.
func (n *inPlace) shedAll() error {
	n.shed.Lock()
	defer n.shed.Unlock()
	n.drop()
	n.mu.Lock()
	leaves := slices.Clone(n.leaves)
	n.mu.Unlock()
	for leaf, taken := range leaves {
		if taken == nil {
			continue
		}
		at := BlockOf(leaf, false)
		b, release, err := n.blocks.Open(at)
		if err != nil {
			return err
		}
		if b == nil { // still being filled: drain will find it
			continue
		}
		err = n.tally.block(b, taken)
		release()
		if err != nil {
			return err
		}
		n.blocks.Drop(at)
		n.mu.Lock()
		n.leaves[leaf] = nil
		n.mu.Unlock()
	}
	return nil
}

// drain ends all blocks and keeps none.
func (n *inPlace) drain() error {
	n.drop()
	if err := n.flush(); err != nil {
		return err
	}
	if err := n.shedAll(); err != nil {
		return err
	}
	for _, t := range n.all {
		if err := t.Close(); err != nil {
			return err
		}
		if st := t.Rest(); st != nil {
			if err := n.tally.add(n.tally.bands.Parts()-1, st); err != nil {
				return err
			}
		}
	}
	return nil
}

// addWeights adds the weights of a block to train on.
func (s *Encoded) addWeights(b *block.Block) {
	ones := 0
	for _, x := range b.W[:b.Rows] {
		if x == 1 {
			ones++
		} else {
			s.Weight.Add(x)
		}
	}
	s.Weight.AddTimes(1, ones)
}
