package props

import (
	"math"
	"testing"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// TestStampFits: a timestamp plus or minus a constant interval cannot fail where the bounds of its column are far from the end,
// and no time zone can move it.
func TestStampFits(t *testing.T) {
	const year = 365 * datetime.MicrosPerDay
	hour, month, long := datetime.Interval{Micros: 3_600_000_000}, datetime.Interval{Months: -1, Days: 3}, datetime.Interval{Months: 12 * 100_000}
	for _, c := range []struct {
		fn     string
		typ    types.Type
		lo, hi int64
		by     datetime.Interval
		fits   bool
	}{
		{"timestamp_pl_interval(timestamp,interval)", types.Timestamp, 0, 100 * year, hour, true},
		{"timestamp_mi_interval(timestamp,interval)", types.Timestamp, -500 * year, 100 * year, month, true},
		{"timestamp_mi_interval(timestamp,interval)", types.Timestamp, -500 * year, 100 * year, long, false},
		{"timestamptz_pl_interval(timestamptz,interval)", types.Timestamptz, 0, 100 * year, hour, true},
		{"timestamptz_pl_interval(timestamptz,interval)", types.Timestamptz, 0, 100 * year, month, false},
		{"timestamp_pl_interval(timestamp,interval)", types.Timestamp, 0, math.MaxInt64 - year, hour, false},
		{"timestamp_pl_interval(timestamp,interval)", types.Timestamp, 0, datetime.TimestampInf, hour, false},
		{"timestamp_mi_interval(timestamp,interval)", types.Timestamp, -4800 * 365 * datetime.MicrosPerDay, 0, hour, false},
		{"timestamp_mi_interval(timestamp,interval)", types.Timestamp, datetime.TimestampNegInf, 0, hour, false},
	} {
		f := fn.ByID(c.fn)
		if f == nil {
			t.Fatal(c.fn)
		}
		scan := &plan.Scan{Table: 1, Cols: []plan.Column{{ID: 7, Num: 1, Type: c.typ}}}
		e := &expr.Call{Fn: f, Typ: c.typ, Args: []expr.Expr{&expr.Col{ID: 7, Typ: c.typ}, &expr.Const{Val: c.by, Typ: types.Type{OID: types.IntervalOID, Mod: -1}}}}
		st := fixedStats{&TableStats{Cols: map[int16]ColStats{1: {Min: c.lo, Max: c.hi, Bounds: true}}}}
		if got := !Fallible(e, scan, st); got != c.fits {
			t.Errorf("%s of %d to %d by %+v: %v", c.fn, c.lo, c.hi, c.by, got)
		}
		if !Fallible(e, scan, Estimates(st)) {
			t.Errorf("%s fits the rows there will be", c.fn)
		}
	}
}
