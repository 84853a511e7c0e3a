package impute

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/canon"
)

// Products are the exact sums of the numbers of rows that have gaps in the same places, then of the products of every two
// of these, and of each with itself.
type Products []exact.Sum

// NumberOfProducts is how many sums there are for rows of n numbers.
func NumberOfProducts(n int) int { return n + n*(n+1)/2 }

// Add adds a row's numbers.
func (p Products) Add(numbers []float64, weight float64) {
	for i, x := range numbers {
		p[i].AddProduct(weight, x)
	}
	p = p[len(numbers):]
	for i, x := range numbers {
		wx := float64(weight * x)
		rest := math.FMA(weight, x, -wx)
		for _, y := range numbers[i:] {
			p[0].AddProduct(wx, y)
			if rest != 0 && rest-rest == 0 {
				p[0].Add(float64(rest * y))
			}
			p = p[1:]
		}
	}
}

// Pattern makes the moments of numbers less their means of the sums, in 512 bits. has are the columns.
func (p Products) Pattern(has uint64, weight float64, means []float64) Pattern {
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(512).SetFloat64(v) }
	less := func(a, b *big.Float, by float64) { a.Sub(a, number(0).Mul(b, number(by))) } // a - b·by
	n := len(means) + 1
	out := Pattern{has, make([]float64, Moments(len(means)))}
	out.Moments[0] = weight
	var cols []int
	for j := range means {
		if has>>j&1 != 0 {
			cols = append(cols, j)
		}
	}
	products := p[len(cols):]
	for i, k := range cols {
		x := p[i].Big()
		less(x, number(weight), means[k])
		m, _ := x.Float64()
		out.Moments[k+1], out.Moments[(k+1)*n] = m, m
		for h, l := range cols[i:] {
			v := products[0].Big() // Σxy - mx·Σy - my·(Σx - mx·Σ1)
			products = products[1:]
			less(v, p[i+h].Big(), means[k])
			less(v, x, means[l])
			m, _ := v.Float64()
			out.Moments[(k+1)*n+l+1], out.Moments[(l+1)*n+k+1] = m, m
		}
	}
	return out
}

// Hash gives rows an order that has nothing to do with their numbers. Models depend on it: it is finished as SplitMix64 is.
func Hash(row []byte) uint64 {
	v := canon.Hash(row)
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// Keep returns which of n rows are kept, ascending: those of the least hashes, ties by their order.
func Keep(n, most int, row func(i int) string) []int {
	type hashed struct {
		hash uint64
		at   int
	}
	list := make([]hashed, n)
	for i := range list {
		list[i] = hashed{Hash([]byte(row(i))), i}
	}
	slices.SortFunc(list, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) })
	kept := make([]int, min(most, n))
	for i := range kept {
		kept[i] = list[i].at
	}
	slices.Sort(kept)
	return kept
}
