package net

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
)

// feed makes tensors of the rows of blocks, a micro-batch at a time.
type feed struct {
	net   *net
	self  bool // the target is the row
	tape  *tape
	codes []int32
}

func newFeed(n *net, self bool) *feed { return &feed{net: n, self: self} }

// numbers is how many its tape has.
func (f *feed) numbers() int {
	n := f.net.scratch(microRows) + microRows*f.net.codes
	if f.self {
		return n + microRows*f.net.out().size()
	}
	return n + microRows
}

// begin makes the memory.
func (f *feed) begin() {
	f.tape = newTape(f.numbers())
	f.codes = make([]int32, microRows*f.net.codes)
}

// load begins the tape anew with n rows of a block from row from, a multiple of
// f64.Lanes.
func (f *feed) load(b *dataset.Block, from, n int) *tensor {
	t := f.tape
	t.reset()
	t.first = from
	in := t.tensor(n, f.net.in)
	width := b.Dense
	for i := 0; i < n; i += f64.Lanes {
		rows := min(f64.Lanes, n-i)
		at := (from + i) * width
		for j := range width {
			for l := range rows {
				if b.X32 != nil {
					in.v[(i+l)*width+j] = b.X32[at+l]
				} else {
					in.v[(i+l)*width+j] = float32(b.X64[at+l])
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

// target makes a target of numbers, in a net's units, or of classes.
func (f *feed) target(y []float64, u units) *tensor {
	t := f.tape.tensor(len(y), shape{1, 1})
	for i, v := range y {
		t.v[i] = float32((v - u.mean) / u.dev)
	}
	return t
}

// again makes the rows that were loaded a target: their numbers, and for each
// category 1 where it is theirs.
func (f *feed) again(b *dataset.Block, in *tensor, from int) *tensor {
	t := f.tape.tensor(in.n, f.net.out())
	for i := range in.n {
		row := t.row(i)
		clear(row[copy(row, in.row(i)):])
		for _, c := range f.tape.codes[i*b.Codes:][:b.Codes] {
			if c >= 0 {
				row[b.Dense+int(c)] = 1
			}
		}
	}
	return t
}
