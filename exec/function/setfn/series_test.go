package setfn

import (
	"context"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// TestSeriesLeft: the number of values that a series has yet to return is right, also where the
// series ends at a bound of int64.
func TestSeriesLeft(t *testing.T) {
	for _, g := range []ints{{at: 1, stop: 10, step: 1}, {at: 1, stop: 10, step: 4}, {at: 10, stop: 1, step: -3}, {at: 5, stop: 5, step: -1}, {at: 5, stop: 4, step: 1}, {at: 4, stop: 5, step: -1},
		{at: math.MaxInt64 - 3, stop: math.MaxInt64, step: 2}, {at: math.MinInt64 + 1, stop: math.MinInt64, step: -1}, {at: math.MinInt64, stop: math.MaxInt64, step: math.MaxInt64}} {
		for _, max := range []int{1, 3, 100} {
			g, b := g, array.NewInt64Builder(memory.DefaultAllocator)
			want := g.left(max)
			n, err := g.Next(context.Background(), max, []array.Builder{b})
			if err != nil {
				t.Fatal(err)
			}
			if n != min(want, max) {
				t.Errorf("%+v: %d of %d, %d were announced", g, n, max, want)
			}
		}
	}
}
