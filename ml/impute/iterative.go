package impute

import (
	"math"
	"slices"
)

// Iterative fills gaps by regressions of each column on all others, in rounds (van Buuren and Groothuis-Oudshoorn,
// "mice: Multivariate Imputation by Chained Equations in R", 2011), as scikit-learn's IterativeImputer does
// without a random posterior: gaps begin as means; a column's regression is fitted to the rows that have it, with the
// fillings so far of the other columns; its predictions are the column's new fillings.
//
// A filling is a linear function of the row's numbers, the same one for all rows with gaps in the same places. So
// the sums of products of such rows, as filled, follow from those before by the same function, and no round needs the
// rows: see pattern.
type Iterative struct {
	Rounds       int     // at most
	Tolerance    float64 // rounds end when fillings change by less, relative to the numbers; 0 for never
	Estimator    Estimator
	Order        Order
	SkipComplete bool // no regressions for columns without gaps: what is missing there later gets the mean
}

// Estimator is a regression.
type Estimator uint8

// The regressions.
const (
	BayesianRidge Estimator = iota
	LeastSquares
	NumEstimators
)

// Order is that of the columns in a round.
type Order uint8

// The orders, with scikit-learn's names.
const (
	Ascending  Order = iota // fewest gaps first
	Descending              // most gaps first
	Roman                   // from the left
	Arabic                  // from the right
	NumOrders
)

// What the numbers of a fitted Iterative begin with; the means by column follow, and then steps: the column,
// its intercept, and a factor by column, all of numbers less their means.
const (
	iterativeColumns = iota
	iterativeHead
)

// Pattern is the rows that have gaps in the same places.
type Pattern struct {
	Has uint64 // the columns that are no gaps, a bit each
	// Moments are the sums over rows of the products of 1 and the numbers less their columns' means, (columns+1)²
	// of them by rows, the weight first; gaps are zeros. Fit overwrites it.
	Moments []float64
}

func (p *Pattern) has(j int) bool { return p.Has>>j&1 != 0 }

// Moments is the number of Pattern.Moments.
func Moments(columns int) int { return (columns + 1) * (columns + 1) }

// Fit returns the numbers of a fitted imputation. sizes are the roots of the mean squares of the columns.
func (m Iterative) Fit(means, sizes []float64, patterns []Pattern) []float64 {
	d := len(means)
	out := append([]float64{float64(d)}, means...)
	if d < 2 {
		return out
	}
	gaps, total := make([]float64, d), 0.0 // weights of rows
	for i := range patterns {
		p := &patterns[i]
		total += p.Moments[0]
		for j := range d {
			if !p.has(j) {
				gaps[j] += p.Moments[0]
			}
		}
	}
	order := m.order(gaps)
	tolerance := float64(m.Tolerance * slices.Max(sizes))
	r := newRegression(d)
	for range m.Rounds {
		change := 0.0 // the greatest root of a column's mean squared change
		for _, j := range order {
			r.fit(m.Estimator, patterns, j)
			out = append(append(out, float64(j)), r.factors...)
			if gaps[j] == 0 {
				continue
			}
			sum := 0.0
			for i := range patterns {
				if p := &patterns[i]; !p.has(j) {
					sum += p.refill(j, d, r.factors, r.space)
				}
			}
			change = max(change, math.Sqrt(max(sum, 0)/gaps[j]))
		}
		if change < tolerance {
			break
		}
	}
	return out
}

// order returns the columns of a round.
func (m Iterative) order(gaps []float64) (cols []int) {
	for j := range gaps {
		if gaps[j] > 0 || !m.SkipComplete {
			cols = append(cols, j)
		}
	}
	switch m.Order {
	case Ascending, Descending:
		slices.SortStableFunc(cols, func(a, b int) int {
			switch {
			case gaps[a] < gaps[b]:
				return -1
			case gaps[a] > gaps[b]:
				return 1
			}
			return 0
		})
		if m.Order == Descending {
			slices.Reverse(cols)
		}
	case Arabic:
		slices.Reverse(cols)
	}
	return cols
}

// refill replaces column j by its regression in the moments, and returns the sum of the squared changes. space
// is for d+1 numbers.
func (p *Pattern) refill(j, d int, factors, space []float64) (change float64) {
	n := d + 1
	clear(space)
	for k, f := range factors {
		if f == 0 {
			continue
		}
		for l, v := range p.Moments[k*n : (k+1)*n] {
			space[l] += float64(f * v)
		}
	}
	square := 0.0
	for k, f := range factors {
		square += float64(f * space[k])
	}
	at := j + 1
	change = square - float64(2*space[at]) + p.Moments[at*n+at]
	space[at] = square
	for l, v := range space {
		p.Moments[at*n+l], p.Moments[l*n+at] = v, v
	}
	return change
}

// OpenIterative returns the Filler of numbers that Fit returned for so many columns, nil where they are not.
func OpenIterative(numbers []float64, columns int) Filler {
	if columns < 1 || len(numbers) < iterativeHead+columns || numbers[iterativeColumns] != float64(columns) || (len(numbers)-iterativeHead-columns)%(columns+2) != 0 {
		return nil
	}
	f := &iterative{means: numbers[iterativeHead : iterativeHead+columns], steps: numbers[iterativeHead+columns:], gap: make([]bool, columns)}
	for at := 0; at < len(f.steps); at += columns + 2 {
		if j := f.steps[at]; !(j >= 0 && j < float64(columns)) || j != math.Trunc(j) {
			return nil
		}
	}
	return f
}

type iterative struct {
	means, steps []float64
	gap          []bool
}

// Fill implements Filler.
func (f *iterative) Fill(row []float64) {
	any := false
	for j, x := range row {
		f.gap[j] = x != x
		any = any || f.gap[j]
	}
	if !any {
		return
	}
	for j, x := range row {
		if f.gap[j] {
			row[j] = f.means[j]
		} else {
			row[j] = x
		}
	}
	d := len(row)
	for at := 0; at < len(f.steps); at += d + 2 {
		j := int(f.steps[at])
		if !f.gap[j] {
			continue
		}
		sum := f.steps[at+1]
		for k, b := range f.steps[at+2 : at+2+d] {
			sum += float64(b * (row[k] - f.means[k]))
		}
		row[j] = f.means[j] + sum
	}
}
