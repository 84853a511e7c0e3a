package decomp

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
)

// products adds the products of n rows: of the columns with each other, or with
// the rows' projections, their number and their squared lengths.
func (p *pass) products(b *dataset.Block, from, n int) {
	d, body := p.dims.cols(), p.body
	p.pack(b, from, n)
	plain := true
	for i, w := range b.W[from : from+n] {
		p.share[i] = w * body.Unit
		plain = plain && (w == 0 || p.share[i] == 1)
	}
	right, upper := p.b, false
	switch {
	case p.op == opApply:
		p.project(b, from, n)
		p.weigh(p.b, p.b, len(body.QScale)+2, n)
	case plain:
		p.weigh(p.a, p.a, d+1, n)
		right, upper = p.a, true
	default:
		p.weigh(p.b, p.a, d+1, n)
		upper = true
	}
	na := (d + 3) / 3 * 3
	nb := (d + 4) / 4 * 4
	if p.op == opApply {
		nb = (len(body.QScale) + 5) / 4 * 4
	}
	f64.AddFixed(p.out.Sums, p.nb, p.a, right, na, nb, n, upper)
	if p.left--; p.left == 0 {
		spillOver(p.out.Sums, p.out.Carry)
		p.left = f64.FixedChunks / 2
	}
}

// pack makes factors of the columns.
func (p *pass) pack(b *dataset.Block, from, n int) {
	d, body := p.dims, p.body
	if b.X32 != nil {
		f64.FixedPack(p.a, b.X32[from*b.Dense:(from+n)*b.Dense], body.Shift[:d.dense], body.Scale[:d.dense])
	} else {
		f64.FixedPack(p.a, b.X64[from*b.Dense:(from+n)*b.Dense], body.Shift[:d.dense], body.Scale[:d.dense])
	}
	for j := d.dense; j < d.cols(); j++ {
		c, v := p.a[j*f64.FixedStride:][:n], p.slot(j, 0)
		for i := range c {
			c[i] = v
		}
	}
	if d.codes > 0 {
		for i, c := range b.Code[from*d.codes:][:n*d.codes] {
			if c >= 0 {
				row := i/(d.codes*f64.Lanes)*f64.Lanes + i%f64.Lanes
				p.a[(d.dense+int(c))*f64.FixedStride+row] = p.slot(d.dense+int(c), 1)
			}
		}
	}
	ones := p.a[d.cols()*f64.FixedStride:][:n]
	for i := range ones {
		ones[i] = 0.5
	}
}

// slot is the factor of a slot's 0 or 1.
func (p *pass) slot(j int, v float64) float64 {
	return f64.Fix(float64((v - p.body.Shift[j]) * p.body.Scale[j]))
}

// weigh makes weighted factors of cols columns. Rows of no weight are zeros;
// those of weight 1 keep their factors, so that it is the same whatever rows are
// beside them.
func (p *pass) weigh(dst, src []float64, cols, n int) {
	for i, w := range p.share[:n] {
		switch {
		case w == 1 && &dst[0] == &src[0]:
		case w == 1:
			for at := i; at < cols*f64.FixedStride; at += f64.FixedStride {
				dst[at] = src[at]
			}
		case w > 0:
			for at := i; at < cols*f64.FixedStride; at += f64.FixedStride {
				dst[at] = f64.Fix(float64(w * src[at]))
			}
		default:
			for at := i; at < cols*f64.FixedStride; at += f64.FixedStride {
				dst[at] = 0
			}
		}
	}
}

// project makes factors of the rows' projections, of ones and of the rows'
// squared lengths.
func (p *pass) project(b *dataset.Block, from, n int) {
	d, body := p.dims.cols(), p.body
	for k, scale := range body.QScale {
		q := body.Q[k*d : (k+1)*d]
		z := p.chunk[:n]
		b.Margins(z, from, q, -f64.Dot(body.Shift, q))
		to := p.b[k*f64.FixedStride:]
		for i, v := range z {
			to[i] = f64.Fix(float64(v * scale))
		}
	}
	k := len(body.QScale)
	ones, long, r := p.b[k*f64.FixedStride:], p.b[(k+1)*f64.FixedStride:], p.len2[:n]
	clear(r)
	for j := range d {
		inv := 1 / body.Scale[j] // a power of two
		for i, v := range p.a[j*f64.FixedStride:][:n] {
			v = float64(v * inv)
			r[i] = f64.FMA(v, v, r[i])
		}
	}
	for i, v := range r {
		ones[i], long[i] = 0.5, f64.Fix(float64(v*body.Square))
	}
}
