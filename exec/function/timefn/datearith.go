package timefn

import (
	"math"
	"time"

	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/datetime"
)

var stampDiffSlow = function.Try2(func(_ *function.Call, a, b int64) (datetime.Interval, error) { return datetime.TimestampDiff(a, b) })

// stampDiff is the interval between two timestamps: in a loop where none is infinite, or so far from 1970 that the
// microseconds between may be too many.
func stampDiff(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	if args[0].Kind != vector.I64 || args[1].Kind != vector.I64 || args[0].One && args[1].One {
		return stampDiffSlow(c, args)
	}
	const half = int64(1) << 61
	x, y := vector.Values[int64](args[0].Spread(c.Arena)), vector.Values[int64](args[1].Spread(c.Arena))
	if len(x) != c.N || len(y) != c.N { // one is NULL
		return stampDiffSlow(c, args)
	}
	out, odd := vector.Alloc[[16]byte](c.Arena, c.N), uint64(0)
	for i := range out {
		a, b := x[i], y[i]
		odd |= uint64(a+half)>>62 | uint64(b+half)>>62
		days := (a - b) / datetime.MicrosPerDay
		datetime.PutInterval(out[i][:], datetime.Interval{Days: int32(days), Micros: a - b - days*datetime.MicrosPerDay})
	}
	if odd != 0 { // perhaps of a row that is skipped
		return stampDiffSlow(c, args)
	}
	return vector.NewFixed(vector.F16, out, c.Valid), nil
}

// zone is the session's time zone, nil for UTC, in which local times are the timestamps themselves.
func zone(c *function.Call) *time.Location {
	if loc := c.Env.Location(); loc != time.UTC {
		return loc
	}
	return nil
}

// stampShift is a timestamp plus or minus an interval that is the same for all rows, in a loop where no row needs slow.
func stampShift(sign int32, zoned bool, slow function.Impl) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		at, by := args[0], args[1]
		if !by.One || by.Kind != vector.F16 || at.One || at.Kind != vector.I64 || c.N < loopRows || zoned && zone(c) != nil {
			return slow(c, args)
		}
		iv := datetime.GetInterval(vector.Values[[16]byte](by)[0][:])
		if iv.Months == math.MinInt32 || iv.Days == math.MinInt32 || iv.Micros == math.MinInt64 {
			return slow(c, args)
		}
		shift := datetime.Shift(datetime.Interval{Months: sign * iv.Months, Days: sign * iv.Days, Micros: int64(sign) * iv.Micros})
		if shift == nil {
			return slow(c, args)
		}
		out := vector.Alloc[int64](c.Arena, c.N)
		for i, v := range vector.Values[int64](at)[:c.N] {
			if c.Skip(i) {
				continue
			}
			var ok bool
			if out[i], ok = shift(v); !ok {
				return slow(c, args)
			}
		}
		return vector.NewFixed(vector.I64, out, c.Valid), nil
	}
}

// dateShift is a date plus days, or minus days where sign is -1: in a loop where all are dates.
func dateShift(sign int64) function.Impl {
	slow := function.Try2(func(_ *function.Call, d, n int64) (int64, error) { return datetime.DateAdd(d, sign*n) })
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		x, y := days(c, args[0]), days(c, args[1])
		if x == nil || y == nil || c.N < loopRows {
			return slow(c, args)
		}
		out, odd := vector.Alloc[int32](c.Arena, c.N), false
		for i := range out {
			d := int64(x[i])
			v := d + sign*int64(y[i])
			odd = odd || datetime.IsInfDate(d) || !datetime.ValidDate(v)
			out[i] = int32(v)
		}
		if odd { // perhaps of a row that is skipped
			return slow(c, args)
		}
		return vector.NewFixed(vector.I32, out, c.Valid), nil
	}
}

var dateDiffSlow = function.Try2(func(_ *function.Call, a, b int64) (int64, error) { return datetime.DateDiff(a, b) })

