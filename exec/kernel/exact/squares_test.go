package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// trueSpread is Σx² − (Σx)² / N in exact fractions.
func trueSpread(xs []float64) float64 {
	xx, x, n := new(big.Rat), new(big.Rat), new(big.Rat).SetInt64(int64(len(xs)))
	for _, v := range xs {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return math.NaN()
		}
		r := new(big.Rat).SetFloat64(v)
		x.Add(x, r)
		xx.Add(xx, r.Mul(r, r))
	}
	x.Mul(x, x)
	f, _ := xx.Sub(xx, x.Quo(x, n)).Float64()
	return f
}

// TestSquares adds values in any order, one by one and in lists, in parts that are merged, some of
// them encoded: the sum of squared deviations is always exact.
func TestSquares(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	kinds := map[string]func() float64{"normal": r.NormFloat64, "float32": func() float64 { return float64(float32(r.NormFloat64())) },
		"special": func() float64 {
			if r.IntN(200) == 0 {
				return []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
			}
			return r.NormFloat64()
		}}
	for _, name := range []string{"money", "uniform", "wide", "integers", "halves", "large", "zeros"} {
		kinds[name] = func() float64 { return sumKinds[name](r) }
	}
	for name, f := range kinds {
		for range 40 {
			const groups = 3
			n := 3 + r.IntN(400)
			if r.IntN(4) == 0 {
				n *= 10
			}
			xs, of := make([]float64, n), make([]uint32, n)
			var each [groups][]float64
			for i := range xs {
				if xs[i], of[i] = f(), uint32(r.IntN(groups)); i < groups {
					of[i] = uint32(i)
				}
				each[of[i]] = append(each[of[i]], xs[i])
			}
			parts := make([]Squares, 1+r.IntN(4))
			for p := range parts {
				parts[p].Resize(groups)
				from, to := p*n/len(parts), (p+1)*n/len(parts)
				if r.IntN(2) == 0 {
					AddSquares(&parts[p], of[from:to], xs[from:to])
					continue
				}
				for g := range uint32(groups) {
					rows, vals := []int32{}, []float64(nil)
					for i := from; i < to; i++ {
						if of[i] == g {
							rows, vals = append(rows, int32(i)), append(vals, xs[i])
						}
					}
					if g%2 == 0 {
						AddSquaresList(&parts[p], g, nil, vals)
					} else {
						AddSquaresList(&parts[p], g, rows, xs)
					}
				}
			}
			var got Squares
			got.Resize(groups)
			for i := range parts {
				if r.IntN(2) == 0 {
					got.Merge([]uint32{0, 1, 2}, &parts[i], []uint32{0, 1, 2})
					continue
				}
				for g := range groups {
					b := parts[i].Append(nil, g)
					if got.MergeBytes(uint32(g), b[:len(b)-1]) {
						t.Fatalf("%s: a truncated state is accepted", name)
					}
				}
				// The truncated state may have been added in part: start anew from all complete
				// states.
				got = Squares{}
				got.Resize(groups)
				for k := range i + 1 {
					for g := range groups {
						if !got.MergeBytes(uint32(g), parts[k].Append(nil, g)) {
							t.Fatalf("%s: a complete state is refused", name)
						}
					}
				}
			}
			for g := range groups {
				have, want := got.Spread(g), trueSpread(each[g])
				if have != want && !(have != have && want != want) || got.N(g) != int64(len(each[g])) {
					t.Fatalf("%s: group %d: %v of %d, not %v of %d", name, g, have, got.N(g), want, len(each[g]))
				}
			}
		}
	}
}

// TestSquaresFit: squares of values of similar size fit the short form and need no long sum.
func TestSquaresFit(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 6))
	for _, scale := range []float64{1, 1e-9, 1e6, 1e20} {
		var s Squares
		s.Resize(100)
		xs, of := make([]float64, 10000), make([]uint32, 10000)
		for i := range xs {
			xs[i], of[i] = scale*(1+1e4*r.Float64()), uint32(i%100)
		}
		AddSquares(&s, of, xs)
		for g := range uint32(100) {
			AddSquaresList(&s, g, nil, xs[:1000])
		}
		if n := len(s.long); n > 0 {
			t.Errorf("%d long sums of values of about %g", n, scale)
		}
	}
}

// TestSpread: spreads of two variables are those of exact fractions, where numbers of fixed length are enough and where
// they are not.
func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 6))
	for _, kx := range []string{"money", "uniform", "integers", "halves", "large", "zeros", "small", "greatest"} {
		for _, ky := range []string{"money", "uniform", "integers", "zeros"} {
			for range 30 {
				var x, y, xy Sum
				rx, ry, rxy := new(big.Rat), new(big.Rat), new(big.Rat)
				n := 1 + r.IntN(30)
				for range n {
					a, b := sumKinds[kx](r), sumKinds[ky](r)
					if r.IntN(3) == 0 {
						b = -b
					}
					x.Add(a)
					y.Add(b)
					xy.AddProduct(a, b)
					ra, rb := new(big.Rat).SetFloat64(a), new(big.Rat).SetFloat64(b)
					rx.Add(rx, ra)
					ry.Add(ry, rb)
					rxy.Add(rxy, ra.Mul(ra, rb))
				}
				rx.Mul(rx, ry)
				want, _ := rxy.Sub(rxy, rx.Quo(rx, new(big.Rat).SetInt64(int64(n)))).Float64()
				if got := Spread(&xy, &x, &y); !xy.Finite() {
					if got == got {
						t.Fatalf("%s, %s: %v of infinite products", kx, ky, got)
					}
				} else if math.Abs(got-want) > math.Abs(want)*1e-15+math.Abs(xy.Value())*1e-25 {
					t.Fatalf("%s, %s: %v of %d, not %v", kx, ky, got, n, want)
				}
			}
		}
	}
}

