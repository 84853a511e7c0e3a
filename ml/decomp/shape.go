package decomp

import "github.com/tributarydb/tributary/ml/shape"

// Shape implements family.Described.
func (p *predictor) Shape() (shape.Shape, error) {
	return &shape.Linear{Outputs: p.k, Weights: p.w, Intercepts: p.offset}, nil
}
