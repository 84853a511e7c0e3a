package net

import (
	"math"
	"strconv"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/types"
)

// Describe implements family.Describer: weights and original_weights of a model without
// hidden layers. Those of cox are logs of hazard ratios, and there is no intercept, since
// the baseline hazard includes it; those of hazard are log-odds of the event in an
// interval, whose end is the class. The weight of a category is what its vector adds to
// the margin.
func (p *survivalPredictor) Describe(relation string) ([][]types.Datum, bool) {
	if len(p.spec.hidden) > 0 || relation != "weights" && relation != "original_weights" {
		return nil, false
	}
	var out [][]types.Datum
	add := func(class types.Datum, name string, w float64) {
		out = append(out, append([]types.Datum{class, name, w}, family.Inference(w, 0, 0)...))
	}
	last := len(p.net.layers) - 1
	outputs := p.net.layers[last].out().width
	params, slots := p.net.of(last, p.params), p.fit.Slots()
	for k := range outputs {
		var class types.Datum
		base := 0.0
		if p.hazard {
			class, base = strconv.FormatFloat(p.times[k], 'g', -1, 64), float64(params[len(params)-outputs+k])
		}
		column := func(j int) float64 { return float64(params[j*outputs+k]) }
		for j, s := range slots[:p.fit.Dense] {
			w := column(j)
			if math.IsInf(s.Scale, 1) { // it is 0 in all rows
				w = 0
			}
			if relation == "original_weights" {
				w /= s.Scale
				base -= float64(w * s.Center)
			}
			add(class, s.Name, w)
		}
		if emb, ok := p.net.layers[0].(*embedding); ok {
			vectors, slot, from := p.net.of(0, p.params), p.fit.Dense, p.fit.Dense
			for c, wide := range emb.wide {
				for range emb.sizes[c] {
					w := 0.0
					for j, v := range vectors[:wide] {
						w += float64(float64(v) * column(from+j))
					}
					if math.IsInf(slots[slot].Scale, 1) {
						w = 0
					}
					add(class, slots[slot].Name, w)
					vectors, slot = vectors[wide:], slot+1
				}
				from += wide
			}
		}
		if p.hazard {
			add(class, "(intercept)", base)
		}
	}
	return out, true
}