// dateDiff is the number of days between two dates: in a loop where none is infinite.
func dateDiff(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	x, y := days(c, args[0]), days(c, args[1])
	if x == nil || y == nil || c.N < loopRows {
		return dateDiffSlow(c, args)
	}
	out, odd := vector.Alloc[int32](c.Arena, c.N), false
	for i := range out {
		a, b := int64(x[i]), int64(y[i])
		odd = odd || datetime.IsInfDate(a) || datetime.IsInfDate(b)
		out[i] = int32(a - b)
	}
	if odd {
		return dateDiffSlow(c, args)
	}
	return vector.NewFixed(vector.I32, out, c.Valid), nil
}

// loopRows is the least number of rows for which a loop may compute what it throws away.
const loopRows = 8

// days returns the values of a column of dates or int4, nil for another.
func days(c *function.Call, v *vector.Vec) []int32 {
	if v.Kind != vector.I32 {
		return nil
	}
	if x := compare.SpreadVals[int32](c, v); len(x) == c.N {
		return x
	}
	return nil
}

// age is age(a, b) of timestamps, with zone in the session's: in a loop where none is infinite.
func age(zoned bool) function.Impl {
	slow := function.Try2(func(c *function.Call, a, b int64) (datetime.Interval, error) {
		if zoned {
			loc := c.Env.Location()
			a, b = datetime.ToLocal(a, loc), datetime.ToLocal(b, loc)
		}
		return datetime.Age(a, b)
	})
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		if zoned && zone(c) != nil || args[0].Kind != vector.I64 || args[1].Kind != vector.I64 || args[0].One && args[1].One {
			return slow(c, args)
		}
		x, y := compare.SpreadVals[int64](c, args[0]), compare.SpreadVals[int64](c, args[1])
		if len(x) != c.N || len(y) != c.N {
			return slow(c, args)
		}
		out := vector.Alloc[[16]byte](c.Arena, c.N)
		for i := range out {
			if c.Skip(i) {
				continue
			}
			iv, err := datetime.Age(x[i], y[i])
			if err != nil {
				return nil, err
			}
			datetime.PutInterval(out[i][:], iv)
		}
		return vector.NewFixed(vector.F16, out, c.Valid), nil
	}
}

