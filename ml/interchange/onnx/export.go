package onnx

import (
	"math"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func write(f *interchange.File) ([]byte, error) {
	if f.Model.Windows != nil {
		_, err := interchange.ShapeOf(f.Model)
		return nil, err
	}
	b := &builder{}
	e, err := b.encode(f.Model.Fitted)
	if err != nil {
		return nil, err
	}
	if f.Model.Targets == nil {
		err = b.predict(f.Model, e, "")
	}
	for i, t := range f.Model.Targets {
		if err == nil {
			err = b.predict(f.Model.Part(i), e, "_"+t)
		}
	}
	if err != nil {
		return nil, err
	}
	meta := [][2]string{{"algorithm", f.Model.Algorithm}, {"task", string(f.Model.Task)}}
	if v := f.Version; v != nil {
		meta = append(meta, [2]string{"statement", f.Statement()}, [2]string{"target", strings.Join(v.Target, ", ")})
		for _, in := range v.Inputs {
			meta = append(meta, [2]string{"transform " + in.Name, in.Expr})
		}
	}
	return b.file(f.Name, meta), nil
}

// predict writes what a model of one target computes, with outputs whose names end so.
func (b *builder) predict(m *model.Model, e *encoded, suffix string) error {
	s, err := interchange.ShapeOf(m)
	if err != nil {
		return err
	}
	switch s := s.(type) {
	case *shape.Linear:
		b.results(m, b.linear(e, s), s.Outputs, s.Link, suffix)
	case *shape.Trees:
		b.results(m, b.trees(e, s), s.Outputs, s.Link, suffix)
	case *shape.Layers:
		b.layers(m, e, s, suffix)
	case *shape.Centroids:
		b.centroids(e, s, suffix)
	default:
		return pgerr.Unsupported("a model of %s cannot be written in an onnx file", m.Algorithm).WithHint("The format json takes every model.")
	}
	return nil
}

// linear returns the margins, [N, outputs].
func (b *builder) linear(e *encoded, s *shape.Linear) string {
	per := len(s.Weights) / s.Outputs
	var z string
	plus := func(v string) {
		if z == "" {
			z = v
		} else {
			z = b.op("Add", []string{z, v})
		}
	}
	if e.width > 0 {
		w := make([]float64, 0, e.width*s.Outputs)
		for j := range e.width {
			for k := range s.Outputs {
				w = append(w, s.Weights[k*per+j])
			}
		}
		plus(b.op("MatMul", []string{b.concat(e.dense), b.constant(tDouble, []int{e.width, s.Outputs}, w)}))
	}
	at := e.width
	for _, c := range e.codes {
		t := make([]float64, (c.slots+1)*s.Outputs) // the last row is of none
		for slot := range c.slots {
			for k := range s.Outputs {
				t[slot*s.Outputs+k] = s.Weights[k*per+at+slot]
			}
		}
		plus(b.table(tDouble, c.value, s.Outputs, t))
		at += c.slots
	}
	plus(b.constant(tDouble, []int{1, s.Outputs}, s.Intercepts))
	return z
}

// results makes outputs of margins, [N, outputs].
func (b *builder) results(m *model.Model, z string, outputs int, link shape.Link, suffix string) {
	switch link {
	case shape.Exp:
		z = b.op("Exp", []string{z})
	case shape.Logistic, shape.Each, shape.Separate:
		z = b.op("Sigmoid", []string{z})
	case shape.Softmax:
		z = b.op("Softmax", []string{z}, integer("axis", 1))
	}
	if link == shape.Each {
		z = b.op("Div", []string{z, b.sum(z)})
	}
	if !link.Classes() {
		b.output("variable"+suffix, z, tDouble, -1, int64(outputs))
		return
	}
	if outputs == 1 {
		z = b.concat([]string{b.op("Sub", []string{b.double(1), z}), z})
		outputs = 2
	}
	best := b.op("ArgMax", []string{z}, integer("axis", 1), integer("keepdims", 0))
	classes, kind := b.classes(m.Fitted)
	b.output("label"+suffix, b.op("Gather", []string{classes, best}, integer("axis", 0)), kind, -1)
	b.output("probabilities"+suffix, z, tDouble, -1, int64(outputs))
}

// classes is the list of a model's classes: whole numbers where they are that, else texts.
func (b *builder) classes(f *feature.Fitted) (string, int64) {
	var list []string
	var numbers []float64
	for _, k := range f.Keys {
		text := feature.KeyText(f.Label.Type, k)
		list = append(list, text)
		if v, err := strconv.ParseInt(text, 10, 64); err == nil && f.Label.Type.IsInteger() {
			numbers = append(numbers, float64(v))
		}
	}
	if len(numbers) == len(list) {
		return b.constant(tInt64, []int{len(list)}, numbers), tInt64
	}
	return b.texts(list), tText
}

// trees returns the margins. A set of categories is a column that is 0 where the row's goes left.
func (b *builder) trees(e *encoded, s *shape.Trees) string {
	cols, width := append([]string{}, e.dense...), e.width
	zero := map[int32]int{} // the column of a number in which 0 is missing
	type set struct {
		code int
		miss bool
		bits string
	}
	sets := map[set]int{}
	tables := make([][][]float64, len(e.codes)) // by code, its sets' columns
	column := make([][]int, len(s.Trees))
	// Sets first: the columns of one code stand together.
	for i := range s.Trees {
		column[i] = make([]int, len(s.Trees[i].Nodes))
		for k := range s.Trees[i].Nodes {
			n := &s.Trees[i].Nodes[k]
			if n.Set == nil {
				continue
			}
			c := int(n.Feature) - e.width
			slots := e.codes[c].slots
			bits := make([]byte, slots)
			t := make([]float64, slots+1)
			for slot := range t {
				left := slot < slots && n.Has(slot) || slot == slots && n.MissLeft
				if t[slot] = 1; left {
					t[slot] = 0
				}
				if slot < slots {
					bits[slot] = byte(t[slot])
				}
			}
			key := set{c, n.MissLeft, string(bits)}
			if _, ok := sets[key]; !ok {
				sets[key] = len(tables[c])
				tables[c] = append(tables[c], t)
			}
		}
	}
	first := make([]int, len(e.codes))
	for c, list := range tables {
		if first[c] = width; list == nil {
			continue
		}
		rows := make([]float64, 0, len(list)*(e.codes[c].slots+1))
		for slot := range e.codes[c].slots + 1 {
			for _, t := range list {
				rows = append(rows, t[slot])
			}
		}
		cols = append(cols, b.table(tDouble, e.codes[c].value, len(list), rows))
		width += len(list)
	}
	var l ensembleLists
	for i := range s.Trees {
		t := &s.Trees[i]
		for k := range t.Nodes {
			n := &t.Nodes[k]
			l.tree, l.node, l.cover = append(l.tree, int64(i)), append(l.node, int64(k)), append(l.cover, n.Cover)
			if n.Feature == shape.Leaf {
				l.add("LEAF", 0, 0, 0, 0, false)
				for o := range s.Width {
					l.leafTree, l.leafNode = append(l.leafTree, int64(i)), append(l.leafNode, int64(k))
					l.leafOut, l.weight = append(l.leafOut, int64(t.Output+o)), append(l.weight, t.Values[k*s.Width+o])
				}
				continue
			}
			at, threshold, miss := int64(n.Feature), n.Closed(), n.MissLeft
			if n.Set != nil {
				c := int(n.Feature) - e.width
				bits := make([]byte, e.codes[c].slots)
				for slot := range bits {
					if !n.Has(slot) {
						bits[slot] = 1
					}
				}
				at, threshold, miss = int64(first[c]+sets[set{c, n.MissLeft, string(bits)}]), 0.5, false
			} else if left, ok := n.Defaults(); ok {
				miss = left
			} else {
				z, ok := zero[n.Feature]
				if !ok {
					all := b.concat(e.dense)
					x := b.op("Gather", []string{all, b.axes(float64(n.Feature))}, integer("axis", 1))
					small := b.op("LessOrEqual", []string{b.op("Abs", []string{x}), b.double(1e-35)})
					cols = append(cols, b.op("Where", []string{small, b.double(math.NaN()), x}))
					z, width = width, width+1
					zero[n.Feature] = z
				}
				at = int64(z)
			}
			l.add("BRANCH_LEQ", at, threshold, int64(n.Left), int64(n.Right), miss)
		}
	}
	how := "SUM"
	if s.Mean {
		how = "AVERAGE"
	}
	if len(s.Trees) == 0 || len(cols) == 0 {
		return b.constant(tDouble, []int{1, s.Outputs}, s.Base)
	}
	out := b.op("ml.TreeEnsembleRegressor", []string{b.concat(cols)}, word("aggregate_function", how), integer("n_targets", int64(s.Outputs)),
		integersOf("nodes_treeids", l.tree), integersOf("nodes_nodeids", l.node), integersOf("nodes_featureids", l.feature), words("nodes_modes", l.mode),
		doubles("nodes_values_as_tensor", l.threshold), integersOf("nodes_truenodeids", l.yes), integersOf("nodes_falsenodeids", l.no),
		integersOf("nodes_missing_value_tracks_true", l.missing), doubles("nodes_hitrates_as_tensor", l.cover),
		integersOf("target_treeids", l.leafTree), integersOf("target_nodeids", l.leafNode), integersOf("target_ids", l.leafOut), doubles("target_weights_as_tensor", l.weight))
	// The base is added in double: the operator returns floats.
	return b.op("Add", []string{b.cast(out, tDouble), b.constant(tDouble, []int{1, s.Outputs}, s.Base)})
}

// ensembleLists are the parallel lists of TreeEnsembleRegressor.
type ensembleLists struct {
	tree, node, feature, yes, no, missing []int64
	mode                                  []string
	threshold, cover                      []float64
	leafTree, leafNode, leafOut           []int64
	weight                                []float64
}

func (l *ensembleLists) add(mode string, feature int64, threshold float64, yes, no int64, miss bool) {
	l.mode, l.feature, l.threshold, l.yes, l.no = append(l.mode, mode), append(l.feature, feature), append(l.threshold, threshold), append(l.yes, yes), append(l.no, no)
	tracks := int64(0)
	if miss {
		tracks = 1
	}
	l.missing = append(l.missing, tracks)
}

// layers writes a net, which computes in float.
func (b *builder) layers(m *model.Model, e *encoded, s *shape.Layers, suffix string) {
	var parts []string
	if e.width > 0 {
		parts = append(parts, b.cast(b.concat(e.dense), tFloat))
	}
	wide := func(v []float32) []float64 {
		out := make([]float64, len(v))
		for i, x := range v {
			out[i] = float64(x)
		}
		return out
	}
	for k, c := range e.codes {
		t := s.Embeddings[k]
		parts = append(parts, b.table(tFloat, c.value, t.Width, append(wide(t.Vectors), make([]float64, t.Width)...)))
	}
	x := b.concat(parts)
	scalar := func(v float64) string { return b.constant(tFloat, []int{1, 1}, []float64{v}) }
	outputs := 0
	for _, l := range s.Layers {
		outputs = l.Out
		switch l.Kind {
		case shape.Dense:
			x = b.op("Add", []string{b.op("MatMul", []string{x, b.constant(tFloat, []int{l.In, l.Out}, wide(l.W))}), b.constant(tFloat, []int{1, l.Out}, wide(l.B))})
		case shape.Norm:
			d := b.cast(x, tDouble)
			mean := func(v string) string {
				return b.op("ReduceMean", []string{v}, integersOf("axes", []int64{1}), integer("keepdims", 1))
			}
			d = b.op("Sub", []string{d, mean(d)})
			dev := b.op("Sqrt", []string{b.op("Add", []string{mean(b.op("Mul", []string{d, d})), b.double(shape.NormEpsilon)})})
			x = b.cast(b.op("Div", []string{d, dev}), tFloat)
			x = b.op("Add", []string{b.op("Mul", []string{x, b.constant(tFloat, []int{1, l.In}, wide(l.W))}), b.constant(tFloat, []int{1, l.In}, wide(l.B))})
		case shape.Activation:
			switch l.Function {
			case "relu":
				x = b.op("Relu", []string{x})
			case "tanh":
				x = b.op("Tanh", []string{x})
			case "sigmoid":
				x = b.op("Sigmoid", []string{x})
			case "gelu":
				cube := b.op("Mul", []string{b.op("Mul", []string{x, x}), b.op("Mul", []string{x, scalar(0.044715)})})
				h := b.op("Tanh", []string{b.op("Mul", []string{b.op("Add", []string{x, cube}), scalar(0.7978845608028654)})})
				x = b.op("Mul", []string{b.op("Mul", []string{x, scalar(0.5)}), b.op("Add", []string{h, scalar(1)})})
			}
		}
	}
	z := b.cast(x, tDouble)
	switch {
	case s.Center != nil:
		row := func(v []float64) string { return b.constant(tDouble, []int{1, len(v)}, v) }
		z = b.op("Add", []string{b.op("Mul", []string{z, row(s.Scale)}), row(s.Center)})
	case s.Link == shape.Identity:
		z = b.op("Add", []string{b.op("Mul", []string{z, b.double(s.Dev)}), b.double(s.Mean)})
	}
	b.results(m, z, outputs, s.Link, suffix)
}

// centroids writes the nearest of some points and how far it is.
func (b *builder) centroids(e *encoded, s *shape.Centroids, suffix string) {
	parts := append([]string{}, e.dense...)
	width := e.width
	for _, c := range e.codes {
		ones := make([]float64, (c.slots+1)*c.slots)
		for slot := range c.slots {
			ones[slot*c.slots+slot] = 1
		}
		parts = append(parts, b.table(tDouble, c.value, c.slots, ones))
		width += c.slots
	}
	x := b.op("Unsqueeze", []string{b.concat(parts), b.axes(1)})
	d := b.op("Sub", []string{x, b.constant(tDouble, []int{1, s.K, width}, s.At)})
	square := b.op("ReduceSum", []string{b.op("Mul", []string{d, d}), b.axes(2)}, integer("keepdims", 0))
	nearest := b.op("ArgMin", []string{square}, integer("axis", 1), integer("keepdims", 0))
	b.output("label"+suffix, b.op("Add", []string{nearest, b.constant(tInt64, []int{1}, []float64{1})}), tInt64, -1)
	far := b.op("Sqrt", []string{b.op("ReduceMin", []string{square}, integersOf("axes", []int64{1}), integer("keepdims", 0))})
	b.output("distance"+suffix, far, tDouble, -1)
}
