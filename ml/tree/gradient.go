package tree

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/objective"
)

// gradients is scratch space for a run of rows: derivatives and losses of each row
// by its scores, in floats.
type gradients struct {
	obj     objective.Objective
	rows    int       // of a run, at most: whole tiles
	z, h    []float64 // by output and row
	ones, y []float64
	outputs int
	loss    []float64
}

func (p *problem) newGradients() *gradients {
	rows := max(2048/p.outputs, f64.Lanes) &^ (f64.Lanes - 1)
	g := &gradients{rows: rows, z: make([]float64, p.outputs*rows), h: make([]float64, p.outputs*rows), outputs: p.outputs,
		ones: make([]float64, rows), y: make([]float64, rows), loss: make([]float64, rows)}
	g.obj = p.loss.Objective
	for i := range g.ones {
		g.ones[i] = 1
	}
	return g
}

// run returns first and second derivatives of a run of rows from at on in z and h,
// and the losses. Rows of an output are step apart from those of the next.
func (g *gradients) run(scores []float64, n, at int, y []float64) (loss []float64, step int) {
	rows := min(n-at, g.rows)
	step = f64.Tiles(rows) * f64.Lanes
	for o := range g.outputs {
		copy(g.z[o*step:][:step], scores[o*n+at:][:rows])
	}
	if len(y) < step { // a block's labels fill its tiles
		copy(g.y, y)
		y = g.y
	}
	z := g.z[:g.outputs*step]
	g.obj.Pass(z, g.h[:len(z)], g.loss[:step], y[:step], g.ones[:step])
	return g.loss[:rows], step
}

// nearest rounds a number below 2^40 to an integer.
func nearest(x float64) int64 {
	const big = 1 << 41
	return int64(x+(big+0.5)) - big
}

// lossUnits is the fixed-point scale of losses: the integer of a loss of 1, or
// of a loss of loss.unit. Losses are clipped at mostLoss.
const (
	lossUnits = 1 << 40
	mostLoss  = 1 << 18
)

// lossSum adds the losses of rows of a block.
type lossSum struct {
	scale  float64
	sum    sum
	weight int64
}

func (s *lossSum) add(loss float64, w int64) {
	s.sum.add(s.units(loss), w)
	s.weight += w
}

func (s *lossSum) units(loss float64) int64 {
	v := loss * s.scale
	if v > mostLoss {
		v = mostLoss
	}
	return int64(v * lossUnits)
}

// tile adds the losses of a tile of rows that weigh one unit.
func (s *lossSum) tile(loss *[f64.Lanes]float64) {
	q := int64(0) // losses are within 2^58
	for _, v := range loss {
		q += s.units(v)
	}
	s.sum.plus(sum{Lo: uint64(q)})
	s.weight += f64.Lanes
}

// round adds the last trees to the scores and begins new ones.
func (p *pass) round(k *rows, b *block.Block) error {
	r, pr := p.b.Round, p.w.p
	if pr.forest && k.held {
		return nil
	}
	out := p.result()
	if !pr.forest {
		if k.scores == nil {
			if err := p.w.begin(k, r.Base, b); err != nil {
				return err
			}
		}
		for t := range r.Update {
			h := newHops(p.w.g.bins, &r.Update[t], k.n)
			s := k.scores[t*k.n:][:k.n]
			if k.held {
				h.all(k, s)
			} else {
				h.update(k, t, s)
			}
		}
	}
	if !pr.forest {
		p.w.addAll(k, r.Changes, k.scores)
	}
	switch {
	case r.Stale:
		k.scores = nil
		return nil
	case k.held, r.Trees == 0 && !pr.forest:
		return p.losses(k, b, r, out)
	}
	if err := p.gradients(k, b, r, out); err != nil {
		return err
	}
	for i := range p.tasks {
		p.build(k, &p.tasks[i])
	}
	return nil
}

// losses adds the losses of a block's rows.
func (p *pass) losses(k *rows, b *block.Block, r *round, out *grown) error {
	if k.margins = k.scores; p.w.p.rank != nil {
		return p.rank(k, b, r, out, false)
	}
	p.grad = p.adder.scratch.gradients(p.w.p)
	set := 0
	if k.held {
		set = 1
	}
	ls := lossSum{scale: 1 / p.w.p.unit(r.Spread)}
	for at := 0; at < k.n; at += p.grad.rows {
		loss, _ := p.grad.run(k.scores, k.n, at, b.Y[at:])
		for i, v := range loss {
			units := p.w.g.units(b.W[at+i])
			ls.add(v, units)
			if units > 0 && !k.held {
				out.Residual = max(out.Residual, p.w.p.size(p.grad.z[i], p.grad.h[i]))
			}
		}
	}
	out.Loss[set].plus(ls.sum)
	out.Weight[set] += ls.weight
	return nil
}

