package search

import (
	"math"
	"slices"
	"testing"
)

// run runs a search on a function to its end, and returns its trials in order.
func run(s Search, loss func(t Trial) float64) (all []Trial, losses []float64) {
	for {
		batch := s.Next()
		if len(batch) == 0 {
			return all, losses
		}
		var told []float64
		for _, t := range batch {
			told = append(told, loss(t))
		}
		s.Tell(told)
		all, losses = append(all, batch...), append(losses, told...)
	}
}

// TestRangesAreEven draws many points: each range is filled evenly, on its own scale, with integers kept.
func TestRangesAreEven(t *testing.T) {
	space := Space{{Lo: 2, Hi: 10}, {Lo: 0.001, Hi: 10, Log: true}, {Lo: 1, Hi: 4, Integer: true}, {Lo: 1, Hi: 1000, Log: true, Integer: true}, {Candidates: 5}, {Lo: 3, Hi: 3}}
	r := source(7)
	const n = 40000
	var linear, log [4]int
	integers, candidates := map[float64]int{}, map[float64]int{}
	tens := 0
	for range n {
		p := space.draw(r)
		linear[min(int((p[0]-2)/2), 3)]++
		log[min(int(math.Log10(p[1]/0.001)), 3)]++
		integers[p[2]]++
		candidates[p[4]]++
		if p[0] < 2 || p[0] > 10 || p[1] < 0.001 || p[1] > 10 || p[3] < 1 || p[3] > 1000 || p[3] != math.Trunc(p[3]) || p[5] != 3 {
			t.Fatalf("%v lies outside", p)
		}
		if p[3] >= 10 && p[3] < 100 {
			tens++
		}
	}
	even := func(what string, got, of int) {
		t.Helper()
		if want := float64(n) / float64(of); math.Abs(float64(got)-want) > 5*math.Sqrt(want) {
			t.Errorf("%s: %d of %d", what, got, n)
		}
	}
	for i := range 4 {
		even("a quarter", linear[i], 4)
		even("a power of ten", log[i], 4)
		even("an integer", integers[float64(i+1)], 4)
	}
	for i := range 5 {
		even("a candidate", candidates[float64(i)], 5)
	}
	share := math.Log(99.5/9.5) / math.Log(1000.5/0.5)
	if want := share * n; math.Abs(float64(tens)-want) > 5*math.Sqrt(want) {
		t.Errorf("%d integers of two digits, not %v", tens, want)
	}
}

// TestNoPointTwice: random points of a finite space are all different, and all there are where as many
// are wanted.
func TestNoPointTwice(t *testing.T) {
	space := Space{{Candidates: 3}, {Lo: 1, Hi: 4, Integer: true}}
	for _, a := range []string{Random, TPE} {
		all, _ := run(New(Config{Algorithm: a, Space: space, Trials: 100}), func(t Trial) float64 { return t.Point[1] })
		got := seen{}
		for _, x := range all {
			if !got.add(x.Point) {
				t.Errorf("%s: %v is tried twice", a, x.Point)
			}
		}
		if len(all) != 12 {
			t.Errorf("%s: %d trials of 12 points", a, len(all))
		}
	}
}

func TestGrid(t *testing.T) {
	space := Space{{Candidates: 2}, {Lo: 1, Hi: 100, Log: true}, {Lo: 1, Hi: 2, Integer: true}}
	all, _ := run(New(Config{Algorithm: Grid, Space: space, Trials: 20}), func(Trial) float64 { return 0 })
	var got []Point
	for _, x := range all {
		got = append(got, x.Point)
	}
	want := []Point{{0, 1, 1}, {0, 1, 2}, {0, 10, 1}, {0, 10, 2}, {0, 100, 1}, {0, 100, 2}, {1, 1, 1}, {1, 1, 2}, {1, 10, 1}, {1, 10, 2}, {1, 100, 1}, {1, 100, 2}}
	if !slices.EqualFunc(got, want, slices.Equal[Point]) {
		t.Errorf("the grid is %v", got)
	}
}

// TestHalvingPromotesTheBest compares each rung with a plain sort of what was told, with equal losses
// and failures among them.
func TestHalvingPromotesTheBest(t *testing.T) {
	space := Space{{Lo: 0, Hi: 1}}
	loss := func(x Trial) float64 {
		switch {
		case x.Number%7 == 0:
			return math.NaN()
		case x.Number%5 == 0:
			return 0.5
		}
		return math.Abs(x.Point[0]-0.3) + x.Share*float64(x.Number%3)/100
	}
	s := New(Config{Algorithm: Halving, Space: space, Trials: 30, Iterations: 100, Seed: 3})
	var sizes []int
	var shares []float64
	batch := s.Next()
	for len(batch) > 0 {
		sizes, shares = append(sizes, len(batch)), append(shares, batch[0].Share)
		var losses []float64
		for _, x := range batch {
			losses = append(losses, loss(x))
		}
		s.Tell(losses)
		next := s.Next()
		for _, x := range next { // nobody who stays is worse than one who goes
			for _, y := range batch {
				stays := slices.ContainsFunc(next, func(z Trial) bool { return z.Number == y.Number })
				if a, b := loss(batch[slices.IndexFunc(batch, func(z Trial) bool { return z.Number == x.Number })]), loss(y); !stays && (b < a || b == a && y.Number < x.Number) {
					t.Errorf("trial %d with %v stays, %d with %v goes", x.Number, a, y.Number, b)
				}
			}
		}
		batch = next
	}
	if !slices.Equal(sizes, []int{30, 10, 3, 1}) || math.Abs(shares[0]-1.0/27) > 1e-15 || shares[3] != 1 {
		t.Errorf("rungs of %v trials with shares %v", sizes, shares)
	}
	if all, _ := run(New(Config{Algorithm: Halving, Space: space, Trials: 9, Iterations: 30}), func(Trial) float64 { return math.NaN() }); len(all) != 9 {
		t.Errorf("%d trials although all failed", len(all))
	}
}

