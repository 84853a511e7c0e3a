package f64

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSplitsAreExact compares sums and sums of squares with exact ones, for values inside, outside
// and just at the ends of the fixed-point range, in float32 and float64.
func TestSplitsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	var s32, s64 Splits
	const d = 7
	took := 0
	for round := range 400 {
		tiles := 1 + r.IntN(SplitRows/Lanes)
		x := make([]float64, tiles*Lanes*d)
		for i := range x {
			j := i / Lanes % d
			scale := math.Ldexp(1, (j-3)*20)
			switch {
			case r.IntN(10) == 0:
			case round%3 == 0:
				x[i] = math.Ldexp(r.Float64()-0.5, -r.IntN(20+17*(round&1))) * scale
			case round%3 == 1:
				x[i] = math.Ldexp(float64(r.IntN(1<<24)-1<<23), -23) * scale
			default:
				x[i] = (2 - 0x1p-52) * scale * math.Ldexp(1, -r.IntN(18))
			}
		}
		x32 := narrowed(x)
		back := make([]float64, len(x))
		for i, v := range x32 {
			back[i] = float64(v)
		}
		check := func(x, low, high, sums []float64, ok []bool, powers int) {
			for j := range d {
				one, two, lo, hi := new(big.Float).SetPrec(2000), new(big.Float).SetPrec(2000), math.Inf(1), math.Inf(-1)
				for i, v := range x {
					if i/Lanes%d == j {
						b := new(big.Float).SetPrec(2000).SetFloat64(v)
						one.Add(one, b)
						two.Add(two, new(big.Float).SetPrec(2000).Mul(b, b))
						lo, hi = min(lo, v), max(hi, v)
					}
				}
				if low[j] != lo || high[j] != hi {
					t.Fatalf("column %d is from %v to %v, not %v to %v", j, lo, hi, low[j], high[j])
				}
				if !ok[j] {
					continue
				}
				took++
				for k, want := range []*big.Float{one, two}[:powers] {
					got := new(big.Float).SetPrec(2000)
					for _, p := range sums[6*j+2*k : 6*j+2+4*k] {
						got.Add(got, new(big.Float).SetFloat64(p))
					}
					if got.Cmp(want) != 0 {
						t.Fatalf("column %d: sum %d is %v, not %v", j, k, got, want)
					}
				}
			}
		}
		lo, hi, sums, ok := ColumnSplits(&s64, x, d)
		check(x, lo, hi, sums, ok, 2)
		lo, hi, sums, ok = ColumnSplits(&s32, x32, d)
		check(back, lo, hi, sums, ok, 2)
		a, b := slices.Clone(s64.parts), make([]float64, len(s64.parts))
		columnSplitsGo(b, x, s64.grids, d, tiles)
		sameBits(t, "splits of float64s", a, b)
		a = slices.Clone(s32.parts)
		columnSplitsGo(b, x32, s32.grids, d, tiles)
		sameBits(t, "splits of float32s", a, b)
		p64, p32 := Splits{Plain: true}, Splits{Plain: true}
		for range 2 {
			lo, hi, plain, fits := ColumnSplits(&p64, x, d)
			check(x, lo, hi, plain, fits, 1)
			_, _, whole, also := ColumnSplits(&s64, x, d)
			for j := range d {
				if also[j] && (!fits[j] || plain[6*j] != whole[6*j] || plain[6*j+1] != whole[6*j+1]) {
					t.Fatalf("column %d without squares: %v %v, with them %v %v", j, plain[6*j:6*j+6], fits[j], whole[6*j:6*j+6], also[j])
				}
			}
		}
		columnSumsGo(b, x, p64.grids, d, tiles)
		sameBits(t, "sums of float64s", p64.parts, b)
		for range 2 {
			lo, hi, sums, ok = ColumnSplits(&p32, x32, d)
			check(back, lo, hi, sums, ok, 1)
		}
		e32, least := make([]float32, 2*d), make([]uint32, d)
		columnEndsGo(e32[:d], e32[d:], least, b[:d], x32, d, tiles)
		if !slices.Equal(p32.low32, e32[:d]) || !slices.Equal(p32.up32, e32[d:]) || !slices.Equal(p32.small, least) {
			t.Fatalf("%d tiles: ends %v to %v, least %x, not %v, least %x", tiles, p32.low32, p32.up32, p32.small, e32, least)
		}
	}
	if took < 4000 {
		t.Errorf("only %d of 11200 columns have sums", took)
	}
	for _, wild := range []float64{math.NaN(), math.Inf(1)} {
		x := make([]float64, 2*Lanes)
		x[9] = wild
		for _, plain := range []bool{false, true} {
			if _, _, _, ok := ColumnSplits(&Splits{Plain: plain}, x, 1); ok[0] {
				t.Errorf("a column with %v is added up", wild)
			}
			if _, _, _, ok := ColumnSplits(&Splits{Plain: plain}, narrowed(x), 1); ok[0] {
				t.Errorf("a column of float32s with %v is added up", wild)
			}
		}
	}
}

// TestTilesAndTheirEnds makes tiles with stores that bypass the caches, for even and odd numbers of
// columns, and compares them and their statistics with tiles that are made first and then read.
func TestTilesAndTheirEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for n := range 300 {
		d, tiles, row := 1+n%9, 1+r.IntN(SplitRows/Lanes), r.IntN(5)
		cols := make([][]float32, d)
		wild := n%5 == 0
		for j := range cols {
			cols[j] = narrowed(randoms(r, row+tiles*Lanes))
			for i := range cols[j] {
				switch r.IntN(40) {
				case 0:
					cols[j][i] = float32(math.Copysign(0, -1))
				case 1:
					cols[j][i] = 0x1p-100
				}
			}
		}
		if wild {
			cols[r.IntN(d)][row+r.IntN(tiles*Lanes)] = []float32{float32(math.NaN()), float32(math.Inf(-1))}[r.IntN(2)]
		}
		dst, want := make([]float32, 1<<14)[:tiles*d*Lanes], make([]float32, tiles*d*Lanes)
		var s, plain Splits
		s.Plain, plain.Plain = true, true
		low, high, sums, ok, finite := s.Tile32(dst, cols, row, tiles)
		if is := Tile32(want, cols, row, tiles); is != finite || finite == wild {
			t.Fatalf("%d columns are finite: %v, want %v", d, finite, is)
		}
		if wild {
			continue
		}
		for i, v := range want {
			if math.Float32bits(v) != math.Float32bits(dst[i]) {
				t.Fatalf("%d columns: value %d of the tiles is %v, want %v", d, i, dst[i], v)
			}
		}
		lo, hi, all, fits := ColumnSplits(&plain, want, d)
		sameBits(t, "least values", low, lo)
		sameBits(t, "greatest values", high, hi)
		for j := range d {
			if ok[j] != fits[j] || ok[j] && (sums[6*j] != all[6*j] || sums[6*j+1] != all[6*j+1]) {
				t.Fatalf("%d columns: the sum of column %d is %v, %v, want %v, %v", d, j, sums[6*j], ok[j], all[6*j], fits[j])
			}
		}
	}
}
