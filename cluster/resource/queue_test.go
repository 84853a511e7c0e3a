package resource

import (
	"math/rand"
	"slices"
	"testing"
	"time"
)

// TestQueue: random statements come, go and are forced in, while limits change. Against a list, which is the slow reference:
// those that came first run first, never more than the limit unless forced, and never fewer while one waits.
func TestQueue(t *testing.T) {
	for seed := range int64(200) {
		r := rand.New(rand.NewSource(seed))
		q := &queue{most: -1}
		var waits, runs []uint64 // in the order in which they came
		atOnce, most := int64(0), int64(-1)
		id, forced := uint64(0), 0
		for range 300 {
			var want []answer
			var e event
			switch r.Intn(6) {
			case 0, 1, 2:
				id++
				force := r.Intn(8) == 0
				e = ask{id, force}
				switch {
				case force || len(waits) == 0 && (atOnce == 0 || int64(len(runs)) < atOnce):
					runs = append(runs, id)
					want = append(want, answer{id: id})
				case most >= 0 && int64(len(waits)) >= most:
					want = append(want, answer{id, true})
				default:
					waits = append(waits, id)
				}
				if force {
					forced++
				}
			case 3, 4:
				all := slices.Concat(runs, waits)
				if len(all) == 0 {
					continue
				}
				gone := all[r.Intn(len(all))]
				e = leave{gone}
				not := func(id uint64) bool { return id == gone }
				runs, waits = slices.DeleteFunc(runs, not), slices.DeleteFunc(waits, not)
			case 5:
				atOnce, most = int64(r.Intn(4)), int64(r.Intn(5)-1)
				e = limit{atOnce, most}
			}
			if _, asks := e.(ask); !asks {
				for len(waits) > 0 && (atOnce == 0 || int64(len(runs)) < atOnce) {
					want = append(want, answer{id: waits[0]})
					runs, waits = append(runs, waits[0]), waits[1:]
				}
			}
			if got := q.step(e); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %#v: %v, want %v", seed, e, got, want)
			}
			if len(q.running) != len(runs) || !slices.Equal(q.waiting, waits) {
				t.Fatalf("seed %d: %v run and %v wait, want %v and %v", seed, q.running, q.waiting, runs, waits)
			}
			for i, id := range waits {
				if got := q.place(id); got != i+1 {
					t.Fatalf("seed %d: place %d, want %d", seed, got, i+1)
				}
			}
		}
	}
}

// TestRate: as many as in a second come at once, the others one after the other, and an idle second is not saved up.
func TestRate(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1000, int64(ms)*1e6) }
	r := &rate{}
	for _, c := range []struct {
		at, wait int // milliseconds
		most     int64
		refused  bool
	}{
		{0, 0, -1, false}, {0, 0, -1, false}, {0, 0, -1, false}, {0, 0, -1, false},
		{0, 250, -1, false}, {0, 500, -1, false},
		{0, 0, 2, true}, // it would be the third that waits
		{0, 750, 3, false},
		{900, 100, -1, false},
		{5000, 0, -1, false}, {5000, 0, -1, false}, {5000, 0, -1, false}, {5000, 0, -1, false}, {5000, 0, 0, true}, {5000, 250, 1, false},
	} {
		wait, ok := r.begin(at(c.at), 4, c.most)
		if ok == c.refused || ok && wait != time.Duration(c.wait)*time.Millisecond {
			t.Errorf("at %d: %v %v, want %d %v", c.at, wait, ok, c.wait, !c.refused)
		}
	}
	if wait, ok := r.begin(at(5000), 0, 0); wait != 0 || !ok {
		t.Error("no rate delays")
	}
}
