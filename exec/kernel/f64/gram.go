package f64

// GramTiles is the number of tiles whose products are summed before they are
// folded and added to a Gram matrix. It is part of the definition of Gram:
// another number gives other last bits.
const GramTiles = 32

const gramRows = GramTiles * Lanes

// Gram is the state of a pass that adds Xᵀ·diag(h)·X to a matrix.
type Gram struct {
	d, pad int
	a, b   []float64 // columns of a chunk: x, and h·x; pad columns of gramRows
}

// NewGram makes the scratch space for d columns: Bytes(d) bytes.
func NewGram(d int) *Gram {
	pad := (d + 3) &^ 3
	return &Gram{d: d, pad: pad, a: make([]float64, pad*gramRows), b: make([]float64, pad*gramRows)}
}

// GramBytes is the scratch space NewGram(d) takes.
func GramBytes(d int) int64 { return int64((d+3)&^3) * gramRows * 16 }

// AddGram adds the products of at most GramTiles tiles to the d×d matrix m
// (row-major with the given stride), upper triangle only: for each pair j ≤ k,
// m[j][k] += fold of the lane sums fma(x[j], h·x[k], lane) over ascending rows.
// Callers pass full chunks except for the last.
func AddGram[T Elem](g *Gram, m []float64, stride int, x []T, h []float64) {
	d, n := g.d, len(h)
	if d == 0 || n == 0 {
		return
	}
	for t := 0; t*Lanes < n; t++ {
		ht := (*[Lanes]float64)(h[t*Lanes:])
		for j := range d {
			c := (*[Lanes]T)(x[(t*d+j)*Lanes:])
			a := (*[Lanes]float64)(g.a[j*gramRows+t*Lanes:])
			b := (*[Lanes]float64)(g.b[j*gramRows+t*Lanes:])
			for l := range Lanes {
				v := float64(c[l])
				a[l], b[l] = v, float64(v*ht[l])
			}
		}
	}
	var out [8]float64
	for j := 0; j < d; j += 2 {
		for k := j &^ 3; k < d; k += 4 {
			dots2x4(&out, g.a[j*gramRows:], g.b[k*gramRows:], gramRows, n)
			for i := j; i < min(j+2, d); i++ {
				for q := max(k, i); q < min(k+4, d); q++ {
					m[i*stride+q] += out[(i-j)*4+q-k]
				}
			}
		}
	}
}
