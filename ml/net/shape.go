package net

import (
	shapes "github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Shape implements family.Described.
func (p *predictor) Shape() (shapes.Shape, error) {
	s, err := p.net.shape(p.params)
	if err != nil {
		return nil, err
	}
	s.Mean, s.Dev = p.units.mean, p.units.dev
	switch k := len(p.fit.Keys); {
	case p.f.self:
		for _, slot := range p.slots {
			s.Center, s.Scale = append(s.Center, slot.Center), append(s.Scale, slot.Scale)
		}
	case k == 2:
		s.Link = shapes.Logistic
	case k > 2:
		s.Link = shapes.Softmax
	}
	return s, nil
}

// Shape implements family.Described for Cox models, whose prediction is the risk's logarithm.
func (p *survivalPredictor) Shape() (shapes.Shape, error) {
	if p.hazard {
		return nil, pgerr.Unsupported("models of hazards by interval can be written in the format json only")
	}
	s, err := p.net.shape(p.params)
	if err != nil {
		return nil, err
	}
	s.Dev = 1
	return s, nil
}

// shape describes the layers with these parameters.
func (n *net) shape(params []float32) (*shapes.Layers, error) {
	out := &shapes.Layers{}
	for i, l := range n.layers {
		p := n.of(i, params)
		switch l := l.(type) {
		case *embedding:
			for c, size := range l.sizes {
				out.Embeddings = append(out.Embeddings, shapes.Embedding{Width: l.wide[c], Vectors: p[:size*l.wide[c]]})
				p = p[size*l.wide[c]:]
			}
		case *dense:
			w := l.weights()
			out.Layers = append(out.Layers, shapes.Layer{Kind: shapes.Dense, In: l.in.width, Out: l.width, W: p[:w], B: p[w:]})
		case *layerNorm:
			w := l.in.width
			out.Layers = append(out.Layers, shapes.Layer{Kind: shapes.Norm, In: w, Out: w, W: p[:w], B: p[w:]})
		case *activation:
			out.Layers = append(out.Layers, shapes.Layer{Kind: shapes.Activation, In: l.in.width, Out: l.in.width, Function: l.fn})
		case *dropout: // of training alone
		default:
			return nil, pgerr.Unsupported("a model of sequences does not predict row by row").WithHint("The format json takes every model.")
		}
	}
	return out, nil
}
