package window

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// TestSweepOfDates: a date whose microseconds do not fit 64 bits is left to the closer look, even where they would seem
// to be few.
func TestSweepOfDates(t *testing.T) {
	for _, c := range []struct {
		days arrow.Date32
		ok   bool
	}{{10, true}, {1_000_000, true}, {213_503_982, false}, {-213_503_982, false}} {
		p := &block{n: 1, parts: []span{{0, 1}}}
		s := sweeping{p: p, arr: batch.FromSlice(arrow.FixedWidthTypes.Date32, []arrow.Date32{c.days}, nil), dst: make([]int64, 1)}
		if ok := s.place(types.Date, true, datetime.Interval{Days: 1}); ok != c.ok {
			t.Errorf("%d days: %v", c.days, ok)
		}
	}
}
