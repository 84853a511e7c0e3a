package metric

import (
	"math"
	"math/big"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// LogLoss is the mean cross-entropy. Its sums do not depend on the order of rows.
type LogLoss struct{ sum, weight exact.Sum }

const probEps = 0x1p-52

// Add counts a row whose true class was given the probability p, which is kept
// off 0 as scikit-learn does.
func (l *LogLoss) Add(p, weight float64) {
	l.sum.Add(-float64(weight * f64.Log1(math.Min(math.Max(p, probEps), 1))))
	l.weight.Add(weight)
}

// AddAll counts rows of weight 1, to the bit as Add does.
func (l *LogLoss) AddAll(p []float64) {
	var loss [64]float64
	for from := 0; from < len(p); from += len(loss) {
		part := p[from:min(from+len(loss), len(p))]
		f64.CrossEntropy(loss[:len(part)], part, hits[:len(part)])
		for i, v := range part {
			if !(v <= 1-probEps) { // CrossEntropy clips such to 1 - eps
				loss[i] = -f64.Log1(math.Min(math.Max(v, probEps), 1))
			}
			l.sum.Add(loss[i])
		}
	}
	l.weight.AddTimes(1, len(p))
}

// hits are labels of 1, for AddAll, whose probabilities are those of the rows' classes.
var hits = func() (y [64]float64) {
	for i := range y {
		y[i] = 1
	}
	return y
}()

// Merge adds another state.
func (l *LogLoss) Merge(o *LogLoss) { l.sum.Merge(&o.sum); l.weight.Merge(&o.weight) }

// Mean is the metric.
func (l *LogLoss) Mean() float64 { return l.sum.Value() / l.weight.Value() }

// Encode writes the canonical bytes.
func (l *LogLoss) Encode(e *canon.E) { encodeSums(e, &l.sum, &l.weight) }

// DecodeLogLoss reads what Encode wrote.
func DecodeLogLoss(d *canon.D) *LogLoss {
	l := &LogLoss{}
	decodeSums(d, &l.sum, &l.weight)
	return l
}

func encodeSums(e *canon.E, sums ...*exact.Sum) {
	for _, s := range sums {
		e.B = s.Append(e.B)
	}
}

func decodeSums(d *canon.D, sums ...*exact.Sum) {
	for _, s := range sums {
		if b := d.Take(exact.Bytes); b != nil {
			s.Decode(b)
		}
	}
}

// Regression keeps what the metrics of predicted numbers need: sums that do not
// depend on the order of rows.
type Regression struct {
	weight  exact.Long
	sums    exact.Errors
	scratch exact.ErrorsScratch
}

func (r *Regression) parts() []*exact.Long {
	return []*exact.Long{&r.weight, &r.sums.Abs, &r.sums.DD, &r.sums.Y, &r.sums.YY}
}

// Add counts a row.
func (r *Regression) Add(truth, pred, weight float64) {
	if weight == 0 {
		return
	}
	r.weight.Add(weight)
	if weight == 1 {
		r.sums.Add(truth, pred)
		return
	}
	e, wy := truth-pred, float64(weight*truth)
	r.sums.Abs.Add(float64(weight * math.Abs(e)))
	r.sums.DD.AddProduct(float64(weight*e), e)
	r.sums.Y.Add(wy)
	r.sums.YY.AddProduct(wy, truth)
}

// AddAll counts rows of weight 1.
func (r *Regression) AddAll(truth, pred []float64) {
	r.weight.AddParts(int64(len(truth)), float64(len(truth)))
	r.sums.AddAll(truth, pred, &r.scratch)
}

// Merge adds another state.
func (r *Regression) Merge(o *Regression) {
	for i, p := range r.parts() {
		p.Merge(o.parts()[i])
	}
}

// MAE, MSE, RMSE and R2 are the metrics; NaN of no rows.
func (r *Regression) MAE() float64  { return r.sums.Abs.Value() / r.weight.Value() }
func (r *Regression) MSE() float64  { return r.sums.DD.Value() / r.weight.Value() }
func (r *Regression) RMSE() float64 { return math.Sqrt(r.MSE()) }

// R2 is the share of the truth's variance that is explained. Of a constant
// truth it is 1 if every prediction is right, else 0; NaN where a sum is not finite.
func (r *Regression) R2() float64 {
	w, sq := r.weight.Value(), r.sums.DD.Value()
	switch m2 := r.spread(); {
	case w == 0, sq-sq != 0, m2-m2 != 0:
		return math.NaN()
	case m2 > 0:
		return 1 - sq/m2
	case sq == 0:
		return 1
	}
	return 0
}

// spread is Σ w·(y−ȳ)². The sums are exact but for the roundings of w·y, so
// where all y are equal the result is within rounding of 0.
func (r *Regression) spread() float64 {
	if r.weight.Special() || r.sums.Y.Special() || r.sums.YY.Special() {
		return math.NaN()
	}
	w, y, yy := r.weight.Big(), r.sums.Y.Big(), r.sums.YY.Big()
	if w.Sign() == 0 {
		return 0
	}
	m := new(big.Float).SetPrec(1024).Mul(y, y)
	v, _ := m.Sub(yy, m.Quo(m, w)).Float64()
	if whole := r.sums.YY.Value(); v <= float64(whole*0x1p-50) {
		return 0
	}
	return v
}

// Encode writes the canonical bytes.
func (r *Regression) Encode(e *canon.E) {
	for _, p := range r.parts() {
		e.Bytes(p.Append(nil))
	}
}

// DecodeRegression reads what Encode wrote.
func DecodeRegression(d *canon.D) *Regression {
	r := &Regression{}
	for _, p := range r.parts() {
		if !p.Decode(d.Bytes()) {
			d.Fail()
		}
	}
	return r
}
