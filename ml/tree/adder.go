package tree

import (
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/hist"
)

// adder divides rows among nodes and adds them to histograms: rows of blocks,
// and rows that were sent to the root. It is for one goroutine.
type adder struct {
	p       *problem
	g       *ground
	place   []int32 // scratch: by column, where its histogram begins
	scratch *scratch
}

func newAdder(p *problem, g *ground) *adder { return &adder{p: p, g: g, scratch: &scratch{}} }

// scratch is memory that adders use one after the other.
type scratch struct {
	right  []uint32
	packed [][]int64 // zeros
	grad   *gradients
}

// gradients returns scratch space for derivatives.
func (s *scratch) gradients(p *problem) *gradients {
	if s.grad == nil {
		s.grad = p.newGradients()
	}
	return s.grad
}

// zeros returns n zeros.
func (s *scratch) zeros(n int) (z []int64) {
	if k := len(s.packed) - 1; k >= 0 {
		z, s.packed = s.packed[k], s.packed[:k]
	}
	if cap(z) < n {
		return make([]int64, n)
	}
	return z[:n]
}

// sides has 1 for each bin whose rows go to the left.
type sides [256]uint8

func sidesOf(s *set) (g sides) {
	for b := range g {
		g[b] = uint8(s[b>>6] >> (b & 63) & 1)
	}
	return g
}

// some is a subset of a group's columns.
type some struct {
	group    int
	cols, at []int32 // their places in a row, and their histograms'
}

// columns sorts columns, nil for all, by group; their histograms follow each
// other in the order of cols. It reuses out's memory.
func (a *adder) columns(out []some, cols []int) []some {
	if cols != nil && a.place == nil {
		a.place = make([]int32, len(a.g.cols))
		for i := range a.place {
			a.place[i] = -1
		}
	}
	at := int32(0)
	for _, c := range cols {
		a.place[c] = at
		at += int32(a.g.cols[c].room)
	}
	out = out[:0]
	for i := range a.g.groups {
		if len(out) < cap(out) {
			out = out[:len(out)+1]
		} else {
			out = append(out, some{})
		}
		s := &out[len(out)-1]
		s.group, s.cols, s.at = i, s.cols[:0], s.at[:0]
		for k, c := range a.g.groups[i].cols {
			if cols == nil {
				s.cols, s.at = append(s.cols, int32(k)), append(s.at, int32(a.g.cols[c].at))
			} else if a.place[c] >= 0 {
				s.cols, s.at = append(s.cols, int32(k)), append(s.at, a.place[c])
			}
		}
		if len(s.cols) == 0 {
			out = out[:len(out)-1]
		}
	}
	for _, c := range cols {
		a.place[c] = -1
	}
	return out
}

// split divides the rows of a node, keeping their order.
func (a *adder) split(k *rows, s split, goes *sides) (left, right int) {
	spans := &k.spans[s.Tree]
	if more := int(s.Left) + 2 - len(*spans); more > 0 {
		if len(*spans)+more > cap(*spans) {
			*spans = slices.Grow(*spans, max(more, len(*spans)))
		}
		*spans = append(*spans, make([]span, more)...)
	}
	sp := (*spans)[s.Node]
	order := k.order[int(s.Tree)*k.n:][:k.n][sp.from:sp.to]
	if cap(a.scratch.right) < len(order) {
		a.scratch.right = make([]uint32, k.n)
	}
	c := &a.g.cols[s.Col]
	l := hist.Part(order, a.scratch.right[:len(order)], c.of(k.bins, k.n), c.width, (*[256]uint8)(goes))
	mid := sp.from + uint32(l)
	(*spans)[s.Node], (*spans)[s.Left], (*spans)[s.Left+1] = span{}, span{sp.from, mid}, span{mid, sp.to}
	return l, len(order) - l
}

// task is the building of one histogram.
type task struct {
	build
	at     int // in the partial
	len    int
	groups []some  // of some columns only
	packed []int64 // packed sums of a wide one
	rows   int     // added since the last flush
	fit    int     // how many rows packed sums have room for
}

// build adds rows to a histogram, which the last flush completes.
func (a *adder) build(k *rows, t *task, h []int64, order []uint32) {
	switch {
	case a.p.pairs(a.g), !t.Wide:
		a.add(k, t, h, order)
		return
	case t.packed == nil:
		t.packed = a.scratch.zeros(t.len)
	}
	for len(order) > 0 {
		n := min(len(order), t.fit-t.rows)
		a.add(k, t, t.packed, order[:n])
		order = order[n:]
		if t.rows += n; t.rows == t.fit {
			a.flush(t, h)
		}
	}
}

// flush unpacks sums of gradients and curvatures.
func (a *adder) flush(t *task, h []int64) {
	if t.rows == 0 {
		return
	}
	shift := a.p.packing(a.g, 1).shift
	for i, v := range t.packed {
		h[2*i] += v >> shift
		h[2*i+1] += v & (1<<shift - 1)
	}
	clear(t.packed)
	t.rows = 0
}

// add adds rows to a histogram.
func (a *adder) add(k *rows, t *task, h []int64, order []uint32) {
	if a.p.votes() {
		a.addVotes(k, t, h, order)
		return
	}
	g := a.g
	for i := range t.groups {
		s := &t.groups[i]
		gr := &g.groups[s.group]
		bins, w := k.bins[k.n*gr.first:], len(gr.cols)
		switch {
		case a.p.pairs(g):
			grad := k.grad[2*int(t.Tree)*k.n:][:2*k.n]
			hist.AddPairs(h, s.at, s.cols, bins, w, order, grad)
		case len(s.cols) == w && s.at[w-1]-s.at[0] == int32((w-1)*gr.stride):
			hist.Add(h[s.at[0]:], gr.stride, bins, w, order, k.grad[int(t.Tree)*k.n:][:k.n])
		default:
			hist.AddSome(h, s.at, s.cols, bins, w, order, k.grad[int(t.Tree)*k.n:][:k.n])
		}
	}
}

// addVotes adds rows to the histograms of their classes.
func (a *adder) addVotes(k *rows, t *task, h []int64, order []uint32) {
	each := t.len / a.p.channels
	grad := k.grad[int(t.Tree)*k.n:][:k.n]
	for i := range t.groups {
		s := &t.groups[i]
		gr := &a.g.groups[s.group]
		bins, w := k.bins[k.n*gr.first:], len(gr.cols)
		for _, r := range order {
			v := grad[r]
			own, x := h[int(v>>classShift)*each:][:each], v&(1<<classShift-1)
			row := bins[int(r)*w:][:w]
			for j, c := range s.cols {
				own[int(s.at[j])+int(row[c])] += x
			}
		}
	}
}
