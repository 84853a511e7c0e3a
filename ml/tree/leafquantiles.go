package tree

import (
	"math"

	"github.com/tributarydb/tributary/ml/block"
)

// Leaves whose values are quantiles of their rows' residuals are searched digit by digit: the bits
// of a residual, in the order of numbers, are cut into digits, and a step sums the weights of a
// leaf's rows by the next digit, for those that agree in all digits before. The sums are of
// integers, so the quantile is that of all rows wherever they lie, and a leaf needs one histogram
// at a time, however many rows it has. After renewSteps digits a residual is known to 28 bits
// of its mantissa.
const (
	renewDigit = 10
	renewBins  = 1 << renewDigit
	renewSteps = 4
	renewRest  = 64 - renewSteps*renewDigit // bits of no digit
)

// order returns bits that are ordered as numbers are.
func order(x float64) uint64 {
	b := math.Float64bits(x + 0)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// ordered returns the number nearest to 0 whose first bits in that order these are.
func ordered(digits uint64) float64 {
	b := digits << renewRest
	if b>>63 != 0 {
		return math.Float64frombits(b &^ (1 << 63))
	}
	return math.Float64frombits(^(b | 1<<renewRest - 1))
}

// renewal is a step of the search: Asked are leaves, all at the same digit.
type renewal struct {
	First  int    // the number of the round's first tree
	Trees  []tree // in workers' numbering, whose values are the numbers of their leaves; none where labels are searched
	Digit  int    // from 0
	Labels bool   // for the scores to begin with: of all rows' labels, output by output
	Asked  []asked
}

// asked is a leaf of a tree, and the digits known of its quantile.
type asked struct {
	Tree, Node int32
	Known      uint64
}

// search is the search of the quantiles of a round's leaves.
type search struct {
	Labels bool
	Digit  int // of Leaves[At:]; those before are a digit ahead
	At     int
	Leaves []sought

	trees []tree
	first int
	taus  []float64 // by tree
	asked int       // how many leaves the last step asked for
}

// sought is a leaf whose quantile is sought: the lowest residual that together with lower ones
// weighs enough.
type sought struct {
	Leaf asked
	Need int64 // the weight of residuals up to it that the known digits do not exclude, once there is one
}

// renew begins the search for the leaves of the trees that grow, or of labels.
func (d *driver) renew(growers []*grower) {
	s := &search{Labels: growers == nil}
	if s.Labels {
		for k := range d.p.outputs {
			s.Leaves = append(s.Leaves, sought{Leaf: asked{Tree: int32(k)}})
		}
	}
	d.search, d.phase = s, opRenew
	s.bind(d)
	for t := range s.trees {
		for i := range s.trees[t].nodes {
			if int(s.trees[t].values[i]) == i && s.trees[t].nodes[i].col == leaf {
				s.Leaves = append(s.Leaves, sought{Leaf: asked{int32(t), int32(i), 0}})
			}
		}
	}
}

// bind gives the search what a checkpoint has elsewhere.
func (s *search) bind(d *driver) {
	s.taus, s.first = d.p.renewed, len(d.trees)
	for _, t := range d.growers {
		wide, _ := t.finish(func(i int32) []float64 { return []float64{float64(i)} })
		s.trees = append(s.trees, wide)
	}
}

// resume continues a search from a checkpoint; it reports whether that makes sense.
func (s *search) resume(d *driver) bool {
	s.bind(d)
	if s.Digit < 0 || s.Digit >= renewSteps || s.At < 0 || s.At >= len(s.Leaves) || len(s.taus) != d.p.outputs || d.p.forest {
		return false
	}
	for i := range s.Leaves {
		l := s.Leaves[i].Leaf
		if l.Tree < 0 || int(l.Tree) >= len(s.taus) || l.Node < 0 || !s.Labels && (int(l.Tree) >= len(s.trees) || int(l.Node) >= len(s.trees[l.Tree].nodes)) {
			return false
		}
	}
	return true
}

// next is the next step's body, with histograms of at most so many integers, or of one leaf.
func (s *search) next(most int) *renewal {
	r := &renewal{First: s.first, Trees: s.trees, Digit: s.Digit, Labels: s.Labels}
	s.asked = min(max(1, most/renewBins), len(s.Leaves)-s.At)
	for _, l := range s.Leaves[s.At:][:s.asked] {
		r.Asked = append(r.Asked, l.Leaf)
	}
	return r
}

// tell takes the step's histograms.
func (s *search) tell(hist []int64) error {
	if len(hist) != s.asked*renewBins {
		return errShape()
	}
	for k := range s.asked {
		l, h := &s.Leaves[s.At+k], hist[k*renewBins:][:renewBins]
		if s.Digit == 0 {
			all := int64(0)
			for _, w := range h {
				all += w
			}
			l.Need = max(1, int64(math.Ceil(float64(s.taus[l.Leaf.Tree]*float64(all)))))
		}
		digit := 0
		for digit < renewBins-1 && h[digit] < l.Need {
			l.Need -= h[digit]
			digit++
		}
		l.Leaf.Known = l.Leaf.Known<<renewDigit | uint64(digit)
	}
	if s.At += s.asked; s.At == len(s.Leaves) {
		s.At, s.Digit = 0, s.Digit+1
	}
	return nil
}

func (s *search) done() bool { return s.Digit == renewSteps }

// renewed ends a search.
func (d *driver) renewed() error {
	s := d.search
	d.search = nil
	if s.Labels {
		for k := range d.base {
			d.base[k] = ordered(s.Leaves[k].Leaf.Known)
		}
		d.phase = opRound
		return nil
	}
	values := make([][]float64, len(d.growers)) // by tree and node
	for t, g := range d.growers {
		values[t] = make([]float64, len(g.nodes))
	}
	for _, l := range s.Leaves {
		values[l.Leaf.Tree][l.Leaf.Node] = float64(d.p.rate * ordered(l.Leaf.Known))
	}
	return d.endRound(func(t *grower) func(i int32) []float64 {
		return func(i int32) []float64 { return values[t.no][i : i+1 : i+1] }
	})
}

// renewing prepares a pass of the search: where each leaf's histogram is.
func (p *pass) renewing(g *ground) error {
	r := p.b.Renew
	if r == nil || r.Digit < 0 || r.Digit >= renewSteps || len(r.Trees) > p.w.p.together {
		return errShape()
	}
	p.size = renewBins * len(r.Asked)
	for range max(len(r.Trees), p.w.p.outputs) {
		p.leaves = append(p.leaves, map[int32]int{})
	}
	for i := range r.Trees {
		if t := &r.Trees[i]; !t.fits() || !t.uses(g.bins) || len(t.values) != len(t.nodes) {
			return errShape()
		}
	}
	for i, a := range r.Asked {
		if a.Tree < 0 || int(a.Tree) >= len(p.leaves) {
			return errShape()
		}
		p.leaves[a.Tree][a.Node] = i
	}
	if p.draw = newDrawer(p.w.p, g, p.w.p.drawNumber(r.First, 0)); r.Labels {
		p.draw = nil
	}
	return nil
}

// renew adds the weights of a block's rows by the digit asked for.
func (p *pass) renew(k *rows, b *block.Block) {
	r, out := p.b.Renew, p.result()
	if r.Labels {
		for t := range p.leaves {
			if at, ok := p.leaves[t][0]; ok {
				for row := range k.n {
					y := b.Y[row]
					if p.w.p.offset > 0 {
						y -= b.Value(row, p.w.p.offset-1)
					}
					p.digit(out.Hist, at, y, p.w.g.units(b.W[row]))
				}
			}
		}
		return
	}
	for t := range r.Trees {
		h := newHops(p.w.g.bins, &r.Trees[t], k.n)
		scores := k.margins[t*k.n:][:k.n]
		at := make([]int, len(h.nodes)) // by node: the histogram of the leaf that it is, or is below, -1 for none
		for i := range at {
			at[i] = -1
			if j, ok := p.leaves[t][int32(h.values[i])]; ok && h.nodes[i].bins < 0 {
				at[i] = j
			}
		}
		order := k.order[t*k.n:][:k.n]
		for i, sp := range k.spans[t] {
			if i >= len(h.nodes) || h.nodes[i].bins < 0 && at[i] < 0 {
				continue
			}
			for _, row := range order[sp.from:sp.to] {
				if j := at[h.walk(k.bins, int(row), int32(i))]; j >= 0 {
					times := int64(draw)
					if p.draw != nil {
						times = int64(p.draw.row(k.hash[row]))
					}
					p.digit(out.Hist, j, b.Y[row]-scores[row], p.w.g.units(b.W[row])*times)
				}
			}
		}
	}
}

// digit adds the weight of a row to a histogram, unless the known digits exclude its residual.
func (p *pass) digit(hist []int64, at int, residual float64, weight int64) {
	r, bits := p.b.Renew, order(residual)>>(64-renewDigit*(p.b.Renew.Digit+1))
	if bits>>renewDigit == r.Asked[at].Known {
		hist[at*renewBins+int(bits&(renewBins-1))] += weight
	}
}
