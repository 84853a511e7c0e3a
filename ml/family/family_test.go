package family

import (
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// TestCut: the parts of a leaf are its rows in their order, of whole grains but
// for the end, and even few rows are for several threads.
func TestCut(t *testing.T) {
	p := &Plan{Grain: 64}
	for _, from := range []int{0, 8, 1000} {
		for n := f64.Lanes; n < 20000; n += 5 * f64.Lanes {
			rows := Rows{Leaf: 3, Held: true, From: from, To: from + n}
			at := from
			parts := p.Cut([]Rows{rows})
			for i, x := range parts {
				if x.Leaf != 3 || !x.Held || x.From != at || x.To <= x.From || (x.To-x.From)%64 != 0 && i < len(parts)-1 {
					t.Fatalf("%d rows: part %d is %+v", n, i, x)
				}
				at = x.To
			}
			if at != rows.To || len(parts) != min(maxParts, (n+63)/64) {
				t.Fatalf("%d rows in %d parts end at %d", n, len(parts), at)
			}
		}
	}
	if got := (&Plan{}).Cut([]Rows{{To: 1 << 20}}); len(got) != 1 {
		t.Fatal("a family that wants whole leaves has them cut")
	}
}
