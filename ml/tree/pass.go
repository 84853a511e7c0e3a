package tree

import (
	"context"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// pass implements family.Pass.
type pass struct {
	w         *worker
	op        uint8
	b         *body
	recompute bool // blocks' state must be recomputed
	bin       *binner
	pack      packing
	draws     []*drawer // of the growing trees
	tasks     []task    // histograms
	size      int       // of all histograms
	sum       *sketch
	means     means
	scale     float64 // of labels in them
	label     *labels
	out       *grown
	goes      []sides         // sides of the splits
	leaves    []map[int32]int // of opRenew: by tree and leaf, which histogram
	draw      *drawer         // likewise
	adder     *adder
	grad      *gradients
	ranks     ranks
}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	switch s.Op {
	case opSketch, opSketchAll:
		return 0, sketchBytes(w.p.dense, sum1(w.p.codeSlots))
	case opMeans:
		return 0, 8 * int64(w.p.meansLen())
	}
	b, ok := s.Body.(*body)
	g := w.ground(b)
	if !ok || g == nil {
		return 0, 0
	}
	for i := range b.Builds {
		partial += 16 * int64(w.p.channels) * int64(width(g, b.Builds[i].Cols))
	}
	if b.Renew != nil {
		partial += 8 * renewBins * int64(len(b.Renew.Asked))
	}
	for i := range b.Takes {
		partial += b.Takes[i].Rows * rowBytes(w.p, g)
	}
	pass = 1 << 16 * 4
	if w.p.rank != nil {
		pass += ranksBytes(w.longest())
	}
	return pass, partial
}

// longest bounds the rows of a query.
func (w *worker) longest() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.blocks) == 0 { // none has been seen
		return mostRanked
	}
	return min(w.query, mostRanked)
}

func sum1(v []int) (n int) {
	for _, x := range v {
		n += x
	}
	return n
}

// width returns the length of a histogram of some columns, nil for all.
func width(g *ground, cols []int) int {
	if cols == nil {
		return g.total
	}
	n := 0
	for _, c := range cols {
		if c >= 0 && c < len(g.cols) {
			n += g.cols[c].room
		}
	}
	return n
}

// ground returns the step's ground, or the worker's.
func (w *worker) ground(b *body) *ground {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.g == nil && b != nil {
		return b.Ground
	}
	return w.g
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	if s.Op == opSketch || s.Op == opSketchAll {
		return &pass{w: w, op: s.Op}, nil
	}
	if by, ok := s.Body.(scale); ok {
		return &pass{w: w, op: s.Op, scale: float64(by)}, nil
	}
	b, ok := s.Body.(*body)
	if !ok {
		return nil, pgerr.Internal("a step over trees has no body")
	}
	w.mu.Lock()
	if w.g == nil {
		w.g = b.Ground
	}
	g := w.g
	w.mu.Unlock()
	if g == nil || len(g.cols) != w.p.dense+len(w.p.codeSlots) {
		return nil, pgerr.Internal("a step over trees came before their bins")
	}
	p := &pass{w: w, op: s.Op, b: b, recompute: s.Op == opBin || b.Recovery != nil, adder: newAdder(w.p, g)}
	if s, ok := w.scratch.Get().(*scratch); ok {
		p.adder.scratch = s
	}
	if p.recompute {
		p.bin = newBinner(g.bins)
	}
	r := b.Round
	if b.Recovery != nil && r == nil {
		r = b.Recovery.Round
	}
	if r != nil {
		if len(r.Base) != w.p.outputs || r.Trees > w.p.together {
			return nil, pgerr.Internal("a round of %d trees has %d outputs", r.Trees, len(r.Base))
		}
		p.pack = w.p.packing(g, r.Bound)
		for t := range r.Trees {
			p.draws = append(p.draws, newDrawer(w.p, g, w.p.drawNumber(r.First, t)))
		}
	}
	if err := p.check(g); err != nil {
		return nil, err
	}
	if s.Op == opRenew {
		return p, p.renewing(g)
	}
	// A wide build sums packed integers as long as they fit; the packing is that of the
	// round, which opGrow does not repeat.
	fit := w.p.rowsFit(g, w.p.packing(g, 1))
	for _, bd := range b.Builds {
		t := task{build: bd, at: p.size, len: width(g, bd.Cols) * w.p.channels, fit: fit}
		if bd.Wide {
			p.size += t.len
		}
		p.size += t.len
		t.groups = p.adder.columns(nil, bd.Cols)
		p.tasks = append(p.tasks, t)
	}
	return p, nil
}

