package net

import (
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
)

// survivalPredictor is a trained model of times.
type survivalPredictor struct {
	net    *net
	spec   *spec
	fit    *feature.Fitted
	hazard bool
	times  []float64 // of events, or the ends of intervals
	base   []float64 // cox: the cumulative hazard at those times of a row of score 0
	params []float32
	feeds  sync.Pool
}

func newSurvivalPredictor(n *net, sp *spec, fit *feature.Fitted, hazard bool, times, base []float64, params []float32) *survivalPredictor {
	p := &survivalPredictor{net: n, spec: sp, fit: fit, hazard: hazard, times: times, base: base, params: params}
	p.feeds.New = func() any {
		f := newFeed(n, false)
		f.begin()
		return f
	}
	return p
}

// Encode implements family.Predictor.
func (p *survivalPredictor) Encode(e *canon.E) {
	e.Bool(p.hazard)
	p.spec.encode(e)
	e.F64s(p.times)
	e.F64s(p.base)
	e.F32s(p.params)
}

// Bytes implements family.Predictor.
func (p *survivalPredictor) Bytes() int64 {
	return 4*int64(len(p.params)) + 8*int64(len(p.times)+len(p.base)) + 1024
}

// Scratch implements family.ScratchPredictor.
func (p *survivalPredictor) Scratch() int64 { return newFeed(p.net, false).bytes() }

// each calls f with the net's output for each row.
func (p *survivalPredictor) each(b *block.Block, f func(i int, z []float32)) {
	d := p.feeds.Get().(*feed)
	defer p.feeds.Put(d)
	var row []float32
	for from := 0; from < b.Rows; from += microRows {
		n := min(microRows, b.Rows-from)
		z := p.net.forward(p.params, d.load(b, from, n), d.tape)
		for i := range n {
			row = z.sample(i, row)
			f(from+i, row)
		}
	}
}

// Score implements family.Predictor.
func (p *survivalPredictor) Score(b *block.Block) *family.Scores {
	s := &family.Scores{Rows: b.Rows, Value: make([]float64, b.Rows)}
	p.each(b, func(i int, z []float32) { s.Value[i] = riskOf(z, p.hazard) })
	return s
}

// maxCurve is the maximum number of points of a curve.
const maxCurve = 500

// Points implements family.Survivor.
func (p *survivalPredictor) Points() int { return min(len(p.times), maxCurve) }

// Curves implements family.Survivor. Of many event times it returns some, evenly spaced
// among them, and the last.
func (p *survivalPredictor) Curves(b *block.Block) (times []float64, left [][]float64) {
	var at []int // of the times
	for k := range p.Points() {
		at = append(at, (k+1)*len(p.times)/p.Points()-1)
		times, left = append(times, p.times[at[k]]), append(left, make([]float64, b.Rows))
	}
	p.each(b, func(i int, z []float32) {
		if !p.hazard {
			risk := expScaled(min(max(float64(z[0]), -maxScore), maxScore))
			for k, t := range at {
				left[k][i] = f64.Exp1(-risk.times(p.base[t]).at(0))
			}
			return
		}
		sum, k := 0.0, 0
		for t, v := range z {
			if sum += f64.LogLoss1(-float64(v)); t == at[k] {
				left[k][i] = f64.Exp1(-sum)
				k++
			}
		}
	})
	return times, left
}
