package f64

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestClassMoments compares sums by class, and those of squares, with plain ones, and the kernel in use with its twin.
func TestClassMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 1))
	for _, classes := range []int{1, 2, 3, 8, 9, 40} {
		for _, tiles := range []int{1, 5, MomentRows / Lanes} {
			for stride := 1; stride < 4; stride++ {
				x, class := make([]float64, tiles*stride*Lanes), make([]uint8, tiles*Lanes)
				const shift = 0.25
				scale := math.Ldexp(1, 44)
				for i := range x {
					x[i] = float64(float32(shift + (r.Float64()*2-1)*63.9))
				}
				sums, squares := make([]int64, classes), make([]*big.Int, classes)
				for i := range class {
					if class[i] = uint8(r.IntN(classes + 1)); int(class[i]) == classes {
						class[i] = 255
						x[i/Lanes*stride*Lanes+i%Lanes] = []float64{math.NaN(), 1e300, 3}[r.IntN(3)]
						continue
					}
					q := int64(math.RoundToEven((x[i/Lanes*stride*Lanes+i%Lanes] - shift) * scale))
					c := class[i]
					if sums[c] += q; squares[c] == nil {
						squares[c] = new(big.Int)
					}
					squares[c].Add(squares[c], new(big.Int).Mul(big.NewInt(q), big.NewInt(q)))
				}
				got, twin, narrow := make([]Moments, classes), make([]Moments, classes), make([]Moments, classes)
				if !ClassMoments(got, x, stride, shift, scale, class, true) || !classMomentsGo(twin, x, stride, shift, scale, class, true) ||
					!ClassMoments(narrow, narrowed(x), stride, shift, scale, class, true) {
					t.Fatal("a row that counts is said to be NaN")
				}
				if !slices.Equal(got, twin) || !slices.Equal(got, narrow) {
					t.Fatalf("%d classes, %d tiles: %v and %v of float32, by the twin %v", classes, tiles, got, narrow, twin)
				}
				alone, plain := make([]Moments, classes), make([]Moments, classes)
				ClassMoments(alone, x, stride, shift, scale, class, false)
				classMomentsGo(plain, x, stride, shift, scale, class, false)
				for c, m := range got {
					if only := (Moments{Sum: m.Sum}); alone[c] != only || plain[c] != only {
						t.Fatalf("class %d of %d without squares: %v and %v by the twin, not %v", c, classes, alone[c], plain[c], only)
					}
					hi, lo := m.Squares()
					all := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(hi), 64), new(big.Int).SetUint64(lo))
					if squares[c] == nil {
						squares[c] = new(big.Int)
					}
					if m.Sum != sums[c] || all.Cmp(squares[c]) != 0 {
						t.Fatalf("class %d of %d: %d and %v, not %d and %v", c, classes, m.Sum, all, sums[c], squares[c])
					}
				}
				for i, c := range class {
					if int(c) < classes {
						x[i/Lanes*stride*Lanes+i%Lanes] = math.NaN()
						if ClassMoments(got, x, stride, shift, scale, class, true) {
							t.Fatal("a NaN is not noticed")
						}
						break
					}
				}
			}
		}
	}
}

// momentBodies are the kernels of one instruction set.
type momentBodies struct {
	squares32 func(z []float64, x []float32, m, w []float64)
	squares64 func(z, x, m, w []float64)
	keys32    func(keys []uint32, x []float32, stride int, center float64)
	keys64    func(keys []uint32, x []float64, stride int, center float64)
}

func TestSquareMargins(t *testing.T) {
	r := rand.New(rand.NewPCG(62, 1))
	for _, d := range []int{1, 2, 7} {
		for _, tiles := range []int{1, 3, 4, 11} {
			x, m, w, z := randoms(r, tiles*Lanes*d), randoms(r, d), randoms(r, d), randoms(r, tiles*Lanes)
			got, got32, want, want32, x32 := slices.Clone(z), slices.Clone(z), slices.Clone(z), slices.Clone(z), narrowed(x)
			SquareMargins(got, x, m, w)
			squareMarginsGo(want, x, m, w)
			sameBits(t, "square margins", got, want)
			SquareMargins(got32, x32, m, w)
			squareMarginsGo(want32, x32, m, w)
			sameBits(t, "square margins of float32", got32, want32)
			for _, b := range momentLevels() {
				copy(got, z)
				b.squares64(got, x, m, w)
				sameBits(t, "square margins", got, want)
				copy(got, z)
				b.squares32(got, x32, m, w)
				sameBits(t, "square margins of float32", got, want32)
			}
		}
	}
}

func TestCenteredKeys(t *testing.T) {
	v, _ := oddScores(24 * Lanes)
	for stride := 1; stride < 4; stride++ {
		tiles := len(v) / Lanes / stride
		for _, center := range []float64{0, 0.25, -1e10} {
			got, want := make([]uint32, tiles*Lanes), make([]uint32, tiles*Lanes)
			CenteredKeys(got, v, stride, center)
			if centeredKeysGo(want, v, stride, center); !slices.Equal(got, want) {
				t.Fatalf("keys of stride %d, centre %v differ from the twin's", stride, center)
			}
			CenteredKeys(got, narrowed(v), stride, center)
			if centeredKeysGo(want, narrowed(v), stride, center); !slices.Equal(got, want) {
				t.Fatalf("keys of float32 of stride %d, centre %v differ from the twin's", stride, center)
			}
			for _, b := range momentLevels() {
				if b.keys32(got, narrowed(v), stride, center); !slices.Equal(got, want) {
					t.Fatalf("keys of float32 of stride %d, centre %v differ from the twin's", stride, center)
				}
				centeredKeysGo(want, v, stride, center)
				if b.keys64(got, v, stride, center); !slices.Equal(got, want) {
					t.Fatalf("keys of stride %d, centre %v differ from the twin's", stride, center)
				}
				centeredKeysGo(want, narrowed(v), stride, center)
			}
		}
	}
}

func TestTileColumn64(t *testing.T) {
	r := rand.New(rand.NewPCG(63, 1))
	for stride := 1; stride < 4; stride++ {
		for _, tiles := range []int{1, 4, 9} {
			col := randoms(r, tiles*Lanes)
			col[1] = math.Copysign(0, -1)
			got, want := make([]float64, stride*tiles*Lanes), make([]float64, stride*tiles*Lanes)
			if !TileColumn64(got, stride, col) || !tileColumnGo(want, stride, col) {
				t.Fatal("finite numbers are said not to be")
			}
			sameBits(t, "tiles", got, want)
			for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				col[len(col)-1] = odd
				if TileColumn64(got, stride, col) || tileColumnGo(want, stride, col) {
					t.Fatalf("%v is not noticed", odd)
				}
			}
		}
	}
}

// BenchmarkClassMoments is of 512 rows of a column of 20.
func BenchmarkClassMoments(b *testing.B) {
	x, class := make([]float64, 20*MomentRows), make([]uint8, MomentRows)
	for i := range class {
		class[i] = uint8(i % 2)
	}
	to := make([]Moments, 2)
	for b.Loop() {
		ClassMoments(to, x, 20, 0, 1, class, true)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MomentRows, "ns/value")
}

// BenchmarkCenteredKeys likewise.
func BenchmarkCenteredKeys(b *testing.B) {
	x, keys := make([]float64, 20*MomentRows), make([]uint32, MomentRows)
	for b.Loop() {
		CenteredKeys(keys, x, 20, 1)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MomentRows, "ns/value")
}
