package net

import (
	"github.com/tributarydb/tributary/exec/kernel/f32"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
)

// feed loads the rows of blocks into tensors, a micro-batch at a time.
type feed struct {
	net   *net
	self  bool // the target is the row
	tape  *tape
	codes []int32
}

func newFeed(n *net, self bool) *feed { return &feed{net: n, self: self} }

// numbers is the size of its tape in float32s.
func (f *feed) numbers() int {
	n := f.net.scratch(f.net.micro) + f.net.micro*f.net.in.steps*f.net.codes
	if f.self {
		return n + f.net.micro*f.net.out().size()
	}
	return n + f.net.micro*f.net.out().steps
}

// bytes is the memory of the feed and of the matrix products' scratch.
func (f *feed) bytes() int64 { return f32.ScratchBytes + 4*int64(f.numbers()) }

// begin allocates the memory.
func (f *feed) begin() {
	f.tape = newTape(f.numbers())
	f.codes = make([]int32, f.net.micro*f.net.in.steps*f.net.codes)
}

// load resets the tape and loads n rows of a block from row from, a multiple of
// f64.Lanes, or n windows, padded to net.filled(n) samples.
func (f *feed) load(b *block.Block, from, n int) *tensor {
	t := f.tape
	t.reset()
	t.first = from
	in := t.tensor(f.net.filled(n), f.net.in)
	if b.Windows != nil {
		f.loadWindows(b, from, n, in)
		return in
	}
	width := b.Dense
	for i := 0; i < n; i += f64.Lanes {
		rows := min(f64.Lanes, n-i)
		at := (from + i) * width
		for j := range width {
			x := in.v[j*n+i:][:rows]
			if b.X32 != nil {
				copy(x, b.X32[at:])
			} else {
				for l, v := range b.X64[at:][:rows] {
					x[l] = float32(v)
				}
			}
			at += f64.Lanes
		}
		for j := range b.Codes {
			for l := range rows {
				f.codes[(i+l)*b.Codes+j] = b.Code[(from+i)*b.Codes+j*f64.Lanes+l]
			}
		}
	}
	t.codes = f.codes[:n*b.Codes]
	return in
}

// target makes the target of n rows or windows from from on, of numbers, in a
// net's units, or of classes: a window's last row's, or all its rows'.
func (f *feed) target(b *block.Block, from, n int, u units) *tensor {
	steps := f.net.out().steps
	t := f.tape.tensor(f.net.filled(n), shape{steps, 1})
	if t.n > n {
		clear(t.v)
	}
	for i := range n {
		for s, v := range b.Y[b.Last(from+i)-steps+1:][:steps] {
			t.v[s*t.n+i] = float32((v - u.mean) / u.dev)
		}
	}
	return t
}

// autoencoderTarget makes the target of an autoencoder: the loaded rows' numbers, and their
// categories one-hot.
func (f *feed) autoencoderTarget(b *block.Block, in *tensor) *tensor {
	if b.Codes == 0 {
		return in
	}
	t := f.tape.tensor(in.n, f.net.out())
	for s := range in.steps {
		x := t.step(s)
		clear(x[copy(x, in.step(s)):])
		for i := range in.n {
			for _, c := range f.tape.codes[(i*in.steps+s)*b.Codes:][:b.Codes] {
				if c >= 0 {
					t.column(s, b.Dense+int(c))[i] = 1
				}
			}
		}
	}
	return t
}
