package rows

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/record"
)

// held is rows as records, in memory or in a file, cut into leaves: by the hash of the
// row or of its partition, or in place as they came. Which of these is its store's matter.
type held struct {
	*base
	store *record.Store

	mu     sync.Mutex
	leaves map[int]*record.Leaf // built, until they are encoded
}

func (h *held) Add(ctx context.Context, b *batch.Batch) error { return h.store.Add(ctx, b) }

func (h *held) Finish() (buckets []int64, short bool) { return h.store.Counts(), h.store.Short() }

func (h *held) Assign(owners []int, frequent []record.Frequent) ([]int, error) {
	if h.InPlace {
		var rows int64
		for _, n := range h.store.Counts() {
			rows += n
		}
		return h.own(record.LocalLeaves(rows, h.cfg.Threads)), h.store.Finish()
	}
	h.owners = owners
	if err := h.store.ShareFrequent(frequent, false); err != nil {
		return nil, err
	}
	return owners, h.store.Finish()
}

func (h *held) ReadAgain(owners []int) (*Reread, error) { return h.readAgain(h, owners) }

// Send implements Distributed.
func (h *held) Send(ctx context.Context, owners []int) error {
	g, ctx := errgroup.WithContext(ctx)
	for to := range h.cfg.Workers {
		if to != h.cfg.Self {
			g.Go(func() error {
				return h.cfg.Send(ctx, to, func(put func(rows []byte) error) error { return h.sendTo(owners, to, put) })
			})
		}
	}
	return g.Wait()
}

// sendTo sends the rows of a node's leaves.
func (h *held) sendTo(owners []int, to int, put func(rows []byte) error) error {
	for leaf, owner := range owners {
		if owner != to {
			continue
		}
		from, end := record.LeafBuckets(leaf, len(owners))
		if err := h.store.Take(from, end, func(rows []byte) error {
			h.moved.Add(int64(len(rows)))
			return put(rows)
		}); err != nil {
			return err
		}
	}
	return nil
}

// Put implements Distributed.
func (h *held) Put(rows []byte) error { return h.store.Put(rows) }

// Frequent implements Distributed.
func (h *held) Frequent(total int64) ([]record.Frequent, error) { return h.store.Frequent(total) }

func (h *held) drop() { h.store.Flow() }

func (h *held) drain() error {
	if h.tally.lengths != nil && h.store.Written() { // partitions of windows may be on other nodes in the second reading
		h.tally.lengths.Lose()
		return nil
	}
	return h.store.Drain()
}

func (h *held) copies() *holdout.Copies { return h.store.Copies(h.cfg.Self) }

func (h *held) Copies(of []block.RowHash) (Work, error) {
	if of == nil {
		return ofNode(h.copies()), nil
	}
	return h.OverLeaves(func(ctx context.Context, leaf int) (family.Message, error) {
		var c *holdout.Copies
		return c, h.withLeaf(ctx, leaf, func(_ *record.Leaf, v *record.View) error {
			c = v.Count(of, h.cfg.Self)
			return nil
		})
	}), nil
}

func (h *held) Stats(out *holdout.Holdout, _ []block.RowHash) (Work, error) {
	if h.drawer == nil {
		h.drawer = out.On(h.cfg.Self)
	}
	d := h.drawer
	return h.OverLeaves(func(ctx context.Context, leaf int) (family.Message, error) {
		var st *feature.Stats
		return st, h.withLeaf(ctx, leaf, func(l *record.Leaf, v *record.View) (err error) {
			if err = l.Draw(d, v); err == nil {
				st, err = h.collect(ctx, leaf, v)
			}
			return err
		})
	}), nil
}

