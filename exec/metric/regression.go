package metric

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/tributarydb/tributary/exec/kernel/exact"
)

// Regression keeps what the metrics of predicted numbers need: sums that do not
// depend on the order of rows.
type Regression struct {
	exact.Errors
	weights *exact.Long // of the rows whose weight is not 1; nil where there are none
}

// AddWeighted counts a row with a weight.
func (r *Regression) AddWeighted(truth, pred, weight float64) {
	switch weight {
	case 0:
		return
	case 1:
		r.Add(truth, pred)
		return
	}
	if r.weights == nil {
		r.weights = &exact.Long{}
	}
	r.weights.Add(weight)
	e, wy := truth-pred, float64(weight*truth)
	r.Abs.Add(float64(weight * math.Abs(e)))
	r.D.Add(float64(weight * e))
	r.DD.AddProduct(float64(weight*e), e)
	r.Y.Add(wy)
	r.YY.AddProduct(wy, truth)
}

// parts returns the sums, the weights last.
func (r *Regression) parts() []*exact.Long {
	p := r.Parts()
	if r.weights == nil {
		return p[:]
	}
	return append(p[:], r.weights)
}

// Merge adds another state.
func (r *Regression) Merge(o *Regression) {
	if o.weights != nil && r.weights == nil {
		r.weights = &exact.Long{}
	}
	to := r.parts()
	for i, p := range o.parts() {
		to[i].Merge(p)
	}
}

// Rows returns how many rows there are.
func (r *Regression) Rows() int64 { return r.Y.N() }

// weight returns the weight of all rows.
func (r *Regression) weight() *exact.Long {
	w := exact.Long{}
	unit := r.Rows()
	if r.weights != nil {
		w = *r.weights
		unit -= w.N()
	}
	w.AddParts(unit, float64(unit))
	return &w
}

// Weight returns the weight of all rows.
func (r *Regression) Weight() float64 { return r.weight().Value() }

// Metric returns a metric by its name (see RegressionMetric); NaN of no rows.
func (r *Regression) Metric(name string) float64 {
	return RegressionMetric(name, r.weight().Value(), r.Abs.Value(), r.DD.Value(), r.D.Value(), r.spread)
}

// spread is Σ w·(y−ȳ)². With weights the sums are exact but for the roundings of w·y, so
// where all y are equal the result is within rounding of 0.
func (r *Regression) spread() float64 {
	switch {
	case r.Rows() == 0:
		return math.NaN()
	case r.weights == nil:
		return exact.LongSpread(&r.YY, &r.Y, &r.Y)
	}
	w := r.weight()
	if w.Special() || r.Y.Special() || r.YY.Special() || w.Value() == 0 {
		return math.NaN()
	}
	y := r.Y.Big()
	m := new(big.Float).SetPrec(1024).Mul(y, y)
	v, _ := m.Sub(r.YY.Big(), m.Quo(m, w.Big())).Float64()
	if v <= float64(r.YY.Value()*0x1p-50) {
		return 0
	}
	return v
}

// RegressionMetric returns a metric of rows of the weight n by Σ|y−p|, Σ(y−p)², Σ(y−p) and
// Σ(y−ȳ)². R² of a constant truth is 1 if every prediction is right, else 0.
func RegressionMetric(name string, n, abs, sq, d float64, spread func() float64) float64 {
	left := sq
	switch name {
	case "mean_absolute_error":
		return abs / n
	case "mean_squared_error":
		return left / n
	case "root_mean_squared_error":
		return math.Sqrt(left / n)
	case "explained_variance": // r2_score of the residuals less their mean
		left = max(left-d*(d/n), 0)
	}
	switch total := spread(); {
	case left-left != 0 || total-total != 0: // infinities among the values, or too large ones: the quotient says nothing
		return math.NaN()
	case total > 0:
		return 1 - left/total
	case left == 0:
		return 1
	}
	return 0
}

// Append appends the sums, each behind its length.
func (r *Regression) Append(dst []byte) []byte {
	for _, p := range r.parts() {
		b := p.Append(nil)
		dst = append(binary.AppendUvarint(dst, uint64(len(b))), b...)
	}
	return dst
}

// Decode reads what Append wrote, and reports whether b is well-formed.
func (r *Regression) Decode(b []byte) bool {
	*r = Regression{}
	for i := 0; i < len(r.parts()); i++ {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) || !r.parts()[i].Decode(b[w:w+int(n)]) {
			return false
		}
		if b = b[w+int(n):]; i == 4 && len(b) > 0 {
			r.weights = &exact.Long{}
		}
	}
	return len(b) == 0
}
