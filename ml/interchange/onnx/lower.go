package onnx

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/graph"
	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/types"
)

// A graph that prepares columns and then is one node of trees or weights is that shape, with encoders: so
// it can be explained, and written in other formats. Others stay graphs.

// column is a column of a value: a feature as it is or scaled, or whether its category is this one.
type column struct {
	input, at  int     // which column of which input
	center, by float64 // a number is (x - center)·by
	fill       float64 // in the place of NaN, before that
	categories []string
	category   int
}

// lower returns the features' encoders and the shape; nil where the graph is none such.
func (i *importer) lower() (*feature.Fitted, shape.Shape) {
	known := map[int][]column{}
	narrow := true
	for k, in := range i.g.Inputs {
		for j := range in.Width {
			known[in.Value] = append(known[in.Value], column{input: k, at: j, by: 1, fill: math.NaN()})
		}
		narrow = narrow && (in.Kind == graph.F32 || in.Kind == graph.Text)
	}
	for at := range i.g.Nodes {
		n := &i.g.Nodes[at]
		var cols []column
		in := n.In
		if len(n.Out) == 0 || n.Out[0] < 0 {
			return nil, nil
		}
		if n.Op == "Reshape" && len(in) == 2 && i.flat(n, len(known[in[0]])) {
			in = in[:1]
		}
		for _, v := range in {
			if known[v] == nil {
				return nil, nil
			}
			cols = append(cols, known[v]...)
		}
		switch n.Op {
		case "Cast", "Identity", "Reshape", "ai.onnx.ml.FeatureVectorizer":
		case "Concat":
			if !slices.ContainsFunc(n.Attrs, func(a graph.Attr) bool { return a.Name == "axis" && len(a.Ints) == 1 && a.Ints[0] != 0 }) {
				return nil, nil
			}
		case "ai.onnx.ml.OneHotEncoder":
			cats := n.Categories()
			if len(cols) != 1 || cats == nil || cols[0].categories != nil || i.g.Inputs[cols[0].input].Kind != graph.Text {
				return nil, nil
			}
			one := cols[0]
			cols = nil
			for k := range cats {
				one.categories, one.category = cats, k
				cols = append(cols, one)
			}
		case "ai.onnx.ml.Scaler", "ai.onnx.ml.Imputer":
			cols = slices.Clone(cols)
			for k := range cols {
				c := &cols[k]
				center, by, fill, ok := n.Affine(k)
				if !ok || c.categories != nil || c.by != 1 || c.center != 0 {
					return nil, nil
				}
				if c.center, c.by = center, by; fill == fill {
					c.fill = fill
				}
			}
		default:
			s, ok := n.ShapeOf()
			if !ok {
				return nil, nil
			}
			if !i.after(at) {
				return nil, nil
			}
			return i.place(cols, s, narrow)
		}
		known[n.Out[0]] = cols
	}
	return nil, nil
}

// flat reports whether a Reshape leaves so many columns in their order.
func (i *importer) flat(n *graph.Node, columns int) bool {
	for _, c := range i.g.Constants {
		if c.Value == n.In[1] {
			return len(c.Tensor.Num) == 2 && c.Tensor.Num[0] <= 0 && (c.Tensor.Num[1] == float64(columns) || c.Tensor.Num[1] == -1 && c.Tensor.Num[0] == 0)
		}
	}
	return false
}

// after reports whether what the graph predicts is what node at computes: nodes behind it only pass it on.
func (i *importer) after(at int) bool {
	for k, v := range []int{i.g.Number, i.g.Label, i.g.Probs} {
		for next := len(i.g.Nodes) - 1; v >= 0 && next > at; next-- {
			n := &i.g.Nodes[next]
			if !slices.Contains(n.Out, v) {
				continue
			}
			if !passes(n, k == 1, i.g.Classes > 0) {
				return false
			}
			v = n.In[0]
		}
		if v >= 0 && !slices.Contains(i.g.Nodes[at].Out, v) {
			return false
		}
	}
	return true
}

// passes reports whether a node leaves labels, or probabilities and numbers, as they are.
func passes(n *graph.Node, label, classes bool) bool {
	is := func(name string, ok func(a graph.Attr) bool) bool {
		return slices.ContainsFunc(n.Attrs, func(a graph.Attr) bool { return a.Name == name && ok(a) })
	}
	switch {
	case len(n.In) == 0 || n.In[0] < 0:
	case n.Op == "Identity", n.Op == "Reshape", n.Op == "ai.onnx.ml.ZipMap":
		return true
	case n.Op == "Cast":
		return label || is("to", func(a graph.Attr) bool { return len(a.Ints) == 1 && (a.Ints[0] == tFloat || a.Ints[0] == tDouble) })
	case n.Op == "ai.onnx.ml.Normalizer": // a sum of 1 is one already
		return classes && is("norm", func(a graph.Attr) bool { return len(a.Texts) == 1 && a.Texts[0] == "L1" })
	}
	return false
}

