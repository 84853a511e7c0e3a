package graph

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// The operators of ONNX's domain ai.onnx.ml, beside trees.
const ml = "ai.onnx.ml."

// matrix returns an input as rows of numbers.
func matrix(t *Tensor) (n, width int, err error) {
	if err := numeric(t); err != nil {
		return 0, 0, err
	}
	n, width = t.rows()
	return n, width, nil
}

// kept is F64 of F64, and F32 of all else: what these operators return.
func kept(k Kind) Kind {
	if k == F64 {
		return F64
	}
	return F32
}

// columnwise is a function of each number and its column's.
func columnwise(in []*Tensor, f func(column int, v float64) float64) (*Tensor, error) {
	n, width, err := matrix(in[0])
	if err != nil {
		return nil, err
	}
	out, err := make1(kept(in[0].Kind), in[0].Dims...)
	if err != nil {
		return nil, err
	}
	for i := range n {
		for j := range width {
			out.Num[i*width+j] = f(j, in[0].Num[i*width+j])
		}
	}
	return out.round(), nil
}

// ofColumn returns the number of a column, of a list with one for each or one for all.
func ofColumn(list []float64, j int, def float64) float64 {
	switch {
	case len(list) == 1:
		return list[0]
	case j < len(list):
		return list[j]
	}
	return def
}

func scaler(a attrs, _ *Node) (operator, error) {
	offset, scale := a.floats("offset"), a.floats("scale")
	return single(1, func(in []*Tensor) (*Tensor, error) {
		return columnwise(in, func(j int, v float64) float64 {
			if in[0].Kind != F64 { // as float32 is computed with
				return float64(float32(float32(v)-float32(ofColumn(offset, j, 0))) * float32(ofColumn(scale, j, 1)))
			}
			return float64((v - ofColumn(offset, j, 0)) * ofColumn(scale, j, 1))
		})
	}), nil
}

func imputer(a attrs, _ *Node) (operator, error) {
	values, missing := a.floats("imputed_value_floats"), a.float("replaced_value_float", 0)
	if list := a.ints("imputed_value_int64s"); values == nil && list != nil {
		for _, v := range list {
			values = append(values, float64(v))
		}
		missing = float64(a.integer("replaced_value_int64", 0))
	}
	return single(1, func(in []*Tensor) (*Tensor, error) {
		return columnwise(in, func(j int, v float64) float64 {
			if v == missing || v != v && missing != missing {
				return ofColumn(values, j, v)
			}
			return v
		})
	}), nil
}

func binarizer(a attrs, _ *Node) (operator, error) {
	at := a.float("threshold", 0)
	return single(1, func(in []*Tensor) (*Tensor, error) {
		return columnwise(in, func(_ int, v float64) float64 { return truth(v > at) })
	}), nil
}

func normalizer(a attrs, _ *Node) (operator, error) {
	norm := a.text("norm", "MAX")
	if norm != "MAX" && norm != "L1" && norm != "L2" {
		return nil, problemf("norm %q is not supported", norm)
	}
	return single(1, func(in []*Tensor) (*Tensor, error) {
		n, width, err := matrix(in[0])
		if err != nil {
			return nil, err
		}
		by := make([]float64, n)
		for i := range by {
			for _, v := range in[0].Num[i*width:][:width] {
				switch norm {
				case "L1":
					by[i] += math.Abs(v)
				case "L2":
					by[i] += float64(v * v)
				default:
					by[i] = max(by[i], math.Abs(v))
				}
			}
			if norm == "L2" {
				by[i] = math.Sqrt(by[i])
			}
			if by[i] == 0 {
				by[i] = 1
			}
		}
		at := -1
		return columnwise(in, func(j int, v float64) float64 {
			if j == 0 {
				at++
			}
			return v / by[at]
		})
	}), nil
}

// oneHot gives each category of a column a number that is 1 where it is the row's.
func oneHot(a attrs, _ *Node) (operator, error) {
	texts, ints := a.texts("cats_strings"), a.ints("cats_int64s")
	n := max(len(texts), len(ints))
	index := map[string]int{}
	for i, s := range texts {
		index[s] = i
	}
	return single(1, func(in []*Tensor) (*Tensor, error) {
		t := in[0]
		out, err := make1(F32, append(slices.Clone(t.Dims), n)...)
		if err != nil {
			return nil, err
		}
		for i := range t.Len() {
			k := -1
			if t.Kind == Text {
				if at, ok := index[t.Text[i]]; ok {
					k = at
				}
			} else {
				k = slices.Index(ints, int64(t.Num[i]))
			}
			if k >= 0 {
				out.Num[i*n+k] = 1
			}
		}
		return out, nil
	}), nil
}