// TestTPEFindsMore: on functions with a narrow optimum, of numbers and of candidates, TPE comes closer
// than as many random trials, over many seeds.
func TestTPEFindsMore(t *testing.T) {
	space := Space{{Lo: -5, Hi: 5}, {Lo: 1e-4, Hi: 1, Log: true}, {Candidates: 6}}
	loss := func(x Trial) float64 {
		p := x.Point
		c := 1.0
		if p[2] == 4 {
			c = 0
		}
		return (p[0]-2)*(p[0]-2) + math.Pow(math.Log10(p[1])+2, 2) + c
	}
	best := func(a string, seed uint64) float64 {
		_, l := run(New(Config{Algorithm: a, Space: space, Trials: 60, Parallel: 2, Seed: seed}), loss)
		return slices.Min(l)
	}
	var wins int
	var sums [2]float64
	for seed := range uint64(40) {
		a, b := best(TPE, seed), best(Random, seed)
		sums[0], sums[1] = sums[0]+a, sums[1]+b
		if a < b {
			wins++
		}
	}
	if wins < 27 || sums[0] > sums[1]*0.75 {
		t.Errorf("TPE is better %d times of 40: %v to %v", wins, sums[0]/40, sums[1]/40)
	}
}

// TestTPEIsTheReference compares the choices of TPE with the article's formula, computed plainly: the
// densities of good and bad trials, and the largest ratio among the draws.
func TestTPEIsTheReference(t *testing.T) {
	d := Dim{Lo: 0, Hi: 1}
	points := []Point{{0.2}, {0.25}, {0.8}}
	m := d.density(points, 0)
	// Each part reaches to its farther neighbour, the prior's mean among them; the ends are 0 and 1.
	want := []float64{1, 0.2, 0.25, 0.3}
	for i, s := range m.sigmas {
		if math.Abs(s-want[i]) > 1e-12 {
			t.Errorf("part %d has the deviation %v, not %v", i, s, want[i])
		}
	}
	var mass float64
	const steps = 20000
	for i := range steps {
		mass += m.at((float64(i)+0.5)/steps) / steps
	}
	if math.Abs(mass-1) > 1e-6 {
		t.Errorf("the density's mass is %v", mass)
	}
	c := Dim{Candidates: 3}.density([]Point{{1}, {1}, {2}}, 0)
	for i, w := range []float64{1.0 / 12, 7.0 / 12, 4.0 / 12} {
		if math.Abs(c.weights[i]-w) > 1e-12 {
			t.Errorf("candidate %d weighs %v, not %v", i, c.weights[i], w)
		}
	}
	// Draws follow the density.
	r := source(1)
	var below int
	const n = 20000
	for range n {
		if m.draw(r) < 0.5 {
			below++
		}
	}
	var half float64
	for i := range steps / 2 {
		half += m.at((float64(i)+0.5)/steps) / steps
	}
	// A draw that falls outside is repeated within its part, so each part keeps its weight: as at says.
	if math.Abs(float64(below)/n-half) > 0.02 {
		t.Errorf("%v of the draws are below the middle, not %v", float64(below)/n, half)
	}
}

// TestSearchesRepeat: the same losses give the same trials, in another process of the same search too.
func TestSearchesRepeat(t *testing.T) {
	space := Space{{Lo: 1, Hi: 9, Integer: true}, {Lo: 0.01, Hi: 1, Log: true}, {Candidates: 4}}
	loss := func(x Trial) float64 {
		if x.Number%4 == 0 {
			return math.NaN()
		}
		return x.Point[0] * x.Point[1]
	}
	for _, a := range []string{Random, Grid, Halving, TPE} {
		c := Config{Algorithm: a, Space: space, Trials: 40, Parallel: 3, Seed: 9, Iterations: 50}
		one, _ := run(New(c), loss)
		two, _ := run(New(c), loss)
		if len(one) != len(two) {
			t.Fatalf("%s: %d and %d trials", a, len(one), len(two))
		}
		for i := range one {
			if one[i].Number != two[i].Number || !slices.Equal(one[i].Point, two[i].Point) {
				t.Errorf("%s: trial %v and %v", a, one[i], two[i])
			}
		}
	}
}
