package train

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
)

// slowCuts are the cuts of scores, made of all of them at once.
func slowCuts(scores []float64) []float64 {
	all := slices.Clone(scores)
	for i, s := range all {
		all[i] = s + 0
	}
	all = slices.DeleteFunc(all, math.IsNaN)
	slices.Sort(all)
	all = slices.Compact(all)
	for level := 1; len(all) > maxCuts; level++ {
		all = slices.DeleteFunc(all, func(s float64) bool { return bits.TrailingZeros64(mix(math.Float64bits(s))) < level })
	}
	return all
}

// TestCutsOfAnyParts: cuts are a function of the scores, however these lie in parts, one of
// which may alone have more than there may be cuts and another few, and in whatever order
// and over whatever ways the parts come together.
func TestCutsOfAnyParts(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{0, 1, 100, maxCuts, maxCuts + 1, 5*maxCuts + 77, 20 * maxCuts} {
		scores := make([]float64, n)
		for i := range scores {
			switch scores[i] = r.Float64(); r.IntN(50) {
			case 0:
				scores[i] = math.NaN()
			case 1:
				scores[i] = math.Copysign(0, -1)
			case 2, 3:
				scores[i] = float64(r.IntN(100)) / 128
			}
		}
		want := slowCuts(scores)
		for round := range 4 {
			parts := make([]*cuts, 1+r.IntN(6))
			for i := range parts {
				parts[i] = &cuts{}
			}
			for _, s := range scores {
				parts[int(math.Pow(r.Float64(), float64(1+3*round))*float64(len(parts)))].add([]float64{s})
			}
			for len(parts) > 1 {
				i := r.IntN(len(parts) - 1)
				var e canon.E
				parts[i].Encode(&e)
				d := canon.Read(e.B)
				sum := decodeCuts(d)
				if err := d.Done("cuts"); err != nil {
					t.Fatal(err)
				}
				sum.merge(parts[i+1])
				parts = slices.Replace(parts, i, i+2, sum)
			}
			if got := parts[0].list(); !slices.Equal(got, want) {
				t.Fatalf("%d scores, round %d: %d cuts, want %d or others", n, round, len(got), len(want))
			}
		}
	}
}

// TestDamagedCuts: what could not have been written is refused.
func TestDamagedCuts(t *testing.T) {
	for _, c := range []struct {
		level  uint8
		scores []float64
	}{
		{0, []float64{0.5, 0.25}}, {0, []float64{0.5, 0.5}}, {0, []float64{math.NaN()}}, {60, []float64{0.3}}, {255, []float64{0.3}},
		{0, make([]float64, maxCuts+1)},
	} {
		if len(c.scores) > maxCuts {
			for i := range c.scores {
				c.scores[i] = float64(i)
			}
		}
		var e canon.E
		e.U8(c.level)
		e.F64s(c.scores)
		d := canon.Read(e.B)
		decodeCuts(d)
		if d.Done("cuts") == nil {
			t.Errorf("level %d, %d scores: accepted", c.level, len(c.scores))
		}
	}
}

// TestSlots finds scores among cuts, spread or close together, as a search of all cuts does.
func TestSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 2, 3, 1000, maxCuts} {
		for _, scale := range []float64{1, 1e-7} {
			list := make([]float64, n)
			for i := range list {
				list[i] = float64(scale * r.Float64())
			}
			slices.Sort(list)
			list = slices.Compact(list)
			b := newRankBins(&measureTask{coarse: true, cuts: list}, newRankGrid(list))
			scores := []float64{0, 1, math.NaN(), 0.5}
			for range 2000 {
				scores = append(scores, float64(scale*r.Float64()))
				if n > 0 {
					c := list[r.IntN(len(list))]
					scores = append(scores, c, math.Nextafter(c, 0), math.Nextafter(c, 1))
				}
			}
			for _, s := range scores {
				if got, want := b.at(s), slot(list, s); got != want {
					t.Fatalf("%d cuts of up to %v: score %v is in slot %d, not %d", n, scale, s, got, want)
				}
			}
		}
	}
}

// slot is that of a score among cuts; NaN is below all.
func slot(list []float64, s float64) int {
	if s != s {
		return 0
	}
	at, there := slices.BinarySearch(list, s)
	if there {
		return 2*at + 1
	}
	return 2 * at
}
