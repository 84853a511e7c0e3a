package graph

import "slices"

// KindOf returns the kind of ONNX's number of a type of elements.
func KindOf(t int64) (Kind, bool) {
	switch t {
	case 1:
		return F32, true
	case 11:
		return F64, true
	case 2, 3, 4, 5, 6, 7, 12, 13: // all integers
		return I64, true
	case 9:
		return Bool, true
	case 8:
		return Text, true
	}
	return 0, false
}

func cast(a attrs, _ *Node) (operator, error) {
	k, ok := KindOf(a.integer("to", 0))
	if !ok {
		return nil, problemf("elements of type %d are not supported", a.integer("to", 0))
	}
	return single(1, func(in []*Tensor) (*Tensor, error) {
		t := in[0]
		if t.Kind == k {
			return t, nil
		}
		if k == Text || t.Kind == Text {
			return nil, problem("texts cannot be made of numbers, nor numbers of texts")
		}
		return (&Tensor{Kind: k, Dims: t.Dims, Num: slices.Clone(t.Num)}).round(), nil
	}), nil
}

func identity(in []*Tensor) (*Tensor, error) { return in[0], nil }

func constant(a attrs, _ *Node) (operator, error) {
	var t *Tensor
	switch {
	case a["value"] != nil && a["value"].Tensor != nil:
		t = a["value"].Tensor
	case a["value_float"] != nil && len(a["value_float"].Floats) == 1:
		t = &Tensor{Kind: F32, Num: a["value_float"].Floats}
	case a["value_floats"] != nil:
		t = &Tensor{Kind: F32, Dims: []int{len(a["value_floats"].Floats)}, Num: a["value_floats"].Floats}
	case a["value_int"] != nil && len(a["value_int"].Ints) == 1:
		t = &Tensor{Kind: I64, Num: []float64{float64(a["value_int"].Ints[0])}}
	case a["value_ints"] != nil:
		t = &Tensor{Kind: I64, Dims: []int{len(a["value_ints"].Ints)}}
		for _, v := range a["value_ints"].Ints {
			t.Num = append(t.Num, float64(v))
		}
	default:
		return nil, problem("it has no value")
	}
	return func([]*Tensor) ([]*Tensor, error) { return []*Tensor{t}, nil }, nil
}

func concat(a attrs, _ *Node) (operator, error) {
	at := a.integer("axis", 0)
	return single(1, func(in []*Tensor) (*Tensor, error) {
		axis, err := in[0].axis(at)
		if err != nil {
			return nil, err
		}
		dims := slices.Clone(in[0].Dims)
		dims[axis] = 0
		for _, t := range in {
			if t == nil || len(t.Dims) != len(dims) || (t.Kind == Text) != (in[0].Kind == Text) {
				return nil, problem("the tensors are not alike")
			}
			for i, d := range t.Dims {
				if i != axis && d != dims[i] {
					return nil, problem("the tensors are not alike")
				}
			}
			dims[axis] += t.Dims[axis]
		}
		out, err := make1(in[0].Kind, dims...)
		if err != nil {
			return nil, err
		}
		before, after := out.around(axis)
		to := 0
		for i := range before {
			for _, t := range in {
				n := t.Dims[axis] * after
				if out.Kind == Text {
					copy(out.Text[to:], t.Text[i*n:][:n])
				} else {
					copy(out.Num[to:], t.Num[i*n:][:n])
				}
				to += n
			}
		}
		return out, nil
	}), nil
}

// reshape takes the dimensions from an input: 0 keeps one, -1 is what is left.
func reshape(in []*Tensor) (*Tensor, error) {
	t := in[0]
	if len(in[1].Num) > 16 || in[1].Kind == Text {
		return nil, problem("these are no dimensions")
	}
	dims, rest, known := []int{}, -1, 1
	for i, v := range integers(in[1]) {
		switch {
		case v == 0 && i < len(t.Dims):
			v = int64(t.Dims[i])
		case v == -1 && rest < 0:
			rest = i
			dims = append(dims, 1)
			continue
		case v < 0 || v > mostElements:
			return nil, problem("these are no dimensions")
		}
		dims = append(dims, int(v))
		if known *= int(v); known > mostElements {
			return nil, problem("these are no dimensions")
		}
	}
	if rest >= 0 {
		if known == 0 {
			return nil, problem("these are no dimensions")
		}
		dims[rest] = t.Len() / known
	}
	return t.shaped(dims)
}

