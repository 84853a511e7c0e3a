package f64

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// oddScores returns scores and labels, with NaN, infinities and zeros of both signs among them.
func oddScores(n int) (v []float64, label []uint32) {
	r := rand.New(rand.NewPCG(7, 8))
	odd := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, math.Nextafter(0.5, 1), math.NaN(), -math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, -5e-324, math.MaxFloat64}
	v, label = make([]float64, n), make([]uint32, n)
	for i := range v {
		if v[i], label[i] = r.Float64(), uint32(r.IntN(3)); i%5 == 0 {
			v[i] = odd[r.IntN(len(odd))]
		}
	}
	return v, label
}

// TestSplitKeys compares the kernel in use with its Go version, and the order of keys with that of
// the scores.
func TestSplitKeys(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 64, 4099} {
		v, label := oddScores(n)
		for _, second := range []uint32{0, 1, math.MaxUint32} {
			size := max(n, SideRows)
			a, b, a2, b2 := make([]uint64, size), make([]uint64, size), make([]uint64, size), make([]uint64, size)
			if second == math.MaxUint32 {
				b, b2 = b[:SideRows], b2[:SideRows]
			}
			na, least, most := SplitKeys(a, b, v, label, second)
			want, low, high := splitKeysGo(a2, b2, v, label, second)
			if n > 0 {
				all := slices.Concat(a2[:want], b2[:n-want])
				if low != slices.Min(all) || high != slices.Max(all) {
					t.Errorf("keys of %d scores are from %x to %x", n, low, high)
				}
			}
			if na != want || least != low || most != high || !slices.Equal(a[:na], a2[:na]) || !slices.Equal(b[:n-na], b2[:n-na]) {
				t.Errorf("%d scores by label %d are split differently", n, second)
			}
		}
	}
	v, _ := oddScores(200)
	for _, x := range v {
		for _, y := range v {
			kx, ky := ScoreKey(x), ScoreKey(y)
			if x < y && kx >= ky || x == y && kx != ky || x != x && y == y && kx >= ky {
				t.Errorf("keys of %v and %v are %x and %x", x, y, kx, ky)
			}
		}
	}
}

func TestLabelEntropy(t *testing.T) {
	const n = 4099
	p, label := oddScores(n)
	y, got, want, twin := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i, l := range label {
		if l == 1 {
			y[i] = 1
		}
	}
	LabelEntropy(got, p, label, 1)
	labelEntropyGo(twin, p, label, 1)
	CrossEntropy(want, p, y)
	sameBits(t, "cross entropy of labels", got, want)
	sameBits(t, "cross entropy of labels in Go", twin, want)
}

func TestWhichOfTwo(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 1, 8, 13, 800, 1003} {
		for _, of := range [][2]int64{{0, 1}, {1, 0}, {-7, 1 << 40}, {5, 5 | 1<<32}} {
			v, out := make([]int64, n), make([]uint32, n)
			for i := range v {
				v[i] = of[r.IntN(2)]
			}
			for _, other := range []int{-1, n - 1, n / 2, 0} {
				if other >= 0 && n > 0 {
					v[other] = of[0] ^ 1<<33
				}
				if ok := WhichOfTwo(out, v, of[0], of[1]); ok != (other < 0 || n == 0) {
					t.Errorf("%d of %v, another at %d: %v", n, of, other, ok)
				}
				for i, x := range v {
					if (out[i] == 1) != (x == of[1]) || out[i] > 1 {
						t.Fatalf("%d of %v: %d gives %d", n, of, x, out[i])
					}
				}
				if other >= 0 && n > 0 {
					v[other] = of[0]
				}
			}
		}
	}
}

func TestLikelier(t *testing.T) {
	for _, n := range []int{0, 1, 8, 13, 4099} {
		p, _ := oddScores(n)
		got, want := make([]int64, n), make([]int64, n)
		Likelier(got, p, -3, 1<<50)
		likelierGo(want, p, -3, 1<<50)
		if !slices.Equal(got, want) {
			t.Errorf("%d sigmoids tell other classes", n)
		}
		for i, v := range p {
			if (got[i] == 1<<50) != (v > 1-v) {
				t.Fatalf("%v gives %d", v, got[i])
			}
		}
	}
}

// TestCountTwo compares with counting row by row, with or without labels other than the two.
func TestCountTwo(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, n := range []int{0, 1, 8, 13, 800, 8195} {
		for _, other := range []int{-1, 0, n / 2, n - 1} {
			a, b := make([]uint32, n), make([]uint32, n)
			var want [3]uint32
			for i := range a {
				if a[i], b[i] = uint32(r.IntN(2)), uint32(r.IntN(3))/2; a[i] == 1 {
					want[0]++
					want[2] += b[i]
				}
				want[1] += b[i]
			}
			if other >= 0 && n > 0 {
				[2][]uint32{a, b}[r.IntN(2)][other] = 1 << (1 + r.IntN(31))
			}
			ofA, ofB, both, ok := CountTwo(a, b)
			if ok != (other < 0 || n == 0) {
				t.Errorf("%d labels, another at %d: %v", n, other, ok)
			}
			if got := [3]uint32{ofA, ofB, both}; ok && got != want {
				t.Errorf("%d labels: %v, want %v", n, got, want)
			}
		}
	}
}
