package metric

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// LogLoss is the mean cross-entropy.
type LogLoss struct{ Sum, Weight float64 }

const probEps = 0x1p-52

// Add counts a row whose true class was given the probability p, which is kept
// off 0 as scikit-learn does.
func (l *LogLoss) Add(p, weight float64) {
	l.Sum -= float64(weight * f64.Log1(math.Min(math.Max(p, probEps), 1)))
	l.Weight += weight
}

// AddUnit counts rows of weight 1 by the probabilities that their true classes
// were given. It takes one logarithm of sixteen probabilities' product, which
// stays far from underflow, since none is below 2^-52.
func (l *LogLoss) AddUnit(p []float64) {
	l.Weight += float64(len(p))
	for len(p) > 0 {
		n := min(16, len(p))
		prod := 1.0
		for _, v := range p[:n] {
			prod *= min(max(v, probEps), 1)
		}
		l.Sum -= f64.Log1(prod)
		p = p[n:]
	}
}

// Merge adds another state.
func (l *LogLoss) Merge(o *LogLoss) { l.Sum += o.Sum; l.Weight += o.Weight }

// Mean is the measure.
func (l *LogLoss) Mean() float64 { return l.Sum / l.Weight }

// Encode gives the canonical bytes.
func (l *LogLoss) Encode(e *canon.E) { e.F64(l.Sum); e.F64(l.Weight) }

// DecodeLogLoss reads what Encode wrote.
func DecodeLogLoss(d *canon.D) *LogLoss { return &LogLoss{d.F64(), d.F64()} }

// Regression keeps what the measures of predicted numbers need.
type Regression struct {
	Weight, Abs, Sq float64
	mean, m2        float64 // of the truth
}

// Add counts a row.
func (r *Regression) Add(truth, pred, weight float64) {
	if weight == 0 {
		return
	}
	e := truth - pred
	r.Weight += weight
	r.Abs += float64(weight * math.Abs(e))
	r.Sq += float64(weight * float64(e*e))
	d := truth - r.mean
	r.mean += float64(d * (weight / r.Weight))
	r.m2 += float64(weight * float64(d*(truth-r.mean)))
}

// Merge adds another state.
func (r *Regression) Merge(o *Regression) {
	if o.Weight == 0 {
		return
	}
	if r.Weight == 0 {
		*r = *o
		return
	}
	w := r.Weight + o.Weight
	d := o.mean - r.mean
	share := o.Weight / w
	r.m2 += o.m2 + float64(float64(d*d)*float64(r.Weight*share))
	r.mean += float64(d * share)
	r.Weight, r.Abs, r.Sq = w, r.Abs+o.Abs, r.Sq+o.Sq
}

// MAE, MSE, RMSE and R2 are the measures; NaN of no rows.
func (r *Regression) MAE() float64  { return r.Abs / r.Weight }
func (r *Regression) MSE() float64  { return r.Sq / r.Weight }
func (r *Regression) RMSE() float64 { return math.Sqrt(r.MSE()) }

// R2 is the share of the truth's variance that is explained. Of a constant
// truth it is 1 if every prediction is right, else 0.
func (r *Regression) R2() float64 {
	switch {
	case r.Weight == 0:
		return math.NaN()
	case r.m2 > 0:
		return 1 - r.Sq/r.m2
	case r.Sq == 0:
		return 1
	}
	return 0
}

// Encode gives the canonical bytes.
func (r *Regression) Encode(e *canon.E) {
	for _, v := range []float64{r.Weight, r.Abs, r.Sq, r.mean, r.m2} {
		e.F64(v)
	}
}

// DecodeRegression reads what Encode wrote.
func DecodeRegression(d *canon.D) *Regression {
	return &Regression{d.F64(), d.F64(), d.F64(), d.F64(), d.F64()}
}