// drawNumber returns the number by which a tree's rows are drawn: the trees of a round
// of boosting see the same rows.
func (p *problem) drawNumber(first, t int) int {
	if p.forest {
		return first + t
	}
	return first
}

// check checks that the trees and nodes that a step names exist.
func (p *pass) check(g *ground) error {
	bad := func() error { return pgerr.Internal("a step over trees names what is not there") }
	lists, splits := [][]tree{}, p.b.Splits
	if p.b.Round != nil {
		lists = append(lists, p.b.Round.Update, p.b.Round.Changes, p.b.Round.Left)
	}
	if p.b.Recovery != nil {
		lists = append(lists, p.b.Recovery.Past)
		if r := p.b.Recovery.Round; r != nil {
			lists = append(lists, r.Left)
		}
		splits = append(splits[:len(splits):len(splits)], p.b.Recovery.Splits...)
	}
	if p.b.Round != nil && len(p.b.Round.Update) > p.w.p.outputs {
		return bad()
	}
	for _, list := range lists {
		for i := range list {
			if !list[i].fits() || !list[i].uses(g.bins) {
				return bad()
			}
		}
	}
	for _, s := range splits {
		if s.Tree < 0 || int(s.Tree) >= p.w.p.together || s.Node < 0 || s.Left <= s.Node || s.Left > 1<<26 ||
			s.Col < 0 || int(s.Col) >= len(g.cols) || g.cols[s.Col].stride == 0 {
			return bad()
		}
	}
	for _, t := range p.b.Takes {
		if t.Tree < 0 || int(t.Tree) >= p.w.p.together || t.Node < 0 {
			return bad()
		}
	}
	for _, b := range p.b.Builds {
		if b.Tree < 0 || int(b.Tree) >= p.w.p.together || b.Node < 0 {
			return bad()
		}
		for _, c := range b.Cols {
			if c < 0 || c >= len(g.cols) || g.cols[c].stride == 0 {
				return bad()
			}
		}
	}
	return nil
}

// Add implements family.Pass.
func (p *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b == nil && (p.recompute || p.op != opGrow) {
		return pgerr.Internal("a step over trees came without a block")
	}
	if b != nil && !r.Whole(b) {
		return pgerr.Internal("a step over trees came to a part of a block")
	}
	if p.op == opSketch || p.op == opSketchAll {
		return p.sketch().add(p.w.p, b)
	}
	if p.op == opMeans {
		p.sums().add(p.w.p, p.scale, b)
		return nil
	}
	at := place{r.Leaf, r.Held}
	var k *rows
	var err error
	if p.recompute {
		k, err = p.anew(at, b)
	} else {
		k, err = p.w.of(at, b)
	}
	if err != nil {
		return err
	}
	switch p.op {
	case opBin:
		if !r.Held {
			p.addLabels(b)
		}
	case opRound:
		return p.round(k, b)
	case opGrow:
		if !r.Held {
			p.grow(k)
		}
	case opRenew:
		if !r.Held {
			p.renew(k, b)
		}
	}
	return nil
}

// sketch returns the pass's sketch.
func (p *pass) sketch() *sketch {
	if p.sum == nil {
		p.sum = newSketch(p.w.p.dense, len(p.w.p.codeSlots), sum1(p.w.p.codeSlots))
		if p.op == opSketch {
			p.sum.narrow = p.w.p.narrow
		}
	}
	return p.sum
}

// sums returns the pass's sums of labels by category.
func (p *pass) sums() means {
	if p.means == nil {
		p.means = make(means, p.w.p.meansLen())
	}
	return p.means
}

// anew computes a block's bins, and for a worker that lost its state all else.
func (p *pass) anew(at place, b *block.Block) (*rows, error) {
	k, err := p.w.fresh(at, b)
	if err != nil {
		return nil, err
	}
	p.bin.fill(k.bins, k.n, b, 0, k.n)
	for i := 0; i < len(k.hash); i += 8 {
		var h [8]uint64
		hashes(b, i/8, p.w.p.seed, &h)
		copy(k.hash[i:], h[:])
	}
	a := p.b.Recovery
	if a == nil || p.w.p.forest && k.held {
		return k, nil
	}
	r := a.Round
	if r == nil {
		r = p.b.Round
	}
	if r == nil {
		return k, nil
	}
	if !p.w.p.forest {
		if err := p.w.begin(k, r.Base, b); err != nil {
			return nil, err
		}
		for i := range a.Past {
			newHops(p.w.g.bins, &a.Past[i], k.n).all(k, k.scores[i%p.w.p.outputs*k.n:][:k.n])
		}
	}
	if a.Round != nil && !k.held {
		if err := p.gradients(k, b, a.Round, nil); err != nil {
			return nil, err
		}
		for _, s := range a.Splits {
			goes := sidesOf(&s.Set)
			p.adder.split(k, s, &goes)
		}
	}
	return k, nil
}

