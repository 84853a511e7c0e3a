package train

import (
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// cut sets a part's items, made of the worker's leaves, and returns the tree in which
// its partials are merged: over nodes, or over leaves. A mini-batch concerns the leaves
// that have rows of it, and its tree is over those, or their owners: no other worker
// takes part but the first one, which gets the result.
func (w *Worker) cut(p *Part, t *stepTask) (*reduce.Plan, error) {
	plan, nodes := w.plan, w.nodes
	p.place = w.cfg.Self
	leaf := func(leaf, node int, s *block.Slice) {
		if w.owners[leaf] != w.cfg.Self {
			return
		}
		if t == nil {
			p.items = append(p.items, &item{leaf: leaf, node: node})
			return
		}
		p.items = append(p.items, w.itemsOf(p, t, leaf, node, s)...)
	}
	if t == nil || t.step.Batch == nil {
		for i := range w.owners {
			leaf(i, i, nil)
		}
	} else {
		owners := make([]int, len(t.slices))
		for i, s := range t.slices {
			if s.Leaf >= len(w.owners) {
				return nil, pgerr.New(pgerr.DataCorrupted, "a mini-batch has rows of leaf %d of %d", s.Leaf, len(w.owners))
			}
			owners[i] = w.owners[s.Leaf]
			leaf(s.Leaf, i, &s)
		}
		// The largest first, so that the last ones are small and goroutines end together; but
		// leaf by leaf where blocks may lie in the file.
		if !w.blocks.Spilled() {
			slices.SortStableFunc(p.items, func(a, b *item) int { return b.size() - a.size() })
		}
		plan = reduce.NewPlan(owners)
		some := slices.Compact(slices.Sorted(slices.Values(owners)))
		nodes, p.place = reduce.NewPlan(some), slices.Index(some, w.cfg.Self)
	}
	if p.whole {
		plan = nodes
	}
	if w.job.Gathers() {
		return plan.Gather(0), nil
	}
	return plan.To(0), nil
}

// size returns how many rows an item has.
func (it *item) size() (n int) {
	for _, r := range it.rows {
		n += r.To - r.From
	}
	return n
}

// itemsOf returns the items of a leaf in a step, of slice s where there is one. There
// is always at least one, so that the leaf has its place in the tree.
func (w *Worker) itemsOf(p *Part, t *stepTask, leaf, node int, s *block.Slice) []*item {
	all := &item{leaf: leaf, node: node}
	for k := range 2 {
		r := family.Rows{Leaf: leaf, Held: k == 1}
		if t.step.Set&(family.Train<<k) == 0 {
			continue
		}
		r.To = w.blocks.End(blockOf(r))
		if s != nil {
			r.From, r.To = min(s.From, r.To), min(s.To, r.To)
		}
		if r.From < r.To {
			all.rows = append(all.rows, r)
		}
	}
	rows := w.job.Plan.Cut(all.rows)
	if len(rows) <= len(all.rows) { // the leaf is not divided
		return []*item{all}
	}
	parts := reduce.NewAssembler(reduce.NewPlan(make([]int, len(rows))), 0, p.merge)
	out := make([]*item, len(rows))
	for i, r := range rows {
		out[i] = &item{leaf: leaf, node: node, rows: []family.Rows{r}, part: i, parts: parts}
	}
	return out
}
