package tree

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/objective"
)

// gradients is the scratch space of a tile: what the scores say of each row by
// itself. Sums over rows are of integers.
type gradients struct {
	obj     objective.Objective
	z, h    []float64 // by output and lane
	ones, y [f64.Lanes]float64
	outputs int
	loss    [f64.Lanes]float64
}

func (p *problem) newGradients() gradients {
	g := gradients{z: make([]float64, p.outputs*f64.Lanes), h: make([]float64, p.outputs*f64.Lanes), outputs: p.outputs}
	switch {
	case p.classes > 2:
		g.obj = objective.Softmax{K: p.classes}
	case p.classes == 2:
		g.obj = objective.Logistic{}
	default:
		g.obj = objective.Squared{}
	}
	for l := range g.ones {
		g.ones[l] = 1
	}
	return g
}

// tile gives first and second derivatives of eight rows in z and h, and the
// losses.
func (g *gradients) tile(scores []float64, n, at int, y []float64) *[f64.Lanes]float64 {
	rows := min(n-at, f64.Lanes)
	for o := range g.outputs {
		copy(g.z[o*f64.Lanes:][:f64.Lanes], scores[o*n+at:][:rows])
	}
	copy(g.y[:], y)
	g.obj.Pass(g.z, g.h, g.loss[:], g.y[:], g.ones[:])
	return &g.loss
}

// nearest rounds a number below 2^40 to an integer.
func nearest(x float64) int64 {
	const big = 1 << 41
	return int64(x+(big+0.5)) - big
}

// lossUnits are the parts of a loss of 1 (of a squared one, of the square of
// round.spread); greater losses than mostLoss count that much.
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
	q := int64(min(loss*s.scale, mostLoss) * lossUnits)
	if w == 1 {
		s.sum.plus(sum{lo: uint64(q)})
	} else {
		s.sum.add(q, w)
	}
	s.weight += w
}

