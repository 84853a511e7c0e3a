package metric

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// slowCuts computes the cut points from all scores at once.
func slowCuts(scores []float64) []float64 {
	all := slices.Clone(scores)
	for i, s := range all {
		all[i] = s + 0
	}
	all = slices.DeleteFunc(all, math.IsNaN)
	slices.Sort(all)
	all = slices.Compact(all)
	for level := 1; len(all) > MaxCuts; level++ {
		all = slices.DeleteFunc(all, func(s float64) bool { return bits.TrailingZeros64(mix(math.Float64bits(s))) < level })
	}
	return all
}

// TestCutsOfNoScores: a part without positive rows, as where rows lie by their label, has no cuts,
// and takes in or goes into those of parts that have more scores than there may be cuts.
func TestCutsOfNoScores(t *testing.T) {
	scores := make([]float64, 3*MaxCuts)
	for i := range scores {
		scores[i] = float64(i)
	}
	want := slowCuts(scores)
	for name, merge := range map[string]func(none, some *Cuts) *Cuts{
		"left":  func(none, some *Cuts) *Cuts { none.Merge(some); return none },
		"right": func(none, some *Cuts) *Cuts { some.Merge(none); return some },
	} {
		none, some := &Cuts{}, &Cuts{}
		none.Add([]float64{math.NaN()})
		some.Add(scores)
		if got := merge(none, some).List(); !slices.Equal(got, want) {
			t.Errorf("nothing on the %s: %d cuts, want %d", name, len(got), len(want))
		}
	}
}

// TestCutsOfAnyParts: the cut points depend on the scores alone, however these are divided into
// parts and in whatever order parts are merged; one part may have more scores than there may be cut
// points, another few.
func TestCutsOfAnyParts(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{0, 1, 100, MaxCuts, MaxCuts + 1, 5*MaxCuts + 77, 20 * MaxCuts} {
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
			parts := make([]*Cuts, 1+r.IntN(6))
			for i := range parts {
				parts[i] = &Cuts{}
			}
			for _, s := range scores {
				parts[int(math.Pow(r.Float64(), float64(1+3*round))*float64(len(parts)))].Add([]float64{s})
			}
			for len(parts) > 1 {
				i := r.IntN(len(parts) - 1)
				sum := &Cuts{}
				if !sum.Decode(parts[i].Append(nil)) {
					t.Fatal("cuts do not decode")
				}
				sum.Merge(parts[i+1])
				parts = slices.Replace(parts, i, i+2, sum)
			}
			if got := parts[0].List(); !slices.Equal(got, want) {
				t.Fatalf("%d scores, round %d: %d cuts, want %d or others", n, round, len(got), len(want))
			}
		}
	}
}

// TestDamagedCuts: bytes that no encoder writes are refused.
func TestDamagedCuts(t *testing.T) {
	for _, c := range []struct {
		level  uint8
		scores []float64
	}{
		{0, []float64{0.5, 0.25}}, {0, []float64{0.5, 0.5}}, {0, []float64{math.NaN()}}, {60, []float64{0.3}}, {255, []float64{0.3}},
		{0, make([]float64, MaxCuts+1)},
	} {
		if len(c.scores) > MaxCuts {
			for i := range c.scores {
				c.scores[i] = float64(i)
			}
		}
		b := []byte{c.level}
		for _, s := range c.scores {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s))
		}
		if new(Cuts).Decode(b) || new(Cuts).Decode(b[:len(b)-1]) {
			t.Errorf("level %d, %d scores: accepted", c.level, len(c.scores))
		}
	}
}

// TestSlots finds the interval of each score among the cut points, far apart or close together, as
// a search of all of them does.
func TestSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 2, 3, 1000, MaxCuts} {
		for _, scale := range []float64{1, 1e-7} {
			list := make([]float64, n)
			for i := range list {
				list[i] = float64(scale * r.Float64())
			}
			slices.Sort(list)
			list = slices.Compact(list)
			b := NewBins(list, NewGrid(list))
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

// slot is the interval of a score among the cut points; NaN is below all.
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

// TestCoarseRankingOfRareEvents compares the area under the ROC curve from binned scores with the
// exact one, for events from common to very rare, whose scores are all close to 0.
func TestCoarseRankingOfRareEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, rate := range []float64{0.5, 0.05, 1e-3, 1e-5, 1e-6} {
		const rows, leaves = 400000, 7
		p, pos := make([]float64, rows), make([]bool, rows)
		var exact Ranking
		positives := int64(0)
		for i := range p {
			z := r.NormFloat64()
			p[i] = math.Min(1, rate*math.Exp(z))
			pos[i] = r.Float64() < p[i]
			if i < 3 {
				pos[i] = true
			}
			exact.Add(pos[i], p[i], 1)
			if pos[i] {
				positives++
			}
		}
		merged := &Cuts{}
		for l := range leaves {
			part := &Cuts{}
			for i := l; i < rows; i += leaves {
				if pos[i] {
					part.Add(p[i : i+1])
				}
			}
			merged.Merge(part)
		}
		list := merged.List()
		var coarse Ranking
		for l := range leaves {
			b := NewBins(list, NewGrid(list))
			for i := l; i < rows; i += leaves {
				truth := 0
				if pos[i] {
					truth = 1
				}
				b.Add(truth, p[i], 1)
			}
			coarse.Merge(b.Ranking())
		}
		want, _ := exact.AUC()
		got, _ := coarse.AUC()
		limit := 1e-6
		if positives <= MaxCuts {
			limit = 1e-12
		}
		if math.Abs(got-want) > limit {
			t.Errorf("rate %v, %d positive rows: AUC %v, exact %v", rate, positives, got, want)
		}
	}
}
