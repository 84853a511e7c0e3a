package tree

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
)

// A column may have more categories than a histogram has bins. Those whose rows are alike
// in the target share one, so that hardly any of what tells them apart is lost: categories
// are sorted by the mean of their labels, or, of more than two classes, by the class that
// they have more of than others have and how much of it, and cut into bins of about equal
// weight. Sorted categories are what splits are made of anyway (Fisher 1958); LightGBM and
// XGBoost sort them node by node.

// scale is the body of opMeans: what labels are multiplied by, which brings them to at
// most 1.
type scale float64

// Encode implements family.Message.
func (s scale) Encode(e *canon.E) { e.F64(float64(s)) }

// means are sums by slot of codes, of labels times weight in units of 1/weightUnits, or
// the weight of each class.
type means []int64

// Encode implements family.Message.
func (m means) Encode(e *canon.E) { e.I64s(m) }

func (m means) merge(o means) error {
	if len(m) != len(o) {
		return errShape()
	}
	for i, v := range o {
		m[i] += v
	}
	return nil
}

// mostSorted is how many classes are told apart where categories are sorted; the others
// share their numbers.
const mostSorted = 64

// perSlot is the number of sums of a category: one of numbers and of two classes.
func (p *problem) perSlot() int {
	if p.classes <= 2 {
		return 1
	}
	return min(p.classes, mostSorted)
}

// meansLen is the number of sums, 0 where every category has a bin of its own.
func (p *problem) meansLen() int {
	if !slices.ContainsFunc(p.codeSlots, func(n int) bool { return n > p.maxBin }) {
		return 0
	}
	return sum1(p.codeSlots) * p.perSlot()
}

// add adds the rows of a block.
func (m means) add(p *problem, by float64, b *block.Block) {
	per := p.perSlot()
	for i, w := range b.W[:b.Rows] {
		if !(w > 0) {
			continue
		}
		y, k := float64(b.Y[i]*by), 0
		if per > 1 {
			y, k = 1, int(b.Y[i])%per
		}
		fixed := int64(math.RoundToEven(float64(y*w) * p.weightUnits))
		for j := range b.Codes {
			if c := b.CodeAt(i, j); c >= 0 {
				m[int(c)*per+k] += fixed
			}
		}
	}
}

// bins assigns each category of a column, whose slots begin at first and weigh counts, a
// bin, and returns how many there are.
func (m means) bins(p *problem, first int, counts []int64) ([]uint8, int) {
	per := p.perSlot()
	m = m[first*per:][:len(counts)*per]
	prior, all := make([]float64, per), 0.0
	for i, n := range counts {
		all += float64(n)
		for k, v := range m[i*per:][:per] {
			prior[k] += float64(v)
		}
	}
	for k := range prior {
		prior[k] /= max(all, 1)
	}
	few := float64(categorySmooth * p.weightUnits)
	score := func(i int) float64 {
		best, most := 0.0, math.Inf(-1)
		for k, v := range m[i*per:][:per] {
			mean := (float64(v) + float64(few*prior[k])) / (float64(counts[i]) + few)
			if per == 1 {
				return mean
			}
			if more := mean - prior[k]; more > most {
				best, most = float64(2*k)+mean, more
			}
		}
		return best
	}
	type item struct {
		score float64
		slot  int
	}
	items := make([]item, len(counts))
	for i := range items {
		items[i] = item{score(i), i}
	}
	slices.SortFunc(items, func(a, b item) int {
		if a.score != b.score {
			if a.score < b.score {
				return -1
			}
			return 1
		}
		return a.slot - b.slot
	})
	var vals []float64
	var weights []int64
	for _, it := range items {
		if n := len(vals); n > 0 && vals[n-1] == it.score {
			weights[n-1] += counts[it.slot]
		} else {
			vals, weights = append(vals, it.score), append(weights, counts[it.slot])
		}
	}
	cuts := cutPoints(vals, weights, p.maxBin)
	bin, at := make([]uint8, len(counts)), 0
	for _, it := range items {
		for at < len(cuts) && it.score > cuts[at] {
			at++
		}
		bin[it.slot] = uint8(at)
	}
	return bin, len(cuts) + 1
}
