package gram

import "github.com/tributarydb/tributary/exec/kernel/f64"

// Product adds up products of packs' columns. It is for one goroutine.
type Product struct {
	sums       Sums
	rows, cols int
	upper      bool
}

// padded is the columns of a pack that has room for n of them.
func padded(n int) int { return (n + 11) / 12 * 12 }

// NewPack makes room for n columns of f64.FixedRows rows.
func NewPack(n int) []float64 { return make([]float64, padded(n)*f64.FixedStride) }

// PackBytes is the memory of NewPack.
func PackBytes(n int) int64 { return int64(padded(n)) * f64.FixedStride * 8 }

// NewProduct is of rows columns of a pack with cols of another; upper is for those
// of a pack with itself, of which one triangle is wanted.
func NewProduct(rows, cols int, upper bool) *Product {
	return &Product{sums: NewSums(padded(rows) * padded(cols)), rows: rows, cols: cols, upper: upper}
}

// ProductBytes returns the memory of NewProduct and of what Take returns.
func ProductBytes(rows, cols int) int64 { return 32 * int64(padded(rows)) * int64(padded(cols)) }

// Add adds the products of n rows. Next is what the next rows' factors will be made of,
// nil where that is not known (block.Block.Ahead).
func (p *Product) Add(a, b []float64, n int, next []byte) {
	p.sums.Room(full / (f64.FixedChunks / 2))
	f64.AddFixed(p.sums.Low, padded(p.cols), a, b, p.rows, p.cols, n, p.upper, next)
}

// Take returns the sums row by row, of upper from the diagonal on, and resets them.
func (p *Product) Take() Sums {
	n := p.rows * p.cols
	if p.upper {
		n -= p.rows * (p.rows - 1) / 2
	}
	out := Sums{Low: make([]int64, 0, n), most: p.sums.most}
	for i := range p.rows {
		first := 0
		if p.upper {
			first = i
		}
		at := i * padded(p.cols)
		out.Low = append(out.Low, p.sums.Low[at+first:at+p.cols]...)
		if p.sums.High != nil {
			out.High = append(out.High, p.sums.High[at+first:at+p.cols]...)
		}
	}
	clear(p.sums.Low)
	p.sums.High, p.sums.most = nil, 0
	return out
}