// labelEncoder maps keys to values.
func labelEncoder(a attrs, _ *Node) (operator, error) {
	list := func(what string) *Tensor {
		switch {
		case a[what+"_tensor"] != nil:
			return a[what+"_tensor"].Tensor
		case a[what+"_strings"] != nil:
			t := a[what+"_strings"].Texts
			return &Tensor{Kind: Text, Dims: []int{len(t)}, Text: t}
		case a[what+"_int64s"] != nil:
			t := &Tensor{Kind: I64}
			for _, v := range a[what+"_int64s"].Ints {
				t.Num = append(t.Num, float64(v))
			}
			t.Dims = []int{len(t.Num)}
			return t
		case a[what+"_floats"] != nil:
			return &Tensor{Kind: F32, Dims: []int{len(a[what+"_floats"].Floats)}, Num: a[what+"_floats"].Floats}
		}
		return nil
	}
	keys, values := list("keys"), list("values")
	if keys == nil || values == nil || keys.Len() != values.Len() {
		return nil, problem("it has no keys or no values")
	}
	text, number := a.text("default_string", "_Unused"), a.float("default_float", 0)
	if values.Kind == I64 {
		number = float64(a.integer("default_int64", -1))
	}
	if d := a["default_tensor"]; d != nil && d.Tensor != nil && d.Tensor.Len() == 1 {
		if d.Tensor.Kind == Text {
			text = d.Tensor.Text[0]
		} else {
			number = d.Tensor.Num[0]
		}
	}
	texts, numbers := map[string]int{}, map[float64]int{}
	for i, s := range keys.Text {
		texts[s] = i
	}
	nan := -1
	for i, v := range keys.Num {
		if v != v {
			nan = i
		}
		numbers[v] = i
	}
	return single(1, func(in []*Tensor) (*Tensor, error) {
		t := in[0]
		if (t.Kind == Text) != (keys.Kind == Text) {
			return nil, problem("keys are of another kind")
		}
		out, err := make1(values.Kind, t.Dims...)
		if err != nil {
			return nil, err
		}
		for i := range t.Len() {
			k, ok := -1, false
			if t.Kind == Text {
				k, ok = texts[t.Text[i]]
			} else if k, ok = numbers[t.Num[i]]; t.Num[i] != t.Num[i] && nan >= 0 {
				k, ok = nan, true
			}
			switch {
			case out.Kind == Text && ok:
				out.Text[i] = values.Text[k]
			case out.Kind == Text:
				out.Text[i] = text
			case ok:
				out.Num[i] = values.Num[k]
			default:
				out.Num[i] = number
			}
		}
		return out, nil
	}), nil
}

// extract takes columns by their numbers.
func extract(in []*Tensor) (*Tensor, error) {
	t := in[0]
	if err := numeric(in[1]); err != nil {
		return nil, err
	}
	axis := len(t.Dims) - 1
	if axis < 0 {
		return nil, problem("it takes a matrix")
	}
	return take(t, axis, in[1].Num, []int{len(in[1].Num)})
}

// vectorize joins columns.
func vectorize(a attrs, n *Node) (operator, error) {
	join, err := concat(attrs{"axis": {Ints: []int64{1}}}, n)
	return func(in []*Tensor) ([]*Tensor, error) {
		var flat []*Tensor
		for _, t := range in {
			if t == nil {
				return nil, problem("an input is missing")
			}
			rows, width, err := matrix(t)
			if err != nil {
				return nil, err
			}
			flat = append(flat, &Tensor{kept(t.Kind), []int{rows, width}, t.Num, nil})
		}
		return join(flat)
	}, err
}

// post returns what post_transform does to a row of scores.
func post(a attrs) (func(row []float64), error) {
	switch name := a.text("post_transform", "NONE"); name {
	case "NONE":
		return func([]float64) {}, nil
	case "LOGISTIC":
		return func(row []float64) {
			for k, v := range row {
				row[k] = f64.Sigmoid1(v)
			}
		}, nil
	case "SOFTMAX", "SOFTMAX_ZERO":
		zero := name == "SOFTMAX_ZERO"
		return func(row []float64) {
			top, sum := math.Inf(-1), 0.0
			for _, v := range row {
				top = max(top, v)
			}
			for k, v := range row {
				if row[k] = f64.Exp1(v - top); zero && v == 0 {
					row[k] = 0
				}
				sum += row[k]
			}
			for k := range row {
				row[k] /= sum
			}
		}, nil
	default:
		return nil, problemf("post_transform %q is not supported", name)
	}
}

// linear returns weights and intercepts by output.
func linear(a attrs) (weights, intercepts []float64, outputs int, err error) {
	weights, intercepts = a.floats("coefficients"), a.floats("intercepts")
	outputs = int(a.integer("targets", int64(max(1, len(intercepts)))))
	if outputs < 1 || outputs > 1<<16 || len(weights) == 0 || len(weights)%outputs != 0 || intercepts != nil && len(intercepts) != outputs {
		return nil, nil, 0, problem("its weights are not as many as its outputs need")
	}
	return weights, intercepts, outputs, nil
}

