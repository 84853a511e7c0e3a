package dataset

import "testing"

// TestLeavesOfWindows: few rows are spread over leaves, but not so that each has
// a sliver of a mini-batch of windows.
func TestLeavesOfWindows(t *testing.T) {
	for _, c := range []struct{ partitions, rows, stride, want int }{
		{1, 1e6, 1, 1},
		{200, 50, 50, 1},
		{200, 50, 1, 16},
		{1000, 50, 25, 8},
		{2000, 50, 50, 8},
		{20000, 50, 50, 32},
	} {
		buckets := make([]int64, Buckets)
		for i := range c.partitions {
			buckets[i*7%Buckets] += int64(c.rows)
		}
		if got := (&Windows{Length: 50, Stride: c.stride}).Leaves(buckets); got != c.want {
			t.Errorf("%d partitions of %d rows, stride %d: %d leaves, not %d", c.partitions, c.rows, c.stride, got, c.want)
		}
	}
}
