package kernel

import "testing"

// TestDests: every row of a table part goes to a task between those of the least and the greatest
// hash of the part.
func TestDests(t *testing.T) {
	for _, of := range []int{1, 2, 3, 7, 8, 24, 32, 255, 256} {
		for n := 1; n <= 12; n++ {
			met := map[[2]int]bool{}
			see := func(h uint64) {
				p, d := Dest(h, of), Dest(h, n)
				met[[2]int{p, d}] = true
				if first, last := Dests(p, of, n); d < first || d > last {
					t.Fatalf("hash %x of part %d of %d goes to %d of %d, not to %d to %d", h, p, of, d, n, first, last)
				}
			}
			for _, k := range []int{of, n} {
				for i := range k { // hashes around the bounds of all parts
					at := uint64(i) << 32 / uint64(k)
					for h := max(at, 2) - 2; h < at+3; h++ {
						see(h)
					}
				}
			}
			see(1<<32 - 1)
			for p := range of {
				first, last := Dests(p, of, n)
				for d := first; d <= last; d++ {
					if !met[[2]int{p, d}] {
						t.Fatalf("no hash of part %d of %d goes to %d of %d", p, of, d, n)
					}
				}
			}
		}
	}
}