// gradients writes the gradients of a block's rows for the trees that begin, and
// which rows they see. out, if not nil, takes the losses.
func (p *pass) gradients(k *rows, b *block.Block, r *round, out *grown) error {
	w, pr := p.w, p.w.p
	if err := w.start(k); err != nil {
		return err
	}
	p.grad = p.adder.scratch.gradients(pr)
	if out != nil && len(r.Left) > 0 { // losses are of all trees
		if err := p.losses(k, b, r, out); err != nil {
			return err
		}
		out = nil
	}
	if err := w.without(k, r.Left); err != nil {
		return err
	}
	if pr.rank != nil {
		if err := p.rank(k, b, r, out, true); err != nil {
			return err
		}
	}
	ls := lossSum{scale: 1 / pr.unit(r.Spread)}
	residual := 0.0
	plain := !pr.sampled() && w.g.unit == 1 && !pr.pairs(w.g)
	tails := make([]int, r.Trees)
	for t := range tails {
		tails[t], k.seen[t] = k.n, 0
	}
	if plain {
		plain = k.even(b.W)
	}
	for from := 0; from < k.n; from += p.grad.rows {
		to, step := min(from+p.grad.rows, k.n), 0
		var losses []float64
		switch {
		case pr.rank != nil: // whose losses are of queries
			copy(p.grad.z, k.lambda[from:to])
			copy(p.grad.h, k.lambda[k.n+from:k.n+to])
		case !pr.forest:
			losses, step = p.grad.run(k.margins, k.n, from, b.Y[from:])
		}
		for at := from; at < to; at += f64.Lanes {
			if losses != nil && plain && at+f64.Lanes <= k.n {
				ls.tile((*[f64.Lanes]float64)(losses[at-from:]))
				if pr.square {
					for _, z := range p.grad.z[at-from:][:f64.Lanes] {
						residual = max(residual, math.Abs(z))
					}
				}
				for t := range r.Trees {
					p.putTile(k, t, at, at-from, step)
				}
				continue
			}
			for row := at; row < min(at+f64.Lanes, to); row++ {
				units := int64(1)
				if wt := b.W[row]; wt != 1 || w.g.unit != 1 {
					units = w.g.units(wt)
				}
				if losses != nil {
					ls.add(losses[row-from], units)
					if i := row - from; units > 0 && (pr.square || pr.open) {
						residual = max(residual, pr.size(p.grad.z[i], p.grad.h[i]))
					}
				}
				for t := range r.Trees {
					times := int64(draw)
					if d := p.draws[t]; d != nil {
						times = int64(d.row(k.hash[row]))
					}
					if units == 0 || times == 0 {
						tails[t]--
						k.order[t*k.n+tails[t]] = uint32(row)
						continue
					}
					k.order[t*k.n+k.seen[t]] = uint32(row)
					k.seen[t]++
					p.put(k, t, row, t*step+row-from, b.Y[row], r, units, times)
				}
			}
		}
	}
	for t := range r.Trees {
		k.spans[t] = append(k.spans[t][:0], span{0, uint32(k.seen[t])})
	}
	if out != nil && !pr.forest {
		out.Loss[0].plus(ls.sum)
		out.Weight[0] += ls.weight
		out.Residual = max(out.Residual, residual)
	}
	return nil
}

// putTile is put of a tile's rows that weigh one unit and are seen by every tree.
// They are the run's from i on.
func (p *pass) putTile(k *rows, t, at, i, step int) {
	if p.grad.outputs > 1 {
		i += t * step
	}
	z, h := (*[f64.Lanes]float64)(p.grad.z[i:]), (*[f64.Lanes]float64)(p.grad.h[i:])
	grad := (*[f64.Lanes]int64)(k.grad[t*k.n+at:])
	order := (*[f64.Lanes]uint32)(k.order[t*k.n+k.seen[t]:])
	gUnit, hUnit, shift := p.pack.gUnit, p.pack.hUnit, p.pack.shift&63
	for l := range grad {
		grad[l] = nearest(z[l]*gUnit)<<shift + nearest(h[l]*hUnit)
		order[l] = uint32(at + l)
	}
	k.seen[t] += f64.Lanes
}

