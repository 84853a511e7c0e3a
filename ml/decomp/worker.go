package decomp

import (
	"context"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
)

// worker is a node's part. It keeps nothing between steps.
type worker struct {
	set  *family.Setup
	dims dims
}

// dims is how columns are laid out in packs: dense ones, slots, ones, and what
// fills up.
type dims struct{ dense, slots, codes int }

func dimsOf(s *family.Setup) dims { return dims{s.Fitted.Dense, s.Fitted.Ones, s.Fitted.Codes} }

func (d dims) cols() int { return d.dense + d.slots }

// padded is the columns of a pack with room for n of them.
func padded(n int) int { return (n + 11) / 12 * 12 }

// NewWorker implements family.Family.
func (decomp) NewWorker(s *family.Setup, n *family.Node) (family.Worker, error) {
	return &worker{s, dimsOf(s)}, nil
}

// Close implements family.Worker.
func (w *worker) Close() {}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) int64 {
	d := int64(w.dims.cols() + 13)
	switch s.Op {
	case opBounds:
		return 160 * d
	case opQR:
		return 16*d*d + 8*d*f64.FixedStride
	case opApply:
		l := int64(len(s.Body.(*body).QScale) + 14)
		return 16*d*l + 8*(d+l)*f64.FixedStride
	}
	return 16*d*d + 16*d*f64.FixedStride
}

// pass works a step.
type pass struct {
	dims  dims
	op    uint8
	body  *body
	out   *partial
	a, b  []float64 // packs
	nb    int       // columns of b
	left  int       // additions that fit before sums hand on what they carry
	chunk []float64 // scratch: numbers of a chunk's rows
	len2  []float64 // scratch: their squared lengths
	share []float64 // scratch: their weights times Unit

	ends32 ends[float32]
	ends64 ends[float64]
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	p := &pass{dims: w.dims, op: s.Op}
	n := w.dims.cols() + 1
	switch s.Op {
	case opQR:
		p.a = make([]float64, n*f64.FixedStride)
	case opGram, opApply:
		p.body = s.Body.(*body)
		p.a = make([]float64, padded(n)*f64.FixedStride)
		p.share, p.chunk, p.len2 = make([]float64, f64.FixedRows), make([]float64, f64.FixedRows), make([]float64, f64.FixedRows)
		p.nb = padded(n)
		if s.Op == opApply {
			p.nb = padded(len(p.body.QScale) + 2)
		}
		p.b = make([]float64, p.nb*f64.FixedStride)
	}
	p.reset()
	return p, nil
}

func (p *pass) reset() {
	p.out = &partial{}
	n := p.dims.cols() + 1
	switch p.op {
	case opBounds:
		p.out.Low, p.out.High = make([]float64, p.dims.dense), make([]float64, p.dims.dense)
		for j := range p.out.Low {
			p.out.Low[j], p.out.High[j] = math.Inf(1), math.Inf(-1)
		}
	case opGram, opApply:
		p.out.Sums, p.out.Carry = make([]int64, padded(n)*p.nb), make([]int64, padded(n)*p.nb)
		p.left = f64.FixedChunks / 2
	}
}

// Partial implements family.Pass.
func (p *pass) Partial() family.Message {
	o := p.out
	if p.op == opBounds {
		p.ends32.fold(o)
		p.ends64.fold(o)
		for j := range o.Low { // a zero has no sign
			o.Low[j], o.High[j] = o.Low[j]+0, o.High[j]+0
		}
	}
	if len(o.Sums) > 0 { // what fills up stays here, and the lower half
		spillOver(o.Sums, o.Carry)
		n := p.dims.cols() + 1
		o.Sums, o.Carry = p.trim(o.Sums, n), p.trim(o.Carry, n)
	}
	p.reset()
	return o
}

