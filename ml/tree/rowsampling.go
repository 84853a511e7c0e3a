package tree

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Whether a tree is grown on a row is decided by a hash of the row's content and
// the tree's number, so that it does not depend on where the row is stored.
// Equal rows would then all be drawn, or none. So where the sketch has the
// number n of copies of a row, a number k is drawn from the distribution of n
// independent draws, and each copy counts k/n: the sums are those of k whole
// copies. The sketch has those numbers as long as its sample holds all distinct
// rows; beyond that copies are drawn together.

// maxDraws bounds how often a bootstrapped row is drawn; a Poisson number of
// mean 1 exceeds it about once in 10^15.
const maxDraws = 16

// drawer draws for one tree.
type drawer struct {
	seed    uint64
	below   uint64   // a row is drawn if its number is below
	poisson []uint64 // a row is drawn as often as numbers here are not above its own
	copied  map[uint64]uint32
}

// newDrawer makes the drawer of a tree, nil where every tree sees every row.
func newDrawer(p *problem, g *ground, tree int) *drawer {
	if !p.sampled() {
		return nil
	}
	d := &drawer{seed: mix(p.seed ^ mix(uint64(tree)+0x51)), copied: make(map[uint64]uint32, len(g.copies))}
	mean := p.subsample
	if p.bootstrap {
		mean = 1
		term, sum := f64.Exp1(-1), 0.0
		for k := 1; k < maxDraws; k++ {
			sum += term
			term /= float64(k)
			d.poisson = append(d.poisson, uint64(sum*(1<<53)))
		}
	} else {
		d.below = uint64(mean * (1 << 53))
	}
	for _, c := range g.copies {
		d.copied[c.hash] = d.many(c, mean)
	}
	return d
}

// row returns how often a row is drawn, in parts of draw.
func (d *drawer) row(hash uint64) uint32 {
	if len(d.copied) > 0 {
		if n, ok := d.copied[hash]; ok {
			return n
		}
	}
	u := mix(hash^d.seed) >> 11
	if d.poisson == nil {
		if u < d.below {
			return draw
		}
		return 0
	}
	n := uint32(0)
	for _, t := range d.poisson {
		if u < t {
			break
		}
		n += draw
	}
	return n
}

// many returns how often each copy counts. Few copies are drawn one by one, for
// many the sum is drawn from the normal distribution that approximates it, as a
// sum of twelve uniform numbers.
func (d *drawer) many(c copies, mean float64) uint32 {
	k, n := 0.0, float64(c.n)
	if c.n <= 64 {
		one := *d
		one.copied = nil
		for i := range c.n {
			k += float64(one.row(mix(c.hash+uint64(i)*0x9e3779b97f4a7c15))) / draw
		}
	} else {
		z := -6.0
		for i := range 12 {
			z += float64(mix(c.hash^d.seed+uint64(i))>>11) / (1 << 53)
		}
		variance := n
		if d.poisson == nil {
			variance = float64(n * float64(mean*(1-mean)))
		}
		k = math.Round(float64(n*mean) + float64(z*math.Sqrt(variance)))
	}
	most := float64(maxDraws)
	if d.poisson == nil {
		most = 1
	}
	return uint32(math.Round(draw * min(max(k/n, 0), most)))
}

// columnsOf draws k of n columns, ascending, nil for all.
func columnsOf(seed uint64, cols []int, k int) []int {
	if k >= len(cols) {
		return nil
	}
	// The k lowest numbers, ascending.
	at, out := make([]uint64, 0, k+1), make([]int, 0, k+1)
	for _, c := range cols {
		x := mix(seed ^ mix(uint64(c)+0x77))
		i := len(at)
		for i > 0 && (x < at[i-1] || x == at[i-1] && c < out[i-1]) {
			i--
		}
		if i < k {
			at, out = slices.Insert(at, i, x)[:min(len(at)+1, k)], slices.Insert(out, i, c)[:min(len(out)+1, k)]
		}
	}
	slices.Sort(out)
	return out
}
