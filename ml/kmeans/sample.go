package kmeans

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// pick is a row that was drawn.
type pick struct {
	Key  float64
	X    []float64
	Code []int32
}

func (p *pick) compare(o *pick) int {
	if c := cmp.Compare(p.Key, o.Key); c != 0 {
		return c
	}
	if c := slices.Compare(p.X, o.X); c != 0 {
		return c
	}
	return slices.Compare(p.Code, o.Code)
}

// coords returns the coordinates of the row, slots included.
func (p *pick) coords(oneHot int) []float64 {
	c := make([]float64, len(p.X)+oneHot)
	copy(c, p.X)
	for _, s := range p.Code {
		if s >= 0 {
			c[len(p.X)+int(s)] = 1
		}
	}
	return c
}

// sample is the distinct rows with the least keys, at most Cap, in order.
type sample struct {
	Cap   int
	Picks []pick
}

// worst is the key above which no row is taken.
func (s *sample) worst() float64 {
	if len(s.Picks) < s.Cap {
		return inf()
	}
	if s.Cap == 0 {
		return math.Inf(-1)
	}
	return s.Picks[s.Cap-1].Key
}

// offer takes row i of a group if its key is small enough.
func (s *sample) offer(key float64, g *group, i int) {
	if key > s.worst() {
		return
	}
	p := pick{Key: key, X: make([]float64, g.dense), Code: make([]int32, g.codes)}
	tile, l := i&^(f64.Lanes-1), i&(f64.Lanes-1)
	for j := range p.X {
		p.X[j] = g.x[tile*g.dense+j*f64.Lanes+l] + 0 // no -0
	}
	for j := range p.Code {
		p.Code[j] = g.code[tile*g.codes+j*f64.Lanes+l]
	}
	at, found := slices.BinarySearchFunc(s.Picks, &p, func(a pick, b *pick) int { return a.compare(b) })
	if found || at == s.Cap {
		return
	}
	if len(s.Picks) == s.Cap {
		s.Picks = s.Picks[:s.Cap-1]
	}
	s.Picks = slices.Insert(s.Picks, at, p)
}

// merge adds another sample of the same step.
func (s *sample) merge(o *sample) {
	var out []pick
	a, b := s.Picks, o.Picks
	for len(out) < s.Cap && len(a)+len(b) > 0 {
		c := -1
		switch {
		case len(a) == 0:
			c = 1
		case len(b) > 0:
			c = a[0].compare(&b[0])
		}
		if c <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out = append(out, b[0])
		}
		if c >= 0 {
			b = b[1:]
		}
	}
	s.Picks = out
}

const (
	mulA = 0x9e3779b97f4a7c15 // odd constants: digits of the golden ratio and of √2
	mulB = 0x6a09e667f3bcc909
)

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// chances sets out to a pseudo-random number in (0, 1) for each row of a group, a
// hash of its values and the salt.
func (g *group) chances(salt uint64, out []float64) {
	for t := 0; t < len(g.rows); t += f64.Lanes {
		var h [f64.Lanes]uint64
		for l := range h {
			h[l] = salt ^ mulB
		}
		for j, x := 0, g.x[t*g.dense:]; j < g.dense; j, x = j+1, x[f64.Lanes:] {
			for l, v := range x[:f64.Lanes] {
				h[l] = fold(h[l]^math.Float64bits(v+0), mulA)
			}
		}
		for j, c := 0, g.code[t*g.codes:]; j < g.codes; j, c = j+1, c[f64.Lanes:] {
			for l, v := range c[:f64.Lanes] {
				h[l] = fold(h[l]^uint64(uint32(v)), mulA)
			}
		}
		for l, v := range h {
			out[t+l] = float64(mix(v)>>11)*0x1p-53 + 0x1p-54
		}
	}
}

// mix is the finaliser of SplitMix64.
func mix(v uint64) uint64 {
	v += mulA
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}
