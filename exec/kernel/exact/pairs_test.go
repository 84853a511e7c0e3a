package exact

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestPairs adds pairs in any order, in parts that are merged, some of them encoded, parts with other scales among
// them: what follows from the sums is what follows from the true ones, to the bit.
func TestPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 5))
	kinds := []string{"money", "uniform", "wide", "integers", "halves", "large", "zeros", "small", "cancelled", "greatest", "wild", "denormal"}
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, kx := range kinds {
		for _, ky := range kinds {
			for try := range 6 {
				const groups = 3
				n := 1 + r.IntN(200)
				xs, ys, of := make([]float64, n), make([]float64, n), make([]uint32, n)
				for i := range xs {
					xs[i], ys[i], of[i] = sumKinds[kx](r), sumKinds[ky](r), uint32(r.IntN(groups))
					switch {
					case try == 0:
						xs[i] = 0.1 // a constant column
					case try == 1 && r.IntN(100) == 0:
						xs[i] = special[r.IntN(3)]
					case try == 2 && r.IntN(20) == 0:
						ys[i] = sumKinds["wide"](r)
					case try == 3:
						ys[i] = -ys[i]
					}
				}
				var want [groups]longPair
				for i, g := range of {
					want[g].add(xs[i], ys[i])
					want[g].x.n++
				}
				parts := make([]Pairs, 1+r.IntN(4))
				for p := range parts {
					parts[p].Resize(groups)
					for at, to := p*n/len(parts), (p+1)*n/len(parts); at < to; {
						end := min(at+1+r.IntN(50), to)
						if r.IntN(2) == 0 {
							parts[p].Add(of[at:end], xs[at:end], ys[at:end])
						} else {
							for g := range uint32(groups) { // one group after the other
								rows := []int32{} // none, unlike nil
								for i := at; i < end; i++ {
									if of[i] == g {
										rows = append(rows, int32(i))
									}
								}
								parts[p].AddList(g, rows, xs, ys)
							}
						}
						at = end
					}
				}
				var got Pairs
				got.Resize(groups)
				ids := []uint32{0, 1, 2}
				for i := range parts {
					if r.IntN(2) == 0 {
						got.Merge(ids, &parts[i], ids)
						continue
					}
					for g := range groups {
						b := parts[i].Append(nil, g)
						var scrap Pairs
						scrap.Resize(groups)
						if scrap.MergeBytes(uint32(g), b[:len(b)-1]) {
							t.Fatal("a truncated state is accepted")
						}
						if !got.MergeBytes(uint32(g), b) {
							t.Fatal("a complete state is refused")
						}
					}
				}
				for g := range groups {
					l, have := &want[g], got.Moments(g)
					if have.N != l.x.n {
						t.Fatalf("%d pairs, not %d", have.N, l.x.n)
					}
					if have.N == 0 {
						continue
					}
					l.y.n = l.x.n
					check := func(name string, got, want float64) {
						t.Helper()
						if math.Abs(want) <= float64(have.N)*0x1p-1073 {
							want = 0
						}
						if got != want && (got == got || want == want) {
							t.Fatalf("%s of %s and %s: %v, not %v", name, kx, ky, got, want)
						}
					}
					check("xx", have.XX, LongSpread(&l.xx, &l.x, &l.x))
					check("yy", have.YY, LongSpread(&l.yy, &l.y, &l.y))
					check("xy", have.XY, LongSpread(&l.xy, &l.x, &l.y))
					if x, y := l.x.Value(), l.y.Value(); math.Float64bits(have.X+0) != math.Float64bits(x+0) && x == x || have.Y != y && y == y {
						t.Fatalf("sums of %s and %s: %v and %v, not %v and %v", kx, ky, have.X, have.Y, x, y)
					}
				}
			}
		}
	}
}

// TestPairProducts: sums of products are those of exact fractions, and values of similar size need no Longs.
func TestPairProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 5))
	for _, kind := range []string{"money", "uniform", "large", "zeros"} {
		var p Pairs
		p.Resize(1)
		x, y, xy := new(big.Rat), new(big.Rat), new(big.Rat)
		n := 300
		xs, ys := make([]float64, n), make([]float64, n)
		for i := range xs {
			xs[i], ys[i] = sumKinds[kind](r), -sumKinds["money"](r)
			a, b := new(big.Rat).SetFloat64(xs[i]), new(big.Rat).SetFloat64(ys[i])
			x.Add(x, a)
			y.Add(y, b)
			xy.Add(xy, a.Mul(a, b))
		}
		p.Add(make([]uint32, n), xs, ys)
		x.Mul(x, y)
		want, _ := xy.Sub(xy, x.Quo(x, new(big.Rat).SetInt64(int64(n)))).Float64()
		if got := p.Moments(0); got.XY != want || len(p.long) > 0 {
			t.Errorf("%s: %v, not %v; %d are long", kind, got.XY, want, len(p.long))
		}
	}
}

