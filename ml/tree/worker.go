package tree

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// worker implements family.Worker. It keeps the state of rows, block by block.
type worker struct {
	p      *problem
	node   *family.Node
	mu     sync.Mutex
	g      *ground
	blocks map[place]*rows
	query  int // rows of the longest query of the blocks

	scratch sync.Pool // *scratch
	hists   sync.Pool // *[]int64, of partials
}

// place identifies a block.
type place struct {
	leaf int
	held bool
}

// rows is the state of a block's rows.
type rows struct {
	n      int
	held   bool
	bins   []uint8   // see layout
	hash   []uint64  // of contents, where trees see drawn rows or rows are ranked
	scores []float64 // margins, output by output
	// What gradients are of: the scores, or of dart those without the trees that the round leaves out, in left.
	margins, left []float64
	lambda        []float64 // of ranked rows: their gradients, and their curvatures
	// By growing tree: rows' gradients, a permutation of rows, and each node's
	// span of it. Rows that the tree is not grown on come last.
	grad  []int64
	order []uint32
	spans [][]span
	seen  []int // rows in the tree's sample

	weights byte // whether all weights are 1, once known
}

const (
	weightsEven   = 1 + iota // 1 each
	weightsDiffer            // some are not 1
)

// even reports whether the rows' weights, always the same ones, are all 1.
func (k *rows) even(w []float64) bool {
	if k.weights == 0 {
		k.weights = weightsEven
		if slices.ContainsFunc(w[:k.n], func(v float64) bool { return v != 1 }) {
			k.weights = weightsDiffer
		}
	}
	return k.weights == weightsEven
}

// span is a part of the permutation.
type span struct{ from, to uint32 }

func newWorker(p *problem, n *family.Node) *worker {
	return &worker{p: p, node: n, blocks: map[place]*rows{}}
}

// Close implements family.Worker.
func (w *worker) Close() { w.blocks = nil }

// space allocates n zeros for a block, and charges them.
func space[T uint8 | uint32 | uint64 | int64 | float64](w *worker, n int) ([]T, error) {
	var z T
	b, err := w.node.Space(n * int(unsafe.Sizeof(z)))
	if err != nil || n == 0 {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// fresh re-creates the state of a block.
func (w *worker) fresh(at place, b *block.Block) (*rows, error) {
	n := b.Rows
	w.mu.Lock()
	k := w.blocks[at]
	w.mu.Unlock()
	if k != nil && k.n == n { // the step is repeated
		return k, nil
	}
	k = &rows{n: n, held: at.held}
	var err error
	if k.bins, err = space[uint8](w, n*len(w.g.order)); err != nil {
		return nil, err
	}
	if w.p.sampled() && !at.held || w.p.rank != nil {
		if k.hash, err = space[uint64](w, n); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocks[at] = k
	for q := range b.Groups {
		from, to := b.Group(q)
		w.query = max(w.query, to-from)
	}
	return k, nil
}

// of returns the state of a block, which may be nil.
func (w *worker) of(at place, b *block.Block) (*rows, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.blocks[at]
	if k == nil || b != nil && k.n != b.Rows {
		return nil, pgerr.Internal("a step over trees came to a block that was not prepared")
	}
	return k, nil
}

// start makes room for the trees of a round.
func (w *worker) start(k *rows) (err error) {
	per := 1
	if w.p.pairs(w.g) {
		per = 2
	}
	if len(k.spans) == w.p.together || k.held {
		return nil
	}
	if k.grad, err = space[int64](w, w.p.together*k.n*per); err != nil {
		return err
	}
	if k.order, err = space[uint32](w, w.p.together*k.n); err != nil {
		return err
	}
	k.spans, k.seen = make([][]span, w.p.together), make([]int, w.p.together)
	return nil
}

// begin sets a block's initial scores.
func (w *worker) begin(k *rows, base []float64, b *block.Block) (err error) {
	if k.scores == nil {
		if k.scores, err = space[float64](w, k.n*w.p.outputs); err != nil {
			return err
		}
	}
	for o := range w.p.outputs {
		s := k.scores[o*k.n:][:k.n]
		for i := range s {
			s[i] = base[o]
			if w.p.offset > 0 {
				s[i] += b.Value(i, w.p.offset-1)
			}
		}
	}
	return nil
}

// hist returns n zeros, in a freed partial's memory if that suffices.
func (w *worker) hist(n int) []int64 {
	if h, ok := w.hists.Get().(*[]int64); ok && cap(*h) >= n {
		clear((*h)[:n])
		return (*h)[:n]
	}
	return make([]int64, n)
}

// Kept implements family.Keeper.
func (w *worker) Kept(r family.Rows) *family.Scores {
	if w.p.forest {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.blocks[place{r.Leaf, r.Held}]
	if k == nil || k.scores == nil {
		return nil
	}
	margins := make([][]float64, w.p.outputs)
	for o := range margins {
		margins[o] = slices.Clone(k.scores[o*k.n:][:k.n])
	}
	return w.p.link(margins, k.n, w.p.classes)
}
