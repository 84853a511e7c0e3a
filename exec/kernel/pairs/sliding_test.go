package pairs

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// TestRanks: keys that come and go are counted as a sorted list of them counts.
func TestRanks(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var s ranks
	var all []uint64
	for turn := range 20000 {
		k := uint64(r.Intn(3000))
		if r.Intn(50) == 0 {
			k = math.MaxUint64
		}
		grows := turn < 8000 || turn > 16000
		if len(all) == 0 || r.Intn(4) > 0 == grows {
			i, _ := slices.BinarySearch(all, k)
			all = slices.Insert(all, i, k)
			s.insert(k)
		} else {
			i := r.Intn(len(all))
			s.remove(all[i])
			all = slices.Delete(all, i, i+1)
		}
		below, _ := slices.BinarySearch(all, k)
		upTo := below
		for upTo < len(all) && all[upTo] == k {
			upTo++
		}
		if s.below(k) != uint64(below) || s.upTo(k) != uint64(upTo) || s.n != len(all) {
			t.Fatalf("turn %d: %d and %d of %d keys are below %d and up to it, not %d and %d of %d", turn, s.below(k), s.upTo(k), s.n, k, below, upTo, len(all))
		}
	}
	if len(all) < 600 {
		t.Fatalf("%d keys are in one block", len(all))
	}
}

// moves calls move with frames that move over n rows, as if by a random window.
func moves(r *rand.Rand, n int, move func(pops, from, to int)) {
	from, to := 0, 0
	for to < n {
		next := min(n, to+r.Intn([]int{2, 2, 5, 90}[r.Intn(4)]))
		gone := min(r.Intn([]int{2, 2, 5, 90}[r.Intn(4)]), next-from)
		move(min(gone, to-from), from+gone, next)
		from, to = from+gone, next
	}
}

// TestSlidingArea: a frame that moves has the area of its rows, to the bit, whatever the labels.
func TestSlidingArea(t *testing.T) {
	for seed := range int64(60) {
		r := rand.New(rand.NewSource(seed))
		labels, scores := 1+r.Intn(4), 1+r.Intn(40)
		type row struct {
			label uint32
			key   uint64
			skip  bool
		}
		rows := make([]row, 600)
		for i := range rows {
			rows[i] = row{label: uint32(r.Intn(labels)), key: f64.ScoreKey(float64(r.Intn(scores)) - 9), skip: r.Intn(9) == 0}
			if r.Intn(30) == 0 {
				rows[i].key = 0
			}
		}
		var a SlidingArea
		end, some := 0, false
		moves(r, len(rows), func(pops, from, to int) {
			for range pops {
				a.Pop()
			}
			for i := max(end, from); i < to; i++ {
				if rows[i].skip {
					a.Skip()
				} else {
					a.Push(rows[i].label, rows[i].key)
				}
			}
			end = to
			if r.Intn(20) == 0 { // other numbers of the same order
				for i := range rows {
					rows[i].label++
				}
				a.Relabel(func(label uint32) uint32 { return label + 1 })
			}
			sides := map[uint32]*Keys{}
			var seen []uint32
			for _, x := range rows[from:to] {
				if x.skip {
					continue
				}
				if sides[x.label] == nil {
					sides[x.label] = &Keys{Least: x.key, Most: x.key, Chunks: [][]uint64{nil}}
					seen = append(seen, x.label)
				}
				s := sides[x.label]
				s.Chunks[0], s.N = append(s.Chunks[0], x.key), s.N+1
				s.Least, s.Most = min(s.Least, x.key), max(s.Most, x.key)
			}
			want, ok := 0.0, len(seen) == 2
			if ok {
				slices.Sort(seen)
				want, some = RankSum(sides[seen[1]], sides[seen[0]], 1), true
			}
			if got, is := a.Value(func(a, b uint32) bool { return a < b }); got != want || is != ok || a.Rows() != to-from {
				t.Fatalf("seed %d: rows [%d,%d) have the area %v, %v, not %v, %v", seed, from, to, got, is, want, ok)
			}
		})
		if labels == 2 && !some {
			t.Errorf("seed %d: no frame has an area", seed)
		}
	}
}

// TestSlidingConcordance: a frame that moves has the index of its rows, to the bit.
func TestSlidingConcordance(t *testing.T) {
	for seed := range int64(60) {
		r := rand.New(rand.NewSource(seed))
		times, risks, events := 1+r.Intn(30), 1+r.Intn(30), r.Intn(4)
		rows, skip := make([]Survival, 600), make([]bool, 600)
		for i := range rows {
			time, risk := float64(r.Intn(times))-3, float64(r.Intn(risks))-3
			switch r.Intn(20) {
			case 0:
				time = math.NaN()
			case 1:
				risk = math.NaN()
			}
			rows[i], skip[i] = SurvivalOf(time, r.Intn(3) < events, risk), r.Intn(9) == 0
		}
		var c SlidingConcordance
		end := 0
		moves(r, len(rows), func(pops, from, to int) {
			c.Move(pops)
			for range pops {
				c.Pop()
			}
			c.Move(to - max(end, from))
			for i := max(end, from); i < to; i++ {
				if skip[i] {
					c.Skip()
				} else {
					c.Push(rows[i])
				}
			}
			end = to
			var some []Survival
			for i := from; i < to; i++ {
				if !skip[i] {
					some = append(some, rows[i])
				}
			}
			want, ok := Survived(some, false).Value()
			if got, is := c.Value(); got != want || is != ok {
				t.Fatalf("seed %d: rows [%d,%d) have the index %v, %v, not %v, %v", seed, from, to, got, is, want, ok)
			}
		})
	}
}
