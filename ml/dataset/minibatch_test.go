package dataset

import (
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// TestMiniBatchesAreAPartition checks that the steps of an epoch take every tile
// of every leaf once, and that they are of about one size.
func TestMiniBatchesAreAPartition(t *testing.T) {
	for _, rows := range [][]int{{1}, {100}, {32768, 32768}, {20000, 30000, 25000, 31111}, {8, 0, 9, 1}} {
		for _, steps := range []int{1, 2, 7, 100, 5000} {
			size := make([]int, steps)
			for leaf, n := range rows {
				end := 0
				for step := range steps {
					from, to := BatchRows(n, leaf, len(rows), step, steps)
					if from != end || to < from || from%f64.Lanes != 0 {
						t.Fatalf("leaf %d step %d: [%d, %d) after %d", leaf, step, from, to, end)
					}
					size[step] += to - from
					end = to
				}
				if end != f64.Tiles(n)*f64.Lanes {
					t.Fatalf("leaf %d of %d rows ends at %d", leaf, n, end)
				}
			}
			if lo, hi := slices.Min(size), slices.Max(size); hi-lo > 2*f64.Lanes*len(rows) {
				t.Errorf("rows %v, %d steps: mini-batches of %d to %d rows", rows, steps, lo, hi)
			}
		}
	}
}
