package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// trueSum is the sum of finite values, correctly rounded.
func trueSum(xs []float64) float64 {
	s := new(big.Float).SetPrec(4096)
	for _, x := range xs {
		s.Add(s, new(big.Float).SetPrec(4096).SetFloat64(x))
	}
	f, _ := s.Float64()
	return f
}

func TestExactIsTheTrueSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	gen := map[string]func() float64{
		"uniform":   r.Float64,
		"money":     func() float64 { return math.Round(r.Float64()*1e6) / 100 },
		"normal":    func() float64 { return r.NormFloat64() * 1e3 },
		"denormal":  func() float64 { return math.Float64frombits(r.Uint64N(1 << 54)) },
		"integers":  func() float64 { return float64(r.Int64N(1 << 53)) },
		"tenths":    func() float64 { return 0.1 },
		"halves":    func() float64 { return math.Ldexp(float64(r.IntN(8)), r.IntN(60)) },
		"greatest":  func() float64 { return math.MaxFloat64 / 4096 * r.Float64() },
		"negatives": func() float64 { return -r.ExpFloat64() },
	}
	for name, f := range gen {
		for range 300 {
			xs := make([]float64, 1+r.IntN(300))
			var e Sum
			for i := range xs {
				xs[i] = f()
				e.Add(xs[i])
			}
			if got, want := e.Value(), trueSum(xs); got != want {
				t.Fatalf("%s: sum of %d values is %v (%x), not %v (%x)", name, len(xs), got, math.Float64bits(got), want, math.Float64bits(want))
			}
			if got, _ := e.Big().Float64(); got != e.Value() {
				t.Fatalf("%s: in full %v, rounded %v", name, got, e.Value())
			}
		}
	}
}

// TestExactInAnyOrder sums values of sizes so different that the smallest bits are lost: the same
// bits are lost in any order and any division into parts.
func TestExactInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 500 {
		xs := make([]float64, 2+r.IntN(200))
		for i := range xs {
			for {
				xs[i] = math.Float64frombits(r.Uint64())
				if xs[i]-xs[i] == 0 {
					break
				}
			}
			if r.IntN(2) == 0 {
				xs[i] = math.Ldexp(r.NormFloat64(), r.IntN(200)-100)
			}
		}
		var want Sum
		for _, x := range xs {
			want.Add(x)
		}
		for range 5 {
			r.Shuffle(len(xs), func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
			parts := make([]Sum, 1+r.IntN(5))
			for _, x := range xs {
				parts[r.IntN(len(parts))].Add(x)
			}
			var got Sum
			for _, i := range r.Perm(len(parts)) {
				var p Sum
				p.Decode(parts[i].Append(nil))
				got.Merge(&p)
			}
			if got.Value() != want.Value() || got.n != want.n {
				t.Fatalf("%v in one order, %v in another", want.Value(), got.Value())
			}
		}
	}
}

// TestExactTimes: adding a value n times at once equals adding it n times.
func TestExactTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		var a, b Sum
		for range 1 + r.IntN(6) {
			x, n := r.NormFloat64()*math.Ldexp(1, r.IntN(300)-150), r.IntN(3000)
			if r.IntN(3) == 0 {
				x = 1
			}
			a.AddTimes(x, n)
			for range n {
				b.Add(x)
			}
		}
		if string(a.Append(nil)) != string(b.Append(nil)) {
			t.Fatalf("%v at once, %v one by one", a.Value(), b.Value())
		}
	}
	var full Sum
	for range 6 {
		full.AddTimes(math.MaxFloat64/64, 1<<30-1)
	}
	if want := 6 * (1<<30 - 1) / 64.0; full.Big().MantExp(nil) < 1024 || math.Abs(ratio(full.Big(), math.MaxFloat64)/want-1) > 1e-15 {
		t.Errorf("the greatest sum is %v", full.Big())
	}
}

func ratio(a *big.Float, b float64) float64 {
	v, _ := new(big.Float).Quo(a, new(big.Float).SetFloat64(b)).Float64()
	return v
}

func TestExactSpecials(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{nil, 0}, {[]float64{0, math.Copysign(0, -1)}, 0}, {[]float64{inf, 1}, inf}, {[]float64{1, -inf}, -inf}, {[]float64{inf, -inf}, math.NaN()},
		{[]float64{math.NaN(), inf}, math.NaN()}, {[]float64{math.MaxFloat64, math.MaxFloat64}, inf}, {[]float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64}, math.MaxFloat64},
		{[]float64{1e308, -1e308, 1}, 0}, {[]float64{5e-324, -5e-324}, 0}, {[]float64{5e-324, 5e-324}, 1e-323},
	} {
		var e Sum
		for _, x := range c.xs {
			e.Add(x)
		}
		if got := e.Value(); got != c.want && (got == got || c.want == c.want) {
			t.Errorf("%v: %v, not %v", c.xs, got, c.want)
		}
	}
}

// TestExactCarries adds so much that the chunks of the accumulator would overflow if carries were
// not propagated in time.
func TestExactCarries(t *testing.T) {
	var e Sum
	x := math.Ldexp(1<<53-1, -20)
	e.Add(x)
	for range 40 { // doubles the sum each time
		c := e
		e.Merge(&c)
	}
	if got, want := e.Value(), math.Ldexp(x, 40); got != want || e.n != 1<<40 {
		t.Errorf("%v of %d values, not %v", got, e.n, want)
	}
}

func BenchmarkExact(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	xs := make([]float64, 8192)
	for i := range xs {
		xs[i] = r.Float64() * 100
	}
	states := make([]Sum, 1024)
	b.SetBytes(8 * 8192)
	for range b.N {
		for i, x := range xs {
			states[i&1023].Add(x)
		}
	}
}
