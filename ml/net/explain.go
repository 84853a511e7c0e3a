package net

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
)

// explained is a predictor that implements family.Explainer.
type explained struct{ *predictor }

// pathSteps is the number of points between the baseline and a row at which
// gradients are computed; with both ends they fill a micro-batch.
const pathSteps = microRows - 2

// tail returns the net after the embeddings, whose input's gradient is computed, and
// where its parameters begin.
func (n *net) tail() (*net, int) {
	layers, from, in := n.layers, 0, n.in
	if e, ok := layers[0].(*embedding); ok {
		layers, from, in = layers[1:], n.at[1], e.out()
	}
	layers = append([]layer{}, layers...)
	if d, ok := layers[0].(*dense); ok && d.first {
		c := *d
		c.first = false
		layers[0] = &c
	}
	return newNet(in, 0, n.loss, layers...), from
}

// Explain implements family.Explainer by integrated gradients (Sundararajan, Taly and
// Yan 2017) of the margin. The baseline is that of a row whose encoded numbers are 0,
// which are means where they are standardised, and whose categories are unknown, the
// zero vector. A category's attribution is the sum of its vector's. The integral is
// computed by the midpoint rule in the square of the distance (see pathAt); its error
// is distributed over the attributions in proportion to their magnitudes, so that
// they sum to prediction - baseline.
func (p *explained) Explain(b *block.Block, scores *family.Scores) *family.Explanation {
	tail, from := p.net.tail()
	params := p.params[from:]
	e := &family.Explanation{Baseline: make([]float64, b.Rows), Prediction: make([]float64, b.Rows)}
	column := p.columns(e)
	e.Parts = make([][]float64, len(e.Features))
	for f := range e.Parts {
		e.Parts[f] = make([]float64, b.Rows)
	}
	feed := p.feeds.Get().(*feed)
	defer p.feeds.Put(feed)
	t, g := newTape(tail.scratch(microRows)), make([]float32, len(params))
	row := make([]float64, len(e.Features))
	var in *tensor
	for i := range b.Rows {
		if i%p.net.micro == 0 {
			in = feed.load(b, i, min(p.net.micro, b.Rows-i))
		}
		u := p.embedded(feed, in, i%p.net.micro)
		k := 0
		if len(scores.Probs) > 2 {
			k = scores.Class(i)
		}
		e.Baseline[i], e.Prediction[i] = p.integrate(tail, params, g, t, u, k, column, row)
		share(row, e.Prediction[i]-e.Baseline[i])
		for f, v := range row {
			e.Parts[f][i] = v
		}
	}
	return e
}

// columns names the features, and returns for each number behind the embeddings the
// feature that it is of.
func (p *explained) columns(e *family.Explanation) (of []int) {
	slots := p.fit.Slots()
	add := func(name string, n int) {
		f := len(e.Features) - 1
		for f >= 0 && e.Features[f] != name {
			f--
		}
		if f < 0 {
			f = len(e.Features)
			e.Features = append(e.Features, name)
		}
		for range n {
			of = append(of, f)
		}
	}
	for _, s := range slots[:p.fit.Dense] {
		add(s.Column, 1)
	}
	if emb, ok := p.net.layers[0].(*embedding); ok {
		at := p.fit.Dense
		for c, n := range emb.wide {
			add(slots[at].Column, n)
			at += emb.sizes[c]
		}
	}
	return of
}

// embedded returns sample i of the loaded rows as the output of the embedding layer.
func (p *explained) embedded(d *feed, in *tensor, i int) []float32 {
	emb, ok := p.net.layers[0].(*embedding)
	if !ok {
		return in.sample(i, nil)
	}
	one := newTape(emb.scratch(1))
	one.codes = d.codes[i*p.net.codes:][:p.net.codes]
	return emb.forward(p.net.of(0, p.params), &tensor{1, p.net.in, in.sample(i, nil)}, one).v
}

// pathAt returns the square root of the position of point s on the path from the
// baseline. Points are closer to each other near the baseline, where the outputs of
// normalised layers change most.
func pathAt(s int) float64 { return (float64(s) + 0.5) / pathSteps }

// integrate sets parts, by feature, to the integrals of the gradient of output k
// along the straight path to u, times u, and returns the outputs at both ends.
func (p *explained) integrate(tail *net, params, g []float32, t *tape, u []float32, k int, column []int, parts []float64) (baseline, prediction float64) {
	t.reset()
	in := t.tensor(microRows, tail.in)
	for s := range microRows {
		alpha := float64(pathAt(s) * pathAt(s))
		switch s {
		case pathSteps:
			alpha = 0
		case pathSteps + 1:
			alpha = 1
		}
		for j, v := range u {
			in.column(0, j)[s] = float32(alpha * float64(v))
		}
	}
	out := tail.forward(params, in, t)
	by, off := 1.0, 0.0
	if len(p.fit.Keys) == 0 {
		by, off = p.units.dev, p.units.mean
	}
	end := func(s int) float64 { return float64(float64(out.column(0, k)[s])*by) + off }
	baseline, prediction = end(pathSteps), end(pathSteps+1)
	d := t.tensor(microRows, out.shape)
	clear(d.v)
	for s := range pathSteps {
		d.column(0, k)[s] = 1
	}
	du := tail.backward(params, g, d, t)
	clear(parts)
	for j, f := range column {
		sum := 0.0
		for s := range pathSteps {
			sum = f64.FMA(2*pathAt(s), float64(du.column(0, j)[s]), sum)
		}
		parts[f] = f64.FMA(float64(u[j]), sum/pathSteps*by, parts[f])
	}
	return baseline, prediction
}

// share distributes the difference between sum and the sum of parts over parts, in proportion to
// their magnitudes.
func share(parts []float64, sum float64) {
	left, size := sum, 0.0
	for _, v := range parts {
		left -= v
		size += math.Abs(v)
	}
	for f, v := range parts {
		if size > 0 {
			parts[f] = f64.FMA(left, math.Abs(v)/size, v)
		} else {
			parts[f] = left / float64(len(parts))
		}
	}
}
