package tree

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDrops: a round leaves out its share of the rounds before it, at most as many as are allowed, the same
// each time, and those of more weight more often.
func TestDrops(t *testing.T) {
	weights := slices.Repeat([]float64{0.25, 1}, 100)
	for _, c := range []struct {
		d    dart
		want float64 // rounds, in the mean
	}{
		{dart{rate: 0.1, uniform: true}, 20}, {dart{rate: 0.1}, 20}, {dart{rate: 0.1, skip: 0.5, uniform: true}, 10}, {dart{rate: 0.5, most: 7, uniform: true}, 6.5}, {dart{rate: 1, skip: 1}, 0},
	} {
		all, light := 0.0, 0.0
		for seed := range uint64(400) {
			got := c.d.drops(seed, len(weights), weights)
			if !slices.Equal(got, c.d.drops(seed, len(weights), weights)) || !slices.IsSorted(got) || c.d.most > 0 && len(got) > c.d.most {
				t.Fatalf("%+v: %v", c.d, got)
			}
			for _, i := range got {
				if all++; weights[i] < 1 {
					light++
				}
			}
		}
		if all /= 400; math.Abs(all-c.want) > 1.2 {
			t.Errorf("%+v leaves out %.2f rounds, want %.2f", c.d, all, c.want)
		}
		if want := map[bool]float64{true: 0.5, false: 0.2}[c.d.uniform]; all > 0 && math.Abs(light/400/all-want) > 0.05 {
			t.Errorf("%+v: %.2f of the rounds are of little weight, want %.2f", c.d, light/400/all, want)
		}
	}
	if got := (&dart{rate: 1}).drops(1, 0, nil); got != nil {
		t.Errorf("the first round leaves out %v", got)
	}
}

// TestShares: what a round's trees and those left out count, by the papers' words.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		normalize      string
		k              int
		grown, dropped float64
	}{
		{"lightgbm", 3, 0.25, 0.75}, {"tree", 3, 1 / 3.5, 3 / 3.5}, {"forest", 3, 1 / 1.5, 1 / 1.5}, {"tree", 0, 1, 1},
	} {
		d := dart{normalize: c.normalize}
		if g, l := d.shares(c.k, 0.5); g != c.grown || l != c.dropped {
			t.Errorf("%+v: %v and %v", c, g, l)
		}
	}
}

// TestSumsOfDroppedTreesAreExact: a score from which trees were taken and to which they were added again, smaller, is
// the sum of the trees as they are, to the bit.
func TestSumsOfDroppedTreesAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, base := range []float64{0.1, -12345.678, 1e9 / 3} {
		d := &driver{p: &problem{params: &params{dart: &dart{normalize: "tree"}}, outputs: 1}, base: []float64{base}, spread: 64}
		unit := d.grid()
		score := onGrid(base, unit)
		for range 300 {
			d.left = nil
			for i := range d.trees {
				if r.IntN(4) == 0 {
					d.left = append(d.left, i)
				}
			}
			for _, i := range d.left { // as a round's gradients see it
				score += d.trees[i].times(-1).values[0]
			}
			for _, i := range d.left {
				score -= d.trees[i].times(-1).values[0]
			}
			grown, dropped := d.p.dart.shares(len(d.left), 0.1)
			d.normalized(dropped)
			for _, c := range d.changes {
				score += c.values[0]
			}
			v := onGrid(float64(r.NormFloat64()*grown), unit)
			score += v
			d.trees, d.weights = append(d.trees, tree{values: []float64{v}}), append(d.weights, grown)
		}
		want := onGrid(base, unit)
		for _, tr := range d.trees {
			want += tr.values[0]
		}
		if score != want {
			t.Errorf("from %v: %v, and anew %v", base, score, want)
		}
	}
}