// margins computes the outputs of a linear model.
func margins(t *Tensor, weights, intercepts []float64, outputs int) (*Tensor, error) {
	n, width, err := matrix(t)
	if err != nil {
		return nil, err
	}
	if width != len(weights)/outputs {
		return nil, problemf("it has %d columns, and weights for %d", width, len(weights)/outputs)
	}
	out, err := make1(kept(t.Kind), n, outputs)
	if err != nil {
		return nil, err
	}
	for i := range n {
		for k := range outputs {
			sum := 0.0
			for j, v := range t.Num[i*width:][:width] {
				sum += float64(v * weights[k*width+j])
			}
			if intercepts != nil {
				sum += intercepts[k]
			}
			out.Num[i*outputs+k] = sum
		}
	}
	return out, nil
}

func linearRegressor(a attrs, _ *Node) (operator, error) {
	weights, intercepts, outputs, err := linear(a)
	if err != nil {
		return nil, err
	}
	after, err := post(a)
	return single(1, func(in []*Tensor) (*Tensor, error) {
		out, err := margins(in[0], weights, intercepts, outputs)
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(out.Num); i += outputs {
			after(out.Num[i:][:outputs])
		}
		return out.round(), nil
	}), err
}

// labels are a classifier's classes.
func labels(a attrs) *Tensor {
	for _, name := range []string{"classlabels_strings", "classlabels_int64s", "classlabels_ints"} {
		x := a[name]
		switch {
		case x == nil:
		case x.Texts != nil:
			return &Tensor{Kind: Text, Dims: []int{len(x.Texts)}, Text: x.Texts}
		case x.Ints != nil:
			t := &Tensor{Kind: I64, Dims: []int{len(x.Ints)}}
			for _, v := range x.Ints {
				t.Num = append(t.Num, float64(v))
			}
			return t
		}
	}
	return nil
}

// Labels returns the classes of a node that classifies; nil for others.
func (n *Node) Labels() *Tensor { return labels(n.attrs()) }

// classify returns the labels and scores of rows of scores, one for each class. better chooses among the
// scores before the transform; of two classes, one score is that of the second.
func classify(classes *Tensor, k Kind, n, width int, score []float64, after func([]float64), two func(score float64) (row [2]float64, second bool)) ([]*Tensor, error) {
	out, err := make1(k, n, classes.Len())
	if err != nil {
		return nil, err
	}
	var best []float64
	for i := range n {
		row := score[i*width:][:width]
		at := 0
		if width == 1 && classes.Len() == 2 {
			pair, second := two(row[0])
			copy(out.Num[2*i:], pair[:])
			at = int(truth(second))
		} else {
			for c, v := range row {
				if v > row[at] {
					at = c
				}
			}
			copy(out.Num[i*width:], row)
			after(out.Num[i*width:][:width])
		}
		best = append(best, float64(at))
	}
	label, err := take(classes, 0, best, []int{n})
	return []*Tensor{label, out.round()}, err
}

func linearClassifier(a attrs, _ *Node) (operator, error) {
	weights, intercepts, outputs, err := linear(a)
	classes := labels(a)
	if err == nil && (classes == nil || classes.Len() != outputs && !(classes.Len() == 2 && outputs == 1)) {
		err = problem("its classes are not as many as its outputs")
	}
	if err != nil {
		return nil, err
	}
	after, err := post(a)
	name := a.text("post_transform", "NONE")
	return func(in []*Tensor) ([]*Tensor, error) {
		if len(in) < 1 || in[0] == nil {
			return nil, problem("an input is missing")
		}
		z, err := margins(in[0], weights, intercepts, outputs)
		if err != nil {
			return nil, err
		}
		return classify(classes, F32, z.Dims[0], outputs, z.Num, after, func(v float64) ([2]float64, bool) {
			if name == "LOGISTIC" {
				p := f64.Sigmoid1(v)
				return [2]float64{1 - p, p}, p > 0.5
			}
			return [2]float64{-v, v}, v > 0
		})
	}, err
}

// zipMap makes maps of probabilities; here they stay a matrix.
func zipMap(in []*Tensor) (*Tensor, error) { return in[0], nil }

func init() {
	add(map[string]compiler{
		ml + "Scaler": scaler, ml + "Imputer": imputer, ml + "Binarizer": binarizer, ml + "Normalizer": normalizer, ml + "OneHotEncoder": oneHot,
		ml + "LabelEncoder": labelEncoder, ml + "ArrayFeatureExtractor": one(2, extract), ml + "FeatureVectorizer": vectorize,
		ml + "LinearRegressor": linearRegressor, ml + "LinearClassifier": linearClassifier, ml + "ZipMap": one(1, zipMap),
	})
}
