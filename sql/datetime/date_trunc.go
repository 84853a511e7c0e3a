package datetime

import (
	"math"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/checked"
)

// truncCivil cuts a local time to a unit of a day or more; ok is false for
// smaller units.
func truncCivil(u dtUnit, c civil) (civil, bool) {
	out := civil{c.year, 1, 1, 0}
	switch u {
	case uMillennium:
		if c.year > 0 {
			out.year = (c.year+999)/1000*1000 - 999
		} else {
			out.year = -((999-(c.year-1))/1000)*1000 + 1
		}
	case uCentury:
		if c.year > 0 {
			out.year = (c.year+99)/100*100 - 99
		} else {
			out.year = -((99-(c.year-1))/100)*100 + 1
		}
	case uDecade:
		if c.year > 0 {
			out.year = c.year / 10 * 10
		} else {
			out.year = -((8 - (c.year - 1)) / 10) * 10
		}
	case uYear:
	case uQuarter:
		out.month = (c.month-1)/3*3 + 1
	case uMonth:
		out.month = c.month
	case uWeek:
		day := c.date()
		_, dow := checked.FloorDiv(day+3, 7)
		out.year, out.month, out.day = DateToYMD(day - dow)
	case uDay:
		out.month, out.day = c.month, c.day
	default:
		return c, false
	}
	return out, true
}

// truncMicros is the length of the units below a day; 0 for others.
func truncMicros(u dtUnit) int64 {
	switch u {
	case uHour:
		return microsPerHour
	case uMinute:
		return microsPerMin
	case uSecond:
		return microsPerSec
	case uMillisec:
		return 1000
	case uMicrosec:
		return 1
	}
	return 0
}

// DateTrunc is date_trunc() of a timestamp. For one with time zone loc is the
// zone whose days and years count; for one without it is nil.
func DateTrunc(unit string, ts int64, loc *time.Location) (int64, error) {
	if IsInfTimestamp(ts) {
		return ts, nil
	}
	t := KindTimestamp
	if loc != nil {
		t = KindTimestamptz
	}
	w := unitWord(strings.ToLower(unit))
	if w.kind != kUnit {
		return 0, errUnitUnknown(unit, t)
	}
	u := dtUnit(w.val)
	step := truncMicros(u)
	_, days := truncCivil(u, civil{2000, 1, 1, 0})
	if step == 0 && !days {
		return 0, errUnitUnsupported(unit, t)
	}
	off := int64(0)
	if loc != nil {
		off = int64(offsetAt(ts, loc)) * microsPerSec
	}
	local := ts + off
	if step > 0 {
		q, _ := checked.FloorDiv(local, step)
		return q*step - off, nil
	}
	c, _ := truncCivil(u, toCivil(local))
	v, ok := c.ts()
	if ok && loc != nil {
		v, ok = fromLocal(v, loc)
	}
	if !ok {
		return 0, ErrTimestampRange()
	}
	return v, nil
}

// Truncation returns date_trunc(unit, ts) as a function of many values that are not infinite, of which it remembers
// days; nil for what DateTrunc must look at one by one. It is for one goroutine.
func Truncation(unit string) func(ts int64) (v int64, ok bool) {
	w := unitWord(strings.ToLower(unit))
	if w.kind != kUnit {
		return nil
	}
	u := dtUnit(w.val)
	switch u { // with divisors that the compiler knows
	case uDay:
		return func(ts int64) (int64, bool) { return ts - inUnit(ts, MicrosPerDay), true }
	case uHour:
		return func(ts int64) (int64, bool) { return ts - inUnit(ts, microsPerHour), true }
	case uMinute:
		return func(ts int64) (int64, bool) { return ts - inUnit(ts, microsPerMin), true }
	}
	if step := truncMicros(u); step > 0 {
		return func(ts int64) (int64, bool) {
			q, _ := checked.FloorDiv(ts, step)
			return q * step, true
		}
	}
	if _, days := truncCivil(u, civil{2000, 1, 1, 0}); !days {
		return nil
	}
	const never = math.MinInt64
	first := byDay(func(day int64) int64 {
		c, _ := truncCivil(u, toCivil(day*MicrosPerDay))
		if v, ok := c.ts(); ok {
			return v
		}
		return never
	})
	return func(ts int64) (int64, bool) {
		day, _ := checked.FloorDiv(ts, MicrosPerDay)
		v := first(day)
		return v, v != never
	}
}

// DateTruncInterval is date_trunc() of an interval.
func DateTruncInterval(unit string, iv Interval) (Interval, error) {
	w := unitWord(strings.ToLower(unit))
	if w.kind != kUnit {
		return Interval{}, errUnitUnknown(unit, KindInterval)
	}
	u := dtUnit(w.val)
	if step := truncMicros(u); step > 0 {
		iv.Micros = iv.Micros / step * step
		return iv, nil
	}
	iv.Micros = 0
	months := int32(0)
	switch u {
	case uDay:
		return iv, nil
	case uMonth:
		months = 1
	case uQuarter:
		// quarters start anew each year
		return Interval{Months: iv.Months/12*12 + iv.Months%12/3*3}, nil
	case uYear:
		months = 12
	case uDecade:
		months = 120
	case uCentury:
		months = 1200
	case uMillennium:
		months = 12000
	default:
		e := errUnitUnsupported(unit, KindInterval)
		if u == uWeek {
			e = e.WithDetail("Months usually have fractional weeks.")
		}
		return Interval{}, e
	}
	return Interval{Months: iv.Months / months * months}, nil
}
