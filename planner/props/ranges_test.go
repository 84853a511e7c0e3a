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
		{"timestamp_pl_interval(timestamp,interval)", types.Timestamp, 0, datetime.MaxTimestamp, hour, false},
		{"timestamp_pl_interval(timestamp,interval)", types.Timestamp, 0, math.MaxInt64 - year, month, true},
		{"timestamp_pl_interval(timestamp,interval)", types.Timestamp, 0, datetime.TimestampInf, hour, false},
		{"timestamp_mi_interval(timestamp,interval)", types.Timestamp, -4800 * 365 * datetime.MicrosPerDay, 0, hour, true},
		{"timestamp_mi_interval(timestamp,interval)", types.Timestamp, datetime.MinTimestamp, 0, hour, false},
		{"timestamp_mi_interval(timestamp,interval)", types.Timestamp, datetime.MinTimestamp + year, 0, datetime.Interval{Months: 13}, false},
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

// TestFloatsFit: a float plus, minus or times a constant cannot fail where neither is near the greatest float, and the product
// not near zero.
func TestFloatsFit(t *testing.T) {
	for _, c := range []struct {
		fn     string
		lo, hi float64
		by     float64
		fits   bool
	}{
		{"float8pl(float8,float8)", -5, 1e10, 0.5, true},
		{"float8mi(float8,float8)", -5, 1e10, 1e200, true},
		{"float8pl(float8,float8)", -5, math.Inf(1), 0.5, false},
		{"float8pl(float8,float8)", -5, math.NaN(), 0.5, false},
		{"float8pl(float8,float8)", -1e308, 5, 0.5, false},
		{"float8mul(float8,float8)", 0, 1e10, 1.1, true},
		{"float8mul(float8,float8)", 0, 1e10, -0.9, true},
		{"float8mul(float8,float8)", 0, 1e10, 0.1, false},
		{"float8mul(float8,float8)", 0, 1e10, 1e300, false},
		{"float8div(float8,float8)", 0, 1e10, 2, false},
	} {
		scan := &plan.Scan{Table: 1, Cols: []plan.Column{{ID: 7, Num: 1, Type: types.Float8}}}
		e := &expr.Call{Fn: fn.ByID(c.fn), Typ: types.Float8, Args: []expr.Expr{&expr.Col{ID: 7, Typ: types.Float8}, &expr.Const{Val: c.by, Typ: types.Float8}}}
		st := fixedStats{&TableStats{Cols: map[int16]ColStats{1: {Min: c.lo, Max: c.hi, Bounds: true}}}}
		if got := !Fallible(e, scan, st); got != c.fits {
			t.Errorf("%s of %g to %g by %g: %v", c.fn, c.lo, c.hi, c.by, got)
		}
		// The same column as a group of its renamed values, and as what is not it.
		named := plan.Column{ID: 8, Type: types.Float8}
		for _, passed := range []bool{true, false} {
			of := expr.Expr(&expr.Col{ID: 7, Typ: types.Float8})
			if !passed {
				of = &expr.Call{Fn: fn.ByID("float8mul(float8,float8)"), Typ: types.Float8, Args: []expr.Expr{of, of}}
			}
			groups := &plan.Aggregate{Input: &plan.Project{Input: scan, Items: []plan.Item{{Col: named, Expr: of}}},
				Groups: []plan.Item{{Col: plan.Column{ID: 9, Type: types.Float8}, Expr: &expr.Col{ID: 8, Typ: types.Float8}}}}
			over := *e
			over.Args = []expr.Expr{&expr.Col{ID: 9, Typ: types.Float8}, e.Args[1]}
			if got := !Fallible(&over, groups, st); got != (c.fits && passed) {
				t.Errorf("%s of %g to %g by %g above groups: %v", c.fn, c.lo, c.hi, c.by, got)
			}
		}
	}
}

// TestDifferenceFits: finite dates and timestamps can be subtracted.
func TestDifferenceFits(t *testing.T) {
	for _, c := range []struct {
		fn   string
		typ  types.Type
		hi   int64
		fits bool
	}{
		{"date_mi(date,date)", types.Date, 9000, true},
		{"date_mi(date,date)", types.Date, math.MaxInt32, false},
		{"timestamp_mi(timestamp,timestamp)", types.Timestamp, 9000, true},
		{"timestamptz_mi(timestamptz,timestamptz)", types.Timestamptz, datetime.TimestampInf, false},
	} {
		scan := &plan.Scan{Table: 1, Cols: []plan.Column{{ID: 7, Num: 1, Type: c.typ}, {ID: 8, Num: 2, Type: c.typ}}}
		e := &expr.Call{Fn: fn.ByID(c.fn), Typ: types.Int4, Args: []expr.Expr{&expr.Col{ID: 7, Typ: c.typ}, &expr.Col{ID: 8, Typ: c.typ}}}
		st := fixedStats{&TableStats{Cols: map[int16]ColStats{1: {Min: int64(0), Max: int64(5), Bounds: true}, 2: {Min: int64(0), Max: c.hi, Bounds: true}}}}
		if got := !Fallible(e, scan, st); got != c.fits {
			t.Errorf("%s of up to %d: %v", c.fn, c.hi, got)
		}
	}
}
