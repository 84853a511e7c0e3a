package op

import (
	"math"
	"testing"
)

// TestKeyFilterBound: what a sort's bound leaves of each order's values, at the ends of their range too.
func TestKeyFilterBound(t *testing.T) {
	f := new(KeyFilter)
	for _, c := range []struct {
		v            int64
		desc, needed bool
		least, most  int64
		null         bool
	}{
		{v: 7, least: math.MinInt64, most: 6},
		{v: 7, needed: true, least: math.MinInt64, most: 7},
		{v: -7, desc: true, least: -6, most: math.MaxInt64},
		{v: -7, desc: true, needed: true, null: true, least: -7, most: math.MaxInt64},
		{v: math.MinInt64, least: math.MinInt64, most: math.MinInt64},
		{v: math.MaxInt64, desc: true, least: math.MaxInt64, most: math.MaxInt64},
	} {
		f.Bound(c.v, c.desc, c.needed, c.null)
		if !f.Any(c.least, c.least) || !f.Any(c.most, c.most) || f.Nulls() != c.null ||
			c.least > math.MinInt64 && f.Any(math.MinInt64, c.least-1) || c.most < math.MaxInt64 && f.Any(c.most+1, math.MaxInt64) {
			t.Errorf("%+v: %+v", c, f.keys.Load())
		}
	}
}
