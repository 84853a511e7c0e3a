package net

import "github.com/tributarydb/tributary/exec/spare"

// shape is that of a sample: so many steps of so many numbers. A row of a table
// has one step.
type shape struct{ steps, width int }

func (s shape) size() int { return s.steps * s.width }

// tensor is samples, column-major: steps × width × samples. Loops and products run
// along the samples, whose number is a multiple of the register's width.
type tensor struct {
	n int
	shape
	v []float32
}

// step returns a step, width × samples.
func (x *tensor) step(s int) []float32 { return x.v[s*x.width*x.n:][:x.width*x.n] }

// column returns number j of a step, of all samples.
func (x *tensor) column(s, j int) []float32 { return x.v[(s*x.width+j)*x.n:][:x.n:x.n] }

// sample returns the numbers of one sample, in memory for them or in new memory.
func (x *tensor) sample(i int, dst []float32) []float32 {
	dst = dst[:0]
	for ; i < len(x.v); i += x.n {
		dst = append(dst, x.v[i])
	}
	return dst
}

// put sets the numbers of one sample.
func (x *tensor) put(i int, row []float32) {
	for j, v := range row {
		x.v[j*x.n+i] = v
	}
}

// layer is a function of tensors with parameters. It is made for the shape of
// its input, is immutable, and is used by any number of goroutines, each with a
// tape of its own. p is always the layer's own range of a net's parameters, and
// g that range of the gradient.
type layer interface {
	// params is how many parameters there are.
	params() int
	// init draws the first ones.
	init(p []float32, r *rng)
	// out is the shape of the output.
	out() shape
	// scratch is how many numbers forward and backward of n samples take from
	// the tape together.
	scratch(n int) int
	// forward returns the output, and pushes what backward needs on the tape. It
	// does not change in.
	forward(p []float32, in *tensor, t *tape) *tensor
	// backward pops what forward pushed, adds the gradient of the sum over all samples to
	// g, and returns that of the input, nil where it is not needed: for the first layer of
	// a net. It may change dout.
	backward(p, g []float32, dout *tensor, t *tape) *tensor
}

// biased is a layer some of whose parameters are biases or scales, to which
// penalties and weight decay do not apply.
type biased interface {
	// weights is the number of the others, which come first.
	weights() int
}

// tape is one goroutine's memory for the forward and backward pass of samples:
// an arena of numbers, and a stack of the tensors that backward needs.
type tape struct {
	train bool   // dropout drops
	once  bool   // backward will not be called: what it needs need not be kept
	key   uint64 // of the random numbers for these samples
	first int    // the number of the first sample in those draws
	// codes are the numbers of categories, samples × steps × code columns, -1
	// for none (block.Block).
	codes []int32

	slab    []float32
	used    int
	tensors []tensor
	made    int
	stack   []*tensor
}

// newTape makes a tape of so many numbers.
func newTape(numbers int) *tape { return &tape{slab: spare.Zeros[float32](numbers)} }

// reset empties the tape for reuse.
func (t *tape) reset() { t.used, t.made, t.stack = 0, 0, t.stack[:0] }

// take returns n numbers of any value.
func (t *tape) take(n int) []float32 {
	v := t.slab[t.used:][:n:n]
	t.used += n
	return v
}

// tensor returns a tensor of any values.
func (t *tape) tensor(n int, s shape) *tensor { return t.of(n, s, t.take(n*s.size())) }

// of returns a tensor of these values.
func (t *tape) of(n int, s shape, v []float32) *tensor {
	if t.made == len(t.tensors) {
		t.tensors, t.made = make([]tensor, max(32, 2*len(t.tensors))), 0 // pointers to old tensors stay valid
	}
	x := &t.tensors[t.made]
	t.made++
	*x = tensor{n, s, v}
	return x
}

// push keeps a tensor for backward, pop returns what was pushed last.
func (t *tape) push(x *tensor) { t.stack = append(t.stack, x) }

func (t *tape) pop() *tensor {
	x := t.stack[len(t.stack)-1]
	t.stack = t.stack[:len(t.stack)-1]
	return x
}
