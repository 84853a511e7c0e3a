package f64

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// bodies are the kernels of one instruction set; the test compares each with its Go version.
type bodies struct {
	name          string
	margins32     func([]float64, []float32, []float64)
	margins64     func([]float64, []float64, []float64)
	grad32        func([]float64, []float32, []float64)
	grad64        func([]float64, []float64, []float64)
	logistic      func(z, h, l, y, w []float64)
	exp           func([]float64)
	dot           func(*[Lanes]float64, []float64, []float64)
	standardize32 func(x []float32, c, inv []float64, tiles int)
	standardize64 func(x []float64, c, inv []float64, tiles int)
	packFixed32   func(dst []float64, x []float32, shift, scale []float64, tiles int)
	packFixed64   func(dst, x, shift, scale []float64, tiles int)
	addFixed      func(m []int64, stride int, a, b []float64, rows, groups int)
	splits32      func(sums []float64, x []float32, grids []float64, d, tiles int)
	splits64      func(sums, x, grids []float64, d, tiles int)
	sums64        func(sums, x, grids []float64, d, tiles int)
	stays         func(doubt []uint8, x []float32, was []int32, c *Centers32)
}

func randoms(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64() * math.Exp(r.Float64()*6-3)
	}
	return v
}

func narrowed(v []float64) []float32 {
	o := make([]float32, len(v))
	for i := range v {
		o[i] = float32(v[i])
	}
	return o
}

func sameBits(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Fatalf("%s: [%d] = %x (%v), want %x (%v)", what, i, math.Float64bits(got[i]), got[i], math.Float64bits(want[i]), want[i])
		}
	}
}

func TestGatherUndoesScatter(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	odd := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), math.Float32frombits(0xffc12345), float32(math.Inf(-1)), 1e-45}
	for n := range 200 {
		d := 1 + n%40
		const row = 3
		tiles := 1 + n%5
		cols := make([][]float32, d)
		for j := range cols {
			cols[j] = narrowed(randoms(r, row+tiles*Lanes))
			for i := range cols[j] {
				if r.IntN(3) == 0 && n%3 > 0 || r.IntN(600) == 0 {
					cols[j][i] = odd[r.IntN(len(odd))]
				}
			}
		}
		stride := d + r.IntN(3)
		rec := make([]float32, Lanes*stride)
		Scatter32(rec, stride, cols, row)
		var rows [Lanes]*float32
		for l := range rows {
			rows[l] = &rec[l*stride]
			for j := range stride {
				want := uint32(0)
				if j < d {
					want = math.Float32bits(Canonical32(cols[j][row+l]))
				}
				if got := math.Float32bits(rec[l*stride+j]); got != want {
					t.Fatalf("%d columns: row %d column %d is %x, want %x", d, l, j, got, want)
				}
			}
		}
		same, finite := make([]float32, tiles*Lanes*d), true
		got := Tile32(same, cols, row, tiles)
		for j := range d {
			for i, v := range cols[j][row:] {
				finite = finite && v-v == 0
				if is := same[(i/Lanes*d+j)*Lanes+i%Lanes]; math.Float32bits(is) != math.Float32bits(v+0) && v == v {
					t.Fatalf("%d columns: row %d column %d of %d tiles is %v, want %v", d, i, j, tiles, is, v)
				}
			}
		}
		if got != finite {
			t.Fatalf("%d columns: a tile is finite: %v, want %v", d, got, finite)
		}
		tile := make([]float32, Lanes*d)
		Gather32(tile, &rows, d)
		for j := range d {
			for l := range Lanes {
				if math.Float32bits(tile[j*Lanes+l]) != math.Float32bits(rec[l*stride+j]) {
					t.Fatalf("%d columns: row %d column %d is not gathered", d, l, j)
				}
			}
		}
	}
	if z := Canonical32(float32(math.Copysign(0, -1))); math.Signbit(float64(z)) {
		t.Error("-0 stays")
	}
}

func TestBodiesGiveTheTwinsBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, b := range levels() {
		for _, d := range []int{1, 2, 3, 4, 7, 8, 28, 33} {
			for tiles := range 14 {
				if tiles == 0 {
					continue
				}
				n := tiles * Lanes
				x, w, z := randoms(r, n*d), randoms(r, d), randoms(r, n)
				acc := randoms(r, d*Lanes)
				what := fmt.Sprintf("%s d=%d tiles=%d", b.name, d, tiles)
				x32 := narrowed(x)

				got, want := slices.Clone(z), slices.Clone(z)
				b.margins32(got, x32, w)
				marginsGo(want, x32, w)
				sameBits(t, what+" margins32", got, want)

				got, want = slices.Clone(z), slices.Clone(z)
				b.margins64(got, x, w)
				marginsGo(want, x, w)
				sameBits(t, what+" margins64", got, want)

				got, want = slices.Clone(acc), slices.Clone(acc)
				b.grad32(got, x32, z)
				gradGo(want, x32, z)
				sameBits(t, what+" grad32", got, want)

				got, want = slices.Clone(acc), slices.Clone(acc)
				b.grad64(got, x, z)
				gradGo(want, x, z)
				sameBits(t, what+" grad64", got, want)

				inv := randoms(r, d)
				s1, s2 := slices.Clone(x32), slices.Clone(x32)
				b.standardize32(s1, w, inv, tiles)
				standardizeGo(s2, w, inv, tiles)
				if !slices.Equal(s1, s2) {
					t.Fatal(what + " standardize32")
				}
				got, want = slices.Clone(x), slices.Clone(x)
				b.standardize64(got, w, inv, tiles)
				standardizeGo(want, w, inv, tiles)
				sameBits(t, what+" standardize64", got, want)

				pack := func(body func(dst []float64)) []float64 {
					dst := make([]float64, d*FixedStride)
					body(dst)
					return dst
				}
				for j, v := range inv { // scales are
					_, e := math.Frexp(v)
					inv[j] = math.Ldexp(1, e)
				}
				want = pack(func(dst []float64) { packFixedGo(dst, x32, w, inv, tiles) })
				sameBits(t, what+" packFixed32", pack(func(dst []float64) { b.packFixed32(dst, x32, w, inv, tiles) }), want)
				want = pack(func(dst []float64) { packFixedGo(dst, x, w, inv, tiles) })
				sameBits(t, what+" packFixed64", pack(func(dst []float64) { b.packFixed64(dst, x, w, inv, tiles) }), want)

				sum := func(body func(sums, grids []float64)) []float64 {
					sums, grids := make([]float64, 6*d*Lanes), make([]float64, 3*d)
					for i := range grids {
						grids[i] = math.Ldexp(1.5, 20-24*(i%3/2))
					}
					body(sums, grids)
					return sums
				}
				want = sum(func(s, g []float64) { columnSplitsGo(s, x32, g, d, tiles) })
				sameBits(t, what+" columnSplits32", sum(func(s, g []float64) { b.splits32(s, x32, g, d, tiles) }), want)
				want = sum(func(s, g []float64) { columnSplitsGo(s, x, g, d, tiles) })
				sameBits(t, what+" columnSplits64", sum(func(s, g []float64) { b.splits64(s, x, g, d, tiles) }), want)
				want = sum(func(s, g []float64) { columnSumsGo(s, x, g, d, tiles) })
				sameBits(t, what+" columnSums64", sum(func(s, g []float64) { b.sums64(s, x, g, d, tiles) }), want)
			}
		}
		for _, rows := range []int{4, 8, 12, 64, 252, FixedRows} {
			for groups := 1; groups <= 2; groups++ {
				x, y := factors(r, 3, rows), factors(r, 4*groups, rows)
				got := make([]int64, 3*9)
				for i := range got {
					got[i] = r.Int64N(1<<50) - 1<<49
				}
				want := slices.Clone(got)
				b.addFixed(got, 9, x, y, rows, groups)
				addFixedGo(want, 9, x, y, rows, groups)
				if !slices.Equal(got, want) {
					t.Fatalf("%s addFixed of %d rows, %d groups", b.name, rows, groups)
				}
			}
		}
		for tiles := 1; tiles < 130; tiles++ {
			n := tiles * Lanes
			z, y, w := randoms(r, n), make([]float64, n), randoms(r, n)
			for i := range y {
				y[i] = float64(r.IntN(2))
				if r.IntN(10) == 0 {
					z[i] = []float64{0, math.Copysign(0, -1), 1e300, -1e300, 708, -708, 709, -745, math.Inf(1), math.Inf(-1), math.NaN(), 1e-320, 36.8, 0.881}[r.IntN(14)]
				}
			}
			g, h1, l1 := slices.Clone(z), make([]float64, n), make([]float64, n)
			e, h2, l2 := slices.Clone(z), make([]float64, n), make([]float64, n)
			b.logistic(g, h1, l1, y, w)
			logisticGo(e, h2, l2, y, w)
			sameBits(t, b.name+" logistic residual", g, e)
			sameBits(t, b.name+" logistic curvature", h1, h2)
			sameBits(t, b.name+" logistic loss", l1, l2)

			z[0], z[1], z[2], z[3] = 709.78, 709.79, -708.1, math.NaN()
			g, e = slices.Clone(z), slices.Clone(z)
			b.exp(g)
			expGo(e)
			sameBits(t, b.name+" exp", g, e)

			var d1, d2 [Lanes]float64
			b.dot(&d1, z, w)
			dotGo(&d2, z, w)
			sameBits(t, b.name+" dot", d1[:], d2[:])

		}
	}
}

