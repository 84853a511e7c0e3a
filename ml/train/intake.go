package train

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
)

// intake encodes a job's rows directly into blocks: no leaf is sorted, distributed or
// read twice, and each block that a goroutine fills is a leaf.
type intake struct {
	w      *Worker
	layout *dataset.Layout
	mu     sync.Mutex
	idle   []*taker
	all    []*taker
	leaves []*feature.Taken // by the number of the leaf; nil for one that was not kept
	// flowing says that blocks are not kept: see flow.
	flowing atomic.Bool
	shed    sync.Mutex // held while kept blocks are processed and dropped
}

// taker is the state of one goroutine at a time.
type taker struct {
	*feature.Intake
	hasher *dataset.Hasher // nil where no copies are counted
	b      *dataset.Block  // being filled; nil for none
	rows   int             // rows taken before b
	keys   int64           // bytes charged for keys of categories
}

// Sizes of the blocks that rows are taken into, in bytes.
const (
	leastTaken = 256 << 10 // for the first ones, and where memory is scarce
	mostTaken  = 8 << 20
	takenRows  = dataset.UnitRows
	flowShare  = 64 // blocks that are not kept take at most the memory divided by this
)

// bytes returns the size of a block for so many rows.
func (n *intake) bytes(rows int) int64 {
	size := n.w.job.spec.TakenBytes(rows)
	if n.w.job.counts() {
		size += int64(rows * len(dataset.RowHash{}))
	}
	return size
}

// add takes the counted rows of a batch.
func (n *intake) add(ctx context.Context, b *batch.Batch) error {
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
		k := min(b.N-from, dataset.ViewRows, t.b.Rows-at)
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

func (n *intake) checkout() (*taker, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := len(n.idle); k > 0 {
		t := n.idle[k-1]
		n.idle = n.idle[:k-1]
		return t, nil
	}
	counts := n.w.job.counts()
	if err := n.w.blocks.Reserve(n.takerBytes()); err != nil {
		return nil, err
	}
	t := &taker{Intake: n.w.job.spec.NewIntake(counts)}
	if counts {
		t.hasher = dataset.NewHasher(n.layout, n.w.job.Seed())
	}
	n.all = append(n.all, t)
	return t, nil
}

// takerBytes returns the size of a taker without its block.
func (n *intake) takerBytes() int64 {
	if n.w.job.counts() {
		return dataset.HasherBytes
	}
	return n.w.job.spec.StatsBytes()
}

func (n *intake) checkin(t *taker) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.idle = append(n.idle, t)
}

// start gives a taker a new block for an eighth of the rows it has taken so far, so
// that leaves are many and of similar sizes, but a small one where memory is scarce.
func (n *intake) start(t *taker) error {
	each := (n.bytes(dataset.ViewRows) + dataset.WeightBytes(dataset.ViewRows)) / dataset.ViewRows // it may get weights
	rows := func(bytes int64) int {
		return max(min(int(bytes/each), takenRows)&^(dataset.ViewRows-1), dataset.ViewRows)
	}
	least := rows(leastTaken)
	want := max(min(t.rows/8&^(dataset.ViewRows-1), rows(mostTaken)), least)
	if n.flowing.Load() || !n.w.blocks.TryReserve(n.bytes(want)) {
		if want = least; n.w.flow.may {
			want = rows(min(max(n.w.cfg.Pool.Limit()/flowShare, leastTaken), mostTaken))
			if err := n.letFlow(); err != nil {
				return err
			}
		}
		if err := n.w.blocks.Reserve(n.bytes(want)); err != nil {
			want = dataset.ViewRows
			if err := n.flush(); err != nil {
				return err
			}
			if err := n.w.blocks.Reserve(n.bytes(want)); err != nil {
				return err
			}
		}
	}
	t.b = t.Start(want)
	return nil
}

// end makes a leaf of a taker's block as far as it is filled.
func (n *intake) end(t *taker) error {
	b := t.b
	if b == nil {
		return nil
	}
	t.b = nil
	taken := t.End()
	t.rows += taken.Rows
	if more := t.KeyBytes() - t.keys; more > 0 {
		if err := n.w.blocks.Reserve(more); err != nil {
			return err
		}
		t.keys += more
	}
	if n.flowing.Load() {
		return n.flowed(b, taken)
	}
	if taken.Held != nil {
		if err := n.w.blocks.Reserve(taken.HeldBytes()); err != nil {
			return err
		}
	}
	b = n.trim(b, taken.Rows)
	n.mu.Lock()
	leaf := len(n.leaves)
	n.leaves = append(n.leaves, taken)
	n.mu.Unlock()
	return n.w.blocks.Put(blockOf(family.Rows{Leaf: leaf}), b)
}

// trim copies a block to one of the size of its rows, so that only these stay charged.
// Where there is no memory for both, the block stays as it is and is likely to be
// spilled soon.
func (n *intake) trim(b *dataset.Block, rows int) *dataset.Block {
	if rows == b.Rows {
		return b
	}
	was, is := n.bytes(b.Rows), n.bytes(rows)
	copied := n.w.blocks.TryReserve(is)
	if copied {
		n.w.blocks.Unreserve(was)
	} else {
		n.w.blocks.Unreserve(was - is)
	}
	return b.First(rows, copied)
}

