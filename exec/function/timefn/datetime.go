package timefn

import (
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// addDatetime registers the functions of dates, times and intervals; their
// operators are in datearith.go.
func addDatetime(t function.Table) {
	now := function.Always(function.Try0(func(c *function.Call) (int64, error) { return c.Env.TypesEnv().Now.UnixMicro(), nil }))
	t.Puts(now, "now()", "transaction_timestamp()")
	t.Put("statement_timestamp()", function.Always(function.Try0(func(c *function.Call) (int64, error) {
		if h := c.Env.Host; h != nil && !h.Session().StatementStart.IsZero() {
			return h.Session().StatementStart.UnixMicro(), nil
		}
		return c.Env.TypesEnv().Now.UnixMicro(), nil
	})))
	t.Put("clock_timestamp()", function.Always(function.Try0(func(*function.Call) (int64, error) { return time.Now().UnixMicro(), nil })))
	t.Put("timeofday()", function.Always(function.Try0(func(c *function.Call) (string, error) {
		return time.Now().In(c.Env.Location()).Format("Mon Jan 02 15:04:05.000000 2006 MST"), nil
	})))
	for _, ty := range []string{"date", "time", "timetz", "timestamp", "timestamptz", "interval"} {
		t.Put("extract(text,"+ty+")", function.Always(extract))
		t.Put("date_part(text,"+ty+")", function.Always(datePart))
	}
	t.Put("date_trunc(text,timestamp)", function.Always(dateTrunc))
	t.Put("date_trunc(text,timestamptz)", function.Always(dateTrunc))
	t.Put("date_trunc(text,timestamptz,text)", function.Always(function.Try3(func(c *function.Call, u string, v int64, zone string) (int64, error) {
		if datetime.IsInfTimestamp(v) {
			return v, nil
		}
		loc, err := datetime.ZoneOf(zone)
		if err != nil {
			return 0, err
		}
		return datetime.DateTrunc(u, v, loc)
	})))
	t.Put("date_trunc(text,interval)", function.Always(function.Try2(func(_ *function.Call, u string, iv datetime.Interval) (datetime.Interval, error) {
		return datetime.DateTruncInterval(u, iv)
	})))
	bin := function.Always(function.Try3(func(_ *function.Call, stride datetime.Interval, v, origin int64) (int64, error) {
		return datetime.DateBin(stride, v, origin)
	}))
	t.Puts(bin, "date_bin(interval,timestamp,timestamp)", "date_bin(interval,timestamptz,timestamptz)")
	t.Put("age(timestamp,timestamp)", function.Always(age(false)))
	t.Put("age(timestamptz,timestamptz)", function.Always(age(true)))
	midnight := func(c *function.Call) int64 {
		day := datetime.TimestampToDate(datetime.ToLocal(c.Env.TypesEnv().Now.UnixMicro(), c.Env.Location()))
		ts, _ := datetime.DateToTimestamp(day)
		return ts
	}
	t.Put("age(timestamp)", function.Always(function.Try1(func(c *function.Call, v int64) (datetime.Interval, error) { return datetime.Age(midnight(c), v) })))
	t.Put("age(timestamptz)", function.Always(function.Try1(func(c *function.Call, v int64) (datetime.Interval, error) {
		return datetime.Age(midnight(c), datetime.ToLocal(v, c.Env.Location()))
	})))
	t.Put("age(xid)", function.Always(function.Try1(func(c *function.Call, v int64) (int64, error) { return 0, nil })))
	t.Put("isfinite(date)", function.Always(function.Strict1(func(v int64) bool { return !datetime.IsInfDate(v) })))
	t.Puts(function.Always(function.Strict1(func(v int64) bool { return !datetime.IsInfTimestamp(v) })), "isfinite(timestamp)", "isfinite(timestamptz)")
	t.Put("isfinite(interval)", function.Always(function.Strict1(func(datetime.Interval) bool { return true })))
	iv := func(f func(datetime.Interval) (datetime.Interval, error)) function.Maker {
		return function.Always(function.Try1(func(_ *function.Call, v datetime.Interval) (datetime.Interval, error) { return f(v) }))
	}
	t.Put("justify_days(interval)", iv(datetime.JustifyDays))
	t.Put("justify_hours(interval)", iv(datetime.JustifyHours))
	t.Put("justify_interval(interval)", iv(datetime.JustifyInterval))
	t.Put("make_date(int4,int4,int4)", function.Always(function.Try3(func(_ *function.Call, y, m, d int64) (int64, error) {
		return datetime.MakeDate(int(y), int(m), int(d))
	})))
	t.Put("make_time(int4,int4,float8)", function.Always(function.Try3(func(_ *function.Call, h, m int64, s float64) (int64, error) {
		return datetime.MakeTime(int(h), int(m), s)
	})))
	t.Put("make_timestamp(int4,int4,int4,int4,int4,float8)", function.Always(function.Datums(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
		return Micros(datetime.MakeTimestamp(intArg(a, 0), intArg(a, 1), intArg(a, 2), intArg(a, 3), intArg(a, 4), a[5].(float64)))
	})))
	t.Put("make_timestamptz(int4,int4,int4,int4,int4,float8)", function.Always(function.Datums(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		return Micros(datetime.MakeTimestamptz(intArg(a, 0), intArg(a, 1), intArg(a, 2), intArg(a, 3), intArg(a, 4), a[5].(float64), c.Env.Location()))
	})))
	t.Put("make_timestamptz(int4,int4,int4,int4,int4,float8,text)", function.Always(function.Datums(func(c *function.Call, a []types.Datum) (types.Datum, error) {
		loc, err := datetime.MakeZone(a[6].(string))
		if err != nil {
			return nil, err
		}
		return Micros(datetime.MakeTimestamptz(intArg(a, 0), intArg(a, 1), intArg(a, 2), intArg(a, 3), intArg(a, 4), a[5].(float64), loc))
	})))
	t.Put("make_interval(int4,int4,int4,int4,int4,int4,float8)", function.Always(function.Datums(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
		i := func(k int) int32 { return int32(a[k].(int64)) }
		r, err := datetime.MakeInterval(i(0), i(1), i(2), i(3), i(4), i(5), a[6].(float64))
		if err != nil {
			return nil, err
		}
		return r, nil
	})))
	t.Put("to_timestamp(float8)", function.Always(function.Try1(func(_ *function.Call, v float64) (int64, error) { return datetime.TimestamptzFromUnix(v) })))
	t.Put("timestamp(date,time)", function.Always(function.Try2(dateTime)))
	t.Put("timestamptz(date,time)", function.Always(function.Try2(func(c *function.Call, d, tm int64) (int64, error) {
		ts, err := dateTime(c, d, tm)
		if err != nil || datetime.IsInfTimestamp(ts) {
			return ts, err
		}
		return datetime.TimestampToTimestamptz(ts, c.Env.Location())
	})))
	t.Put("timestamptz(date,timetz)", function.Always(function.Try2(dateTimetz)))
	t.Put("timezone(text,timestamp)", function.Always(function.Try2(func(c *function.Call, name string, v int64) (int64, error) {
		z, err := zoneOf(c, name)
		if err != nil {
			return v, err
		}
		return z.FromTimestamp(v)
	})))
	t.Put("timezone(text,timestamptz)", function.Always(function.Try2(func(c *function.Call, name string, v int64) (int64, error) {
		z, err := zoneOf(c, name)
		if err != nil {
			return v, err
		}
		return z.FromTimestamptz(v)
	})))
	t.Put("timezone(text,timetz)", function.Always(function.Try2(func(c *function.Call, z string, v datetime.TimeTZ) (datetime.TimeTZ, error) {
		loc, err := datetime.ZoneOf(z)
		if err != nil {
			return v, err
		}
		_, east := c.Env.TypesEnv().Now.In(loc).Zone()
		return datetime.TimeTZAtZone(v, int32(-east)), nil
	})))
	t.Put("timezone(interval,timestamp)", function.Always(function.Try2(func(_ *function.Call, z datetime.Interval, v int64) (int64, error) {
		if datetime.IsInfTimestamp(v) {
			return v, nil
		}
		loc, err := datetime.ZoneFromInterval(z)
		if err != nil {
			return 0, err
		}
		return datetime.TimestampToTimestamptz(v, loc)
	})))
	t.Put("timezone(interval,timestamptz)", function.Always(function.Try2(func(_ *function.Call, z datetime.Interval, v int64) (int64, error) {
		if datetime.IsInfTimestamp(v) {
			return v, nil
		}
		loc, err := datetime.ZoneFromInterval(z)
		if err != nil {
			return 0, err
		}
		return datetime.TimestamptzToTimestamp(v, loc)
	})))
	t.Put("timezone(interval,timetz)", function.Always(function.Try2(func(c *function.Call, z datetime.Interval, v datetime.TimeTZ) (datetime.TimeTZ, error) {
		loc, err := datetime.ZoneFromInterval(z)
		if err != nil {
			return v, err
		}
		_, east := c.Env.TypesEnv().Now.In(loc).Zone()
		return datetime.TimeTZAtZone(v, int32(-east)), nil
	})))
	addOverlaps(t)
}