func flatten(a attrs, _ *Node) (operator, error) {
	at := a.integer("axis", 1)
	return single(1, func(in []*Tensor) (*Tensor, error) {
		t := in[0]
		if at < 0 || at > int64(len(t.Dims)) {
			return nil, problemf("it has no axis %d", at)
		}
		n, err := size(t.Dims[:at])
		if err != nil || n == 0 {
			return nil, problem("it is empty")
		}
		return t.shaped([]int{n, t.Len() / n})
	}), nil
}

// axesOf returns axes, which are an attribute or, since opset 13, an input.
func axesOf(given []int64, in []*Tensor) []int64 {
	if len(in) > 1 && in[1] != nil {
		return integers(in[1])
	}
	return given
}

func squeeze(a attrs, _ *Node) (operator, error) {
	given := a.ints("axes")
	return single(1, func(in []*Tensor) (*Tensor, error) {
		t := in[0]
		gone := make([]bool, len(t.Dims))
		for _, x := range axesOf(given, in) {
			axis, err := t.axis(x)
			if err != nil || t.Dims[axis] != 1 {
				return nil, problem("an axis is not of length 1")
			}
			gone[axis] = true
		}
		all := len(axesOf(given, in)) == 0
		dims := []int{}
		for i, d := range t.Dims {
			if !gone[i] && !(all && d == 1 && i > 0) { // the rows stay, be there one
				dims = append(dims, d)
			}
		}
		return t.shaped(dims)
	}), nil
}

func unsqueeze(a attrs, _ *Node) (operator, error) {
	given := a.ints("axes")
	return single(1, func(in []*Tensor) (*Tensor, error) {
		t, axes := in[0], axesOf(given, in)
		n := len(t.Dims) + len(axes)
		if n > 16 {
			return nil, problem("it has too many dimensions")
		}
		dims := make([]int, n)
		for _, x := range axes {
			if x < 0 {
				x += int64(n)
			}
			if x < 0 || x >= int64(n) || dims[x] != 0 {
				return nil, problemf("it has no axis %d", x)
			}
			dims[x] = -1
		}
		next := 0
		for i := range dims {
			if dims[i] == -1 {
				dims[i] = 1
			} else {
				dims[i] = t.Dims[next]
				next++
			}
		}
		return t.shaped(dims)
	}), nil
}

func transpose(a attrs, _ *Node) (operator, error) {
	given := a.ints("perm")
	return single(1, func(in []*Tensor) (*Tensor, error) {
		t, n := in[0], len(in[0].Dims)
		perm := make([]int, n)
		dims := make([]int, n)
		seen := make([]bool, n)
		for i := range perm {
			perm[i] = n - 1 - i
			if given != nil {
				if len(given) != n || given[i] < 0 || given[i] >= int64(n) {
					return nil, problem("these are no axes")
				}
				perm[i] = int(given[i])
			}
			if seen[perm[i]] {
				return nil, problem("these are no axes")
			}
			seen[perm[i]], dims[i] = true, t.Dims[perm[i]]
		}
		out, err := make1(t.Kind, dims...)
		if err != nil {
			return nil, err
		}
		w := t.walker(t.Dims)
		strides := make([]int, n)
		for i, p := range perm {
			if strides[i] = w.strides[p]; t.Dims[p] == 1 {
				strides[i] = 0
			}
		}
		w = walker{dims, strides}
		for i := range out.Len() {
			if out.Kind == Text {
				out.Text[i] = t.Text[w.at(i)]
			} else {
				out.Num[i] = t.Num[w.at(i)]
			}
		}
		return out, nil
	}), nil
}

// gather takes elements along an axis by their numbers.
func gather(a attrs, _ *Node) (operator, error) {
	at := a.integer("axis", 0)
	return single(2, func(in []*Tensor) (*Tensor, error) {
		t, idx := in[0], in[1]
		if err := numeric(idx); err != nil {
			return nil, err
		}
		axis, err := t.axis(at)
		if err != nil {
			return nil, err
		}
		return take(t, axis, idx.Num, idx.Dims)
	}), nil
}

