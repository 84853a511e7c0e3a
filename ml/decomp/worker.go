package decomp

import (
	"context"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
)

// worker implements family.Worker; it has no state.
type worker struct {
	set  *family.Setup
	dims dims
}

// dims is the layout of columns in packs: dense columns, one-hot slots, a
// column of ones, padding.
type dims struct{ dense, slots, codes int }

func dimsOf(s *family.Setup) dims { return dims{s.Fitted.Dense, s.Fitted.OneHot, s.Fitted.Codes} }

func (d dims) cols() int { return d.dense + d.slots }

// NewWorker implements family.Family.
func (decomp) NewWorker(s *family.Setup, n *family.Node) (family.Worker, error) {
	return &worker{s, dimsOf(s)}, nil
}

// Close implements family.Worker.
func (w *worker) Close() {}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	n := w.dims.cols() + 1
	switch s.Op {
	case opBounds:
		return 0, gram.BoundsBytes(n)
	case opQR:
		return 8*int64(n*n) + gram.PackBytes(n), 8 * int64(n*n)
	case opCoarse:
		return gram.CoarseBytes(n - 1)
	case opApply:
		l := len(s.Body.(*body).QScale) + 2
		product := gram.ProductBytes(n, l) / 2
		return product + gram.PackBytes(n) + gram.PackBytes(l), product
	}
	product := gram.ProductBytes(n, n) / 2
	return product + 2*gram.PackBytes(n), product
}

// pass implements family.Pass.
type pass struct {
	dims    dims
	op      uint8
	body    *body
	out     *partial
	product *gram.Product
	coarse  *gram.Coarse
	a, b    []float64 // packs
	start   []float64 // what projections begin with: that of the shift
	len2    []float64 // scratch: squared lengths of a chunk's rows
	share   []float64 // scratch: their weights times Unit
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	p := &pass{dims: w.dims, op: s.Op}
	n := w.dims.cols() + 1
	switch s.Op {
	case opQR:
		p.a = gram.NewPack(n)
	case opCoarse:
		p.coarse = gram.NewCoarse(&s.Body.(*body).Columns)
	case opGram, opApply:
		p.body = s.Body.(*body)
		p.share, p.len2 = make([]float64, f64.FixedRows), make([]float64, f64.FixedRows)
		cols := n
		if s.Op == opApply {
			cols = len(p.body.QScale) + 2
			for k := range p.body.QScale {
				p.start = append(p.start, -f64.Dot(p.body.Shift, p.body.Q[k*(n-1):(k+1)*(n-1)]))
			}
		}
		if p.a = gram.NewPack(n); s.Op == opApply {
			p.b = gram.NewPack(cols) // of the Gram matrix where weights differ alone
		}
		p.product = gram.NewProduct(n, cols, s.Op == opGram)
	}
	p.reset()
	return p, nil
}

func (p *pass) reset() {
	p.out = &partial{}
	if p.op == opBounds {
		p.out.Bounds = gram.NewBounds(p.dims.dense)
	}
}

// Partial implements family.Pass.
func (p *pass) Partial() family.Message {
	o := p.out
	switch p.op {
	case opBounds:
		o.Bounds.Fold()
	case opCoarse:
		o.Sums = p.coarse.Take()
	case opGram, opApply:
		o.Sums = p.product.Take()
	}
	p.reset()
	return o
}

// Add implements family.Pass.
func (p *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	to := min((r.To+f64.Lanes-1)&^(f64.Lanes-1), b.Padded())
	for i := r.From; i < to; i += f64.FixedRows {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n := min(f64.FixedRows, to-i)
		switch p.op {
		case opBounds:
			p.out.Bounds.Add(b, i, n)
		case opQR:
			p.qr(b, i, n)
		case opCoarse:
			p.coarse.Add(b, i, n)
		default:
			p.products(b, i, n)
		}
	}
	return nil
}

// qr updates R by n rows. The first column is of ones.
func (p *pass) qr(b *block.Block, from, n int) {
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
