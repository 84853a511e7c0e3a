package graph

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/shape"
)

// ShapeOf returns what a node of trees or weights computes over the columns of its input, as a shape of
// numbers alone; ok is false for other nodes, and where no link says what becomes of the margins.
func (n *Node) ShapeOf() (s shape.Shape, ok bool) {
	a := n.attrs()
	classes := labels(a)
	k := 0
	if classes != nil {
		k = classes.Len()
	}
	link, known := linkOf(a.text("post_transform", "NONE"), k)
	switch n.Op {
	case ml + "TreeEnsembleRegressor":
		e, err := readEnsemble(a, "target", int(min(max(a.integer("n_targets", 1), 1), 1<<12)))
		if err != nil || e.trees.Outputs != 1 || !known {
			return nil, false
		}
		e.trees.Link = link
		return &e.trees, true
	case ml + "TreeEnsembleClassifier":
		if k < 2 || k > 1<<12 {
			return nil, false
		}
		ids := a.ints("class_ids")
		one := k == 2 && len(ids) > 0 && !slices.ContainsFunc(ids, func(c int64) bool { return c != ids[0] })
		if one && len(a.floats("base_values")) > 1 {
			return nil, false
		}
		outputs := k
		if one {
			outputs = 1
			a["class_ids"] = &Attr{Ints: make([]int64, len(ids))}
		}
		e, err := readEnsemble(a, "class", outputs)
		switch {
		case err != nil:
			return nil, false
		case link == shape.Identity: // scores are probabilities where none is below 0
			if slices.ContainsFunc(a.floats("class_weights"), func(w float64) bool { return w < 0 }) {
				return nil, false
			}
			link = shape.Share
		case one && link != shape.Logistic, !one && link != shape.Softmax, !known:
			return nil, false
		}
		e.trees.Link = link
		return &e.trees, true
	case ml + "LinearRegressor", ml + "LinearClassifier":
		weights, intercepts, outputs, err := linear(a)
		if err != nil || !known {
			return nil, false
		}
		if intercepts == nil {
			intercepts = make([]float64, outputs)
		}
		out := &shape.Linear{Outputs: outputs, Weights: weights, Intercepts: intercepts, Link: link}
		switch {
		case classes == nil:
			return out, outputs == 1
		case link == shape.Logistic && k == 2 && outputs == 2 && opposite(out): // both classes have a margin, each the other's negative
			per := len(weights) / 2
			return &shape.Linear{Outputs: 1, Weights: weights[per:], Intercepts: intercepts[1:], Link: link}, true
		case link == shape.Logistic && k == 2:
			return out, outputs == 1
		}
		return out, link == shape.Softmax && outputs == k
	}
	return nil, false
}

// opposite reports whether the first output is the second one's negative.
func opposite(s *shape.Linear) bool {
	per := len(s.Weights) / 2
	for j := range per {
		if s.Weights[j] != -s.Weights[per+j] {
			return false
		}
	}
	return s.Intercepts[0] == -s.Intercepts[1]
}

// linkOf returns the link of a transform.
func linkOf(post string, classes int) (shape.Link, bool) {
	switch post {
	case "NONE":
		return shape.Identity, true
	case "LOGISTIC":
		return shape.Logistic, classes == 2
	case "SOFTMAX":
		return shape.Softmax, classes > 1
	}
	return 0, false
}

// Affine returns what a Scaler or an Imputer does to a column: (x - center)·by, after fill has taken the
// place of NaN; fill is NaN where it does not.
func (n *Node) Affine(column int) (center, by, fill float64, ok bool) {
	a, nan := n.attrs(), math.NaN()
	switch n.Op {
	case ml + "Scaler":
		return ofColumn(a.floats("offset"), column, 0), ofColumn(a.floats("scale"), column, 1), nan, true
	case ml + "Imputer":
		if missing := a.float("replaced_value_float", 0); missing == missing {
			return 0, 1, nan, false
		}
		return 0, 1, ofColumn(a.floats("imputed_value_floats"), column, nan), true
	}
	return 0, 1, nan, false
}

// Categories returns the texts of a OneHotEncoder; nil for other nodes.
func (n *Node) Categories() []string {
	if n.Op != ml+"OneHotEncoder" {
		return nil
	}
	return n.attrs().texts("cats_strings")
}
