package window

import (
	"math"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
)

// TestAway: lag and lead by any distance stay within the partition.
func TestAway(t *testing.T) {
	p := newBlock(&batch.Batch{N: 12}, 0, false)
	for _, part := range []span{{0, 1}, {1, 8}, {8, 8}, {8, 12}} {
		p.place(int(part.from), int(part.to), part, chunk{}, nil)
	}
	for _, by := range []int64{0, 1, -1, 2, -3, 6, 7, -7, 100, math.MaxInt64, math.MinInt64, math.MinInt64 + 1} {
		for i, at := range p.away(by) {
			want := int32(-1)
			if part := p.parts[p.part[i]]; by > -100 && by < 100 && int64(i)+by >= part.from && int64(i)+by < part.to {
				want = int32(int64(i) + by)
			}
			if at != want {
				t.Errorf("row %d moved by %d is %d, want %d", i, by, at, want)
			}
		}
	}
}
