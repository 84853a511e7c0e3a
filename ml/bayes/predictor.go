package bayes

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// predictor is a trained model. All lists are class by class.
//
//	             first      second         slots          nots
//	mixed        means      variances      log P
//	multinomial  log θ                     log θ
//	bernoulli    log p      log (1-p)      log p          log (1-p)
type predictor struct {
	f             *feature.Fitted
	kind          kind
	prior         []float64 // log P(class), -Inf for a class without rows
	first, second []float64 // by dense column
	slots, nots   []float64 // by slot

	column []int     // by code: of Fitted.Slots, the first of its own
	texts  []terms   // columns of terms
	absent []float64 // by class and column of terms: what base has of it
	base   []float64 // by class: of a row with numbers of 0 in what factor and step multiply, and no category
	factor []float64 // mixed: -1/2 over the variance, 0 for a feature that says nothing
	term   []float64 // by dense column: the logarithm before the exponent, of bernoulli log (1-p)
	slot   []float64 // what a category adds to base
	codes  []float64 // by code: what base has of it
}

// terms are the slots [from, to) of a column of terms, and what their numbers are multiplied by to be counts.
type terms struct {
	from, to int
	scale    float64
}

// termsOf returns the columns of terms.
func termsOf(f *feature.Fitted) (out []terms) {
	at := 0
	for i := range f.Cols {
		_, _, n := f.Cols[i].Widths()
		if scale := f.Cols[i].TermScale(); scale > 0 {
			out = append(out, terms{at, at + n, scale})
		}
		at += n
	}
	return out
}

// prepare computes what scores are made of.
func (p *predictor) prepare() {
	classes, d := len(p.prior), p.f.Dense
	at := d
	widths := p.f.CodeSlots()
	p.texts = termsOf(p.f)
	texts := p.texts
	for _, n := range widths {
		for len(texts) > 0 && texts[0].from+d == at {
			at, texts = texts[0].to+d, texts[1:]
		}
		p.column = append(p.column, at)
		at += n
	}
	p.slot = append([]float64{}, p.slots...)
	p.factor, p.term, p.codes = make([]float64, classes*d), make([]float64, classes*d), make([]float64, classes*len(widths))
	for c, base := range p.prior {
		for i := c * d; i < (c+1)*d; i++ {
			switch {
			case p.kind == mixed && p.second[i] > 0:
				p.factor[i] = -0.5 / p.second[i]
				p.term[i] = -0.5 * (f64.Log1(p.second[i]) + log2Pi)
			case p.kind == bernoulli:
				p.factor[i], p.term[i] = p.first[i]-p.second[i], p.second[i]
			}
			base += p.term[i]
		}
		for k, n := range widths {
			for s := p.column[k] - d; s < p.column[k]-d+n && p.kind == bernoulli; s++ {
				not := p.nots[c*p.f.OneHot+s]
				p.slot[c*p.f.OneHot+s] -= not
				p.codes[c*len(widths)+k] += not
			}
			base += p.codes[c*len(widths)+k]
		}
		for _, t := range p.texts {
			not := 0.0
			for s := c*p.f.OneHot + t.from; s < c*p.f.OneHot+t.to; s++ {
				if p.kind == bernoulli {
					p.slot[s] -= p.nots[s]
					not += p.nots[s]
				} else {
					p.slot[s] = float64(p.slot[s] * t.scale)
				}
			}
			p.absent = append(p.absent, not)
			base += not
		}
		p.base = append(p.base, base)
	}
}

const log2Pi = 1.8378770664093454836

// Encode implements family.Predictor.
func (p *predictor) Encode(e *canon.E) {
	e.U8(uint8(p.kind))
	for _, v := range [][]float64{p.prior, p.first, p.second, p.slots, p.nots} {
		e.F64s(v)
	}
}

// Decode implements family.Family.
func (bayes) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	p, err := decode(f, d)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func decode(f *feature.Fitted, d *canon.D) (*predictor, error) {
	p := &predictor{f: f, kind: kind(d.U8()), prior: d.F64s(), first: d.F64s(), second: d.F64s(), slots: d.F64s(), nots: d.F64s()}
	classes := len(f.Keys)
	numbers, nots := classes*f.Dense, 0
	if p.kind == bernoulli {
		nots = classes * f.OneHot
	}
	second := numbers
	if p.kind == multinomial {
		second = 0
	}
	if !d.OK() || p.kind >= numKinds || classes < 1 || len(p.prior) != classes || len(p.first) != numbers || len(p.second) != second ||
		len(p.slots) != classes*f.OneHot || len(p.nots) != nots {
		d.Fail()
		return nil, d.Done("a naive Bayes model")
	}
	for _, v := range [][]float64{p.first, p.second, p.slots, p.nots} {
		for _, x := range v {
			if x-x != 0 {
				d.Fail()
			}
		}
	}
	for _, x := range p.prior {
		if !(x <= 0) {
			d.Fail()
		}
	}
	if !d.OK() {
		return nil, d.Done("a naive Bayes model")
	}
	p.prepare()
	return p, nil
}

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 {
	return 8*int64(2*len(p.prior)+4*len(p.first)+2*len(p.slots)+len(p.nots)+len(p.codes)+len(p.absent)) + 512
}