// TestGoldenBits pins the bits of results, so that a change of a kernel, which would change every
// model, is noticed. All instruction sets compute these bits.
func TestGoldenBits(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const n, d = 64, 5
	x, w, y, wt := narrowed(randoms(r, n*d)), randoms(r, d), make([]float64, n), make([]float64, n)
	z, h, acc := make([]float64, n), make([]float64, n), make([]float64, d*Lanes)
	for i := range y {
		y[i], wt[i] = float64(r.IntN(2)), 1
	}
	loss, sum := make([]float64, n), [Lanes]float64{}
	Margins(z, x, w)
	Logistic(z, h, loss, y, wt)
	AddGrad(acc, x, z)
	for i, l := range loss {
		sum[i%Lanes] += l
	}
	got := fmt.Sprintf("%x %x", math.Float64bits(fold(&sum)), math.Float64bits(fold((*[Lanes]float64)(acc[3*Lanes:]))))
	if want := goldenBits; got != want {
		t.Errorf("bits %q, want %q", got, want)
	}
}

func ulps(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	d := new(big.Float).Sub(new(big.Float).SetFloat64(got), want)
	e, _ := d.Float64()
	return math.Abs(e) / (math.Nextafter(math.Abs(w), math.Inf(1)) - math.Abs(w))
}

// bigExp sums the series of exp at 200 bits after halving the argument.
func bigExp(x float64) *big.Float {
	v := new(big.Float).SetPrec(300).SetFloat64(x)
	v.SetMantExp(v, -16)
	sum, term := big.NewFloat(1).SetPrec(300), big.NewFloat(1).SetPrec(300)
	for k := 1; k < 60; k++ {
		term = new(big.Float).SetPrec(300).Mul(term, v)
		term.Quo(term, big.NewFloat(float64(k)))
		sum = new(big.Float).SetPrec(300).Add(sum, term)
	}
	for range 16 {
		sum = new(big.Float).SetPrec(300).Mul(sum, sum)
	}
	return sum
}

// bigLog finds l with exp(l) = x by Newton's steps from the float64 answer.
func bigLog(x *big.Float) *big.Float {
	f, _ := x.Float64()
	l := new(big.Float).SetPrec(300).SetFloat64(math.Log(f))
	g, _ := l.Float64()
	e := bigExp(g) // x = e·(1+u), log = g + u - u²/2 + …
	u := new(big.Float).SetPrec(300).Quo(x, e)
	u.Sub(u, big.NewFloat(1))
	u2 := new(big.Float).SetPrec(300).Mul(u, u)
	u2.Quo(u2, big.NewFloat(2))
	return l.Sub(l.Add(l, u), u2)
}