// addDateArithmetic registers + - * / of dates, times and intervals.
func addDateArithmetic(t function.Table) {
	t.Put("date_pli(date,int4)", function.Always(dateShift(1)))
	t.Put("integer_pl_date(int4,date)", function.Always(function.Try2(func(_ *function.Call, n, d int64) (int64, error) { return datetime.DateAdd(d, n) })))
	t.Put("date_mii(date,int4)", function.Always(dateShift(-1)))
	t.Put("date_mi(date,date)", function.Always(dateDiff))
	dateIv := func(f func(int64, datetime.Interval, *time.Location) (int64, error)) func(*function.Call, int64, datetime.Interval) (int64, error) {
		return func(_ *function.Call, d int64, iv datetime.Interval) (int64, error) {
			ts, err := datetime.DateToTimestamp(d)
			if err != nil {
				return 0, err
			}
			return f(ts, iv, nil)
		}
	}
	t.Put("date_pl_interval(date,interval)", function.Always(function.Try2(dateIv(datetime.TimestampAddInterval))))
	t.Put("date_mi_interval(date,interval)", function.Always(function.Try2(dateIv(datetime.TimestampSubInterval))))
	t.Put("interval_pl_date(interval,date)", function.Always(function.Try2(swapArgs(dateIv(datetime.TimestampAddInterval)))))
	t.Put("datetime_pl(date,time)", function.Always(function.Try2(dateTime)))
	t.Put("timedate_pl(time,date)", function.Always(function.Try2(func(c *function.Call, tm, d int64) (int64, error) { return dateTime(c, d, tm) })))
	t.Put("datetimetz_pl(date,timetz)", function.Always(function.Try2(dateTimetz)))
	t.Put("timetzdate_pl(timetz,date)", function.Always(function.Try2(func(c *function.Call, tm datetime.TimeTZ, d int64) (int64, error) { return dateTimetz(c, d, tm) })))

	add := func(_ *function.Call, v int64, iv datetime.Interval) (int64, error) {
		return datetime.TimestampAddInterval(v, iv, nil)
	}
	sub := func(_ *function.Call, v int64, iv datetime.Interval) (int64, error) {
		return datetime.TimestampSubInterval(v, iv, nil)
	}
	addz := func(c *function.Call, v int64, iv datetime.Interval) (int64, error) {
		return datetime.TimestampAddInterval(v, iv, zone(c))
	}
	subz := func(c *function.Call, v int64, iv datetime.Interval) (int64, error) {
		return datetime.TimestampSubInterval(v, iv, zone(c))
	}
	t.Put("timestamp_pl_interval(timestamp,interval)", function.Always(stampShift(1, false, function.Try2(add))))
	t.Put("timestamp_mi_interval(timestamp,interval)", function.Always(stampShift(-1, false, function.Try2(sub))))
	t.Put("interval_pl_timestamp(interval,timestamp)", function.Always(function.Try2(swapArgs(add))))
	t.Put("timestamptz_pl_interval(timestamptz,interval)", function.Always(stampShift(1, true, function.Try2(addz))))
	t.Put("timestamptz_mi_interval(timestamptz,interval)", function.Always(stampShift(-1, true, function.Try2(subz))))
	t.Put("interval_pl_timestamptz(interval,timestamptz)", function.Always(function.Try2(swapArgs(addz))))
	t.Puts(function.Always(stampDiff), "timestamp_mi(timestamp,timestamp)", "timestamptz_mi(timestamptz,timestamptz)")

	t.Put("time_mi_time(time,time)", function.Always(function.Strict2(func(a, b int64) datetime.Interval { return datetime.Interval{Micros: a - b} })))
	t.Put("time_pl_interval(time,interval)", function.Always(function.Strict2(datetime.TimeAddInterval)))
	t.Put("time_mi_interval(time,interval)", function.Always(function.Strict2(func(v int64, iv datetime.Interval) int64 {
		return datetime.TimeAddInterval(v, datetime.Interval{Micros: -(iv.Micros % 86400e6)})
	})))
	t.Put("interval_pl_time(interval,time)", function.Always(function.Strict2(func(iv datetime.Interval, v int64) int64 { return datetime.TimeAddInterval(v, iv) })))
	shift := func(sign int64) func(datetime.TimeTZ, datetime.Interval) datetime.TimeTZ {
		return func(v datetime.TimeTZ, iv datetime.Interval) datetime.TimeTZ {
			v.Micros = datetime.TimeAddInterval(v.Micros, datetime.Interval{Micros: sign * (iv.Micros % 86400e6)})
			return v
		}
	}
	t.Put("timetz_pl_interval(timetz,interval)", function.Always(function.Strict2(shift(1))))
	t.Put("timetz_mi_interval(timetz,interval)", function.Always(function.Strict2(shift(-1))))
	t.Put("interval_pl_timetz(interval,timetz)", function.Always(function.Strict2(func(iv datetime.Interval, v datetime.TimeTZ) datetime.TimeTZ { return shift(1)(v, iv) })))

	t.Put("interval_pl(interval,interval)", function.Always(function.Try2(func(_ *function.Call, a, b datetime.Interval) (datetime.Interval, error) {
		return datetime.IntervalAdd(a, b)
	})))
	t.Put("interval_mi(interval,interval)", function.Always(function.Try2(func(_ *function.Call, a, b datetime.Interval) (datetime.Interval, error) {
		return datetime.IntervalSub(a, b)
	})))
	t.Put("interval_um(interval)", function.Always(function.Try1(func(_ *function.Call, a datetime.Interval) (datetime.Interval, error) { return datetime.IntervalNeg(a) })))
	t.Put("interval_mul(interval,float8)", function.Always(function.Try2(func(_ *function.Call, a datetime.Interval, f float64) (datetime.Interval, error) {
		return datetime.IntervalMul(a, f)
	})))
	t.Put("mul_d_interval(float8,interval)", function.Always(function.Try2(func(_ *function.Call, f float64, a datetime.Interval) (datetime.Interval, error) {
		return datetime.IntervalMul(a, f)
	})))
	t.Put("interval_div(interval,float8)", function.Always(function.Try2(func(_ *function.Call, a datetime.Interval, f float64) (datetime.Interval, error) {
		return datetime.IntervalDiv(a, f)
	})))
}

// swapArgs exchanges the two arguments of a function.
func swapArgs[A, B, R any](f func(*function.Call, A, B) (R, error)) func(*function.Call, B, A) (R, error) {
	return func(c *function.Call, b B, a A) (R, error) { return f(c, a, b) }
}