// flush ends the blocks of idle takers, to free their memory.
func (n *intake) flush() error {
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

// finish ends all blocks, when there are no more rows.
func (n *intake) finish() error {
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
		return err
	}
	if len(n.leaves) == 0 { // no rows: a node has at least one leaf
		n.leaves = append(n.leaves, &feature.Taken{})
	}
	return nil
}

// count returns the number of rows so far.
func (n *intake) count() (rows int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.all {
		rows += int64(t.rows)
		if t.b != nil {
			rows += int64(t.Rows())
		}
	}
	return rows
}

// close releases what only the intake needed.
func (n *intake) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.all {
		n.w.blocks.Unreserve(n.takerBytes() + t.keys)
	}
	n.all, n.idle = nil, nil
}

// copies returns the counts of copies of all rows.
func (n *intake) copies(node int) *dataset.Copies {
	var all []*dataset.Hasher
	for _, t := range n.all {
		if t.hasher != nil {
			all = append(all, t.hasher)
		}
	}
	return dataset.CopiesOf(all, node)
}

// countLeaf counts the copies of rows in a leaf.
func (n *intake) countLeaf(leaf int, rows []dataset.RowHash) (*dataset.Copies, error) {
	b, release, err := n.w.blocks.Open(blockOf(family.Rows{Leaf: leaf}))
	if err != nil || b == nil {
		return &dataset.Copies{}, err
	}
	defer release()
	return b.Count(rows, n.w.self), nil
}

// fit draws what is held out of a leaf, and returns its statistics.
func (n *intake) fit(ctx context.Context, leaf int, d *dataset.Drawer) (*feature.Stats, error) {
	b, release, err := n.w.blocks.Open(blockOf(family.Rows{Leaf: leaf}))
	if err != nil {
		return nil, err
	}
	defer release()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	taken := n.leaves[leaf]
	if b == nil {
		b = &dataset.Block{}
	}
	if d.Draws() && taken.Held == nil && taken.Rows > 0 {
		if err := n.w.blocks.Reserve(taken.HeldBytes()); err != nil {
			return nil, err
		}
		for i, h := range b.Hashes {
			if d.Drawn(h) {
				taken.Hold(i)
			}
		}
		if taken.Held == nil {
			n.w.blocks.Unreserve(taken.HeldBytes())
		}
	}
	return n.w.job.spec.CollectTaken(b, taken)
}

// encodeRows encodes the leaf's blocks from the unfitted rows.
func (n *intake) encodeRows(leaf int, p *encodeTask) (*encodedRows, error) {
	taken, blocks, at := n.leaves[leaf], n.w.blocks, blockOf(family.Rows{Leaf: leaf})
	b, release, err := blocks.Open(at)
	if err != nil || b == nil {
		return &encodedRows{leaves: []int64{0}}, err
	}
	defer release()
	if p.fitted.FinishesTaken(b, taken) {
		if b, err = blocks.Take(at); err != nil {
			return nil, err
		}
		blocks.Unreserve(int64(len(b.Hashes) * len(dataset.RowHash{})))
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
func (n *intake) encodeBlock(leaf int, b *dataset.Block, taken *feature.Taken, p *encodeTask, free func()) (*encodedRows, error) {
	rows, held := taken.Parts()
	s, f := &encodedRows{rows: int64(rows), held: int64(held), leaves: []int64{int64(rows)}}, p.fitted
	var parts [2]*dataset.Block
	if f.FinishesTaken(b, taken) {
		if p.classWeights != nil {
			if err := n.w.blocks.Reserve(b.OwnWeightsBytes()); err != nil {
				return nil, err
			}
			b.OwnWeights()
		}
		f.FinishTaken(b, taken, p.classWeights)
		parts[0] = b
	} else {
		for i, rows := range [...]int{rows, held} {
			if rows == 0 {
				continue
			}
			if err := n.w.blocks.Reserve(dataset.BlockBytes(rows, f.Dense, f.Codes, f.Narrow)); err != nil {
				return nil, err
			}
			parts[i] = f.EncodeTaken(b, taken, i == 1, p.classWeights)
		}
		free()
	}
	for i, b := range parts {
		if b == nil {
			continue
		}
		switch {
		case i > 0:
		case p.classWeights == nil: // each row has weight 1
			s.weight.AddTimes(1, b.Rows)
		default:
			s.addWeights(b)
		}
		id := blockOf(family.Rows{Leaf: leaf, Held: i == 1})
		if err := n.w.keep(id, b); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addWeights adds the weights of a block to train on.
func (s *encodedRows) addWeights(b *dataset.Block) {
	ones := 0
	for _, x := range b.W[:b.Rows] {
		if x == 1 {
			ones++
		} else {
			s.weight.Add(x)
		}
	}
	s.weight.AddTimes(1, ones)
}