// TestFill: sums that fill their limbs go on, of rows one by one and of lists.
func TestFill(t *testing.T) {
	const n = 1 << 13
	xs, of := make([]float64, n), make([]uint32, n)
	for i := range xs {
		xs[i] = 0x1.fffffffffffffp11
	}
	var want longPair
	want.add(1, 1)
	for range 8 * n {
		want.add(xs[0], xs[0])
	}
	want.x.n = 8*n + 1
	spread := LongSpread(&want.xy, &want.x, &want.y)
	for _, list := range []bool{false, true} {
		var p Pairs
		var s Squares
		p.Resize(1)
		s.Resize(1)
		one := []float64{1} // a base so that the others are the greatest that it holds
		p.Add(of[:1], one, one)
		AddSquares(&s, of[:1], one)
		if _, _, ok := odd(math.Float64bits(xs[0]), int(p.x)); !ok {
			t.Fatal("the greatest does not fit")
		}
		if _, _, ok := odd(math.Float64bits(2*xs[0]), int(p.x)); ok {
			t.Fatal("there is a greater one")
		}
		for range 8 {
			if list {
				p.AddList(0, nil, xs, xs)
				AddSquaresList(&s, 0, nil, xs)
			} else {
				p.Add(of, xs, xs)
				AddSquares(&s, of, xs)
			}
		}
		if m := p.Moments(0); m.XX != spread || m.YY != spread || m.XY != spread || len(p.long) == 0 {
			t.Errorf("%v, not %v; %d are long", m, spread, len(p.long))
		}
		if got := s.Spread(0); got != spread || len(s.long) == 0 {
			t.Errorf("%v of squares, not %v; %d are long", got, spread, len(s.long))
		}
	}
}

// TestPairsOfManyGroups: the processor's loop, which reads groups ahead and stops at values that do not fit, adds what one pair
// after the other adds.
func TestPairsOfManyGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 5))
	const groups, n = 40, 20_000
	xs, ys, of := make([]float64, n), make([]float64, n), make([]uint32, n)
	for i := range xs {
		xs[i], ys[i], of[i] = r.NormFloat64(), -0x1p33*r.Float64(), uint32(r.IntN(groups)*r.IntN(2))
		switch r.IntN(40) {
		case 0:
			xs[i] = 0
		case 1:
			ys[i] = math.Copysign(0, -1)
		case 2:
			xs[i] = 0x1p-200
		case 3:
			ys[i] = 0x1p200
		}
	}
	var all, one Pairs
	var allSquares, oneSquares Squares
	all.Resize(groups)
	one.Resize(groups)
	allSquares.Resize(groups)
	oneSquares.Resize(groups)
	all.Add(of, xs, ys)
	lists := Pairs{s: make([]shortPair, groups), n: make([]int64, groups), x: all.x, y: all.y}
	for g := range uint32(groups) {
		var lx, ly []float64
		for i := range xs {
			if of[i] == g {
				lx, ly = append(lx, xs[i]), append(ly, ys[i])
			}
		}
		lists.AddList(g, nil, lx, ly)
	}
	AddSquares(&allSquares, of, xs)
	one.x, one.y, oneSquares.base = all.x, all.y, allSquares.base
	for i := range xs {
		one.add(of[i:i+1], xs[i:i+1], ys[i:i+1])
		addSquares(&oneSquares, of[i:i+1], xs[i:i+1])
	}
	for g := range groups {
		if a, b := all.Append(nil, g), one.Append(nil, g); !bytes.Equal(a, b) {
			t.Errorf("the pairs of group %d are %x, not %x", g, a, b)
		}
		if a, b := lists.Append(nil, g), one.Append(nil, g); !bytes.Equal(a, b) {
			t.Errorf("the pairs of the list of group %d are %x, not %x", g, a, b)
		}
		if a, b := allSquares.Append(nil, g), oneSquares.Append(nil, g); !bytes.Equal(a, b) {
			t.Errorf("the squares of group %d are %x, not %x", g, a, b)
		}
	}
}

func BenchmarkPairs(b *testing.B) {
	r := rand.New(rand.NewPCG(17, 5))
	xs, ys, of := make([]float64, 8192), make([]float64, 8192), make([]uint32, 8192)
	for i := range xs {
		xs[i], ys[i], of[i] = sumKinds["money"](r), r.NormFloat64(), uint32(r.IntN(60000))
	}
	var p Pairs
	p.Resize(60000)
	b.SetBytes(16 * 8192)
	for b.Loop() {
		p.Add(of, xs, ys)
	}
}