// take is gather with the numbers as a list; dims are theirs.
func take(t *Tensor, axis int, idx []float64, dims []int) (*Tensor, error) {
	before, after := t.around(axis)
	n := t.Dims[axis]
	out, err := make1(t.Kind, slices.Concat(t.Dims[:axis], dims, t.Dims[axis+1:])...)
	if err != nil {
		return nil, err
	}
	to := 0
	for i := range before {
		for _, v := range idx {
			k := int(v)
			if k < 0 {
				k += n
			}
			if k < 0 || k >= n {
				return nil, problemf("there is no element %v of %d", v, n)
			}
			from := (i*n + k) * after
			if out.Kind == Text {
				copy(out.Text[to:], t.Text[from:][:after])
			} else {
				copy(out.Num[to:], t.Num[from:][:after])
			}
			to += after
		}
	}
	return out, nil
}

func shapeOf(in []*Tensor) (*Tensor, error) {
	out := &Tensor{Kind: I64, Dims: []int{len(in[0].Dims)}}
	for _, d := range in[0].Dims {
		out.Num = append(out.Num, float64(d))
	}
	return out, nil
}

// slice takes ranges of axes: starts, ends, axes, steps, as inputs (opset 10) or attributes.
func slice(a attrs, _ *Node) (operator, error) {
	given := [][]int64{a.ints("starts"), a.ints("ends"), a.ints("axes"), nil}
	return single(1, func(in []*Tensor) (*Tensor, error) {
		lists := slices.Clone(given)
		for k := range lists {
			if k+1 < len(in) && in[k+1] != nil {
				lists[k] = integers(in[k+1])
			}
		}
		t := in[0]
		for i, from := range lists[0] {
			axisOf, step := int64(i), int64(1)
			if i >= len(lists[1]) {
				return nil, problem("a range has no end")
			}
			if i < len(lists[2]) {
				axisOf = lists[2][i]
			}
			if i < len(lists[3]) {
				step = lists[3][i]
			}
			axis, err := t.axis(axisOf)
			if err != nil {
				return nil, err
			}
			if step < 1 {
				return nil, problem("steps below 1 are not supported")
			}
			n, to := int64(t.Dims[axis]), lists[1][i]
			if from < 0 {
				from += n
			}
			if to < 0 {
				to += n
			}
			var idx []float64
			for k := max(from, 0); k < min(to, n); k += step {
				idx = append(idx, float64(k))
			}
			if t, err = take(t, axis, idx, []int{len(idx)}); err != nil {
				return nil, err
			}
		}
		return t, nil
	}), nil
}

func expand(in []*Tensor) (*Tensor, error) {
	if in[1].Kind == Text || len(in[1].Num) > 16 {
		return nil, problem("these are no dimensions")
	}
	var want []int
	for _, v := range integers(in[1]) {
		if v < 0 || v > mostElements {
			return nil, problem("these are no dimensions")
		}
		want = append(want, int(v))
	}
	like := &Tensor{Dims: want}
	dims, err := broadcast(in[0], like)
	if err != nil {
		return nil, err
	}
	out, err := make1(in[0].Kind, dims...)
	if err != nil {
		return nil, err
	}
	w := in[0].walker(dims)
	for i := range out.Len() {
		if out.Kind == Text {
			out.Text[i] = in[0].Text[w.at(i)]
		} else {
			out.Num[i] = in[0].Num[w.at(i)]
		}
	}
	return out, nil
}

func constantOfShape(a attrs, _ *Node) (operator, error) {
	v := &Tensor{Kind: F32, Num: []float64{0}}
	if x := a["value"]; x != nil && x.Tensor != nil && len(x.Tensor.Num) == 1 {
		v = x.Tensor
	}
	one := &Tensor{Kind: v.Kind, Num: v.Num}
	return single(1, func(in []*Tensor) (*Tensor, error) { return expand([]*Tensor{one, in[0]}) }), nil
}

func init() {
	add(map[string]compiler{
		"Cast": cast, "Identity": one(1, identity), "Dropout": one(1, identity), "Constant": constant, "Concat": concat, "Reshape": one(2, reshape), "Flatten": flatten,
		"Squeeze": squeeze, "Unsqueeze": unsqueeze, "Transpose": transpose, "Gather": gather, "Shape": one(1, shapeOf), "Slice": slice, "Expand": one(2, expand),
		"ConstantOfShape": constantOfShape,
	})
}
