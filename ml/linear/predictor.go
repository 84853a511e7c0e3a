package linear

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/sql/types"
)

// predictor is a linear model. Parameters are stored output by output: the weights of
// the dense columns, of the slots (package feature), and the intercept, which is
// 0 where none was fitted.
type predictor struct {
	f      *feature.Fitted
	obj    objective.Objective
	class  bool
	theta  []float64
	offset int // the dense column of offsets, -1 for none
	inference
}

func (g *glm) predictor(f *feature.Fitted, theta []float64) *predictor {
	return &predictor{f: f, obj: g.loss(&family.Values{}, len(f.Keys), 1), class: g.task == family.Classification, theta: theta, offset: -1}
}

// Encode implements family.Predictor. Optional fields come last.
func (p *predictor) Encode(e *canon.E) {
	e.F64s(p.theta)
	if p.offset >= 0 || p.errors != nil {
		e.Int(p.offset)
		p.inference.encode(e)
	}
}

// decodeRest reads what comes after the parameters.
func (p *predictor) decodeRest(d *canon.D) {
	if d.Left() == 0 {
		return
	}
	if p.offset, p.inference = d.Int(), decodeInference(d); p.offset < -1 || p.offset < 0 && p.errors == nil {
		d.Fail()
	}
}

// slopes returns the number of outputs that have weights.
func (p *predictor) slopes() int { return objective.Slopes(p.obj) }

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 { return int64(8*(len(p.theta)+len(p.errors))) + 256 }

// Score implements family.Predictor.
func (p *predictor) Score(b *block.Block) *family.Scores {
	z := p.margins(vector.Alloc[float64](b.Memory, b.Padded()*p.slopes()), b, p.theta)
	n, padded := b.Rows, b.Padded()
	out := &family.Scores{Rows: n}
	p.obj.Link(z, padded)
	switch {
	case !p.class:
		out.Value = z[:n:n]
	case p.obj.Outputs() == 1:
		out.Probs = [][]float64{nil, z[:n:n]}
	default:
		for k := range p.obj.Outputs() {
			out.Probs = append(out.Probs, z[k*padded:][:n:n])
		}
	}
	return out
}

// Values implements family.Valuer.
func (p *predictor) Values(dst []float64, b *block.Block, from int) (ok bool) {
	per := p.f.Params() + 1
	if p.class || p.slopes() != 1 {
		return false
	}
	b.Margins(dst, from, p.theta[:per-1], p.theta[per-1])
	p.obj.Link(dst, len(dst))
	return true
}

// margins sets z to the margins of all rows of a block, those that fill up the last
// tile included, output by output.
func (p *predictor) margins(z []float64, b *block.Block, theta []float64) []float64 {
	padded, per := b.Padded(), p.f.Params()+1
	for k := range p.slopes() {
		th := theta[k*per:][:per]
		for from := 0; from < padded; from += block.ChunkRows {
			b.Margins(z[k*padded:][from:min(from+block.ChunkRows, padded)], from, th[:per-1], th[per-1])
		}
	}
	return z
}

// Explain implements family.Explainer. The baseline is that of a row whose
// numbers are at their means and which has none of the categories, so that an
// attribution is w·(x−x̄), a linear model's Shapley value for independent
// features (Lundberg and Lee 2017, section 4.1, corollary 1).
func (p *predictor) Explain(b *block.Block, scores *family.Scores) *family.Explanation {
	padded, per := b.Padded(), p.f.Params()+1
	// at selects the margin of each row's output from all outputs' margins.
	at := func(z []float64) []float64 {
		out := make([]float64, b.Rows)
		for i := range out {
			k := 0
			if p.slopes() > 1 {
				k = scores.Class(i)
			}
			out[i] = z[k*padded+i]
		}
		return out
	}
	margins := func(theta []float64) []float64 {
		return at(p.margins(make([]float64, padded*p.slopes()), b, theta))
	}
	e := &family.Explanation{Prediction: margins(p.theta)}
	slots := p.f.Slots()
	theta := make([]float64, len(p.theta))
	only := func(keep func(slot int) bool) []float64 {
		for j := range theta {
			if theta[j] = 0; keep(j % per) {
				theta[j] = p.theta[j]
			}
		}
		return margins(theta)
	}
	e.Baseline = only(func(j int) bool { return j == per-1 })
	for j, sl := range slots {
		if slices.Contains(e.Features, sl.Column) {
			continue
		}
		e.Features = append(e.Features, sl.Column)
		e.Parts = append(e.Parts, only(func(k int) bool { return k >= j && k < per-1 && slots[k].Column == sl.Column }))
	}
	return e
}

// Describe implements family.Describer: weights, class by class, the intercept
// last, with standard errors where they are known; original_weights, which are those for the columns as they are, before
// scaling, the intercept being the margin of a row of zeros; and
// feature_importance, the sum over a column's slots of the absolute
// weights of the scaled values.
func (p *predictor) Describe(relation string) ([][]types.Datum, bool) {
	slots := p.f.Slots()
	per := len(slots) + 1
	var out [][]types.Datum
	switch relation {
	case "weights", "original_weights":
		for k := range p.slopes() {
			var class types.Datum
			if p.slopes() > 1 { // not Huber's, whose second output is a scale
				class = feature.KeyText(p.f.Label.Type, p.f.Keys[k])
			}
			th := p.theta[k*per:][:per]
			base := th[per-1]
			stdError := func(j int) float64 {
				if p.errors == nil {
					return math.NaN()
				}
				return p.errors[j]
			}
			baseError := stdError(per - 1)
			for j, s := range slots {
				w, e := th[j], stdError(j)
				if relation == "original_weights" {
					w, e = w/s.Scale, e/math.Abs(s.Scale)
					base -= float64(w * s.Center)
				}
				if j != p.offset {
					out = append(out, append([]types.Datum{class, s.Name, w}, p.columns(w, e)...))
				}
			}
			if relation == "original_weights" && p.errors != nil {
				baseError = p.base
			}
			out = append(out, append([]types.Datum{class, "(intercept)", base}, p.columns(base, baseError)...))
		}
		return out, true
	case "feature_importance":
		sum := map[string]float64{}
		var names []string
		for i, w := range p.theta {
			if i >= p.slopes()*per || i%per == per-1 || i%per == p.offset {
				continue
			}
			name := slots[i%per].Column
			if _, ok := sum[name]; !ok {
				names = append(names, name)
			}
			sum[name] += math.Abs(w)
		}
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sum[b], sum[a]) })
		for _, n := range names {
			out = append(out, []types.Datum{n, sum[n], nil, nil})
		}
		return out, true
	}
	return nil, false
}
