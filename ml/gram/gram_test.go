package gram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
)

// row has numbers, a category of three or none, and a weight.
type row struct {
	x    []float64
	code int32
	w    float64
}

func blockOf(rows []row, dense int, narrow bool) *block.Block {
	b := block.New(len(rows), dense, 1, narrow)
	for i, r := range rows {
		tile, l := i/f64.Lanes, i%f64.Lanes
		for j, v := range r.x {
			if at := (tile*dense+j)*f64.Lanes + l; narrow {
				b.X32[at] = float32(v)
			} else {
				b.X64[at] = v
			}
		}
		b.Code[tile*f64.Lanes+l], b.W[i] = r.code, r.w
	}
	return b
}

// total returns the bounds of the columns, and the sums of products of all pairs of columns and
// one-hot categories, over blocks that the rows are randomly cut into.
func total(t *testing.T, r *rand.Rand, rows []row, dense int, narrow, center bool) (Columns, Sums) {
	t.Helper()
	var blocks []*block.Block
	for len(rows) > 0 {
		n := min(1+r.IntN(700), len(rows))
		blocks = append(blocks, blockOf(rows[:n], dense, narrow))
		rows = rows[n:]
	}
	bounds := NewBounds(dense)
	for i, b := range blocks {
		part := bounds
		if i%2 == 1 {
			part = NewBounds(dense)
		}
		for at := 0; at < b.Padded(); at += f64.FixedRows {
			part.Add(b, at, min(f64.FixedRows, b.Padded()-at))
		}
		part.Fold()
		if part != bounds {
			var e canon.E
			part.Encode(&e)
			bounds.Merge(DecodeBounds(canon.Read(e.B)))
		}
	}
	c, ok := Fit(bounds, 3, center)
	if !ok {
		t.Fatal("the rows are too large")
	}
	n := dense + 4
	var sums Sums
	p, a, b2, share := NewProduct(n, n, true), NewPack(n), NewPack(n), make([]float64, f64.FixedRows)
	for i, b := range blocks {
		for at := 0; at < b.Padded(); at += f64.FixedRows {
			k := min(f64.FixedRows, b.Padded()-at)
			c.Pack(a, b, at, k)
			for l, w := range b.W[at : at+k] {
				share[l] = w * c.Unit
			}
			ScaleRows(b2, a, share[:k], n)
			p.Add(a, b2, k, nil)
		}
		if i%3 == 0 || i == len(blocks)-1 {
			var e canon.E
			s := p.Take()
			s.Encode(&e)
			sums.Merge(DecodeSums(canon.Read(e.B)))
		}
	}
	return c, sums
}

// TestProductsInAnyOrder compares with plain loops, and with the same rows in other orders and
// blocks.
func TestProductsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, dense := range []int{0, 1, 4, 13} {
		for _, narrow := range []bool{false, true} {
			rows := make([]row, 1500)
			for i := range rows {
				rows[i] = row{code: int32(r.IntN(4)) - 1, w: []float64{0, 1, 1, 0.3, 7}[r.IntN(5)]}
				for j := range dense {
					v := r.NormFloat64()*math.Pow(10, float64(j-3)) + float64(j)
					if rows[i].w == 0 {
						v *= 1e6 // has weight 0: must not count, not even for the bounds
					}
					rows[i].x = append(rows[i].x, float64(float32(v)))
				}
			}
			center := dense%2 == 1
			c, want := total(t, r, rows, dense, narrow, center)
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			c2, got := total(t, r, rows, dense, narrow, center)
			if !slices.Equal(c.Scale, c2.Scale) || !slices.Equal(c.Shift, c2.Shift) || !slices.Equal(got.Low, want.Low) || !slices.Equal(got.High, want.High) {
				t.Fatalf("%d columns: other sums in another order", dense)
			}
			n, at := dense+4, 0
			scale := append(slices.Clone(c.Scale), 0.5)
			for i := range n {
				for j := i; j < n; j++ {
					sum, size := 0.0, 0.0
					for _, q := range rows {
						col := func(k int) float64 {
							switch {
							case k < dense:
								return q.x[k] - c.Shift[k]
							case k == n-1:
								return 1
							case int(q.code) == k-dense:
								return 1 - c.Shift[k]
							}
							return -c.Shift[k]
						}
						sum += q.w * col(i) * col(j)
						size += q.w
					}
					size *= 0.25 / (scale[i] * scale[j])
					if v := want.At(at, scale[i]*scale[j]) / c.Unit; math.Abs(v-sum) > 1e-12*size {
						t.Fatalf("%d columns: product of %d and %d is %v, by hand %v", dense, i, j, v, sum)
					}
					at++
				}
			}
		}
	}
}

func TestFitRefusesWhatIsTooLarge(t *testing.T) {
	for _, v := range []float64{1e200, math.Inf(1), math.NaN()} {
		b := NewBounds(1)
		b.Low[0], b.High[0], b.MaxWeight = -1, v, 1
		if _, ok := Fit(b, 0, true); ok {
			t.Errorf("%v is taken", v)
		}
	}
	b := NewBounds(1)
	b.Low[0], b.High[0] = 0, 1
	if _, ok := Fit(b, 0, true); ok {
		t.Error("rows without weight are taken")
	}
}

// TestShares: where all rows have the greatest weight, their weights are all 1 after scaling and
// need no multiplication; a single other weight, or a padding row, makes them needed.
func TestShares(t *testing.T) {
	c := Columns{Unit: 0.5}
	for _, n := range []int{f64.Lanes, 3, 40} {
		for odd := range n + 1 {
			for _, other := range []float64{0, 1, 0.7} {
				w, got := make([]float64, n), make([]float64, n)
				for i := range w {
					w[i] = 2
				}
				if odd < n {
					w[odd] = other
				}
				same := odd == n && n%f64.Lanes == 0
				plain, whole := c.Shares(got, &block.Block{Rows: n, W: w}, 0, n)
				if wantPlain := odd == n || other == 0; plain != wantPlain || whole != same {
					t.Fatalf("%v: plain %v, want %v; whole %v, want %v", w, plain, wantPlain, whole, same)
				}
				for i, v := range got {
					if !whole && v != w[i]/2 {
						t.Fatalf("share %d of %v is %v", i, w, v)
					}
				}
			}
		}
	}
	c.Unit = 1
	for _, n := range []int{f64.Lanes, 5} { // the last tile is not full
		b := block.NewUnit(n, 0, 0, true)
		if plain, whole := c.Shares(make([]float64, f64.Lanes), b, 0, b.Padded()); !plain || whole != (n == f64.Lanes) {
			t.Errorf("%d rows that are known to weigh 1: plain %v, whole %v", n, plain, whole)
		}
	}
}
