package graph

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// compilers are the operators there are. Those of files are added below.
var compilers = map[string]compiler{}

func add(list map[string]compiler) {
	for name, c := range list {
		compilers[name] = c
	}
}

// one makes a compiler of an operator without attributes that has one output.
func one(least int, f func(in []*Tensor) (*Tensor, error)) compiler {
	return func(attrs, *Node) (operator, error) { return single(least, f), nil }
}

func single(least int, f func(in []*Tensor) (*Tensor, error)) operator {
	return func(in []*Tensor) ([]*Tensor, error) {
		if len(in) < least {
			return nil, problemf("it has %d inputs", len(in))
		}
		for _, t := range in[:least] {
			if t == nil {
				return nil, problem("an input is missing")
			}
		}
		out, err := f(in)
		if err != nil {
			return nil, err
		}
		return []*Tensor{out}, nil
	}
}

// numeric returns an error for texts.
func numeric(all ...*Tensor) error {
	for _, t := range all {
		if t != nil && t.Kind == Text {
			return problem("it takes no texts")
		}
	}
	return nil
}

// unary is a function of each number.
func unary(f func(float64) float64) compiler {
	return one(1, func(in []*Tensor) (*Tensor, error) { return each(in[0], in[0].Kind, f) })
}

func each(t *Tensor, k Kind, f func(float64) float64) (*Tensor, error) {
	if err := numeric(t); err != nil {
		return nil, err
	}
	out, err := make1(k, t.Dims...)
	if err != nil {
		return nil, err
	}
	for i, v := range t.Num {
		out.Num[i] = f(v)
	}
	return out.round(), nil
}

// is is a question of each number.
func is(f func(float64) bool) compiler {
	return one(1, func(in []*Tensor) (*Tensor, error) {
		return each(in[0], Bool, func(v float64) float64 { return truth(f(v)) })
	})
}

