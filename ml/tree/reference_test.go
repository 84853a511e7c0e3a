package tree

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// slow is a simple reference over the same bins, with gradients in floating point, that tries every
// split of every node.
type slow struct {
	t     *testing.T
	bins  [][]int // by row and column
	g, h  []float64
	l1    float64
	l2    float64
	least float64
	depth int
}

func (s *slow) sums(rows []int) (g, h float64) {
	for _, r := range rows {
		g += s.g[r]
		h += s.h[r]
	}
	return g, h
}

func (s *slow) score(rows []int) float64 {
	g, h := s.sums(rows)
	t := math.Max(math.Abs(g)-s.l1, 0)
	return t * t / (h + s.l2)
}

func (s *slow) gain(rows []int, goes func(bin int) bool, col int) float64 {
	var l, r []int
	for _, i := range rows {
		if goes(s.bins[i][col]) {
			l = append(l, i)
		} else {
			r = append(r, i)
		}
	}
	_, hl := s.sums(l)
	_, hr := s.sums(r)
	if len(l) == 0 || len(r) == 0 || hl < s.least || hr < s.least {
		return 0
	}
	return (s.score(l) + s.score(r) - s.score(rows)) / 2
}

// best tries all splits: of a numeric column all bounds, with missing values on either side; of a
// categorical one all subsets.
func (s *slow) best(rows []int, b *bins) float64 {
	best := 0.0
	for j := range b.cols {
		c := &b.cols[j]
		if c.category {
			for sub := range 1 << c.n {
				for _, miss := range []bool{false, true} {
					best = max(best, s.gain(rows, func(bin int) bool { return bin < 0 && miss || bin >= 0 && sub>>bin&1 != 0 }, j))
				}
			}
			continue
		}
		for thr := range c.n {
			for _, miss := range []bool{false, true} {
				best = max(best, s.gain(rows, func(bin int) bool { return bin < 0 && miss || bin >= 0 && bin <= thr }, j))
			}
		}
	}
	return best
}

// check compares the splits of a tree, from a node down, with the best ones for its rows.
func (s *slow) check(b *bins, t *tree, at int32, rows []int, depth int, scores []float64, rate float64) {
	n := &t.nodes[at]
	best := s.best(rows, b)
	_, cover := s.sums(rows)
	if math.Abs(cover-n.cover) > 1e-3*(1+cover) {
		s.t.Fatalf("cover %v, plainly %v", n.cover, cover)
	}
	if n.col == leaf {
		if depth < s.depth && cover >= 2*s.least && best > 1e-3*(1+s.score(rows)) {
			s.t.Fatalf("depth %d: a leaf, but a split gains %v", depth, best)
		}
		g, h := s.sums(rows)
		want := -rate * math.Copysign(math.Max(math.Abs(g)-s.l1, 0), g) / (h + s.l2)
		if math.Abs(want-t.values[at]) > 1e-3*(0.1+math.Abs(want)) {
			s.t.Fatalf("a leaf of value %v, plainly %v", t.values[at], want)
		}
		for _, r := range rows {
			scores[r] += t.values[at]
		}
		return
	}
	goes := func(bin int) bool {
		if bin < 0 {
			bin = b.cols[n.col].miss()
		}
		return n.set.has(bin)
	}
	if ours := s.gain(rows, goes, int(n.col)); math.Abs(ours-best) > 1e-3*(0.1+best) || math.Abs(ours-n.gain) > 1e-3*(0.1+ours) {
		s.t.Fatalf("depth %d: a split said to gain %v gains %v, the best one %v", depth, n.gain, ours, best)
	}
	var l, r []int
	for _, i := range rows {
		if goes(s.bins[i][n.col]) {
			l = append(l, i)
		} else {
			r = append(r, i)
		}
	}
	s.check(b, t, n.left, l, depth+1, scores, rate)
	s.check(b, t, n.left+1, r, depth+1, scores, rate)
}

// TestSplitsAgainstTryingAll compares trees, split by split, with the reference that tries all
// splits.
func TestSplitsAgainstTryingAll(t *testing.T) {
	r := rand.New(rand.NewPCG(40, 1))
	for _, c := range []struct {
		name    string
		classes int
		cats    []int
		weights bool
		l1, l2  float64
		least   float64
	}{
		{"squared", 0, nil, false, 0, 1, 1},
		{"squared, weights, penalties", 0, nil, true, 2, 3, 5},
		{"squared, categories", 0, []int{3}, false, 0, 0, 4},
		{"logistic", 2, nil, false, 0, 1, 1},
		{"logistic, weights", 2, nil, true, 0.5, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := someRows(uint64(41+c.classes), 250, 4, c.cats, c.classes)
			if c.weights {
				weigh(d, func(int) float64 { return float64(1 + r.IntN(3)) })
			}
			const depth, rate = 4, 0.5
			got, err := familytest.Train(t, boosted, d, familytest.Spread{Nodes: 2, Threads: 1, LeafRows: 64},
				"n_estimators", 3, "max_depth", depth, "learning_rate", rate, "l1", c.l1, "l2", c.l2, "min_child_weight", c.least)
			if err != nil {
				t.Fatal(err)
			}
			p := newProblem(got.Setup, false)
			sk := newSketch(p.dense, len(p.codeSlots), sum1(p.codeSlots))
			all := d.All(false)
			if err := sk.add(p, all); err != nil {
				t.Fatal(err)
			}
			b := newGround(p, sk, nil, nil).bins
			raw := make([]uint8, len(d.X)*len(b.order))
			newBinner(b).fill(raw, len(d.X), all, 0, len(d.X))
			s := &slow{t: t, l1: c.l1, l2: c.l2, least: c.least, depth: depth, g: make([]float64, len(d.X)), h: make([]float64, len(d.X))}
			var rows []int
			for i := range d.X {
				rows = append(rows, i)
				own := make([]int, len(b.cols))
				for j := range b.cols {
					c := &b.cols[j]
					if own[j] = int(c.of(raw, len(d.X))[i*c.width]); own[j] == c.miss() {
						own[j] = -1
					}
				}
				s.bins = append(s.bins, own)
			}
			// The trees of the driver use these bins; those of the model use only the bins that
			// splits need.
			trees := trainTrees(t, d, "n_estimators", 3, "max_depth", depth, "learning_rate", rate, "l1", c.l1, "l2", c.l2, "min_child_weight", c.least)
			scores := make([]float64, len(d.X))
			for i := range scores {
				scores[i] = got.Predictor.(*model).base[0]
			}
			for k := range trees {
				for i, y := range d.Y {
					w := 1.0
					if d.W != nil {
						w = d.W[i]
					}
					if c.classes == 2 {
						q := 1 / (1 + math.Exp(-scores[i]))
						s.g[i], s.h[i] = w*(q-y), w*q*(1-q)
					} else {
						s.g[i], s.h[i] = w*(scores[i]-y), w
					}
				}
				s.check(b, &trees[k], 0, rows, 0, scores, rate)
			}
		})
	}
}