// TestSpreadForms: a spread in numbers of fixed length has the bits that it has in numbers of any length.
func TestSpreadForms(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 6))
	fast := 0
	for name, f := range sumKinds {
		for range 100 {
			var x, y, xy Sum
			for range 1 + r.IntN(200) {
				a, b := f(r), sumKinds["money"](r)
				x.Add(a)
				y.Add(b)
				xy.AddProduct(a, b)
			}
			if !xy.Finite() {
				continue
			}
			got, ok := spreadOf(xy.words(), xy.unit(), x.words(), x.unit(), y.words(), y.unit(), x.N())
			if !ok {
				continue
			}
			fast++
			if want := bigSpread(&xy, &x, &y); got != want {
				t.Fatalf("%s: %v, not %v", name, got, want)
			}
		}
	}
	if fast < 500 {
		t.Errorf("only %d of fixed length", fast)
	}
}

func BenchmarkSpread(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 6))
	var x, y, xy Sum
	for range 50 {
		v, w := r.NormFloat64(), r.NormFloat64()
		x.Add(v)
		y.Add(w)
		xy.AddProduct(v, w)
	}
	b.Run("fixed", func(b *testing.B) {
		for b.Loop() {
			Spread(&xy, &x, &y)
		}
	})
	b.Run("any", func(b *testing.B) {
		for b.Loop() {
			bigSpread(&xy, &x, &y)
		}
	})
}

func BenchmarkSquares(b *testing.B) {
	r := rand.New(rand.NewPCG(8, 6))
	xs, of := make([]float64, 8192), make([]uint32, 8192)
	for i := range xs {
		xs[i] = r.NormFloat64()
	}
	b.Run("each", func(b *testing.B) {
		var s Squares
		s.Resize(1)
		b.SetBytes(8 * 8192)
		for b.Loop() {
			AddSquares(&s, of, xs)
		}
	})
	b.Run("list", func(b *testing.B) {
		var s Squares
		s.Resize(1)
		b.SetBytes(8 * 8192)
		for b.Loop() {
			AddSquaresList(&s, 0, nil, xs)
		}
	})
	b.Run("sum", func(b *testing.B) {
		var s Sums
		s.Resize(1)
		b.SetBytes(8 * 8192)
		for b.Loop() {
			AddList(&s, 0, nil, xs)
		}
	})
}

// squareParts are a value's square as versions before sent it: a rounded float64 and the rounding error.
func squareParts(x float64) (hi, lo float64) {
	hi = x * x
	if lo = math.FMA(x, x, -hi); lo-lo != 0 {
		lo = 0
	}
	return hi, lo
}

// TestSquaresAsSent: three sums of values, of squares and of rounding errors, as versions before sent them, are read, and
// what is sent is three such sums.
func TestSquaresAsSent(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 6))
	for _, name := range []string{"money", "uniform", "wide", "integers", "halves", "large", "zeros"} {
		for range 60 {
			var sums [3]Sums
			var mine Squares
			mine.Resize(1)
			var all []float64
			for i := range sums {
				sums[i].Resize(1)
			}
			for i := range 1 + r.IntN(100) {
				v := sumKinds[name](r)
				if all = append(all, v); i%2 == 0 {
					AddSquares(&mine, []uint32{0}, []float64{v})
					continue
				}
				hi, lo := squareParts(v)
				for k, part := range []float64{v, hi, lo} {
					AddFloats(&sums[k], []uint32{0}, []float64{part})
				}
			}
			var state []byte
			for k := range sums {
				b := sums[k].Append(nil, 0)
				state = append(append(state, byte(len(b)), byte(len(b)>>8)), b...)
			}
			got := Squares{}
			got.Resize(1)
			sent := mine.Append(nil, 0)
			if !got.MergeBytes(0, state) || !got.MergeBytes(0, sent) {
				t.Fatalf("%s: a state is refused", name)
			}
			if have, want := got.Spread(0), trueSpread(all); have != want && have == have {
				t.Fatalf("%s: %v, not %v", name, have, want)
			}
			// A version before adds what is sent to its sums.
			for k := range sums {
				n := int(sent[0]) | int(sent[1])<<8
				if !sums[k].MergeBytes(0, sent[2:2+n]) {
					t.Fatalf("%s: sum %d is refused", name, k)
				}
				sent = sent[2+n:]
			}
			full := func(k int) *big.Float {
				p := &sums[k].s[0]
				var l Long
				if o := sums[k].long[0]; o != nil {
					l = *o
				}
				if sums[k].base > 0 {
					l.addShort(p.lo, p.hi, sums[k].base)
				}
				return l.Big()
			}
			var x Long
			for _, v := range all {
				x.AddProduct(v, v)
			}
			if sum := new(big.Float).SetPrec(2400).Add(full(1), full(2)); sum.Cmp(x.Big()) != 0 && x.flag == 0 {
				t.Fatalf("%s: squares of %v, not %v", name, sum, x.Big())
			}
		}
	}
}
