package pmml

import (
	"slices"

	"github.com/tributarydb/tributary/ml/shape"
)

// linear writes weights.
func (d *document) linear(m *markup, p *part, s *shape.Linear, name string) error {
	list := make([]sum, s.Outputs)
	per := len(s.Weights) / s.Outputs
	for k := range list {
		list[k].intercept = s.Intercepts[k]
		w := s.Weights[k*per:][:per]
		for j, f := range d.dense {
			list[k].add(f, -1, w[j])
		}
		at := len(d.dense)
		for _, c := range d.codes {
			for slot := range c.slots {
				list[k].add(c.field, slot, w[at+slot])
			}
			at += c.slots
		}
	}
	if s.Link == shape.Each {
		return d.chain(m, p, name, s.Link, slices.Repeat([]margin{{by: 1}}, s.Outputs), func(k int, outputs func()) {
			m.open("RegressionModel", "functionName", regression)
			m.reads(list[k].used())
			outputs()
			m.tables(&part{}, list[k:k+1])
			m.close("RegressionModel")
		})
	}
	norm, err := how(s.Link, s.Outputs)
	if err != nil {
		return err
	}
	d.head(m, p, "RegressionModel", name, "normalizationMethod", norm)
	m.tables(p, list)
	m.close("RegressionModel")
	return nil
}
