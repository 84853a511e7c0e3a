package kmeans

import "github.com/tributarydb/tributary/ml/shape"

// Shape implements family.Described.
func (p *predictor) Shape() (shape.Shape, error) { return &shape.Centroids{K: p.p.k, At: p.at}, nil }
