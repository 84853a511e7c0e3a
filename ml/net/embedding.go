package net

import "math"

// embedding is the first layer of a net over rows with categories: it passes the
// numbers of the input through, followed for each code column by a learnt vector of the
// category (Bengio et al. 2003), or zeros for none.
type embedding struct {
	in    shape // of the numbers
	sizes []int // categories, by code column
	wide  []int // length of the vectors, likewise
}

// embeddingWidth returns the default length of the vectors for so many categories.
func embeddingWidth(categories int) int { return min(50, (categories+1)/2) }

func (l *embedding) params() (n int) {
	for c, s := range l.sizes {
		n += s * l.wide[c]
	}
	return n
}

func (l *embedding) out() shape {
	w := l.in.width
	for _, n := range l.wide {
		w += n
	}
	return shape{l.in.steps, w}
}

func (l *embedding) scratch(n int) int { return n * l.out().size() }

// init draws vectors whose expected squared length is 1, that of a standardised number.
func (l *embedding) init(p []float32, r *rng) {
	for c, s := range l.sizes {
		n := s * l.wide[c]
		r.fill(p[:n], math.Sqrt(3/float64(l.wide[c])))
		p = p[n:]
	}
}

// vectors sets for each column of a step's codes where the vector begins in the
// parameters, or -1 for none.
func (l *embedding) vectors(at []int, codes []int32) {
	slot, begin := 0, 0 // of the column
	for c, code := range codes {
		k := int(code) - slot
		if at[c] = begin + k*l.wide[c]; code < 0 || k < 0 || k >= l.sizes[c] {
			at[c] = -1
		}
		slot, begin = slot+l.sizes[c], begin+l.sizes[c]*l.wide[c]
	}
}

func (l *embedding) forward(p []float32, in *tensor, t *tape) *tensor {
	out := t.tensor(in.n, l.out())
	for s := range l.in.steps {
		o := out.step(s)
		clear(o[copy(o, in.step(s)):])
	}
	l.each(in.n, t, func(s, i, j, from, width int) {
		o := out.step(s)[j*in.n+i:]
		for k, v := range p[from:][:width] {
			o[k*in.n] = v
		}
	})
	return out
}

func (l *embedding) backward(_, g []float32, dout *tensor, t *tape) *tensor {
	l.each(dout.n, t, func(s, i, j, from, width int) {
		d, to := dout.step(s)[j*dout.n+i:], g[from:][:width]
		for k := range to {
			to[k] += d[k*dout.n]
		}
	})
	return nil
}

// each calls f for the vectors of n samples, one sample after the other: with the
// step s, the sample i, the output column j of the vector, and where it begins in
// the parameters.
func (l *embedding) each(n int, t *tape, f func(s, i, j, from, width int)) {
	at := make([]int, len(l.sizes))
	for i := range n {
		for s := range l.in.steps {
			l.vectors(at, t.codes[(i*l.in.steps+s)*len(at):][:len(at)])
			j := l.in.width
			for c, width := range l.wide {
				if at[c] >= 0 {
					f(s, i, j, at[c], width)
				}
				j += width
			}
		}
	}
}
