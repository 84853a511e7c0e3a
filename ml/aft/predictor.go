package aft

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/types"
)

// predictor is a trained model.
type predictor struct {
	*problem
	f      *feature.Fitted
	theta  []float64 // weights and the intercept, of the logarithm of the duration
	scale  float64
	errors []float64 // of these and of the logarithm of the scale; nil, or NaN, for none
	shares []float64
}

// Encode implements family.Predictor.
func (p *predictor) Encode(e *canon.E) {
	e.Str(p.dist.name)
	e.F64s(p.theta)
	e.F64(p.scale)
	e.F64s(p.errors)
	e.F64s(p.shares)
}

// Decode implements family.Family.
func (aft) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	p := &predictor{problem: &problem{dist: find(d.Str()), dense: f.Dense, n: f.Params()}, f: f}
	p.theta, p.scale, p.errors, p.shares = d.F64s(), d.F64(), d.F64s(), d.F64s()
	if p.dist == nil || len(p.theta) != p.n+1 || !(p.scale > 0) || p.errors != nil && len(p.errors) != p.size() || len(p.shares) > mostQuantiles {
		d.Fail()
		return nil, d.Done("an AFT model")
	}
	return p, nil
}

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 { return 16*int64(p.n) + 512 }

// locations are the logarithms of a duration that rows have beside the noise.
func (p *predictor) locations(b *block.Block) []float64 {
	out := make([]float64, b.Rows)
	for i := range out {
		m := p.theta[p.n]
		p.columns(b, i, func(j int, x float64) { m += float64(p.theta[j] * x) })
		out[i] = m
	}
	return out
}

// Score implements family.Predictor: the median, and beside it the mean and the quantiles.
func (p *predictor) Score(b *block.Block) *family.Scores {
	at := p.locations(b)
	times := func(z float64) []float64 {
		out := make([]float64, len(at))
		for i, m := range at {
			out[i] = f64.Exp1(m + float64(p.scale*z))
		}
		return out
	}
	s := &family.Scores{Rows: b.Rows, Value: times(p.dist.quantile(0.5))}
	mean := times(0)
	for i := range mean {
		mean[i] = float64(mean[i] * p.dist.mean(p.scale))
	}
	s.Extra = append(s.Extra, mean)
	for _, q := range p.shares {
		s.Extra = append(s.Extra, times(p.dist.quantile(q)))
	}
	return s
}

// points is the number of points of a curve.
const points = 99

// Points implements family.Survivor.
func (p *predictor) Points() int { return points }

// Curves implements family.Survivor: at the times by which shares of all rows at hand together, from 1 to 99 in a
// hundred, would have had the event if they were like the one in their middle.
func (p *predictor) Curves(b *block.Block) (times []float64, left [][]float64) {
	at := p.locations(b)
	for k := range points {
		times = append(times, f64.Exp1(p.theta[p.n]+float64(p.scale*p.dist.quantile(float64(k+1)/(points+1)))))
		row := make([]float64, b.Rows)
		for i, m := range at {
			row[i] = p.dist.survival((f64.Log1(times[k]) - m) / p.scale)
		}
		left = append(left, row)
	}
	return times, left
}

// Describe implements family.Describer: the weights of the scaled columns and of those as they are, the intercept, and the
// scale of the noise.
func (p *predictor) Describe(relation string) ([][]types.Datum, bool) {
	if relation != "weights" && relation != "original_weights" {
		return nil, false
	}
	var out [][]types.Datum
	put := func(name string, v, e float64) {
		out = append(out, append([]types.Datum{nil, name, v}, family.Inference(v, e, 0)...))
	}
	err := func(j int) float64 {
		if p.errors == nil {
			return math.NaN()
		}
		return p.errors[j]
	}
	intercept, known := p.theta[p.n], err(p.n)
	for j, s := range p.f.Slots() {
		w, e := p.theta[j], err(j)
		if relation == "original_weights" {
			w, e = w/s.Scale, e/math.Abs(s.Scale)
			if s.Center != 0 {
				intercept, known = intercept-float64(w*s.Center), math.NaN() // its error would need the covariances
			}
		}
		put(s.Name, w, e)
	}
	put("__INTERCEPT__", intercept, known)
	put("__LOG_SCALE__", math.Log(p.scale), err(p.n+1))
	return out, true
}

// Interfaces.
var (
	_ family.Predictor = (*predictor)(nil)
	_ family.Describer = (*predictor)(nil)
	_ family.Survivor  = (*predictor)(nil)
)