// collect returns a leaf's statistics and, where there is plenty of memory for
// it, keeps its unfitted block.
func (h *held) collect(ctx context.Context, leaf int, v *record.View) (*feature.Stats, error) {
	h.unfitted.drop(h.blocks, leaf)
	if feature.Sparse(h.Spec) || feature.Imputes(h.Spec) {
		return h.terms().Collect(ctx, v)
	}
	if !h.Spec.HasUnfitted() {
		return h.Spec.Collect(ctx, v)
	}
	train, out := h.Spec.Split(v)
	n := h.Spec.UnfittedBytes(train.Rows, out.Rows)
	if !h.blocks.TryReserve(n) {
		return h.Spec.Collect(ctx, v)
	}
	st, d, err := h.Spec.CollectUnfitted(ctx, v)
	if err != nil || d == nil {
		h.blocks.Unreserve(n)
		return st, err
	}
	h.unfitted.put(leaf, &unfitted{d, n})
	return st, nil
}

func (h *held) NextFold() error {
	h.unfitted.clear()
	h.drawer, h.fitted = nil, nil
	return nil
}

// terms returns the specification of the rows that charges what statistics of texts and of imputed columns take, until the rows are encoded.
func (h *held) terms() *feature.Spec {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.termsMemory == nil {
		h.termsMemory = h.cfg.Pool.Account("statistics of columns", false)
	}
	s, acct := *h.Spec, h.termsMemory
	s.Charge = func(n int64) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		return acct.Grow(n)
	}
	return &s
}

// leaf returns a leaf's rows, which are built on first use.
func (h *held) leaf(ctx context.Context, leaf int) (*record.Leaf, error) {
	h.mu.Lock()
	l := h.leaves[leaf]
	h.mu.Unlock()
	if l == nil {
		from, to := record.LeafBuckets(leaf, len(h.owners))
		var err error
		if l, err = h.store.MakeLeaf(ctx, from, to); err != nil {
			return nil, err
		}
		h.mu.Lock()
		h.leaves[leaf] = l
		h.mu.Unlock()
	}
	return l, nil
}

// open returns a leaf and its rows, which must be closed.
func (h *held) open(ctx context.Context, leaf int) (*record.Leaf, *record.View, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	l, err := h.leaf(ctx, leaf)
	if err != nil {
		return nil, nil, err
	}
	v, err := l.Open()
	return l, v, err
}

// withLeaf calls f with a leaf and its rows, as many leaves at once as there is memory for.
func (h *held) withLeaf(ctx context.Context, leaf int, f func(l *record.Leaf, v *record.View) error) error {
	var l *record.Leaf
	var v *record.View
	return h.gate.Hold(func() error {
		return h.twice(ctx, func() (err error) {
			l, v, err = h.open(ctx, leaf)
			return err
		})
	}, func() error {
		defer v.Close()
		return f(l, v)
	})
}

func (h *held) Encode(e *Encoding) (Work, error) {
	if h.drawer == nil {
		return Work{}, errNoStats()
	}
	if h.fitted = e.Fitted; !e.Again {
		h.end()
	}
	return h.ofLeaves(func(ctx context.Context, leaf int) (*Encoded, error) { return h.encodeLeaf(ctx, leaf, e) }, func() error {
		if e.Again {
			return nil
		}
		return h.Close() // the rows are no longer needed
	}), nil
}

// encodeLeaf encodes the leaf's blocks.
func (h *held) encodeLeaf(ctx context.Context, leaf int, e *Encoding) (*Encoded, error) {
	var s *Encoded
	err := h.withRoom(ctx, func() error {
		_, v, err := h.open(ctx, leaf)
		if err != nil {
			return err
		}
		defer v.Close()
		s, err = h.encodeView(leaf, e, v, h.unfitted.take(leaf))
		return err
	})
	if err != nil || e.Again {
		return s, err
	}
	h.mu.Lock()
	h.leaves[leaf].Free()
	delete(h.leaves, leaf)
	h.mu.Unlock()
	return s, nil
}

func (h *held) free() error { return h.store.Close() }

func (h *held) Close() error {
	h.end()
	return h.store.Close()
}

// Unfitted returns how many unfitted blocks rows have, for tests.
func Unfitted(r Rows) int {
	h, ok := r.(*held)
	if !ok {
		return 0
	}
	h.unfitted.mu.Lock()
	defer h.unfitted.mu.Unlock()
	return len(h.unfitted.by)
}
