package linear

import (
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Shape implements family.Described.
func (p *predictor) Shape() (shape.Shape, error) {
	s := &shape.Linear{Outputs: p.slopes()}
	per := p.f.Params() + 1
	for k := range s.Outputs {
		th := p.theta[k*per:][:per]
		s.Weights, s.Intercepts = append(s.Weights, th[:per-1]...), append(s.Intercepts, th[per-1])
	}
	switch o := p.obj.(type) {
	case objective.Squared, objective.Huber, objective.Quantile:
	case objective.Tweedie:
		s.Link = shape.Exp
	case objective.Logistic:
		s.Link = shape.Logistic
	case objective.Softmax:
		s.Link = shape.Softmax
	case objective.SquaredHinge:
		if s.Link = shape.Logistic; o.K > 2 {
			s.Link = shape.Each
		}
	default:
		return nil, pgerr.Unsupported("models with the loss %s can be written in the format json only", p.obj.Name())
	}
	return s, nil
}
