package decomp

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/gram"
)

// products adds the products of n rows: of the columns with each other, or with
// the rows' projections, their number and their squared lengths.
func (p *pass) products(b *block.Block, from, n int) {
	d, body := p.dims.cols(), p.body
	body.Pack(p.a, b, from, n)
	plain, whole := body.Shares(p.share, b, from, n)
	right := p.b
	switch {
	case p.op == opApply:
		p.project(b, from, n)
		if !whole {
			gram.ScaleRows(p.b, p.b, p.share[:n], len(body.QScale)+2)
		}
	case whole:
		right = p.a
	case plain:
		gram.ScaleRows(p.a, p.a, p.share[:n], d+1)
		right = p.a
	default:
		if p.b == nil {
			p.b = gram.NewPack(d + 1)
		}
		right = p.b
		gram.ScaleRows(right, p.a, p.share[:n], d+1)
	}
	p.product.Add(p.a, right, n, b.Ahead(from+n, n))
}

// project makes factors of the rows' projections, of ones and of the rows'
// squared lengths.
func (p *pass) project(b *block.Block, from, n int) {
	d, body := p.dims.cols(), p.body
	b.MarginsOf(p.b, f64.FixedStride, from, n, body.Q, p.start)
	for k, scale := range body.QScale {
		to := p.b[k*f64.FixedStride:][:n]
		for i, v := range to {
			to[i] = f64.Fix(float64(v * scale))
		}
	}
	k := len(body.QScale)
	ones, long, r := p.b[k*f64.FixedStride:], p.b[(k+1)*f64.FixedStride:], p.len2[:n]
	clear(r)
	for j := range d {
		inv := 1 / body.Scale[j] // a power of two
		f64.AddSquares(r, p.a[j*f64.FixedStride:][:n], inv)
	}
	for i, v := range r {
		ones[i], long[i] = 0.5, f64.Fix(float64(v*body.Square))
	}
}