// Score implements family.Predictor.
func (p *predictor) Score(b *block.Block) *family.Scores {
	n, classes := b.Padded(), len(p.prior)
	z := vector.Alloc[float64](b.Memory, n*classes)
	p.margins(z, b)
	out := &family.Scores{Rows: b.Rows}
	if classes == 2 {
		second := z[n:]
		for i := range second {
			second[i] = difference(second[i], z[i])
		}
		f64.Sigmoids(second)
		out.Probs = [][]float64{nil, second[:b.Rows:b.Rows]}
		return out
	}
	for c := range classes {
		out.Probs = append(out.Probs, z[c*n:][:b.Rows:b.Rows])
	}
	for i := range b.Rows {
		top, sum := math.Inf(-1), 0.0
		for _, v := range out.Probs {
			top = math.Max(top, v[i])
		}
		for _, v := range out.Probs {
			v[i] = f64.Exp1(difference(v[i], top))
			sum += v[i]
		}
		for _, v := range out.Probs {
			v[i] /= sum
		}
	}
	return out
}

// difference is a-b, and 0 where both are infinite, as of a row that is infinitely unlikely in both classes.
func difference(a, b float64) float64 {
	if a == b {
		return 0
	}
	return a - b
}

// marginTiles is how many tiles are worked on at a time, of all classes: their numbers stay in the caches.
const marginTiles = 64

// margins sets z to log P(class)·P(row | class), class by class, of the rows with those that fill up the last tile.
func (p *predictor) margins(z []float64, b *block.Block) {
	n, d, slots := b.Padded(), p.f.Dense, p.f.OneHot
	for i := 0; i < n; i += marginTiles * f64.Lanes {
		to := min(i+marginTiles*f64.Lanes, n)
		for c, base := range p.base {
			t := z[c*n+i : c*n+to]
			for l := range t {
				t[l] = base
			}
			for from := 0; from < len(t) && b.Codes > 0; from += f64.Lanes {
				for at, s := range b.Code[(i+from)*b.Codes : (i+from+f64.Lanes)*b.Codes] {
					if s >= 0 {
						t[from+at%f64.Lanes] += p.slot[c*slots+int(s)]
					}
				}
			}
			if b.X32 != nil {
				ofNumbers(p, t, b.X32[i*d:to*d], c)
			} else {
				ofNumbers(p, t, b.X64[i*d:to*d], c)
			}
			for l := 0; l < len(t) && b.Sparse != nil; l++ {
				t[l] += p.ofTerms(b, i+l, c, 0, slots)
			}
			for l, v := range t {
				if v != v { // a number is missing
					v = p.prior[c]
					p.terms(b, i+l, c, func(_ int, by float64) { v += by })
					t[l] = v
				}
			}
		}
	}
}

// ofNumbers adds to t what the numbers x of whole tiles are for a class, NaN where one is missing.
func ofNumbers[T f64.Elem](p *predictor, t []float64, x []T, c int) {
	d := p.f.Dense
	first, factor := p.first[c*d:(c+1)*d], p.factor[c*d:(c+1)*d]
	switch p.kind {
	case mixed:
		f64.SquareMargins(t, x, first, factor)
	case multinomial:
		f64.Margins(t, x, first)
	case bernoulli:
		for i := 0; i < len(t); i += f64.Lanes {
			t := t[i:][:f64.Lanes]
			for j, by := range factor {
				bits := math.Float64bits(by)
				for l, v := range x[i*d+j*f64.Lanes:][:f64.Lanes] {
					var is uint64
					if v > 0 {
						is = 1
					}
					t[l] += math.Float64frombits(bits&-is) + float64(v-v) // NaN for NaN
				}
			}
		}
	}
}

// ofTerms returns what the terms of a row with slots [from, to) add to base of a class.
func (p *predictor) ofTerms(b *block.Block, i, c, from, to int) float64 {
	sum, by := 0.0, p.slot[c*p.f.OneHot:]
	start, end := b.Sparse.Start[i], b.Sparse.Start[i+1]
	for k, s := range b.Sparse.Slot[start:end] {
		switch {
		case int(s) < from || int(s) >= to:
		case p.kind == bernoulli:
			sum += by[s]
		default:
			sum += float64(by[s] * float64(b.Sparse.Value[start+int64(k)]))
		}
	}
	return sum
}

