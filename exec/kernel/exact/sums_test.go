package exact

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sumKinds are distributions, each difficult in another way: many sizes, integers, denormals,
// values too far apart for one fixed-point word.
var sumKinds = map[string]func(r *rand.Rand) float64{
	"money":     func(r *rand.Rand) float64 { return math.Round(r.NormFloat64()*1e6) / 100 },
	"uniform":   func(r *rand.Rand) float64 { return r.Float64() },
	"wild":      func(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(2000)-1000) },
	"wide":      func(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(120)-60) },
	"integers":  func(r *rand.Rand) float64 { return float64(r.Int64N(1<<53) >> r.IntN(53)) },
	"halves":    func(r *rand.Rand) float64 { return math.Ldexp(float64(r.IntN(8)-4), r.IntN(90)-60) },
	"denormal":  func(r *rand.Rand) float64 { return math.Float64frombits(r.Uint64N(1 << 54)) },
	"large":     func(r *rand.Rand) float64 { return math.Ldexp(1+r.Float64(), 33) },
	"greatest":  func(r *rand.Rand) float64 { return math.MaxFloat64 / 4096 * r.Float64() },
	"zeros":     func(r *rand.Rand) float64 { return float64(r.IntN(2)) * 1e-3 * r.Float64() },
	"cancelled": func(r *rand.Rand) float64 { return []float64{1e300, -1e300, 1e-300, 3}[r.IntN(4)] },
	"small":     func(r *rand.Rand) float64 { return 1e-200 * r.Float64() },
}

// TestSums adds values in any order, in parts that are merged, some of them encoded, parts with
// other scales among them: the result is always the exact sum.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for name, f := range sumKinds {
		for range 60 {
			const groups = 3
			n := 1 + r.IntN(400)
			if r.IntN(10) == 0 {
				n *= 20
			}
			xs, of, mixed := make([]float64, n), make([]uint32, n), r.IntN(2) == 0
			for i := range xs {
				xs[i], of[i] = f(r), uint32(r.IntN(groups))
				if mixed && name != "greatest" && r.IntN(50) == 0 {
					xs[i] = sumKinds["wide"](r)
				}
			}
			var want [groups]Long
			for i, x := range xs {
				want[of[i]].Add(x)
			}
			for range 3 {
				r.Shuffle(n, func(i, j int) { xs[i], xs[j], of[i], of[j] = xs[j], xs[i], of[j], of[i] })
				parts := make([]Sums, 1+r.IntN(4))
				for p := range parts {
					parts[p].Resize(groups)
					from, to := p*n/len(parts), (p+1)*n/len(parts)
					switch r.IntN(3) {
					case 0:
						AddFloats(&parts[p], of[from:to], xs[from:to])
					case 1:
						for i := from; i < to; i++ {
							AddList(&parts[p], of[i], []int32{1}, []float64{7e77, xs[i]})
						}
					default:
						for g := range uint32(groups) {
							var rows []int32
							var vals []float64
							for i := from; i < to; i++ {
								if of[i] == g {
									rows, vals = append(rows, int32(i)), append(vals, xs[i])
								}
							}
							if g%2 == 0 {
								AddList(&parts[p], g, nil, vals)
							} else if rows != nil {
								AddList(&parts[p], g, rows, xs)
							}
						}
					}
				}
				var got Sums
				got.Resize(groups)
				for i := range parts {
					if r.IntN(2) == 0 {
						got.Merge([]uint32{0, 1, 2}, &parts[i], []uint32{0, 1, 2})
						continue
					}
					for g := range groups {
						if !got.MergeBytes(uint32(g), parts[i].Append(nil, g)) {
							t.Fatalf("%s: what was written is not read", name)
						}
					}
				}
				for g := range groups {
					if v, _ := got.Value(g); v != want[g].Value() || got.N(g) != want[g].N() {
						t.Fatalf("%s: group %d of %v %v: %v of %d, not %v of %d", name, g, xs, of, v, got.N(g), want[g].Value(), want[g].N())
					}
				}
			}
		}
	}
}

// TestSumsFill adds so much that 128 bits overflow.
func TestSumsFill(t *testing.T) {
	for _, x := range []float64{math.Ldexp(2-1e-15, 33), -math.Ldexp(1.3, 33)} {
		var s Sums
		var want Long
		s.Resize(1)
		AddFloats(&s, []uint32{0}, []float64{1})
		want.Add(1)
		for range 5000 {
			AddFloats(&s, []uint32{0}, []float64{x})
			want.Add(x)
		}
		if v, _ := s.Value(0); v != want.Value() || len(s.long) == 0 {
			t.Errorf("%v, not %v", v, want.Value())
		}
		for range 80 {
			AddFloats(&s, []uint32{0, 0}, []float64{-x, -x / 3})
			want.Add(-x)
			want.Add(-x / 3)
		}
		if v, _ := s.Value(0); v != want.Value() {
			t.Errorf("%v, not %v", v, want.Value())
		}
	}
}

func TestSumsSpecials(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		xs      []float64
		want    float64
		special bool
	}{
		{nil, 0, false}, {[]float64{0, math.Copysign(0, -1)}, 0, false}, {[]float64{inf, 1}, inf, true}, {[]float64{1, -inf}, -inf, true},
		{[]float64{inf, -inf}, math.NaN(), true}, {[]float64{math.NaN(), inf}, math.NaN(), true}, {[]float64{math.MaxFloat64, math.MaxFloat64}, inf, false},
		{[]float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64}, math.MaxFloat64, false}, {[]float64{5e-324, -5e-324}, 0, false}, {[]float64{5e-324, 5e-324}, 1e-323, false},
	} {
		var s Sums
		s.Resize(1)
		AddFloats(&s, make([]uint32, len(c.xs)), c.xs)
		if v, special := s.Value(0); (v != c.want && (v == v || c.want == c.want)) || special != c.special || s.N(0) != int64(len(c.xs)) {
			t.Errorf("%v: %v %v, not %v", c.xs, v, special, c.want)
		}
	}
}

// BenchmarkSums adds to 100,000 groups, as a grouping by a large key does.
func BenchmarkSums(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	xs, of := make([]float64, 1<<20), make([]uint32, 1<<20)
	for i := range xs {
		xs[i], of[i] = r.Float64()*100, uint32(r.IntN(100_000))
	}
	b.Run("short", func(b *testing.B) {
		var s Sums
		s.Resize(100_000)
		b.SetBytes(8 * 1 << 20)
		for b.Loop() {
			AddFloats(&s, of, xs)
		}
	})
	b.Run("one", func(b *testing.B) {
		var s Sums
		s.Resize(1)
		b.SetBytes(8 * 1 << 20)
		for b.Loop() {
			for from := 0; from < len(xs); from += 1 << 13 {
				AddList(&s, 0, nil, xs[from:from+1<<13])
			}
		}
	})
	b.Run("rows", func(b *testing.B) {
		var s Sums
		s.Resize(1)
		rows := make([]int32, 0, 1<<13)
		for i := range 1 << 13 {
			if i%10 > 0 {
				rows = append(rows, int32(i))
			}
		}
		b.SetBytes(8 * 1 << 20 * 9 / 10)
		for b.Loop() {
			for from := 0; from < len(xs); from += 1 << 13 {
				AddList(&s, 0, rows, xs[from:from+1<<13])
			}
		}
	})
	b.Run("window", func(b *testing.B) {
		s := make([]Sum, 100_000)
		b.SetBytes(8 * 1 << 20)
		for b.Loop() {
			for i, g := range of {
				s[g].Add(xs[i])
			}
		}
	})
}
