package f64

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStays: a row that is said to stay with its center does have no nearer one, and few rows are
// left undecided.
func TestStays(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 1))
	for _, d := range []int{1, 2, 5, 10, 40} {
		for _, k := range []int{1, 2, 4, 7, 20, 33} {
			for _, kind := range []string{"plain", "ties", "far", "huge", "tiny"} {
				const tiles = 6
				x, points := randoms(r, tiles*Lanes*d), randoms(r, k*d)
				for i := range x {
					switch kind {
					case "ties":
						x[i] = float64(r.IntN(3))
					case "far":
						x[i] += 1e4
					case "huge":
						x[i] *= 1e60
					case "tiny":
						x[i] *= 1e-25
					}
				}
				for i := range points {
					switch kind {
					case "ties":
						points[i] = float64(r.IntN(3))
					case "far":
						points[i] += 1e4
					case "tiny":
						points[i] *= 1e-25
					}
				}
				c32, ok := NewCenters32(points, d)
				if !ok {
					t.Fatal("plain centres are too large")
				}
				c := NewCenters(k, d)
				for i := range k {
					c.Set(i, points[i*d:(i+1)*d])
				}
				best, second, at := make([]float64, tiles*Lanes), make([]float64, tiles*Lanes), make([]int64, tiles*Lanes)
				Nearest(best, second, at, x, c, c.Starts())
				was := make([]int32, tiles*Lanes)
				for i := range was {
					if was[i] = int32(at[i]); r.IntN(4) == 0 {
						was[i] = int32(r.IntN(k))
					}
				}
				x32 := make([]float32, len(x))
				Narrow(x32, x)
				for i, v := range x {
					if x32[i] != float32(v) {
						t.Fatalf("%v narrowed to %v", v, x32[i])
					}
				}
				doubt, twin := make([]uint8, tiles), make([]uint8, tiles)
				Stays(doubt, x32, was, c32)
				staysGo(twin, x32, was, c32)
				all := [][]uint8{doubt, twin}
				for _, b := range levels() {
					bits := make([]uint8, tiles)
					b.stays(bits, x32, was, c32)
					if all = append(all, bits); !slices.Equal(bits, doubt) {
						t.Fatalf("%s d=%d k=%d: %s doubts %x, another %x", kind, d, k, b.name, bits, doubt)
					}
				}
				doubts := 0
				for i := range was {
					for _, f := range all {
						if f[i/Lanes]>>(i%Lanes)&1 == 0 && int64(was[i]) != at[i] {
							t.Fatalf("%s d=%d k=%d: row %d stays at %d, but moves to %d", kind, d, k, i, was[i], at[i])
						}
					}
					if doubt[i/Lanes]>>(i%Lanes)&1 == 1 && int64(was[i]) == at[i] {
						doubts++
					}
				}
				if kind == "plain" && d >= 5 && doubts > 2 {
					t.Errorf("d=%d k=%d: %d rows of %d are in doubt", d, k, doubts, len(was))
				}
			}
		}
	}
	if _, ok := NewCenters32([]float64{1e200}, 1); ok {
		t.Error("a huge centre fits into float32")
	}
	if _, ok := NewCenters32([]float64{math.Inf(1)}, 1); ok {
		t.Error("infinity is a centre")
	}
}

func BenchmarkStays(b *testing.B) {
	const d, k, tiles = 10, 20, 8
	r := rand.New(rand.NewPCG(9, 1))
	x := make([]float32, d*tiles*Lanes)
	Narrow(x, randoms(r, len(x)))
	c, _ := NewCenters32(randoms(r, d*k), d)
	doubt, was := make([]uint8, tiles), make([]int32, tiles*Lanes)
	for b.Loop() {
		Stays(doubt, x, was, c)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tiles/Lanes, "ns/row")
}