// terms calls put with what each number and each code of a row adds to the margin of a class, and with which of
// Fitted.Slots is its first. A number that is missing adds nothing.
func (p *predictor) terms(b *block.Block, i, c int, put func(slot int, by float64)) {
	d := p.f.Dense
	for j := range d {
		x, at := b.Value(i, j), c*d+j
		switch {
		case x != x:
			put(j, 0)
		case p.kind == multinomial:
			put(j, float64(x*p.first[at]))
		case p.kind == bernoulli && x > 0:
			put(j, p.first[at])
		case p.kind == bernoulli:
			put(j, p.second[at])
		case p.factor[at] == 0:
			put(j, 0)
		default:
			put(j, p.term[at]+float64(float64((x-p.first[at])*(x-p.first[at]))*p.factor[at]))
		}
	}
	for k, first := range p.column {
		v := p.codes[c*len(p.column)+k]
		if s := b.CodeAt(i, k); s >= 0 {
			v += p.slot[c*p.f.OneHot+int(s)]
		}
		put(first, v)
	}
	for k, t := range p.texts {
		v := p.absent[c*len(p.texts)+k]
		if b.Sparse != nil {
			v += p.ofTerms(b, i, c, t.from, t.to)
		}
		put(d+t.from, v)
	}
}

// Explain implements family.Explainer: the margin is a sum over the features as it is. Of two classes the
// baseline is the log-odds of their shares, and an attribution the logarithm of the ratio of likelihoods;
// of more the baseline is that of the predicted class, and attributions are logarithms of likelihoods.
func (p *predictor) Explain(b *block.Block, scores *family.Scores) *family.Explanation {
	e := &family.Explanation{Baseline: make([]float64, b.Rows), Prediction: make([]float64, b.Rows)}
	slots := p.f.Slots()
	of := make([]int, len(slots))
	for j, s := range slots {
		if j == 0 || e.Features[len(e.Features)-1] != s.Column {
			of[j] = -1
			for k, name := range e.Features {
				if name == s.Column {
					of[j] = k
				}
			}
			if of[j] < 0 {
				of[j] = len(e.Features)
				e.Features, e.Parts = append(e.Features, s.Column), append(e.Parts, make([]float64, b.Rows))
			}
			continue
		}
		of[j] = len(e.Features) - 1
	}
	for i := range b.Rows {
		classes, signs := []int{1, 0}, []float64{1, -1}
		if len(p.prior) != 2 {
			classes, signs = []int{scores.Class(i)}, []float64{1}
		}
		for k, c := range classes {
			e.Baseline[i] += float64(signs[k] * p.prior[c])
			p.terms(b, i, c, func(slot int, by float64) { e.Parts[of[slot]][i] += float64(signs[k] * by) })
		}
		e.Prediction[i] = e.Baseline[i]
		for _, part := range e.Parts {
			e.Prediction[i] += part[i]
		}
	}
	return e
}

// Shape implements family.Described: of categories and of counts the margins are linear.
func (p *predictor) Shape() (shape.Shape, error) {
	if p.kind != multinomial && (p.f.Dense > 0 || p.texts != nil) {
		return nil, pgerr.Unsupported("naive Bayes models of numbers that are not counts can be written in the format json only")
	}
	s := &shape.Linear{Outputs: len(p.prior), Link: shape.Softmax, Intercepts: p.base}
	for c := range p.prior {
		s.Weights = append(s.Weights, p.first[c*p.f.Dense:][:p.f.Dense]...)
		s.Weights = append(s.Weights, p.slot[c*p.f.OneHot:][:p.f.OneHot]...)
	}
	return s, nil
}

// Describe implements family.Describer: weights, class by class the logarithm of its share (the intercept), of a
// Gaussian number the mean and the variance, of others the logarithm of the probability.
func (p *predictor) Describe(relation string) (rows [][]types.Datum, ok bool) {
	if relation != "weights" {
		return nil, false
	}
	slots := p.f.Slots()
	for c, prior := range p.prior {
		put := func(name string, w float64) {
			rows = append(rows, append([]types.Datum{feature.KeyText(p.f.Label.Type, p.f.Keys[c]), name, w}, family.Inference(w, math.NaN(), 0)...))
		}
		for j, s := range slots {
			switch {
			case j >= p.f.Dense:
				put(s.Name, p.slots[c*p.f.OneHot+j-p.f.Dense])
			case p.kind == mixed:
				put(s.Name+" (mean)", p.first[c*p.f.Dense+j])
				put(s.Name+" (variance)", p.second[c*p.f.Dense+j])
			default:
				put(s.Name, p.first[c*p.f.Dense+j])
			}
		}
		put("(intercept)", prior)
	}
	return rows, true
}

// Interfaces.
var (
	_ family.Predictor = (*predictor)(nil)
	_ family.Describer = (*predictor)(nil)
	_ family.Described = (*predictor)(nil)
	_ family.Explainer = (*predictor)(nil)
)