// trim gives the n rows of a matrix without padding: of a Gram matrix the upper
// triangle, of other products the columns there are.
func (p *pass) trim(m []int64, n int) []int64 {
	if p.op == opApply {
		k := len(p.body.QScale) + 2
		out := make([]int64, 0, n*k)
		for i := range n {
			out = append(out, m[i*p.nb:][:k]...)
		}
		return out
	}
	out := make([]int64, 0, n*(n+1)/2)
	for i := range n {
		out = append(out, m[i*p.nb+i:][:n-i]...)
	}
	return out
}

// Add implements family.Pass.
func (p *pass) Add(ctx context.Context, r family.Rows, b *dataset.Block) error {
	to := min((r.To+f64.Lanes-1)&^(f64.Lanes-1), b.Padded())
	for i := r.From; i < to; i += f64.FixedRows {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n := min(f64.FixedRows, to-i)
		switch p.op {
		case opBounds:
			p.bounds(b, i, n)
		case opQR:
			p.qr(b, i, n)
		default:
			p.products(b, i, n)
		}
	}
	return nil
}

// bounds keeps the least and greatest values of n rows.
func (p *pass) bounds(b *dataset.Block, from, n int) {
	plain := true // no row is left out
	for _, w := range b.W[from : from+n] {
		plain = plain && w > 0
		if w > p.out.MaxWeight {
			p.out.MaxWeight = w
		}
	}
	if b.X32 != nil {
		extremes(&p.ends32, p.out, b.X32[from*b.Dense:(from+n)*b.Dense], b.W[from:from+n], plain)
	} else {
		extremes(&p.ends64, p.out, b.X64[from*b.Dense:(from+n)*b.Dense], b.W[from:from+n], plain)
	}
}

// ends are bounds by column and lane.
type ends[T f64.Elem] struct{ low, high []T }

// extremes takes rows into bounds. Where all count they go to lanes, which fold
// brings together.
func extremes[T f64.Elem](e *ends[T], o *partial, x []T, w []float64, plain bool) {
	d := len(o.Low)
	if !plain {
		for i, v := range x {
			if row := i/(d*f64.Lanes)*f64.Lanes + i%f64.Lanes; w[row] > 0 {
				j := i / f64.Lanes % d
				o.Low[j], o.High[j] = min(o.Low[j], float64(v)), max(o.High[j], float64(v))
			}
		}
		return
	}
	if e.low == nil {
		e.low, e.high = make([]T, d*f64.Lanes), make([]T, d*f64.Lanes)
		for i := range e.low {
			e.low[i], e.high[i] = T(math.Inf(1)), T(math.Inf(-1))
		}
	}
	f64.ColumnBounds(e.low, e.high, x, d)
}

func (e *ends[T]) fold(o *partial) {
	for i, v := range e.low {
		j := i / f64.Lanes
		o.Low[j], o.High[j] = min(o.Low[j], float64(v)), max(o.High[j], float64(e.high[i]))
	}
	e.low, e.high = nil, nil
}

// qr brings n rows into R. The first column is of ones.
func (p *pass) qr(b *dataset.Block, from, n int) {
	d := p.dims.cols() + 1
	if p.out.R == nil {
		p.out.R = make([]float64, d*d)
	}
	for i := range n {
		tile, l := (from+i)&^(f64.Lanes-1), (from+i)&(f64.Lanes-1)
		w := b.W[from+i]
		if w != 1 {
			w = math.Sqrt(math.Max(w, 0))
		}
		p.a[i] = w
		for j := range b.Dense {
			p.a[(1+j)*f64.FixedStride+i] = float64(w * b.Value(from+i, j))
		}
		for j := range p.dims.slots {
			p.a[(1+b.Dense+j)*f64.FixedStride+i] = 0
		}
		for j := range b.Codes {
			if c := b.Code[tile*b.Codes+j*f64.Lanes+l]; c >= 0 && w > 0 {
				p.a[(1+b.Dense+int(c))*f64.FixedStride+i] = w
			}
		}
	}
	absorb(p.out.R, p.a, d, f64.FixedStride, n, false)
}
