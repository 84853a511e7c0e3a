package family

import (
	"math"
	"math/rand"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// TestCut: a leaf is cut into parts of consecutive rows, all multiples of the grain except the
// last, and even few rows are divided among several threads.
func TestCut(t *testing.T) {
	p := &Plan{Grain: 64}
	for _, from := range []int{0, 8, 1000} {
		for n := f64.Lanes; n < 20000; n += 5 * f64.Lanes {
			rows := Rows{Leaf: 3, Held: true, From: from, To: from + n}
			at := from
			parts := p.Cut([]Rows{rows})
			for i, x := range parts {
				if x.Leaf != 3 || !x.Held || x.From != at || x.To <= x.From || (x.To-x.From)%64 != 0 && i < len(parts)-1 {
					t.Fatalf("%d rows: part %d is %+v", n, i, x)
				}
				at = x.To
			}
			if at != rows.To || len(parts) != min(maxParts, (n+63)/64) {
				t.Fatalf("%d rows in %d parts end at %d", n, len(parts), at)
			}
		}
	}
	if got := (&Plan{}).Cut([]Rows{{To: 1 << 20}}); len(got) != 1 {
		t.Fatal("a family that wants whole leaves has them cut")
	}
}

// TestProbs: for two classes only the probability of the second is stored; every accessor must
// return the remainder to 1 for the first.
func TestProbs(t *testing.T) {
	p := []float64{0, 0.25, 0.5, math.Nextafter(0.5, 1), 0.75, 1, math.NaN()}
	explicit := &Scores{Rows: len(p), Probs: [][]float64{make([]float64, len(p)), p}}
	for i, v := range p {
		explicit.Probs[0][i] = 1 - v
	}
	implicit := &Scores{Rows: len(p), Probs: [][]float64{nil, p}}
	for i := range p {
		for k := range 2 {
			want := math.Float64bits(explicit.Probs[k][i])
			for _, got := range []float64{implicit.Prob(k, i), implicit.ClassProbs(k)[i], explicit.Prob(k, i), explicit.ClassProbs(k)[i]} {
				if math.Float64bits(got) != want {
					t.Errorf("class %d of %v has %v", k, p[i], got)
				}
			}
		}
		class := 0
		if p[i] > 0.5 {
			class = 1
		}
		for _, s := range []*Scores{explicit, implicit} {
			picked := make([]int64, len(p))
			PickTwo(picked, s, 10, 11)
			if s.Class(i) != class || s.Classes()[i] != int32(class) || picked[i] != int64(10+class) {
				t.Errorf("%v is of class %d, %d, %d", p[i], s.Class(i), s.Classes()[i], picked[i])
			}
		}
	}
}

// TestClassesOfMany: the classes of all rows at once are those row by row, also for equal
// probabilities and NaN.
func TestClassesOfMany(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for _, classes := range []int{1, 3, 4, 7} {
		for _, rows := range []int{0, 1, 9, 500} {
			s := &Scores{Rows: rows, Probs: make([][]float64, classes)}
			for k := range s.Probs {
				for range rows {
					p := float64(r.Intn(4)) / 4
					if r.Intn(20) == 0 {
						p = math.NaN()
					}
					s.Probs[k] = append(s.Probs[k], p)
				}
			}
			for i, k := range s.Classes() {
				if int(k) != s.Class(i) {
					t.Fatalf("row %d of %d classes is of %d, not %d", i, classes, k, s.Class(i))
				}
			}
		}
	}
}