// place makes the encoders of the columns, and the shape over their numbers and codes.
func (i *importer) place(cols []column, s shape.Shape, narrow bool) (*feature.Fitted, shape.Shape) {
	fit := make([]feature.FitCol, len(i.names))
	first := make([]int, len(i.g.Inputs)) // the feature of an input's first column
	at := 0
	for k, in := range i.g.Inputs {
		first[k] = at
		at += in.Width
		for j := range in.Width {
			fit[first[k]+j].Column = record.Column{Name: i.names[first[k]+j], Type: types.Float8}
			fit[first[k]+j].Fill = math.NaN()
			if fit[first[k]+j].Encoder = feature.Plain; in.Kind == graph.Text {
				fit[first[k]+j].Encoder, fit[first[k]+j].Type = feature.OneHot, types.Text
			}
		}
	}
	_, trees := s.(*shape.Trees)
	used := make([]bool, len(fit))
	for k := range cols {
		c := &cols[k]
		j := first[c.input] + c.at
		f := &fit[j]
		if c.categories != nil {
			if f.Cats != nil && !slices.Equal(f.Cats, c.categories) {
				return nil, nil
			}
			f.Cats, f.NullSlot = c.categories, true
			continue
		}
		if used[j] || f.Type.OID == types.TextOID || trees && (c.by != 1 || c.center != 0) || c.by == 0 {
			return nil, nil
		}
		used[j], f.Fill = true, c.fill
		if c.by != 1 || c.center != 0 {
			f.Encoder, f.Center, f.Scale = feature.Standard, []float64{c.center}, []float64{1 / c.by}
		}
	}
	f := feature.NewFitted(fit, record.Column{}, nil, narrow)
	// Where each feature's number, or code, and its slots are.
	dense, code, slot := make([]int, len(fit)), make([]int, len(fit)), make([]int, len(fit))
	d, c, o := 0, 0, f.Dense
	for j := range fit {
		if fit[j].Encoder != feature.OneHot {
			dense[j] = d
			d++
			continue
		}
		code[j], slot[j] = c, o
		c++
		o += len(fit[j].Cats) + 1
	}
	switch s := s.(type) {
	case *shape.Linear:
		if len(s.Weights) != s.Outputs*len(cols) {
			return nil, nil
		}
		out := &shape.Linear{Outputs: s.Outputs, Weights: make([]float64, s.Outputs*f.Params()), Intercepts: s.Intercepts, Link: s.Link}
		for q := range s.Outputs {
			for k, c := range cols {
				j := first[c.input] + c.at
				to := dense[j]
				if c.categories != nil {
					to = slot[j] + c.category
				}
				out.Weights[q*f.Params()+to] += s.Weights[q*len(cols)+k]
			}
		}
		return f, out
	case *shape.Trees:
		for t := range s.Trees {
			for x := range s.Trees[t].Nodes {
				n := &s.Trees[t].Nodes[x]
				if n.Feature == shape.Leaf {
					continue
				}
				if int(n.Feature) >= len(cols) {
					return nil, nil
				}
				c := cols[n.Feature]
				j := first[c.input] + c.at
				if c.categories == nil {
					n.Feature = int32(dense[j])
					continue
				}
				yes, no := n.GoesLeft(1), n.GoesLeft(0)
				set := make([]uint64, len(c.categories)/64+1)
				for k := range len(c.categories) + 1 {
					if k == c.category && yes || k != c.category && no {
						set[k>>6] |= 1 << (k & 63)
					}
				}
				*n = shape.Node{Feature: int32(f.Dense + code[j]), Set: set, MissLeft: no, Left: n.Left, Right: n.Right, Gain: n.Gain, Cover: n.Cover}
				if err := i.cols.Take(len(set)); err != nil {
					return nil, nil
				}
			}
		}
		return f, s
	}
	return nil, nil
}

// lowered is the file of a graph that is a shape; nil where it is not one.
func (i *importer) lowered() (*interchange.File, error) {
	f, s := i.lower()
	if f == nil {
		return nil, nil
	}
	like, err := i.cols.Fitted(i.o, i.g.Classes, false)
	if err != nil {
		return nil, err
	}
	if i.g.Keys != nil && i.o.Classes == nil {
		if err := interchange.SetClasses(like, i.g.Keys.Text, i.g.Keys.Num); err != nil {
			return nil, err
		}
	}
	f.Label, f.Keys = like.Label, like.Keys
	out, err := interchange.Foreign(f, s)
	if err != nil {
		return nil, nil // the graph itself may do
	}
	return out, nil
}