func TestExpAndLogAreWithinTwoUlps(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var worstE, worstL, worstLog float64
	for range 4000 {
		x := -r.Float64() * 40
		worstE = max(worstE, ulps(Exp1(x), bigExp(x)))
		v := r.Float64()
		one := new(big.Float).SetPrec(300).SetFloat64(v)
		one.Add(one, big.NewFloat(1))
		worstL = max(worstL, ulps(log1p01(v), bigLog(one)))
		q := math.Exp(r.Float64()*100 - 50)
		worstLog = max(worstLog, ulps(Log1(q), bigLog(new(big.Float).SetPrec(300).SetFloat64(q))))
	}
	if worstE > 2 || worstL > 2 || worstLog > 2 {
		t.Errorf("worst errors in ulps: exp %.2f, log1p %.2f, log %.2f", worstE, worstL, worstLog)
	}
	for _, c := range [][2]float64{{Exp1(0), 1}, {Exp1(math.Inf(-1)), 0}, {Exp1(math.Inf(1)), math.Inf(1)}, {Log1(1), 0},
		{Log1(0), math.Inf(-1)}, {Sigmoid1(0), 0.5}, {Sigmoid1(-1000), 0}, {Sigmoid1(1000), 1}, {LogLoss1(0), ln2}} {
		if c[0] != c[1] {
			t.Errorf("got %v, want %v", c[0], c[1])
		}
	}
}

func TestDotTakesAnyLength(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 100 {
		a, b := randoms(r, n), randoms(r, n)
		var want float64
		for i := range a {
			want += a[i] * b[i]
		}
		if got := Dot(a, b); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("Dot of %d values = %v, want %v", n, got, want)
		}
	}
}

// BenchmarkLogisticPass evaluates loss and gradient once over a million rows of 28 float32 columns,
// on one thread, in chunks that stay in the L1 cache.
func BenchmarkLogisticPass(b *testing.B) {
	const n, d, chunk = 1 << 20, 28, 256
	x, y, w := make([]float32, n*d), make([]float64, n), make([]float64, chunk)
	for i := range x {
		x[i] = float32(i%17) - 8
	}
	for i := range w {
		w[i] = 1
	}
	th, z, h, l := make([]float64, d), make([]float64, chunk), make([]float64, chunk), make([]float64, chunk)
	acc, bound, sums := make([]float64, d*Lanes), make([]float64, d), make([]int64, d)
	for j := range bound {
		bound[j] = 8
	}
	Starts(acc, bound)
	b.SetBytes(n * d * 4)
	for b.Loop() {
		for i := 0; i < n; i += chunk {
			clear(z)
			xc := x[i*d : (i+chunk)*d]
			Margins(z, xc, th)
			Logistic(z, h, l, y[i:i+chunk], w)
			FixAll(l, 0.25)
			FixAll(z, 0.5)
			AddGrad(acc, xc, z)
			if i/chunk%4 == 3 {
				Take(sums, acc, bound)
			}
		}
	}
}

// BenchmarkPassesOverMemory reads more than fits in any cache, as an iteration of training does.
func BenchmarkPassesOverMemory(b *testing.B) {
	const d, chunk, chunks = 28, 256, 2048
	x := make([]float32, d*chunk*chunks)
	for i := range x {
		x[i] = float32(i & 1023)
	}
	z, w, acc := make([]float64, chunk), make([]float64, d), make([]float64, d*Lanes)
	b.SetBytes(int64(len(x)) * 4)
	for b.Loop() {
		for c := range chunks {
			t := x[c*d*chunk:][:d*chunk]
			Margins(z, t, w)
			AddGrad(acc, t, z)
		}
	}
}

// TestAccumulatorsStayOnTheStack: kernels called for many short vectors allocate nothing.
func TestAccumulatorsStayOnTheStack(t *testing.T) {
	v := randoms(rand.New(rand.NewPCG(5, 5)), 8*Lanes)
	got := testing.AllocsPerRun(10, func() {
		var low, high [Lanes]float64
		ColumnBounds(low[:], high[:], v, 1)
		v[0] = math.Copysign(Dot(v, v)+low[1]+high[1], -1)
	})
	if got != 0 {
		t.Errorf("a dot product and bounds take %v allocations", got)
	}
}
