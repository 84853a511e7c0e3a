package tree

import (
	"slices"
	"sync"
)

// Deep in a tree there are many nodes with few rows each, whose histograms take more
// time to build, send and search than the rows. The root receives such rows, as bins
// and gradients, and grows the subtrees on its own threads. Sums are of the same
// integers, so the trees are the same, and less is sent than the histograms would be.

// maxTakenRows bounds the rows of a node that are sent to the root.
const maxTakenRows = 1 << 12

// rowBytes returns the size of a row sent to the root.
func rowBytes(p *problem, g *ground) int64 {
	if p.pairs(g) {
		return int64(len(g.order)) + 16
	}
	return int64(len(g.order)) + 8
}

// small reports whether a node's rows are to be sent to the root. Of best-first trees that is the
// first node, or none: most of a subtree may not be needed.
func (t *grower) small(n *growNode) bool {
	levels := t.p.depth - n.depth - 1 // levels of histograms below the node
	if t.p.leaves > 0 && n.depth > 0 || n.rows > t.p.fewRows || levels <= 0 {
		return false
	}
	nodes := int64(2)<<min(levels, 16) - 2
	if t.p.leaves > 0 {
		nodes = min(nodes, 2*int64(t.p.leaves))
	}
	bins := int64(t.g.total)
	if n.cols != nil {
		bins = bins * int64(len(n.cols)) / int64(len(t.g.order))
	}
	return n.rows*rowBytes(t.p, t.g) <= min(nodes, 2*n.rows)*bins*int64(8*t.p.channels)
}

// takenRows arranges rows that were sent to the root like those of a block.
func takenRows(p *problem, g *ground, list []taken) (*rows, error) {
	n, per, width := 0, 1, len(g.order)
	if p.pairs(g) {
		per = 2
	}
	for _, t := range list {
		rows := len(t.Grad) / per
		if width == 0 || rows*width != len(t.Bins) || rows*per != len(t.Grad) {
			return nil, errShape()
		}
		n += rows
	}
	k := &rows{n: n, bins: make([]uint8, n*width), grad: make([]int64, 0, n*per), order: make([]uint32, n), spans: [][]span{{{0, uint32(n)}}}}
	at := 0
	for _, t := range list {
		rows := len(t.Grad) / per
		for _, gr := range g.groups {
			w := len(gr.cols)
			to := k.bins[n*gr.first+at*w:]
			for r := range rows {
				copy(to[r*w:][:w], t.Bins[r*width+gr.first:])
			}
		}
		k.grad = append(k.grad, t.Grad...)
		at += rows
	}
	for i := range k.order {
		k.order[i] = uint32(i)
	}
	for _, c := range g.order {
		col := &g.cols[c]
		for r, bins := 0, col.of(k.bins, n); r < n; r++ {
			if int(bins[r*col.width]) >= col.stride {
				return nil, errShape()
			}
		}
	}
	return k, nil
}

// subtreeGrower grows subtrees from the rows of their root. It is for one goroutine.
type subtreeGrower struct {
	adder *adder
	s     *searcher
	task  task
	hist  []int64 // scratch, as are
	pairs []int64
	few   sparse
}

func newSubtreeGrower(p *problem, g *ground, s *searcher) *subtreeGrower {
	k := p.packing(g, 1)
	return &subtreeGrower{adder: newAdder(p, g), s: s.alone(), pairs: []int64{}, task: task{fit: p.rowsFit(g, k)}, few: sparse{wide: p.pairs(g), shift: k.shift}}
}

// grow returns the subtree grown below a node; the node itself is its number 0.
func (w *subtreeGrower) grow(t *grower, at int32, k *rows) []growNode {
	kept := 0
	sub := &grower{local: true, p: t.p, g: t.g, s: w.s, seed: t.seed, cols: t.cols, nodes: []growNode{t.nodes[at]}, kept: &kept, spare: t.spare, base: t.base, perRow: t.perRow}
	sub.nodes[0].hist = nil
	for open, more := []int32{0}, t.p.leaves; len(open) > 0; {
		at := len(open) - 1
		if t.p.leaves > 0 {
			if more--; more <= 1 { // the last split is known, and made when the tree is finished
				break
			}
			for k := range open {
				if sub.compare(open[k], open[at]) < 0 {
					at = k
				}
			}
		}
		i := open[at]
		open = slices.Delete(open, at, at+1)
		s, builds, work := sub.expand(i)
		if !work {
			continue
		}
		goes := sidesOf(&s.Set)
		left, right := w.adder.split(k, s, &goes)
		sub.counted(i, int64(left), int64(right))
		for _, b := range builds {
			if sub.nodes[i].hist == nil && sub.sparse(&sub.nodes[b.Node]) {
				w.search(sub, b, k)
				continue
			}
			h := w.histogram(k, b)
			w.pairs = slices.Grow(w.pairs[:0], 2*len(h))
			looks, apart := sub.built(b, i, h, w.pairs)
			apart()
			for l := range looks {
				looks[l].find(w.s)
				looks[l].keep()
			}
		}
		for c := s.Left + 1; c >= s.Left; c-- {
			if sub.nodes[c].best != nil {
				open = append(open, c)
			}
		}
	}
	return sub.nodes
}

