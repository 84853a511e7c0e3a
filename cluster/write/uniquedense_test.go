package write

import (
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// TestApart: values are distinct if they ascend strictly within each segment and the segments' ranges
// do not overlap. Two ranges that share an end have a value in common.
func TestApart(t *testing.T) {
	seg := func(lo, hi types.Datum, unique bool) *catalog.Segment {
		return &catalog.Segment{Zones: []catalog.Zone{{Column: 1}, {Column: 2, Min: lo, Max: hi, Unique: unique}}}
	}
	for name, c := range map[string]struct {
		segs [][]*catalog.Segment
		want bool
	}{
		"one":         {[][]*catalog.Segment{{seg(int64(1), int64(9), true)}}, true},
		"in order":    {[][]*catalog.Segment{{seg(int64(1), int64(9), true), seg(int64(10), int64(20), true)}}, true},
		"backwards":   {[][]*catalog.Segment{{seg(int64(10), int64(20), true)}, {seg(int64(-5), int64(9), true)}}, true},
		"one end":     {[][]*catalog.Segment{{seg(int64(9), int64(20), true)}, {seg(int64(1), int64(9), true)}}, false},
		"within":      {[][]*catalog.Segment{{seg(int64(1), int64(90), true), seg(int64(100), int64(120), true), seg(int64(5), int64(6), true)}}, false},
		"not unique":  {[][]*catalog.Segment{{seg(int64(1), int64(9), true), seg(int64(10), int64(20), false)}}, false},
		"no bounds":   {[][]*catalog.Segment{{seg(nil, nil, true)}}, false},
		"other types": {[][]*catalog.Segment{{seg("a", "b", true)}}, false},
	} {
		if got := disjointAscending(&catalog.Manifest{Partitions: c.segs}, 2); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if disjointAscending(&catalog.Manifest{Partitions: [][]*catalog.Segment{{seg(int64(1), int64(2), true)}}}, 3) {
		t.Error("a column without a zone")
	}
}