// round adds the last trees to the scores and begins new ones.
func (p *pass) round(k *rows, b *dataset.Block) error {
	r, pr := p.b.round, p.w.p
	if pr.forest && k.held {
		return nil
	}
	out := p.result()
	if !pr.forest {
		if k.scores == nil {
			if err := p.w.begin(k, r.base); err != nil {
				return err
			}
		}
		for t := range r.update {
			h := newHops(p.w.g.bins, &r.update[t], k.n)
			s := k.scores[t*k.n:][:k.n]
			if k.held {
				h.all(k, s)
			} else {
				h.update(k, t, s)
			}
		}
	}
	switch {
	case r.stale:
		k.scores = nil
		return nil
	case k.held:
		p.losses(k, b, r, out)
		return nil
	case r.trees == 0 && !pr.forest:
		p.losses(k, b, r, out)
		return nil
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
func (p *pass) losses(k *rows, b *dataset.Block, r *round, out *grown) {
	if p.grad.obj == nil {
		p.grad = p.w.p.newGradients()
	}
	set := 0
	if k.held {
		set = 1
	}
	ls := lossSum{scale: 1 / (r.spread * r.spread)}
	for at := 0; at < k.n; at += f64.Lanes {
		loss := p.grad.tile(k.scores, k.n, at, b.Y[at:])
		for l := range min(k.n-at, f64.Lanes) {
			ls.add(loss[l], p.w.g.units(b.W[at+l]))
		}
	}
	out.loss[set].plus(ls.sum)
	out.weight[set] += ls.weight
}

// gradients writes the gradients of a block's rows for the trees that begin, and
// which rows they see. out, if not nil, takes the losses.
func (p *pass) gradients(k *rows, b *dataset.Block, r *round, out *grown) error {
	w, pr := p.w, p.w.p
	if err := w.start(k); err != nil {
		return err
	}
	if p.grad.obj == nil {
		p.grad = pr.newGradients()
	}
	ls := lossSum{scale: 1 / (r.spread * r.spread)}
	residual := 0.0
	plain := !pr.sampled() && w.g.unit == 1 && !pr.pairs(w.g)
	tails := make([]int, r.trees)
	for t := range tails {
		tails[t], k.seen[t] = k.n, 0
	}
	for at := 0; at < k.n; at += f64.Lanes {
		var loss *[f64.Lanes]float64
		if !pr.forest {
			loss = p.grad.tile(k.scores, k.n, at, b.Y[at:])
		}
		if loss != nil && plain && at+f64.Lanes <= k.n && [f64.Lanes]float64(b.W[at:]) == p.grad.ones {
			for l, v := range loss {
				ls.add(v, 1)
				if pr.squared() {
					residual = max(residual, math.Abs(p.grad.z[l]))
				}
			}
			for t := range r.trees {
				p.putTile(k, t, at)
			}
			continue
		}
		for l := range min(k.n-at, f64.Lanes) {
			row := at + l
			units := int64(1)
			if wt := b.W[row]; wt != 1 || w.g.unit != 1 {
				units = w.g.units(wt)
			}
			if loss != nil {
				ls.add(loss[l], units)
				if units > 0 && pr.squared() {
					residual = max(residual, math.Abs(p.grad.z[l]))
				}
			}
			for t := range r.trees {
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
				p.put(k, t, row, l, b.Y[row], r, units, times)
			}
		}
	}
	for t := range r.trees {
		k.spans[t] = append(k.spans[t][:0], span{0, uint32(k.seen[t])})
	}
	if out != nil && !pr.forest {
		out.loss[0].plus(ls.sum)
		out.weight[0] += ls.weight
		out.residual = max(out.residual, residual)
	}
	return nil
}

// putTile is put of a tile's rows that weigh one unit and are seen by every tree.
func (p *pass) putTile(k *rows, t, at int) {
	o := 0
	if p.grad.outputs > 1 {
		o = t * f64.Lanes
	}
	z, h := (*[f64.Lanes]float64)(p.grad.z[o:]), (*[f64.Lanes]float64)(p.grad.h[o:])
	grad := (*[f64.Lanes]int64)(k.grad[t*k.n+at:])
	order := (*[f64.Lanes]uint32)(k.order[t*k.n+k.seen[t]:])
	for l := range grad {
		grad[l] = nearest(z[l]*p.pack.gUnit)<<p.pack.shift + nearest(h[l]*p.pack.hUnit)
		order[l] = uint32(at + l)
	}
	k.seen[t] += f64.Lanes
}

// put writes the gradient of a row, lane l of the tile at work, that weighs so
// many units and is drawn times/draw times.
func (p *pass) put(k *rows, t, row, l int, y float64, r *round, units, times int64) {
	pr := p.w.p
	var g, h int64
	switch {
	case pr.votes():
		k.grad[t*k.n+row] = int64(y)<<classShift | times*units
		return
	case pr.forest && pr.classes > 0:
		g, h = int64(y)*times, times
	case pr.forest:
		g, h = nearest(float64(float64((y-r.base[0])*p.pack.gUnit)*float64(times)/draw)), times
	default:
		o := 0
		if pr.outputs > 1 {
			o = t
		}
		g, h = nearest(p.grad.z[o*f64.Lanes+l]*p.pack.gUnit), nearest(p.grad.h[o*f64.Lanes+l]*p.pack.hUnit)
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

// classShift is where a vote keeps its class; below is how much it counts.
const classShift = 40

// labels gives the sums of labels that are being filled.
func (p *pass) labels() *labels {
	if p.label == nil {
		p.label = &labels{weight: make([]int64, max(p.w.p.classes, 1))}
	}
	return p.label
}

// addLabels adds a block's labels.
func (p *pass) addLabels(b *dataset.Block) {
	l := p.labels()
	for i, w := range b.W[:b.Rows] {
		units, y := p.w.g.units(w), b.Y[i]
		switch {
		case units == 0:
		case p.w.p.classes > 0:
			l.weight[int(y)] += units
		default:
			l.weight[0] += units
			l.y.add(int64(math.RoundToEven(y*p.w.g.yUnit)), units)
		}
	}
}

// hops are a tree's nodes as rows of a block walk them.
type hops struct {
	nodes  []hop
	values []float64
}

type hop struct {
	bins  int // where the column's bins begin; -1: a leaf
	width int
	left  int32
	set   set
}

func newHops(b *bins, t *tree, n int) *hops {
	h := &hops{nodes: make([]hop, len(t.nodes)), values: t.values}
	for i := range t.nodes {
		nd := &t.nodes[i]
		h.nodes[i].bins = -1
		if nd.col != leaf {
			c := &b.cols[nd.col]
			h.nodes[i] = hop{n*c.before + c.k, c.width, nd.left, nd.set}
		}
	}
	return h
}

// walk gives the leaf where a row ends that is at a node.
func (h *hops) walk(bins []uint8, row int, at int32) int32 {
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
func (h *hops) all(k *rows, scores []float64) {
	for i := range scores {
		scores[i] += h.values[h.walk(k.bins, i, 0)]
	}
}

// update adds the values of the t-th tree that grew to the scores of all rows:
// those that it saw are where the splits have brought them.
func (h *hops) update(k *rows, t int, scores []float64) {
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
