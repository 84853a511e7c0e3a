package limit

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlaces compares the connection that is replaced with that of a simple reference, which searches
// a list for the oldest.
func TestPlaces(t *testing.T) {
	type place struct {
		c       int
		working bool
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		u := Places[int]{Each: 1 + rnd.IntN(5)}
		var held []place // in the order in which they entered
		remove := func(c int) {
			held = slices.DeleteFunc(held, func(p place) bool { return p.c == c })
		}
		for step := range 200 {
			c := 1 + rnd.IntN(12)
			remove(c)
			if rnd.IntN(4) == 0 {
				u.Leave(c)
				continue
			}
			working := rnd.IntN(2) == 0
			want := 0
			n := 0
			for _, p := range held {
				if p.working == working {
					if n++; n == 1 {
						want = p.c
					}
				}
			}
			if n < u.Each {
				want = 0
			}
			remove(want)
			held = append(held, place{c, working})
			if got, pushed := u.Enter(c, working); got != want || pushed != (want != 0) {
				t.Fatalf("step %d: %v is pushed out, not %v", step, got, want)
			}
			if len(u.silent)+len(u.working) != len(held) || max(len(u.silent), len(u.working)) > u.Each {
				t.Fatalf("step %d: %d and %d are held, want %d", step, len(u.silent), len(u.working), len(held))
			}
		}
	}
}
