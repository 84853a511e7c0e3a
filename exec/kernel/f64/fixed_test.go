package f64

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// factors returns columns of fixed-point factors: random ones, extremes, and ones at which rounding
// would be a tie if factors were not odd.
func factors(r *rand.Rand, cols, rows int) []float64 {
	v := make([]float64, cols*FixedStride)
	for i := range v {
		switch r.IntN(4) {
		case 0:
			v[i] = Fix(0.5)
		case 1:
			v[i] = Fix(float64(r.IntN(1<<24)) * 0x1p-25)
		default:
			v[i] = Fix(r.Float64() - 0.5)
		}
		if i%FixedStride >= rows {
			v[i] = math.NaN() // must not be read
		}
	}
	return v
}

func TestAddFixed(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	for _, rows := range []int{4, 8, 100, 256} {
		const na, nb, stride = 9, 12, 13
		a, b := factors(r, na, rows), factors(r, nb, rows)
		got, twin, any := make([]int64, na*stride), make([]int64, na*stride), make([]int64, na*stride)
		for i := range got {
			got[i] = int64(i) << 50
			twin[i], any[i] = got[i], got[i]
		}
		AddFixed(got, stride, a, b, na, nb, rows, false, nil)
		for i := 0; i < na; i += 3 {
			addFixedGo(twin[i*stride:], stride, a[i*FixedStride:], b, rows, nb/4)
		}
		if !slices.Equal(got, twin) {
			t.Fatalf("%d rows: not the twin's bits", rows)
		}
		// The same rows in another order and in batches of other sizes give the same sums.
		order := r.Perm(rows)
		for len(order) > 0 {
			n := min(len(order), 4*(1+r.IntN(20)))
			x, y := make([]float64, na*FixedStride), make([]float64, nb*FixedStride)
			for i, row := range order[:n] {
				for j := range na {
					x[j*FixedStride+i] = a[j*FixedStride+row]
				}
				for j := range nb {
					y[j*FixedStride+i] = b[j*FixedStride+row]
				}
			}
			AddFixed(any, stride, x, y, na, nb, (n+3)&^3, false, make([]byte, 64*r.IntN(9)))
			order = order[n:]
		}
		if !slices.Equal(got, any) {
			t.Fatalf("%d rows: another order, another sum", rows)
		}
		for i := range na {
			for k := range nb {
				want := 0.0
				for q := range rows {
					want += a[i*FixedStride+q] * b[k*FixedStride+q]
				}
				v := float64(got[i*stride+k]-int64(i*stride+k)<<50) * FixedUnit
				if math.Abs(v-want) > float64(rows)*FixedUnit/2 {
					t.Fatalf("%d rows: [%d][%d] is %v, want %v", rows, i, k, v, want)
				}
			}
		}
		half := make([]int64, na*stride)
		AddFixed(half, stride, a, b, na, nb, rows, true, nil)
		for i := range na {
			for k := i; k < nb; k++ {
				if half[i*stride+k] != got[i*stride+k]-int64(i*stride+k)<<50 {
					t.Fatalf("%d rows: the upper half's [%d][%d] is another", rows, i, k)
				}
			}
		}
	}
}

// TestAddFixedUpper adds the upper triangle of the products of few columns, whose last block may be
// partly filled, of one packed matrix and of two, and compares with the Go version.
func TestAddFixedUpper(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 1))
	for n := 1; n <= 40; n++ {
		padded := (n + 11) / 12 * 12
		rows := 8 * (1 + r.IntN(FixedRows/8))
		a := factors(r, padded, rows)
		b := a
		if n%2 == 0 {
			b = factors(r, padded, rows)
		}
		got, want := make([]int64, padded*padded), make([]int64, padded*padded)
		for i := range got {
			got[i] = int64(i) << 40
			want[i] = got[i]
		}
		AddFixed(got, padded, a, b, n, n, rows, true, make([]byte, 64*r.IntN(90)))
		for i := 0; i < padded; i += 3 {
			addFixedGo(want[i*padded:], padded, a[i*FixedStride:], b, rows, padded/4)
		}
		for i := range n {
			for k := i; k < n; k++ {
				if got[i*padded+k] != want[i*padded+k] {
					t.Fatalf("%d columns, %d rows: [%d][%d] is %d, want %d", n, rows, i, k, got[i*padded+k], want[i*padded+k])
				}
			}
		}
	}
}

func TestFixedPack(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 1))
	for _, d := range []int{1, 3, 10} {
		for _, tiles := range []int{1, 5, FixedRows / Lanes} {
			x := make([]float64, d*tiles*Lanes)
			for i := range x {
				x[i] = float64(float32(r.Float64() * 8))
			}
			shift, scale := make([]float64, d), make([]float64, d)
			for j := range shift {
				shift[j], scale[j] = 3.9+float64(j)/70, math.Ldexp(1, -4-j%3)
			}
			shift[d-1], scale[d-1] = 4, 0x1p-3
			got, got32, want := make([]float64, d*FixedStride), make([]float64, d*FixedStride), make([]float64, d*FixedStride)
			FixedPack(got, x, shift, scale)
			FixedPack(got32, narrowed(x), shift, scale)
			packFixedGo(want, x, shift, scale, tiles)
			sameBits(t, "pack", got, want)
			sameBits(t, "pack of float32", got32, want)
			for i := range tiles * Lanes {
				v := got[(d-1)*FixedStride+i]
				exact := (x[(i/Lanes*d+d-1)*Lanes+i%Lanes] - 4) / 8
				if n := int64(v * 0x1p52); float64(n)*0x1p-52 != v || n&1 == 0 || math.Abs(v-exact) > 0x1p-51 {
					t.Fatalf("%v became %v", exact, v)
				}
			}
		}
	}
}

