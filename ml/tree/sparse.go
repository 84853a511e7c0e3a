package tree

import "math/bits"

// sparse is the histogram of a node with fewer rows than there are bins: it knows which bins have some, so that
// neither the others are looked at nor the parent's histogram is needed to spare the larger child's. Reading a
// column empties it. It is for one goroutine.
type sparse struct {
	wide  bool        // gradient and curvature are integers of their own
	shift uint        // else curvature is below
	hist  []int64     // zeros between nodes
	seen  [][4]uint64 // by column: the bins with rows, likewise
	both  []int64     // scratch
}

// fill adds a node's rows to the columns that are allowed, nil for all.
func (f *sparse) fill(k *rows, g *ground, groups []some, length int, allowed []bool, order []uint32) {
	if length <<= f.pair(); len(f.hist) < length {
		f.hist = make([]int64, length)
	}
	if f.seen == nil {
		f.seen = make([][4]uint64, len(g.cols))
	}
	for i := range groups {
		s := &groups[i]
		gr := &g.groups[s.group]
		bins, w := k.bins[k.n*gr.first:], len(gr.cols)
		for at, c := range s.cols {
			if allowed != nil && !allowed[gr.cols[c]] {
				continue
			}
			h, seen, col := f.hist[int(s.at[at])<<f.pair():], &f.seen[gr.cols[c]], bins[c:]
			if f.wide {
				for _, r := range order {
					b := col[int(r)*w]
					seen[b>>6] |= 1 << (b & 63)
					h[2*int(b)] += k.grad[2*r]
					h[2*int(b)+1] += k.grad[2*r+1]
				}
				continue
			}
			for _, r := range order {
				b := col[int(r)*w]
				seen[b>>6] |= 1 << (b & 63)
				h[b] += k.grad[r]
			}
		}
	}
}

// pair is by how many bits a bin's place is to be shifted.
func (f *sparse) pair() uint {
	if f.wide {
		return 1
	}
	return 0
}

// take returns the sums of a bin, and empties it.
func (f *sparse) take(at int) (g, h int64) {
	if f.wide {
		p := f.hist[2*at:][:2]
		g, h = p[0], p[1]
		p[0], p[1] = 0, 0
		return g, h
	}
	v := f.hist[at]
	f.hist[at] = 0
	return v >> (f.shift & 63), v & (1<<(f.shift&63) - 1)
}

// prefix makes the prefix sums of a column, whose histogram begins at from, and returns the sums of its missing
// values.
func (f *sparse) prefix(c *column, from, j int, r *prefix) (gm, hm int64) {
	var g1, h1 int64
	r.n = 0
	for w := range f.seen[j] {
		for set := f.seen[j][w]; set != 0; set &= set - 1 {
			b := w<<6 + bits.TrailingZeros64(set)
			gb, hb := f.take(from + b)
			switch {
			case b == c.miss():
				gm, hm = gb, hb
			case gb != 0 || hb != 0:
				g1, h1 = g1+gb, h1+hb
				r.add(b, g1, h1)
			}
		}
		f.seen[j][w] = 0
	}
	return gm, hm
}

// pairs returns the sums of a column's bins, gradient and curvature in turn, until the next call.
func (f *sparse) pairs(c *column, from, j int) []int64 {
	f.both = append(f.both[:0], make([]int64, 2*c.stride)...)
	for w := range f.seen[j] {
		for set := f.seen[j][w]; set != 0; set &= set - 1 {
			b := w<<6 + bits.TrailingZeros64(set)
			f.both[2*b], f.both[2*b+1] = f.take(from + b)
		}
		f.seen[j][w] = 0
	}
	return f.both
}
