package record

import (
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
)

// TestLeavesOfWindows: few rows are divided into several leaves, but not into so many that each has
// only a few windows of a mini-batch.
func TestLeavesOfWindows(t *testing.T) {
	for _, c := range []struct{ partitions, rows, stride, want int }{
		{1, 1e6, 1, 1},
		{200, 50, 50, 1},
		{200, 50, 1, 16},
		{1000, 50, 25, 8},
		{2000, 50, 50, 8},
		{20000, 50, 50, 32},
	} {
		buckets := make([]int64, block.Buckets)
		for i := range c.partitions {
			buckets[i*7%block.Buckets] += int64(c.rows)
		}
		if got := (&Windows{Length: 50, Stride: c.stride}).Leaves(buckets); got != c.want {
			t.Errorf("%d partitions of %d rows, stride %d: %d leaves, not %d", c.partitions, c.rows, c.stride, got, c.want)
		}
	}
}

// TestSplitSharesTheOrder: where all windows are trained on, their rows are not copied. What is
// left out, held out or shared by windows must be the same as if each window had been copied.
func TestSplitSharesTheOrder(t *testing.T) {
	for _, c := range []struct {
		rows    []int // rows of each partition
		w       Windows
		share   float64
		rest    []int // row numbers
		drawn   []int
		windows []int32 // where the windows of the first view begin
		shared  bool
	}{
		{[]int{4, 4}, Windows{Length: 4, Stride: 4}, 0, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil, []int32{0, 4}, true},
		{[]int{4}, Windows{Length: 2, Stride: 1}, 0, []int{0, 1, 2, 3}, nil, []int32{0, 1, 2}, true},
		{[]int{1, 2, 2}, Windows{Length: 2, Stride: 2}, 0, []int{1, 2, 3, 4}, nil, []int32{0, 2}, true},
		{[]int{3, 2}, Windows{Length: 2, Stride: 2}, 0, []int{0, 1, 3, 4}, nil, []int32{0, 2}, false},
		{[]int{4, 2}, Windows{Length: 2, Stride: 2}, 0.5, []int{0, 1}, []int{2, 3, 4, 5}, []int32{0}, true},
		{[]int{2, 1, 2, 3}, Windows{Length: 1, Stride: 2}, 0, []int{0, 2, 3, 5, 7}, nil, []int32{0, 1, 2, 3, 4}, false},
	} {
		v := partitioned(c.rows, &c.w, c.share)
		rest, drawn := v.Split()
		number := func(of *View) (out []int) {
			for _, at := range of.order {
				out = append(out, slices.Index(v.order, at))
			}
			return out
		}
		if got := number(rest); !slices.Equal(got, c.rest) || rest.Rows != len(got) {
			t.Errorf("%v, %+v: rows %v, not %v", c.rows, c.w, got, c.rest)
		}
		if got := number(drawn); !slices.Equal(got, c.drawn) || drawn.Rows != len(got) {
			t.Errorf("%v, %+v: held out %v, not %v", c.rows, c.w, got, c.drawn)
		}
		if !slices.Equal(rest.Windows(), c.windows) {
			t.Errorf("%v, %+v: windows begin at %v, not %v", c.rows, c.w, rest.Windows(), c.windows)
		}
		if at := slices.Index(v.order, rest.order[0]); (&rest.order[0] == &v.order[at]) != c.shared {
			t.Errorf("%v, %+v: whether the order is shared is not %v", c.rows, c.w, c.shared)
		}
		if len(rest.order) < cap(rest.order) && c.shared {
			t.Errorf("%v, %+v: who appends to the view writes over the leaf's order", c.rows, c.w)
		}
	}
}

// partitioned makes a view of partitions with so many rows each; the random number of every
// partition for the holdout is ½.
func partitioned(rows []int, w *Windows, share float64) *View {
	l := &Layout{}
	var region []byte
	v := &View{layout: l, keyed: w, share: share, release: func() {}}
	for i, n := range rows {
		for range n {
			v.order = append(v.order, loc(len(region)/8))
			rec := make([]byte, block.HashBytes)
			rec[0] = byte(i)
			be.PutUint64(rec[8:], 1<<63)
			region = append(region, rec...)
		}
	}
	v.regions, v.Rows = [][]byte{region}, len(v.order)
	return v
}