// grow splits nodes and builds histograms.
func (p *pass) grow(k *rows) {
	g := p.result()
	if p.goes == nil {
		for i := range p.b.Splits {
			p.goes = append(p.goes, sidesOf(&p.b.Splits[i].Set))
		}
	}
	next := 0
	for i, s := range p.b.Splits {
		left, right := p.adder.split(k, s, &p.goes[i])
		g.Rows[2*i] += int64(left)
		g.Rows[2*i+1] += int64(right)
		// The following tasks are for the children, whose rows are still in the cache.
		for ; next < len(p.tasks) && p.tasks[next].Tree == s.Tree && p.tasks[next].Node-s.Left&^1 == 0; next++ {
			p.build(k, &p.tasks[next])
		}
	}
	for ; next < len(p.tasks); next++ {
		p.build(k, &p.tasks[next])
	}
	p.take(k)
}

// take collects the rows of nodes that the root requests.
func (p *pass) take(k *rows) {
	g, per := p.w.g, 1
	if p.w.p.pairs(g) {
		per = 2
	}
	order := func(t take) []uint32 {
		if int(t.Node) >= len(k.spans[t.Tree]) {
			return nil
		}
		sp := k.spans[t.Tree][t.Node]
		return k.order[int(t.Tree)*k.n:][sp.from:sp.to]
	}
	n := 0
	for _, t := range p.b.Takes {
		n += len(order(t))
	}
	all := taken{make([]uint8, n*len(g.order)), make([]int64, n*per)}
	for i, t := range p.b.Takes {
		rows := order(t)
		if len(rows) == 0 {
			continue
		}
		size := len(rows) * len(g.order)
		part := taken{all.Bins[:size:size], all.Grad[: len(rows)*per : len(rows)*per]}
		all.Bins, all.Grad = all.Bins[size:], all.Grad[len(rows)*per:]
		p.out.Taken[i] = append(p.out.Taken[i], part)
		for _, gr := range g.groups {
			w, from := len(gr.cols), k.bins[k.n*gr.first:]
			to := part.Bins[gr.first:]
			for at, r := range rows {
				copy(to[at*len(g.order):][:w], from[int(r)*w:])
			}
		}
		grad := k.grad[int(t.Tree)*k.n*per:][:k.n*per]
		if per == 2 {
			for at, r := range rows {
				part.Grad[2*at], part.Grad[2*at+1] = grad[2*r], grad[2*r+1]
			}
			continue
		}
		for at, r := range rows {
			part.Grad[at] = grad[r]
		}
	}
}

// result returns the pass's partial.
func (p *pass) result() *grown {
	if p.out == nil {
		p.out = &grown{Rows: make([]int64, 2*len(p.b.Splits)), Hist: p.w.hist(p.size), Taken: make([][]taken, len(p.b.Takes)), pool: &p.w.hists}
	}
	return p.out
}

// build adds the rows of a node to its histogram.
func (p *pass) build(k *rows, t *task) {
	if int(t.Node) >= len(k.spans[t.Tree]) {
		return
	}
	sp := k.spans[t.Tree][t.Node]
	p.adder.build(k, t, p.result().Hist[t.at:], k.order[int(t.Tree)*k.n:][sp.from:sp.to])
}

// Partial implements family.Pass.
func (p *pass) Partial() family.Message {
	switch p.op {
	case opSketch, opSketchAll:
		s := p.sketch()
		p.sum = nil
		s.sample.compact(s.dense)
		return s
	case opMeans:
		m := p.sums()
		p.means = nil
		return m
	case opBin:
		l := p.labels()
		p.label = nil
		return l
	}
	for i := range p.tasks {
		t := &p.tasks[i]
		p.adder.flush(t, p.result().Hist[t.at:])
		if t.packed != nil {
			p.adder.scratch.packed = append(p.adder.scratch.packed, t.packed)
			t.packed = nil
		}
	}
	p.w.scratch.Put(p.adder.scratch)
	p.adder.scratch = &scratch{}
	g := p.result()
	p.out = nil
	return g
}

// Interfaces.
var (
	_ family.Worker = (*worker)(nil)
	_ family.Keeper = (*worker)(nil)
	_ family.Pass   = (*pass)(nil)
)
