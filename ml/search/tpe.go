package search

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Random trials before the first choice, draws of which the best is taken, and the most
// that count as good, as in the authors' own program (hyperopt). The root of the trials'
// number are good: with fewer, few trials would decide too much too early.
const (
	startTrials = 10
	draws       = 24
	mostGood    = 25
)

// tpe models where good trials lie, l, and where the others do, g, each as a mixture of
// normal distributions around them, and tries next what maximises l/g: that is where
// the expected improvement is largest.
type tpe struct {
	c    Config
	r    *rand.Rand
	seen seen
	done []observation // in the order of numbers
	last []Trial
}

type observation struct {
	point Point
	loss  float64
}

func newTPE(c Config) Search {
	c.Parallel = max(c.Parallel, 1)
	return &tpe{c: c, r: source(c.Seed), seen: seen{}}
}

func (t *tpe) Next() (out []Trial) {
	n := min(t.c.Parallel, t.c.Trials-len(t.done))
	if len(t.done) == 0 { // random ones are one batch
		n = min(max(startTrials, n), t.c.Trials)
	}
	var pending []Point
	for i := range n {
		draw := func() Point { return t.c.Space.draw(t.r) }
		if len(t.done) > 0 {
			draw = t.model(pending)
		}
		p := t.seen.fresh(t.c.Space, t.r, draw)
		pending = append(pending, p)
		out = append(out, Trial{Number: len(t.done) + i + 1, Point: p, Share: 1})
	}
	t.last = out
	return out
}

func (t *tpe) Tell(losses []float64) {
	for i, l := range losses {
		t.done = append(t.done, observation{t.last[i].Point, l})
	}
}

// model returns what draws a point by the trials so far. Those that are chosen in the
// same batch count as bad ones, so that they are not chosen again (the constant liar).
func (t *tpe) model(pending []Point) func() Point {
	sorted := slices.Clone(t.done)
	slices.SortStableFunc(sorted, func(a, b observation) int {
		switch {
		case better(a.loss, b.loss):
			return -1
		case better(b.loss, a.loss):
			return 1
		}
		return 0
	})
	n := min(int(math.Ceil(math.Sqrt(float64(len(sorted))))), mostGood)
	var good, bad []Point
	for i, o := range sorted {
		if i < n && o.loss == o.loss {
			good = append(good, o.point)
		} else {
			bad = append(bad, o.point)
		}
	}
	bad = append(bad, pending...)
	return func() Point {
		p := make(Point, len(t.c.Space))
		for i, d := range t.c.Space {
			l, g := d.density(good, i), d.density(bad, i)
			best := math.Inf(-1)
			for range draws {
				u := l.draw(t.r)
				if of := l.at(u) / g.at(u); of > best {
					best, p[i] = of, l.value(d, u)
				}
			}
		}
		return p
	}
}

// density is the distribution of a dimension's values among some trials: of candidates
// by their weights, of a range by its fractions.
type density struct {
	weights []float64 // of candidates; nil of a range
	means   []float64 // of the parts, which have equal weights; the first is the prior's
	sigmas  []float64
	masses  []float64 // of each part between 0 and 1
}

// density returns that of values i of the points, and of a prior that counts as much as
// one of them.
func (d Dim) density(points []Point, i int) *density {
	if d.Candidates > 0 {
		m := &density{weights: make([]float64, d.Candidates)}
		for k := range m.weights {
			m.weights[k] = 1 / float64(d.Candidates)
		}
		for _, p := range points {
			m.weights[int(p[i])]++
		}
		for k := range m.weights {
			m.weights[k] /= float64(len(points) + 1)
		}
		return m
	}
	at := []float64{0.5}
	for _, p := range points {
		at = append(at, d.fraction(p[i]))
	}
	sorted := slices.Sorted(slices.Values(at))
	m := &density{means: at}
	narrow := 1 / math.Min(100, float64(len(at)+1))
	for k, x := range at {
		s := 1.0 // the prior's
		if k > 0 {
			n, _ := slices.BinarySearch(sorted, x)
			left, right := x, 1-x
			if n > 0 {
				left = x - sorted[n-1]
			}
			if n+1 < len(sorted) {
				right = sorted[n+1] - x
			}
			s = math.Min(math.Max(math.Max(left, right), narrow), 1)
		}
		m.sigmas = append(m.sigmas, s)
		m.masses = append(m.masses, cumulative((1-x)/s)-cumulative(-x/s))
	}
	return m
}

func cumulative(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// draw returns the index of a candidate, or a fraction of a range.
func (m *density) draw(r *rand.Rand) float64 {
	if m.weights != nil {
		u, k := r.Float64(), 0
		for u -= m.weights[0]; u >= 0 && k+1 < len(m.weights); u -= m.weights[k] {
			k++
		}
		return float64(k)
	}
	k := r.IntN(len(m.means))
	for {
		if u := m.means[k] + float64(m.sigmas[k]*r.NormFloat64()); u >= 0 && u < 1 {
			return u
		}
	}
}

// at returns the density of what draw returns.
func (m *density) at(u float64) (sum float64) {
	if m.weights != nil {
		return m.weights[int(u)]
	}
	for k, x := range m.means {
		z := (u - x) / m.sigmas[k]
		sum += math.Exp(-z*z/2) / (m.sigmas[k] * m.masses[k])
	}
	return sum / (float64(len(m.means)) * math.Sqrt(2*math.Pi))
}

// value returns the value of what draw returns.
func (m *density) value(d Dim, u float64) float64 {
	if m.weights != nil {
		return u
	}
	return d.at(u)
}