func BenchmarkFixedPack(b *testing.B) {
	const d = 20
	x, shift, scale, dst := make([]float32, d*FixedRows), make([]float64, d), make([]float64, d), make([]float64, d*FixedStride)
	for b.Loop() {
		FixedPack(dst, x, shift, scale)
	}
}

func BenchmarkAddFixed(b *testing.B) {
	for _, d := range []int{22, 30, 504} {
		b.Run(strconv.Itoa(d), func(b *testing.B) {
			padded := (d + 11) / 12 * 12
			r := rand.New(rand.NewPCG(22, 1))
			a, m := factors(r, padded, FixedRows), make([]int64, padded*padded)
			for b.Loop() {
				AddFixed(m, padded, a, a, d, d, FixedRows, true, nil)
			}
			b.ReportMetric(float64(b.N)*float64(d*(d+1)/2)*FixedRows/float64(b.Elapsed().Nanoseconds()), "GFMA/s")
		})
	}
}

// TestFixAll compares with the Go version, and with the values in another order.
func TestFixAll(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 1))
	for n := Lanes; n < 300; n += Lanes {
		v := randoms(r, n)
		top := 0.0
		for i := range v {
			if r.IntN(5) == 0 {
				v[i] = float64(r.IntN(64)-32) * 0x1p-47 // half a unit, or one
			}
			if r.IntN(9) == 0 {
				v[i] = 0
			}
			top = max(top, math.Abs(v[i]))
		}
		scale := 0.5
		for top*scale > 0.5 {
			scale /= 2
		}
		a, b, c := slices.Clone(v), slices.Clone(v), slices.Clone(v)
		sa, ma := FixAll(a, scale)
		sb, mb := fixAllGo(b, scale)
		sameBits(t, "factors", a, b)
		r.Shuffle(n, func(i, j int) { c[i], c[j] = c[j], c[i] })
		sc, mc := FixAll(c, scale)
		if sa != sb || ma != mb || ma != top || sc != sa || mc != ma {
			t.Fatalf("%d values: sums %d %d %d, greatest %v %v %v of %v", n, sa, sb, sc, ma, mb, mc, top)
		}
		for _, wild := range []float64{math.NaN(), math.Inf(-1)} {
			c[r.IntN(n)] = wild
			if _, m := FixAll(c, scale); !math.IsInf(m, 1) {
				t.Fatalf("a %v among %d values goes unseen", wild, n)
			}
		}
	}
}

// TestGradientInAnyOrder adds the same rows in two orders and batch sizes: the sums are the same
// integers, and close to the true sums. Powers of two and half units test ties of rounding.
func TestGradientInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 1))
	for d := 1; d < 12; d++ {
		const n = 3 * FixedLanes
		rows, res := make([][]float64, n), make([]float64, n)
		bound := make([]float64, d)
		for j := range bound {
			bound[j] = math.Ldexp(1, r.IntN(40)-20)
		}
		for i := range rows {
			for j := range d {
				v := (2*r.Float64() - 1) * bound[j]
				if r.IntN(3) == 0 {
					v = math.Ldexp(bound[j], -r.IntN(60))
				}
				rows[i] = append(rows[i], v)
			}
			res[i] = Fix(r.Float64() - 0.5)
			if r.IntN(3) == 0 {
				res[i] = Fix(math.Ldexp(1, -r.IntN(50)-1))
			}
		}
		total := func(order []int) []int64 {
			acc, sums := make([]float64, d*Lanes), make([]int64, d)
			Starts(acc, bound)
			for len(order) > 0 {
				m := min(Lanes*(1+r.IntN(FixedLanes/Lanes)), len(order))
				x, z := make([]float64, m*d), make([]float64, m)
				for i, row := range order[:m] {
					z[i] = res[row]
					for j, v := range rows[row] {
						x[(i/Lanes*d+j)*Lanes+i%Lanes] = v
					}
				}
				AddGrad(acc, x, z)
				Take(sums, acc, bound)
				order = order[m:]
			}
			return sums
		}
		got := total(r.Perm(n))
		if other := total(r.Perm(n)); !slices.Equal(got, other) {
			t.Fatalf("%d columns: %v in one order, %v in another", d, got, other)
		}
		for j := range d {
			want := 0.0
			for i := range rows {
				want += rows[i][j] * res[i]
			}
			if v := float64(got[j]) * FixedUnit * 2 * bound[j]; math.Abs(v-want) > 1e-9*bound[j] {
				t.Errorf("column %d: %v, want %v", j, v, want)
			}
		}
	}
}
