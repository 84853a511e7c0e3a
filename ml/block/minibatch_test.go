package block

import (
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// TestMiniBatchesAreAPartition: the steps of an epoch use every tile of every leaf once, are of
// equal size however large leaves are, and read few leaves each.
func TestMiniBatchesAreAPartition(t *testing.T) {
	for _, rows := range [][]int64{{1}, {100}, {32768, 32768}, {20000, 0, 130000, 25000, 31111}, {8, 0, 9, 1}} {
		for _, steps := range []int{1, 2, 7, 100, 5000} {
			size, touched := make([]int, steps), 0
			end := make([]int, len(rows))
			for step := range steps {
				for _, s := range BatchSlices(rows, f64.Lanes, step, steps) {
					if s.From != end[s.Leaf] || s.To <= s.From || s.From%f64.Lanes != 0 {
						t.Fatalf("step %d: %+v after %d", step, s, end[s.Leaf])
					}
					end[s.Leaf] = s.To
					size[step] += s.To - s.From
					touched++
				}
			}
			for leaf, n := range rows {
				if end[leaf] != f64.Tiles(int(n))*f64.Lanes {
					t.Fatalf("leaf %d of %d rows ends at %d", leaf, n, end[leaf])
				}
			}
			if lo, hi := slices.Min(size), slices.Max(size); hi-lo > f64.Lanes {
				t.Errorf("rows %v, %d steps: mini-batches of %d to %d rows", rows, steps, lo, hi)
			}
			if touched >= steps+len(rows) {
				t.Errorf("rows %v, %d steps touch %d leaves", rows, steps, touched)
			}
		}
	}
}