// sparse reports whether a node has so few rows that their bins are worth finding one by one.
func (t *grower) sparse(n *growNode) bool {
	fits := t.p.pairs(t.g) || n.rows <= int64(t.p.rowsFit(t.g, t.p.packing(t.g, 1)))
	return !t.p.votes() && fits && n.rows*int64(len(t.g.order)) <= sparseRows*int64(t.g.total)
}

// sparseRows is up to how many rows for each bin of a column looking for the bins that have some takes less time than
// a histogram of all bins, its search and its subtraction from the parent's.
const sparseRows = 2

// search finds the best split of a node of few rows.
func (w *subtreeGrower) search(t *grower, b build, k *rows) {
	n := &t.nodes[b.Node]
	n.wanted = false
	w.task.groups = w.adder.columns(w.task.groups, b.Cols)
	allowed, sp := t.allowed(n), k.spans[0][b.Node]
	w.few.fill(k, t.g, w.task.groups, width(t.g, b.Cols), allowed, k.order[sp.from:sp.to])
	n.best = w.s.best(n, n.cols, allowed, nil, &w.few, t.perRow)
}

// histogram makes the histogram of a node. It is valid until the next call.
func (w *subtreeGrower) histogram(k *rows, b build) []int64 {
	g := w.adder.g
	t := &w.task
	t.build, t.len = b, width(g, b.Cols)*w.adder.p.channels
	n := t.len
	if b.Wide {
		n *= 2
		t.packed = slices.Grow(t.packed[:0], t.len)[:t.len] // flush left it zeroed
	}
	w.hist = slices.Grow(w.hist[:0], n)[:n]
	clear(w.hist)
	t.groups = w.adder.columns(t.groups, b.Cols)
	sp := k.spans[0][b.Node]
	w.adder.build(k, t, w.hist, k.order[sp.from:sp.to])
	w.adder.flush(t, w.hist)
	return w.hist
}

// growSubtrees receives the rows of nodes and grows the subtrees below them.
func (d *driver) growSubtrees(g *grown) error {
	if len(d.takes) == 0 {
		return nil
	}
	if len(g.Taken) != len(d.takes) {
		return errShape()
	}
	grown := make([][]growNode, len(d.takes))
	var mu sync.Mutex
	var used []*subtreeGrower
	err := d.node.Each(len(grown), func() func(int) error {
		mu.Lock()
		defer mu.Unlock()
		var w *subtreeGrower
		if n := len(d.idle); n > 0 {
			w, d.idle = d.idle[n-1], d.idle[:n-1]
			w.s.gUnit, w.s.hUnit = d.s.gUnit, d.s.hUnit
		} else {
			w = newSubtreeGrower(d.p, d.g, d.s)
		}
		used = append(used, w)
		return func(i int) error {
			k, err := takenRows(d.p, d.g, g.Taken[i])
			if err != nil {
				return err
			}
			grown[i] = w.grow(d.growers[d.takes[i].Tree], d.takes[i].Node, k)
			return nil
		}
	})
	d.idle = append(d.idle, used...)
	if err != nil {
		return err
	}
	for i, t := range d.takes {
		d.growers[t.Tree].insertSubtree(t.Node, grown[i])
	}
	return nil
}

// insertSubtree inserts the subtree grown below a node.
func (t *grower) insertSubtree(at int32, sub []growNode) {
	t.drop(at)
	first := int32(len(t.nodes)) - 1
	for i := range sub {
		if sub[i].left != 0 {
			sub[i].left += first
		}
		sub[i].hist = nil
	}
	t.nodes[at] = sub[0]
	t.nodes = append(t.nodes, sub[1:]...)
}