func intArg(a []types.Datum, i int) int { return int(a[i].(int64)) }

// Micros passes a time and an error on as a datum.
func Micros(v int64, err error) (types.Datum, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// dateTime is date + time.
func dateTime(_ *function.Call, d, tm int64) (int64, error) {
	ts, err := datetime.DateToTimestamp(d)
	if err != nil || datetime.IsInfTimestamp(ts) {
		return ts, err
	}
	return datetime.TimestampAddInterval(ts, datetime.Interval{Micros: tm}, nil)
}

// dateTimetz is date + time with time zone.
func dateTimetz(c *function.Call, d int64, tm datetime.TimeTZ) (int64, error) {
	ts, err := dateTime(c, d, tm.Micros)
	if err != nil || datetime.IsInfTimestamp(ts) {
		return ts, err
	}
	return datetime.TimestampAddInterval(ts, datetime.Interval{Micros: int64(tm.Zone) * 1e6}, nil)
}

// addOverlaps registers (start, end) OVERLAPS (start, end), either end being an
// interval from the start.
func addOverlaps(t function.Table) {
	for _, ty := range []string{"time", "timetz", "timestamp", "timestamptz"} {
		for _, k := range []string{ty + "," + ty + "," + ty + "," + ty, ty + ",interval," + ty + ",interval",
			ty + "," + ty + "," + ty + ",interval", ty + ",interval," + ty + "," + ty} {
			if ty == "timetz" && k != "timetz,timetz,timetz,timetz" {
				continue
			}
			run := function.Loose(overlaps)
			if strings.HasPrefix(ty, "timestamp") && !strings.Contains(k, "interval") {
				run = overlapping
			}
			t.Put("overlaps("+k+")", function.Always(run))
		}
	}
}

// zoneOf finds a zone, or returns that of the last row where it is the same.
func zoneOf(c *function.Call, name string) (*datetime.Zone, error) {
	if c.Memo != nil {
		if z, ok := (*c.Memo).(*datetime.Zone); ok && z.Name == name {
			return z, nil
		}
	}
	z, err := datetime.ZoneNamed(strings.Clone(name))
	if err == nil && c.Memo != nil {
		*c.Memo = &z
	}
	return &z, err
}

// overlapping is overlaps of timestamps, over integers where none is NULL.
func overlapping(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	var at [4]func(int) int64
	for i := range at {
		if args[i].Kind == vector.Null {
			return function.Loose(overlaps)(c, args)
		}
		at[i] = function.Arg[int64](c, args, i)
	}
	return function.Each(c, func(i int) (bool, error) {
		if slices.ContainsFunc(args, func(v *vector.Vec) bool { return v.Null(i) }) {
			row := make([]types.Datum, len(args))
			for k, v := range args {
				if !v.Null(i) {
					row[k] = at[k](i)
				}
			}
			d, err := overlaps(c, row)
			is, ok := d.(bool)
			if err == nil && !ok {
				err = function.ErrNull
			}
			return is, err
		}
		s1, e1, s2, e2 := at[0](i), at[1](i), at[2](i), at[3](i)
		s1, e1, s2, e2 = min(s1, e1), max(s1, e1), min(s2, e2), max(s2, e2)
		return s1 < e2 && s2 < e1 || s1 == s2, nil
	})
}

func overlaps(c *function.Call, a []types.Datum) (types.Datum, error) {
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
		switch c.Types[i-1].OID {
		case types.TimeOID:
			a[i] = datetime.TimeAddInterval(start, iv)
		default:
			var loc *time.Location
			if c.Types[i-1].OID == types.TimestamptzOID {
				loc = c.Env.Location()
			}
			v, err := datetime.TimestampAddInterval(start, iv, loc)
			if err != nil {
				return nil, err
			}
			a[i] = v
		}
	}
	cmp := func(x, y types.Datum) int { return types.Compare(c.Types[0], x, y) }
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

// Register registers the functions of dates, times and intervals.
func Register(t function.Table) {
	addDatetime(t)
	addStrptime(t)
	addDateArithmetic(t)
}