func truth(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

// binary is a function of pairs, or, of more inputs, from the left.
func binary(f func(a, b float64) float64) compiler {
	return one(1, func(in []*Tensor) (*Tensor, error) {
		out := in[0]
		for _, b := range in[1:] {
			if b == nil {
				return nil, problem("an input is missing")
			}
			var err error
			if out, err = pair(out, b, out.Kind, f); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// compare is a question of pairs.
func compare(f func(a, b float64) bool) compiler {
	return one(2, func(in []*Tensor) (*Tensor, error) {
		return pair(in[0], in[1], Bool, func(a, b float64) float64 { return truth(f(a, b)) })
	})
}

func pair(a, b *Tensor, k Kind, f func(a, b float64) float64) (*Tensor, error) {
	if err := numeric(a, b); err != nil {
		return nil, err
	}
	dims, err := broadcast(a, b)
	if err != nil {
		return nil, err
	}
	out, err := make1(k, dims...)
	if err != nil {
		return nil, err
	}
	wa, wb := a.walker(dims), b.walker(dims)
	for i := range out.Num {
		out.Num[i] = f(a.Num[wa.at(i)], b.Num[wb.at(i)])
	}
	return out.round(), nil
}

func equal(in []*Tensor) (*Tensor, error) {
	a, b := in[0], in[1]
	if a.Kind != Text || b.Kind != Text {
		return pair(a, b, Bool, func(a, b float64) float64 { return truth(a == b) })
	}
	dims, err := broadcast(a, b)
	if err != nil {
		return nil, err
	}
	out, err := make1(Bool, dims...)
	if err != nil {
		return nil, err
	}
	wa, wb := a.walker(dims), b.walker(dims)
	for i := range out.Num {
		out.Num[i] = truth(a.Text[wa.at(i)] == b.Text[wb.at(i)])
	}
	return out, nil
}

func where(in []*Tensor) (*Tensor, error) {
	c, a, b := in[0], in[1], in[2]
	if err := numeric(c); err != nil {
		return nil, err
	}
	if (a.Kind == Text) != (b.Kind == Text) {
		return nil, problem("texts and numbers do not go together")
	}
	dims, err := broadcast(c, a, b)
	if err != nil {
		return nil, err
	}
	out, err := make1(a.Kind, dims...)
	if err != nil {
		return nil, err
	}
	wc, wa, wb := c.walker(dims), a.walker(dims), b.walker(dims)
	for i := range out.Len() {
		from, at := b, wb
		if c.Num[wc.at(i)] != 0 {
			from, at = a, wa
		}
		if out.Kind == Text {
			out.Text[i] = from.Text[at.at(i)]
		} else {
			out.Num[i] = from.Num[at.at(i)]
		}
	}
	return out, nil
}

func clip(a attrs, _ *Node) (operator, error) {
	lo, hi := a.float("min", math.Inf(-1)), a.float("max", math.Inf(1))
	return single(1, func(in []*Tensor) (*Tensor, error) {
		lo, hi := lo, hi
		for k, bound := range []*float64{&lo, &hi} {
			if k+1 < len(in) && in[k+1] != nil {
				if len(in[k+1].Num) != 1 {
					return nil, problem("a bound is no number")
				}
				*bound = in[k+1].Num[0]
			}
		}
		return each(in[0], in[0].Kind, func(v float64) float64 { return min(max(v, lo), hi) })
	}), nil
}

// matmul multiplies matrices; the first may have more dimensions.
func matmul(in []*Tensor) (*Tensor, error) {
	a, b := in[0], in[1]
	if err := numeric(a, b); err != nil {
		return nil, err
	}
	if len(b.Dims) == 1 { // a column, whose dimension is left out of the product
		column, err := b.shaped([]int{b.Dims[0], 1})
		if err != nil {
			return nil, err
		}
		out, err := matmul([]*Tensor{a, column})
		if err != nil {
			return nil, err
		}
		return out.shaped(out.Dims[:len(out.Dims)-1])
	}
	if len(a.Dims) == 0 || len(b.Dims) != 2 || a.Dims[len(a.Dims)-1] != b.Dims[0] {
		return nil, problemf("matrices of %v and %v do not multiply", a.Dims, b.Dims)
	}
	k, n := b.Dims[0], b.Dims[1]
	out, err := make1(a.Kind, append(append([]int{}, a.Dims[:len(a.Dims)-1]...), n)...)
	if err != nil {
		return nil, err
	}
	if k > 0 {
		product(out.Num, a.Num, b.Num, a.Len()/k, k, n)
	}
	return out.round(), nil
}

func product(out, a, b []float64, m, k, n int) {
	for i := range m {
		row := out[i*n:][:n]
		for l, v := range a[i*k:][:k] {
			for j, w := range b[l*n:][:n] {
				row[j] += float64(v * w)
			}
		}
	}
}

func transposed(t *Tensor) *Tensor {
	n, m := t.Dims[0], t.Dims[1]
	out := &Tensor{Kind: t.Kind, Dims: []int{m, n}, Num: make([]float64, n*m)}
	for i := range n {
		for j := range m {
			out.Num[j*n+i] = t.Num[i*m+j]
		}
	}
	return out
}

func gemm(a attrs, _ *Node) (operator, error) {
	alpha, beta, ta, tb := a.float("alpha", 1), a.float("beta", 1), a.integer("transA", 0), a.integer("transB", 0)
	return single(2, func(in []*Tensor) (*Tensor, error) {
		x, y := in[0], in[1]
		if err := numeric(in...); err != nil {
			return nil, err
		}
		if len(x.Dims) != 2 || len(y.Dims) != 2 {
			return nil, problem("it takes matrices")
		}
		if ta != 0 {
			x = transposed(x)
		}
		if tb != 0 {
			y = transposed(y)
		}
		out, err := matmul([]*Tensor{x, y})
		if err != nil {
			return nil, err
		}
		if alpha != 1 {
			if out, err = each(out, out.Kind, func(v float64) float64 { return float64(v * alpha) }); err != nil {
				return nil, err
			}
		}
		if len(in) > 2 && in[2] != nil {
			return pair(out, in[2], out.Kind, func(a, b float64) float64 { return a + float64(beta*b) })
		}
		return out, nil
	}), nil
}

// softmax along an axis, the last unless said otherwise.
func softmax(a attrs, _ *Node) (operator, error) {
	at := a.integer("axis", -1)
	return single(1, func(in []*Tensor) (*Tensor, error) {
		t := in[0]
		if err := numeric(t); err != nil {
			return nil, err
		}
		axis, err := t.axis(at)
		if err != nil {
			return nil, err
		}
		out, err := make1(t.Kind, t.Dims...)
		if err != nil {
			return nil, err
		}
		along(t, axis, func(first, stride, n int) {
			top, sum := math.Inf(-1), 0.0
			for k := range n {
				top = max(top, t.Num[first+k*stride])
			}
			for k := range n {
				e := f64.Exp1(t.Num[first+k*stride] - top)
				out.Num[first+k*stride] = e
				sum += e
			}
			for k := range n {
				out.Num[first+k*stride] /= sum
			}
		})
		return out.round(), nil
	}), nil
}

// along calls f for each run of elements along an axis.
func along(t *Tensor, axis int, f func(first, stride, n int)) {
	before, after := t.around(axis)
	n := t.Dims[axis]
	for i := range before {
		for j := range after {
			f(i*n*after+j, after, n)
		}
	}
}

// reduce folds the elements along axes, which are an attribute or, since opset 13 and 18, an input.
func reduce(from float64, f func(sum, v float64) float64, end func(sum float64, n int) float64) compiler {
	return func(a attrs, _ *Node) (operator, error) {
		given, keep := a.ints("axes"), a.integer("keepdims", 1) != 0
		return single(1, func(in []*Tensor) (*Tensor, error) {
			t, axes := in[0], given
			if err := numeric(in...); err != nil {
				return nil, err
			}
			if len(in) > 1 && in[1] != nil {
				axes = integers(in[1])
			}
			if len(axes) == 0 {
				for i := range t.Dims {
					axes = append(axes, int64(i))
				}
			}
			gone := make([]bool, len(t.Dims))
			for _, x := range axes {
				axis, err := t.axis(x)
				if err != nil {
					return nil, err
				}
				gone[axis] = true
			}
			n := 1
			kept, dims := []int{}, []int{} // with the axes as 1, and as they are to be
			for i, d := range t.Dims {
				switch {
				case !gone[i]:
					kept, dims = append(kept, d), append(dims, d)
				default:
					n *= d
					if kept = append(kept, 1); keep {
						dims = append(dims, 1)
					}
				}
			}
			out, err := make1(t.Kind, kept...)
			if err != nil {
				return nil, err
			}
			for i := range out.Num {
				out.Num[i] = from
			}
			w := out.walker(t.Dims)
			for i, v := range t.Num {
				at := w.at(i)
				out.Num[at] = f(out.Num[at], v)
			}
			if end != nil {
				for i, v := range out.Num {
					out.Num[i] = end(v, n)
				}
			}
			out.round()
			return out.shaped(dims)
		}), nil
	}
}

// arg returns where the greatest element is along an axis, by better.
func arg(better func(a, b float64) bool) compiler {
	return func(a attrs, _ *Node) (operator, error) {
		at, keep, last := a.integer("axis", 0), a.integer("keepdims", 1) != 0, a.integer("select_last_index", 0) != 0
		return single(1, func(in []*Tensor) (*Tensor, error) {
			t := in[0]
			if err := numeric(t); err != nil {
				return nil, err
			}
			axis, err := t.axis(at)
			if err != nil {
				return nil, err
			}
			if t.Dims[axis] == 0 {
				return nil, problem("there is no element")
			}
			var dims []int
			for i, d := range t.Dims {
				if i != axis {
					dims = append(dims, d)
				} else if keep {
					dims = append(dims, 1)
				}
			}
			var found []float64
			along(t, axis, func(first, stride, n int) {
				best := 0
				for k := 1; k < n; k++ {
					if v, b := t.Num[first+k*stride], t.Num[first+best*stride]; better(v, b) || last && v == b {
						best = k
					}
				}
				found = append(found, float64(best))
			})
			out := &Tensor{Kind: I64, Dims: []int{len(found)}, Num: found}
			return out.shaped(dims)
		}), nil
	}
}

func integers(t *Tensor) (out []int64) {
	for _, v := range t.Num {
		out = append(out, int64(v))
	}
	return out
}

func init() {
	sum := func(s, v float64) float64 { return s + v }
	add(map[string]compiler{
		"Add": binary(func(a, b float64) float64 { return a + b }), "Sub": binary(func(a, b float64) float64 { return a - b }),
		"Mul": binary(func(a, b float64) float64 { return float64(a * b) }), "Div": one(2, divide), "Pow": binary(math.Pow), "Mod": binary(math.Mod),
		"Sum": binary(func(a, b float64) float64 { return a + b }), "Max": binary(math.Max), "Min": binary(math.Min),
		"Neg": unary(func(v float64) float64 { return -v }), "Abs": unary(math.Abs), "Sqrt": unary(math.Sqrt), "Exp": unary(f64.Exp1), "Log": unary(math.Log),
		"Floor": unary(math.Floor), "Ceil": unary(math.Ceil), "Round": unary(math.RoundToEven), "Sign": unary(sign), "Erf": unary(math.Erf), "Reciprocal": unary(func(v float64) float64 { return 1 / v }),
		"Tanh": unary(math.Tanh), "Sigmoid": unary(f64.Sigmoid1), "Relu": unary(func(v float64) float64 { return max(v, 0) }),
		"Softplus": unary(func(v float64) float64 { return math.Max(v, 0) + math.Log1p(f64.Exp1(-math.Abs(v))) }),
		"IsNaN":    is(func(v float64) bool { return v != v }), "IsInf": is(func(v float64) bool { return math.IsInf(v, 0) }), "Not": is(func(v float64) bool { return v == 0 }),
		"Equal": one(2, equal), "Less": compare(func(a, b float64) bool { return a < b }), "Greater": compare(func(a, b float64) bool { return a > b }),
		"LessOrEqual": compare(func(a, b float64) bool { return a <= b }), "GreaterOrEqual": compare(func(a, b float64) bool { return a >= b }),
		"And": compare(func(a, b float64) bool { return a != 0 && b != 0 }), "Or": compare(func(a, b float64) bool { return a != 0 || b != 0 }),
		"Xor": compare(func(a, b float64) bool { return (a != 0) != (b != 0) }), "Where": one(3, where), "Clip": clip,
		"MatMul": one(2, matmul), "Gemm": gemm, "Softmax": softmax,
		"ReduceSum": reduce(0, sum, nil), "ReduceMean": reduce(0, sum, func(s float64, n int) float64 { return s / float64(n) }),
		"ReduceMax": reduce(math.Inf(-1), math.Max, nil), "ReduceMin": reduce(math.Inf(1), math.Min, nil),
		"ReduceProd": reduce(1, func(s, v float64) float64 { return float64(s * v) }, nil), "ReduceL1": reduce(0, func(s, v float64) float64 { return s + math.Abs(v) }, nil),
		"ReduceSumSquare": reduce(0, func(s, v float64) float64 { return s + float64(v*v) }, nil),
		"ReduceL2":        reduce(0, func(s, v float64) float64 { return s + float64(v*v) }, func(s float64, _ int) float64 { return math.Sqrt(s) }),
		"ReduceLogSumExp": reduce(0, func(s, v float64) float64 { return s + f64.Exp1(v) }, func(s float64, _ int) float64 { return math.Log(s) }),
		"ArgMax":          arg(func(a, b float64) bool { return a > b }), "ArgMin": arg(func(a, b float64) bool { return a < b }),
	})
}

func divide(in []*Tensor) (*Tensor, error) {
	return pair(in[0], in[1], in[0].Kind, func(a, b float64) float64 { return a / b })
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return v
}
