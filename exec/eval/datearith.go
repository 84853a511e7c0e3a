package eval

import (
	"time"

	"github.com/tributarydb/tributary/sql/datetime"
)

// addDateArithmetic registers + - * / of dates, times and intervals.
func addDateArithmetic(t table) {
	t.put("date_pli(date,int4)", always(try2(func(_ *call, d, n int64) (int64, error) { return datetime.DateAdd(d, n) })))
	t.put("integer_pl_date(int4,date)", always(try2(func(_ *call, n, d int64) (int64, error) { return datetime.DateAdd(d, n) })))
	t.put("date_mii(date,int4)", always(try2(func(_ *call, d, n int64) (int64, error) { return datetime.DateAdd(d, -n) })))
	t.put("date_mi(date,date)", always(try2(func(_ *call, a, b int64) (int64, error) { return datetime.DateDiff(a, b) })))
	dateIv := func(f func(int64, datetime.Interval, *time.Location) (int64, error)) func(*call, int64, datetime.Interval) (int64, error) {
		return func(_ *call, d int64, iv datetime.Interval) (int64, error) {
			ts, err := datetime.DateToTimestamp(d)
			if err != nil {
				return 0, err
			}
			return f(ts, iv, nil)
		}
	}
	t.put("date_pl_interval(date,interval)", always(try2(dateIv(datetime.TimestampAddInterval))))
	t.put("date_mi_interval(date,interval)", always(try2(dateIv(datetime.TimestampSubInterval))))
	t.put("interval_pl_date(interval,date)", always(try2(swapArgs(dateIv(datetime.TimestampAddInterval)))))
	t.put("datetime_pl(date,time)", always(try2(dateTime)))
	t.put("timedate_pl(time,date)", always(try2(func(c *call, tm, d int64) (int64, error) { return dateTime(c, d, tm) })))
	t.put("datetimetz_pl(date,timetz)", always(try2(dateTimetz)))
	t.put("timetzdate_pl(timetz,date)", always(try2(func(c *call, tm datetime.TimeTZ, d int64) (int64, error) { return dateTimetz(c, d, tm) })))

	add := func(_ *call, v int64, iv datetime.Interval) (int64, error) {
		return datetime.TimestampAddInterval(v, iv, nil)
	}
	sub := func(_ *call, v int64, iv datetime.Interval) (int64, error) {
		return datetime.TimestampSubInterval(v, iv, nil)
	}
	addz := func(c *call, v int64, iv datetime.Interval) (int64, error) {
		return datetime.TimestampAddInterval(v, iv, c.env.location())
	}
	subz := func(c *call, v int64, iv datetime.Interval) (int64, error) {
		return datetime.TimestampSubInterval(v, iv, c.env.location())
	}
	t.put("timestamp_pl_interval(timestamp,interval)", always(try2(add)))
	t.put("timestamp_mi_interval(timestamp,interval)", always(try2(sub)))
	t.put("interval_pl_timestamp(interval,timestamp)", always(try2(swapArgs(add))))
	t.put("timestamptz_pl_interval(timestamptz,interval)", always(try2(addz)))
	t.put("timestamptz_mi_interval(timestamptz,interval)", always(try2(subz)))
	t.put("interval_pl_timestamptz(interval,timestamptz)", always(try2(swapArgs(addz))))
	diff := always(try2(func(_ *call, a, b int64) (datetime.Interval, error) { return datetime.TimestampDiff(a, b) }))
	t.puts(diff, "timestamp_mi(timestamp,timestamp)", "timestamptz_mi(timestamptz,timestamptz)")

	t.put("time_mi_time(time,time)", always(strict2(func(a, b int64) datetime.Interval { return datetime.Interval{Micros: a - b} })))
	t.put("time_pl_interval(time,interval)", always(strict2(datetime.TimeAddInterval)))
	t.put("time_mi_interval(time,interval)", always(strict2(func(v int64, iv datetime.Interval) int64 {
		return datetime.TimeAddInterval(v, datetime.Interval{Micros: -(iv.Micros % 86400e6)})
	})))
	t.put("interval_pl_time(interval,time)", always(strict2(func(iv datetime.Interval, v int64) int64 { return datetime.TimeAddInterval(v, iv) })))
	shift := func(sign int64) func(datetime.TimeTZ, datetime.Interval) datetime.TimeTZ {
		return func(v datetime.TimeTZ, iv datetime.Interval) datetime.TimeTZ {
			v.Micros = datetime.TimeAddInterval(v.Micros, datetime.Interval{Micros: sign * (iv.Micros % 86400e6)})
			return v
		}
	}
	t.put("timetz_pl_interval(timetz,interval)", always(strict2(shift(1))))
	t.put("timetz_mi_interval(timetz,interval)", always(strict2(shift(-1))))
	t.put("interval_pl_timetz(interval,timetz)", always(strict2(func(iv datetime.Interval, v datetime.TimeTZ) datetime.TimeTZ { return shift(1)(v, iv) })))

	t.put("interval_pl(interval,interval)", always(try2(func(_ *call, a, b datetime.Interval) (datetime.Interval, error) { return datetime.IntervalAdd(a, b) })))
	t.put("interval_mi(interval,interval)", always(try2(func(_ *call, a, b datetime.Interval) (datetime.Interval, error) { return datetime.IntervalSub(a, b) })))
	t.put("interval_um(interval)", always(try1(func(_ *call, a datetime.Interval) (datetime.Interval, error) { return datetime.IntervalNeg(a) })))
	t.put("interval_mul(interval,float8)", always(try2(func(_ *call, a datetime.Interval, f float64) (datetime.Interval, error) {
		return datetime.IntervalMul(a, f)
	})))
	t.put("mul_d_interval(float8,interval)", always(try2(func(_ *call, f float64, a datetime.Interval) (datetime.Interval, error) {
		return datetime.IntervalMul(a, f)
	})))
	t.put("interval_div(interval,float8)", always(try2(func(_ *call, a datetime.Interval, f float64) (datetime.Interval, error) {
		return datetime.IntervalDiv(a, f)
	})))
}

// swapArgs exchanges the two arguments of a function.
func swapArgs[A, B, R any](f func(*call, A, B) (R, error)) func(*call, B, A) (R, error) {
	return func(c *call, b B, a A) (R, error) { return f(c, a, b) }
}
