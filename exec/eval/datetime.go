package eval

import (
	"time"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// addDatetime registers the functions of dates, times and intervals; their
// operators are in datearith.go.
func addDatetime(t table) {
	now := always(try0(func(c *call) (int64, error) { return c.env.types().Now.UnixMicro(), nil }))
	t.puts(now, "now()", "transaction_timestamp()")
	t.put("statement_timestamp()", always(try0(func(c *call) (int64, error) {
		if h := c.env.Host; h != nil && !h.Session().StatementStart.IsZero() {
			return h.Session().StatementStart.UnixMicro(), nil
		}
		return c.env.types().Now.UnixMicro(), nil
	})))
	t.put("clock_timestamp()", always(try0(func(*call) (int64, error) { return time.Now().UnixMicro(), nil })))
	t.put("timeofday()", always(try0(func(c *call) (string, error) {
		return time.Now().In(c.env.location()).Format("Mon Jan 02 15:04:05.000000 2006 MST"), nil
	})))
	for _, ty := range []string{"date", "time", "timetz", "timestamp", "timestamptz", "interval"} {
		t.put("extract(text,"+ty+")", extractMaker(ty, datums(func(c *call, a []types.Datum) (types.Datum, error) {
			v, ok, err := types.Extract(a[0].(string), c.types[1], a[1], c.env.location())
			if err != nil || !ok {
				return nil, err
			}
			return v, nil
		})))
		t.put("date_part(text,"+ty+")", always(datums(func(c *call, a []types.Datum) (types.Datum, error) {
			at := c.types[1]
			d := a[1]
			if at.OID == types.DateOID {
				// date_part(text, date) looks at the date as a timestamp
				ts, err := datetime.DateToTimestamp(d.(int64))
				if err != nil {
					return nil, err
				}
				at, d = types.Timestamp, ts
			}
			v, ok, err := types.Extract(a[0].(string), at, d, c.env.location())
			if err != nil || !ok {
				return nil, err
			}
			return v.Float64(), nil
		})))
	}
	t.put("date_trunc(text,timestamp)", always(try2(func(_ *call, u string, v int64) (int64, error) { return datetime.DateTrunc(u, v, nil) })))
	t.put("date_trunc(text,timestamptz)", always(try2(func(c *call, u string, v int64) (int64, error) {
		return datetime.DateTrunc(u, v, c.env.location())
	})))
	t.put("date_trunc(text,timestamptz,text)", always(try3(func(c *call, u string, v int64, zone string) (int64, error) {
		if datetime.IsInfTimestamp(v) {
			return v, nil
		}
		loc, err := datetime.ZoneOf(zone)
		if err != nil {
			return 0, err
		}
		return datetime.DateTrunc(u, v, loc)
	})))
	t.put("date_trunc(text,interval)", always(try2(func(_ *call, u string, iv datetime.Interval) (datetime.Interval, error) {
		return datetime.DateTruncInterval(u, iv)
	})))
	bin := always(try3(func(_ *call, stride datetime.Interval, v, origin int64) (int64, error) {
		return datetime.DateBin(stride, v, origin)
	}))
	t.puts(bin, "date_bin(interval,timestamp,timestamp)", "date_bin(interval,timestamptz,timestamptz)")
	t.put("age(timestamp,timestamp)", always(try2(func(_ *call, a, b int64) (datetime.Interval, error) { return datetime.Age(a, b) })))
	t.put("age(timestamptz,timestamptz)", always(try2(func(c *call, a, b int64) (datetime.Interval, error) {
		loc := c.env.location()
		return datetime.Age(datetime.ToLocal(a, loc), datetime.ToLocal(b, loc))
	})))
	midnight := func(c *call) int64 {
		day := datetime.TimestampToDate(datetime.ToLocal(c.env.types().Now.UnixMicro(), c.env.location()))
		ts, _ := datetime.DateToTimestamp(day)
		return ts
	}
	t.put("age(timestamp)", always(try1(func(c *call, v int64) (datetime.Interval, error) { return datetime.Age(midnight(c), v) })))
	t.put("age(timestamptz)", always(try1(func(c *call, v int64) (datetime.Interval, error) {
		return datetime.Age(midnight(c), datetime.ToLocal(v, c.env.location()))
	})))
	t.put("age(xid)", always(try1(func(c *call, v int64) (int64, error) { return 0, nil })))
	t.put("isfinite(date)", always(strict1(func(v int64) bool { return !datetime.IsInfDate(v) })))
	t.puts(always(strict1(func(v int64) bool { return !datetime.IsInfTimestamp(v) })), "isfinite(timestamp)", "isfinite(timestamptz)")
	t.put("isfinite(interval)", always(strict1(func(datetime.Interval) bool { return true })))
	iv := func(f func(datetime.Interval) (datetime.Interval, error)) maker {
		return always(try1(func(_ *call, v datetime.Interval) (datetime.Interval, error) { return f(v) }))
	}
	t.put("justify_days(interval)", iv(datetime.JustifyDays))
	t.put("justify_hours(interval)", iv(datetime.JustifyHours))
	t.put("justify_interval(interval)", iv(datetime.JustifyInterval))
	t.put("make_date(int4,int4,int4)", always(try3(func(_ *call, y, m, d int64) (int64, error) {
		return datetime.MakeDate(int(y), int(m), int(d))
	})))
	t.put("make_time(int4,int4,float8)", always(try3(func(_ *call, h, m int64, s float64) (int64, error) {
		return datetime.MakeTime(int(h), int(m), s)
	})))
	t.put("make_timestamp(int4,int4,int4,int4,int4,float8)", always(datums(func(_ *call, a []types.Datum) (types.Datum, error) {
		return micros(datetime.MakeTimestamp(intArg(a, 0), intArg(a, 1), intArg(a, 2), intArg(a, 3), intArg(a, 4), a[5].(float64)))
	})))
	t.put("make_timestamptz(int4,int4,int4,int4,int4,float8)", always(datums(func(c *call, a []types.Datum) (types.Datum, error) {
		return micros(datetime.MakeTimestamptz(intArg(a, 0), intArg(a, 1), intArg(a, 2), intArg(a, 3), intArg(a, 4), a[5].(float64), c.env.location()))
	})))
	t.put("make_timestamptz(int4,int4,int4,int4,int4,float8,text)", always(datums(func(c *call, a []types.Datum) (types.Datum, error) {
		loc, err := datetime.MakeZone(a[6].(string))
		if err != nil {
			return nil, err
		}
		return micros(datetime.MakeTimestamptz(intArg(a, 0), intArg(a, 1), intArg(a, 2), intArg(a, 3), intArg(a, 4), a[5].(float64), loc))
	})))
	t.put("make_interval(int4,int4,int4,int4,int4,int4,float8)", always(datums(func(_ *call, a []types.Datum) (types.Datum, error) {
		i := func(k int) int32 { return int32(a[k].(int64)) }
		r, err := datetime.MakeInterval(i(0), i(1), i(2), i(3), i(4), i(5), a[6].(float64))
		if err != nil {
			return nil, err
		}
		return r, nil
	})))
	t.put("to_timestamp(float8)", always(try1(func(_ *call, v float64) (int64, error) { return datetime.TimestamptzFromUnix(v) })))
	t.put("timestamp(date,time)", always(try2(dateTime)))
	t.put("timestamptz(date,time)", always(try2(func(c *call, d, tm int64) (int64, error) {
		ts, err := dateTime(c, d, tm)
		if err != nil || datetime.IsInfTimestamp(ts) {
			return ts, err
		}
		return datetime.TimestampToTimestamptz(ts, c.env.location())
	})))
	t.put("timestamptz(date,timetz)", always(try2(dateTimetz)))
	t.put("timezone(text,timestamp)", always(try2(func(_ *call, z string, v int64) (int64, error) { return datetime.TimestampAtZone(v, z) })))
	t.put("timezone(text,timestamptz)", always(try2(func(_ *call, z string, v int64) (int64, error) { return datetime.TimestamptzAtZone(v, z) })))
	t.put("timezone(text,timetz)", always(try2(func(c *call, z string, v datetime.TimeTZ) (datetime.TimeTZ, error) {
		loc, err := datetime.ZoneOf(z)
		if err != nil {
			return v, err
		}
		_, east := c.env.types().Now.In(loc).Zone()
		return datetime.TimeTZAtZone(v, int32(-east)), nil
	})))
	t.put("timezone(interval,timestamp)", always(try2(func(_ *call, z datetime.Interval, v int64) (int64, error) {
		if datetime.IsInfTimestamp(v) {
			return v, nil
		}
		loc, err := datetime.ZoneFromInterval(z)
		if err != nil {
			return 0, err
		}
		return datetime.TimestampToTimestamptz(v, loc)
	})))
	t.put("timezone(interval,timestamptz)", always(try2(func(_ *call, z datetime.Interval, v int64) (int64, error) {
		if datetime.IsInfTimestamp(v) {
			return v, nil
		}
		loc, err := datetime.ZoneFromInterval(z)
		if err != nil {
			return 0, err
		}
		return datetime.TimestamptzToTimestamp(v, loc)
	})))
	t.put("timezone(interval,timetz)", always(try2(func(c *call, z datetime.Interval, v datetime.TimeTZ) (datetime.TimeTZ, error) {
		loc, err := datetime.ZoneFromInterval(z)
		if err != nil {
			return v, err
		}
		_, east := c.env.types().Now.In(loc).Zone()
		return datetime.TimeTZAtZone(v, int32(-east)), nil
	})))
	addOverlaps(t)
}

// extractMaker adds a loop for the fields that are whole numbers of a day, of
// dates and timestamps, when the field is one for all rows.
func extractMaker(ty string, slow impl) maker {
	if ty != "date" && ty != "timestamp" {
		return always(slow)
	}
	return always(func(c *call, args []*vec) (*vec, error) {
		if !args[0].one || args[1].one {
			return slow(c, args)
		}
		var f func(y, m, d int) int
		switch args[0].str(0) {
		case "year":
			f = func(y, _, _ int) int {
				if y <= 0 {
					y-- // there is no year 0
				}
				return y
			}
		case "month":
			f = func(_, m, _ int) int { return m }
		case "day":
			f = func(_, _, d int) int { return d }
		case "quarter":
			f = func(_, m, _ int) int { return (m-1)/3 + 1 }
		default:
			return slow(c, args)
		}
		day := intReader(args[1])
		stamp := args[1].kind == kI64
		out := &vec{kind: kBin, n: c.n, valid: c.valid}
		off := alloc[int32](c.a, c.n+1)
		data := alloc[byte](c.a, 8*c.n)[:0]
		for i := range c.n {
			off[i] = int32(len(data))
			if c.skip(i) {
				continue
			}
			v := day(i)
			if stamp {
				if datetime.IsInfTimestamp(v) {
					return slow(c, args)
				}
				v = datetime.TimestampToDate(v)
			} else if datetime.IsInfDate(v) {
				return slow(c, args)
			}
			y, m, d := datetime.DateToYMD(v)
			data = number.DecimalFromInt64(int64(f(y, m, d)), 0).AppendBinary(data)
		}
		off[c.n] = int32(len(data))
		out.off, out.data = off, data
		return out, nil
	})
}

func intArg(a []types.Datum, i int) int { return int(a[i].(int64)) }

func micros(v int64, err error) (types.Datum, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// dateTime is date + time.
func dateTime(_ *call, d, tm int64) (int64, error) {
	ts, err := datetime.DateToTimestamp(d)
	if err != nil || datetime.IsInfTimestamp(ts) {
		return ts, err
	}
	return datetime.TimestampAddInterval(ts, datetime.Interval{Micros: tm}, nil)
}

// dateTimetz is date + time with time zone.
func dateTimetz(c *call, d int64, tm datetime.TimeTZ) (int64, error) {
	ts, err := dateTime(c, d, tm.Micros)
	if err != nil || datetime.IsInfTimestamp(ts) {
		return ts, err
	}
	return datetime.TimestampAddInterval(ts, datetime.Interval{Micros: int64(tm.Zone) * 1e6}, nil)
}

// addOverlaps registers (start, end) OVERLAPS (start, end), either end being an
// interval from the start.
func addOverlaps(t table) {
	for _, ty := range []string{"time", "timetz", "timestamp", "timestamptz"} {
		for _, k := range []string{ty + "," + ty + "," + ty + "," + ty, ty + ",interval," + ty + ",interval",
			ty + "," + ty + "," + ty + ",interval", ty + ",interval," + ty + "," + ty} {
			if ty == "timetz" && k != "timetz,timetz,timetz,timetz" {
				continue
			}
			t.put("overlaps("+k+")", always(loose(overlaps)))
		}
	}
}

func overlaps(c *call, a []types.Datum) (types.Datum, error) {
	a = append([]types.Datum(nil), a...)
	for i := 1; i < 4; i += 2 {
		iv, ok := a[i].(datetime.Interval)
		if !ok {
			continue
		}
		if a[i-1] == nil {
			a[i] = nil
			continue
		}
		start := a[i-1].(int64)
		switch c.types[i-1].OID {
		case types.TimeOID:
			a[i] = datetime.TimeAddInterval(start, iv)
		default:
			var loc *time.Location
			if c.types[i-1].OID == types.TimestamptzOID {
				loc = c.env.location()
			}
			v, err := datetime.TimestampAddInterval(start, iv, loc)
			if err != nil {
				return nil, err
			}
			a[i] = v
		}
	}
	cmp := func(x, y types.Datum) int { return types.Compare(c.types[0], x, y) }
	// PostgreSQL's table of the standard's rules, NULLs included
	s1, e1, s2, e2 := a[0], a[1], a[2], a[3]
	order := func(s, e types.Datum) (types.Datum, types.Datum, bool) {
		switch {
		case s == nil && e == nil:
			return nil, nil, false
		case s == nil:
			return e, nil, true
		case e == nil:
			return s, nil, true
		case cmp(s, e) > 0:
			return e, s, true
		}
		return s, e, true
	}
	s1, e1, ok := order(s1, e1)
	if !ok {
		return nil, nil
	}
	s2, e2, ok = order(s2, e2)
	if !ok {
		return nil, nil
	}
	switch d := cmp(s1, s2); {
	case d > 0:
		if e2 == nil {
			return nil, nil
		}
		if cmp(s1, e2) < 0 {
			return true, nil
		}
		if e1 == nil {
			return nil, nil
		}
		return false, nil
	case d < 0:
		if e1 == nil {
			return nil, nil
		}
		if cmp(s2, e1) < 0 {
			return true, nil
		}
		if e2 == nil {
			return nil, nil
		}
		return false, nil
	}
	if e1 == nil || e2 == nil {
		return nil, nil
	}
	return true, nil
}

// registerTime registers the functions of dates, times and intervals.
func registerTime(t table) {
	addDatetime(t)
	addDateArithmetic(t)
}