// put writes the gradient of a row: its derivatives are at index i of the run, it
// weighs units units and is drawn times/draw times.
func (p *pass) put(k *rows, t, row, i int, y float64, r *round, units, times int64) {
	pr := p.w.p
	var g, h int64
	switch {
	case pr.votes():
		k.grad[t*k.n+row] = int64(y)<<classShift | times*units
		return
	case pr.forest && pr.classes > 0:
		g, h = int64(y)*times, times
	case pr.forest:
		g, h = nearest(float64(float64((y-r.Base[0])*p.pack.gUnit)*float64(times)/draw)), times
	default:
		g, h = nearest(p.grad.z[i]*p.pack.gUnit), nearest(p.grad.h[i]*p.pack.hUnit)
		if times != draw {
			g, h = (g*times+draw/2)>>8, (h*times+draw/2)>>8
		}
	}
	if pr.pairs(p.w.g) {
		k.grad[2*(t*k.n+row)], k.grad[2*(t*k.n+row)+1] = g*units, h*units
		return
	}
	k.grad[t*k.n+row] = (g<<p.pack.shift + h) * units
}

// classShift is the position of the class in a vote; the bits below are its weight.
const classShift = 40

// labels returns the sums of labels that are being filled.
func (p *pass) labels() *labels {
	if p.label == nil {
		p.label = &labels{Weight: make([]int64, max(p.w.p.classes, 1))}
	}
	return p.label
}

// addLabels adds a block's labels.
func (p *pass) addLabels(b *block.Block) {
	l := p.labels()
	for i, w := range b.W[:b.Rows] {
		units, y := p.w.g.units(w), b.Y[i]
		switch {
		case units == 0:
		case p.w.p.classes > 0:
			l.Weight[int(y)] += units
		default:
			l.Weight[0] += units
			if p.w.p.offset > 0 {
				var e float64
				y, e = p.w.p.offsetSums(y, b.Value(i, p.w.p.offset-1))
				l.E.add(int64(math.RoundToEven(e*p.w.g.eUnit)), units)
			}
			l.Y.add(int64(math.RoundToEven(y*p.w.g.yUnit)), units)
		}
	}
}

// treeWalk is a tree in the layout for walking over the bins of a block.
type treeWalk struct {
	nodes  []walkNode
	values []float64
}

type walkNode struct {
	bins  int // where the column's bins begin; -1: a leaf
	width int
	left  int32
	set   set
}

func newHops(b *bins, t *tree, n int) *treeWalk {
	h := &treeWalk{nodes: make([]walkNode, len(t.nodes)), values: t.values}
	for i := range t.nodes {
		nd := &t.nodes[i]
		h.nodes[i].bins = -1
		if nd.col != leaf {
			c := &b.cols[nd.col]
			h.nodes[i] = walkNode{n*c.before + c.k, c.width, nd.left, nd.set}
		}
	}
	return h
}

// walk returns the leaf below node at that a row reaches.
func (h *treeWalk) walk(bins []uint8, row int, at int32) int32 {
	for {
		n := &h.nodes[at]
		if n.bins < 0 {
			return at
		}
		b := bins[n.bins+row*n.width]
		at = n.left + int32(1-n.set[b>>6]>>(b&63)&1)
	}
}

// all adds the tree's values to the scores of all rows of a block.
func (h *treeWalk) all(k *rows, scores []float64) {
	for i := range scores {
		scores[i] += h.values[h.walk(k.bins, i, 0)]
	}
}

// update adds the values of the t-th tree that grew to the scores of all rows:
// for the rows it was grown on the leaf is known from the splits.
func (h *treeWalk) update(k *rows, t int, scores []float64) {
	order := k.order[t*k.n:][:k.n]
	for i, sp := range k.spans[t] {
		if i >= len(h.nodes) || sp.from == sp.to {
			continue
		}
		if h.nodes[i].bins < 0 {
			v := h.values[i]
			for _, r := range order[sp.from:sp.to] {
				scores[r] += v
			}
			continue
		}
		if n := &h.nodes[i]; h.nodes[n.left].bins < 0 && h.nodes[n.left+1].bins < 0 {
			var v [256]float64 // by bin
			for b := range v {
				v[b] = h.values[n.left+1-int32(n.set[b>>6]>>(b&63)&1)]
			}
			col, w := k.bins[n.bins:], n.width
			for _, r := range order[sp.from:sp.to] {
				scores[r] += v[col[int(r)*w]]
			}
			continue
		}
		for _, r := range order[sp.from:sp.to] {
			scores[r] += h.values[h.walk(k.bins, int(r), int32(i))]
		}
	}
	for _, r := range order[k.seen[t]:] {
		scores[r] += h.values[h.walk(k.bins, int(r), 0)]
	}
}
