package cox

import (
	"math"
	"slices"
	"strconv"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/types"
)

// predictor is a trained model.
type predictor struct {
	*problem
	f      *feature.Fitted
	theta  []float64
	errors []float64 // nil, or NaN, for none
	events []event
	hazard []float64 // by event: the cumulative hazard of a row of score 0
}

// Encode implements family.Predictor.
func (p *predictor) Encode(e *canon.E) {
	e.Int(p.entry)
	e.Int(p.stratum)
	e.Int(p.stratumOf)
	e.F64s(p.theta)
	e.F64s(p.errors)
	e.U32(uint32(len(p.events)))
	for i, v := range p.events {
		e.F64(v.Stratum)
		e.F64(v.Time)
		e.F64(p.hazard[i])
	}
}

// Decode implements family.Family.
func (cox) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	p := &predictor{problem: layout(f, "", ""), f: f}
	p.entry, p.stratum, p.stratumOf = d.Int(), d.Int(), d.Int()
	p.theta, p.errors = d.F64s(), d.F64s()
	for range d.Count(24) {
		p.events, p.hazard = append(p.events, event{Stratum: d.F64(), Time: d.F64()}), append(p.hazard, d.F64())
	}
	if p.entry < -1 || p.entry >= p.dense || p.stratum < -1 || p.stratum >= p.dense || p.stratumOf < -1 || p.stratumOf >= len(p.first) ||
		len(p.theta) != p.n || p.errors != nil && len(p.errors) != p.n || len(p.events) == 0 || !slices.IsSortedFunc(p.events, event.compare) {
		d.Fail()
		return nil, d.Done("a Cox model")
	}
	for _, j := range []int{p.entry, p.stratum} {
		if j >= 0 {
			p.silent[j] = true
		}
	}
	if k := p.stratumOf; k >= 0 {
		for j := range f.CodeSlots()[k] {
			p.silent[p.first[k]+j] = true
		}
	}
	return p, nil
}

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 { return 16*int64(p.n) + 40*int64(len(p.events)) + 512 }

// Score implements family.Predictor: the logarithm of the relative hazard.
func (p *predictor) Score(b *block.Block) *family.Scores {
	s := &family.Scores{Rows: b.Rows, Value: make([]float64, b.Rows)}
	for i := range s.Value {
		s.Value[i] = p.score(b, i, p.theta)
	}
	return s
}

// Shape implements family.Described.
func (p *predictor) Shape() (shape.Shape, error) {
	w := slices.Clone(p.theta)
	for j := range w {
		if p.silent[j] {
			w[j] = 0
		}
	}
	return &shape.Linear{Outputs: 1, Weights: w, Intercepts: make([]float64, 1)}, nil
}

// mostCurve is the most points of a curve.
const mostCurve = 500

// Points implements family.Survivor.
func (p *predictor) Points() int { return min(len(p.events), mostCurve) }

// Curves implements family.Survivor. Of many event times it returns some, evenly spaced among them.
func (p *predictor) Curves(b *block.Block) (times []float64, left [][]float64) {
	all := make([]float64, len(p.events))
	for i, e := range p.events {
		all[i] = e.Time
	}
	slices.Sort(all)
	all = slices.Compact(all)
	n := min(len(all), mostCurve)
	for k := range n {
		times, left = append(times, all[(k+1)*len(all)/n-1]), append(left, make([]float64, b.Rows))
	}
	line := newTimeline(p.events)
	for i := range b.Rows {
		from, to := line.of(p.key(b, i))
		r := f64.Exp1(risk(p.score(b, i, p.theta)))
		for k, t := range times {
			h := 0.0
			if at := line.last(from, to, t); at >= from && from < to {
				h = p.hazard[at]
			}
			if left[k][i] = f64.Exp1(-float64(r * h)); from == to {
				left[k][i] = math.NaN() // nothing is known of the stratum
			}
		}
	}
	return times, left
}

// Describe implements family.Describer: weights, logarithms of hazard ratios, of the scaled columns and of
// those as they are; and the baseline, of a row whose numbers are at their means and which has none of
// the categories.
func (p *predictor) Describe(relation string) ([][]types.Datum, bool) {
	var out [][]types.Datum
	slots := p.f.Slots()
	switch relation {
	case "weights", "original_weights":
		for j, s := range slots {
			if p.silent[j] {
				continue
			}
			w, e := p.theta[j], math.NaN()
			if p.errors != nil {
				e = p.errors[j]
			}
			if relation == "original_weights" {
				w, e = w/s.Scale, e/math.Abs(s.Scale)
			}
			out = append(out, append([]types.Datum{nil, s.Name, w}, family.Inference(w, e, 0)...))
		}
		return out, true
	case "baseline":
		for i, e := range p.events {
			out = append(out, []types.Datum{p.stratumName(e.Stratum, slots), e.Time, p.hazard[i], f64.Exp1(-p.hazard[i])})
		}
		return out, true
	}
	return nil, false
}

// stratumName is a stratum as text, NULL where there are none.
func (p *predictor) stratumName(key float64, slots []feature.Slot) types.Datum {
	switch {
	case p.stratum >= 0:
		return strconv.FormatFloat(key, 'g', -1, 64)
	case p.stratumOf >= 0 && key >= 0 && p.dense+int(key) < len(slots):
		return slots[p.dense+int(key)].Category
	}
	return nil
}

// Interfaces.
var (
	_ family.Predictor = (*predictor)(nil)
	_ family.Describer = (*predictor)(nil)
	_ family.Described = (*predictor)(nil)
	_ family.Survivor  = (*predictor)(nil)
)
