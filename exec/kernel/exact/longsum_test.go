package exact

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLongLosesNothing adds values of very different sizes, in parts that are encoded and merged:
// the sum is exact.
func TestLongLosesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		xs := make([]float64, 1+r.IntN(200))
		parts := make([]Long, 1+r.IntN(4))
		for i := range xs {
			for {
				xs[i] = math.Float64frombits(r.Uint64())
				if r.IntN(3) == 0 {
					xs[i] = math.Ldexp(r.NormFloat64(), r.IntN(60)-30)
				}
				if r.IntN(9) == 0 {
					xs[i] = 0
				}
				if math.Abs(xs[i]) < 1e300 {
					break
				}
			}
			parts[r.IntN(len(parts))].Add(xs[i])
		}
		var sum Long
		for i := range parts {
			var p Long
			if !p.Decode(parts[i].Append(nil)) {
				t.Fatal("a sum does not decode")
			}
			sum.Merge(&p)
		}
		if got, want := sum.Value(), trueSum(xs); got != want || sum.N() != int64(len(xs)) {
			t.Fatalf("%v of %d values, not %v", got, sum.N(), want)
		}
	}
}

func TestLongSpreadIsTheVariance(t *testing.T) {
	var one, two Long
	for i := range 1000 {
		x := 1e9 + float64(i%10)
		one.Add(x)
		two.AddProduct(x, x)
	}
	if got := LongSpread(&two, &one, &one); got != 8250 {
		t.Errorf("%v", got)
	}
	var w1, w2, w Long // each value has the weight 0.5, except 9, which has 1.5
	for i := range 1000 {
		x, by := 1e9+float64(i%10), 0.5
		if i%10 == 9 {
			by = 1.5
		}
		w.Add(by)
		w1.AddProduct(by, x)
		w2.AddProduct(by*x, x)
	}
	if got := WeightedSpread(&w2, &w1, &w1, &w); got != 5812.5 {
		t.Errorf("with weights: %v", got)
	}
	one.Add(math.Inf(1))
	if got := LongSpread(&two, &one, &one); got == got {
		t.Errorf("with an infinity: %v", got)
	}
}

func TestLongRefusesOtherBytes(t *testing.T) {
	var l, m Long
	l.Add(1)
	good := l.Append(nil)
	for n := range good {
		if n != 10 && m.Decode(good[:n]) {
			t.Errorf("%d bytes were read", n)
		}
	}
	good[9] = 200
	if m.Decode(good) {
		t.Error("a sum beyond its end was read")
	}
}

func BenchmarkLong(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	var l Long
	b.SetBytes(8)
	for b.Loop() {
		l.Add(r.Float64())
	}
}
