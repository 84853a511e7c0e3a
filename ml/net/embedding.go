package net

import "math"

// embedding is the first layer of a net over rows with categories: it gives the
// numbers of the input as they are, and after them for each code column a vector
// that is learnt for the category (Bengio et al. 2003), or zeros for none.
type embedding struct {
	in    shape // of the numbers
	sizes []int // categories, by code column
	wide  []int // length of the vectors, likewise
}

// embeddingWidth is how long the vectors of so many categories are unless the
// statement says so.
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

// init draws vectors whose expected length is that of a number of variance 1.
func (l *embedding) init(p []float32, r *rng) {
	for c, s := range l.sizes {
		n := s * l.wide[c]
		r.fill(p[:n], math.Sqrt(3/float64(l.wide[c])))
		p = p[n:]
	}
}

// each visits the vectors that a step's codes choose: at in the parameters, to
// in the output.
func (l *embedding) each(codes []int32, f func(at, to, n int)) {
	slot, at, to := 0, 0, l.in.width // where the column begins
	for c, code := range codes {
		n := l.wide[c]
		if k := int(code) - slot; code >= 0 && k >= 0 && k < l.sizes[c] {
			f(at+k*n, to, n)
		}
		slot, at, to = slot+l.sizes[c], at+l.sizes[c]*n, to+n
	}
}

func (l *embedding) forward(p []float32, in *tensor, t *tape) *tensor {
	out := t.tensor(in.n, l.out())
	for i := range in.rows() {
		o := out.row(i)
		clear(o[copy(o, in.row(i)):])
		l.each(t.codes[i*len(l.sizes):][:len(l.sizes)], func(at, to, n int) { copy(o[to:to+n], p[at:]) })
	}
	return out
}

func (l *embedding) backward(_, g []float32, dout *tensor, t *tape) *tensor {
	for i := range dout.rows() {
		d := dout.row(i)
		l.each(t.codes[i*len(l.sizes):][:len(l.sizes)], func(at, to, n int) {
			for j, v := range d[to : to+n] {
				g[at+j] += v
			}
		})
	}
	return nil
}
