package graph

import (
	"fmt"
	"math"
)

// Kind is the kind of a tensor's elements.
type Kind uint8

// The kinds. Their numbers are part of models' bytes: append only.
const (
	F32 Kind = iota
	F64
	I64
	Bool
	Text
	numKinds
)

// Tensor has its elements in rows of the last dimension. It is immutable once made.
type Tensor struct {
	Kind Kind
	Dims []int
	Num  []float64 // of all kinds but Text
	Text []string
}

// mostElements bounds a tensor.
const mostElements = 1 << 24

// problem is a mistake in a graph, found where it runs.
type problem string

func (p problem) Error() string { return string(p) }

func problemf(format string, args ...any) error { return problem(fmt.Sprintf(format, args...)) }

// size returns the product of dimensions; an error where it is more than a tensor may have.
func size(dims []int) (int, error) {
	n := 1
	for _, d := range dims {
		if d < 0 || d > mostElements || d > 0 && n > mostElements/d {
			return 0, problemf("a tensor of %v is too large", dims)
		}
		n *= d
	}
	return n, nil
}

// make1 makes a tensor of zeros.
func make1(k Kind, dims ...int) (*Tensor, error) {
	n, err := size(dims)
	if err != nil {
		return nil, err
	}
	t := &Tensor{Kind: k, Dims: append([]int{}, dims...)}
	if k == Text {
		t.Text = make([]string, n)
	} else {
		t.Num = make([]float64, n)
	}
	return t, nil
}

// Len is the number of elements.
func (t *Tensor) Len() int { return max(len(t.Num), len(t.Text)) }

// valid reports whether the elements are as many as the dimensions say.
func (t *Tensor) valid() bool {
	n, err := size(t.Dims)
	if err != nil || t.Kind >= numKinds {
		return false
	}
	if t.Kind == Text {
		return len(t.Text) == n && t.Num == nil
	}
	return len(t.Num) == n && t.Text == nil
}

// round brings a number to what a kind can hold.
func (k Kind) round(v float64) float64 {
	switch k {
	case F32:
		return float64(float32(v))
	case I64:
		if v != v {
			return 0
		}
		return math.Trunc(v)
	case Bool:
		if v != 0 {
			return 1
		}
		return 0
	}
	return v
}

func (t *Tensor) round() *Tensor {
	if t.Kind != F64 {
		for i, v := range t.Num {
			t.Num[i] = t.Kind.round(v)
		}
	}
	return t
}

// axis returns an axis, which may be counted from the end.
func (t *Tensor) axis(a int64) (int, error) {
	n := int64(len(t.Dims))
	if a < 0 {
		a += n
	}
	if a < 0 || a >= n {
		return 0, problemf("a tensor of %d dimensions has no axis %d", n, a)
	}
	return int(a), nil
}

// around returns the products of the dimensions before and after an axis.
func (t *Tensor) around(axis int) (before, after int) {
	before, after = 1, 1
	for _, d := range t.Dims[:axis] {
		before *= d
	}
	for _, d := range t.Dims[axis+1:] {
		after *= d
	}
	return before, after
}

// shaped is the tensor with other dimensions of the same size.
func (t *Tensor) shaped(dims []int) (*Tensor, error) {
	if n, err := size(dims); err != nil || n != t.Len() {
		return nil, problemf("a tensor of %v cannot be one of %v", t.Dims, dims)
	}
	return &Tensor{t.Kind, dims, t.Num, t.Text}, nil
}

// rows returns the tensor as a matrix: its first dimension, and all others together.
func (t *Tensor) rows() (n, width int) {
	if len(t.Dims) == 0 {
		return 1, 1
	}
	if n = t.Dims[0]; n == 0 {
		return 0, 0
	}
	return n, t.Len() / n
}

// broadcast returns the common dimensions of tensors, by NumPy's rule.
func broadcast(all ...*Tensor) ([]int, error) {
	var out []int
	for _, t := range all {
		for len(out) < len(t.Dims) {
			out = append([]int{1}, out...)
		}
	}
	for _, t := range all {
		shift := len(out) - len(t.Dims)
		for i, d := range t.Dims {
			switch at := &out[shift+i]; {
			case *at == 1:
				*at = d
			case d != 1 && d != *at:
				return nil, problemf("tensors of %v and others do not go together", t.Dims)
			}
		}
	}
	return out, nil
}

// walker finds a tensor's element for each element of dimensions that it is broadcast to.
type walker struct{ dims, strides []int }

func (t *Tensor) walker(dims []int) walker {
	w := walker{dims, make([]int, len(dims))}
	stride := 1
	shift := len(dims) - len(t.Dims)
	for i := len(t.Dims) - 1; i >= 0; i-- {
		if t.Dims[i] != 1 {
			w.strides[shift+i] = stride
		}
		stride *= t.Dims[i]
	}
	return w
}

func (w walker) at(i int) (at int) {
	for d := len(w.dims) - 1; d >= 0; d-- {
		at += i % w.dims[d] * w.strides[d]
		i /= w.dims[d]
	}
	return at
}
