package datetime

import (
	"math"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// addMonths moves a date by months; a day beyond the end of the new month
// becomes its last.
func (c civil) addMonths(n int64) civil {
	y, m := checked.FloorDiv(int64(c.year)*12+int64(c.month)-1+n, 12)
	c.year, c.month = int(y), int(m)+1
	c.day = min(c.day, daysIn(c.year, c.month))
	return c
}

// TimestampAddInterval is ts + iv. For a timestamp with time zone loc is the
// session's zone, in which months and days are counted; for one without it is
// nil.
func TimestampAddInterval(ts int64, iv Interval, loc *time.Location) (int64, error) {
	if IsInfTimestamp(ts) {
		return ts, nil
	}
	if iv.Months != 0 || iv.Days != 0 {
		local := ts
		if loc != nil {
			local = ToLocal(ts, loc)
		}
		step := func(c civil) (ok bool) {
			if ts, ok = c.ts(); !ok {
				return false
			}
			local = ts
			if loc != nil {
				ts, ok = fromLocal(ts, loc)
			}
			return ok
		}
		if iv.Months != 0 && !step(toCivil(local).addMonths(int64(iv.Months))) {
			return 0, ErrTimestampRange()
		}
		if iv.Days != 0 {
			if loc != nil {
				local = ToLocal(ts, loc)
			}
			day, us := checked.FloorDiv(local, MicrosPerDay)
			day += int64(iv.Days)
			if day < MinDate || day > MaxTimestamp/MicrosPerDay || !step(civil{1970, 1, int(day + 1), us}) {
				return 0, ErrTimestampRange()
			}
		}
	}
	ts, ok := checked.Add(ts, iv.Micros)
	if !ok && iv.Micros != 0 || !ValidTimestamp(ts) {
		return 0, ErrTimestampRange()
	}
	return ts, nil
}

// Shift returns TimestampAddInterval for many timestamps, in UTC or without a time zone, of which it remembers days; ok is
// false for what that must look at one by one. It is nil for long intervals, and for one goroutine.
func Shift(iv Interval) func(ts int64) (v int64, ok bool) {
	const far = 1 << 61
	if iv.Days < -1e7 || iv.Days > 1e7 || iv.Micros < -far || iv.Micros > far {
		return nil
	}
	by := int64(iv.Days)*MicrosPerDay + iv.Micros
	if iv.Months == 0 {
		return func(ts int64) (int64, bool) {
			v := ts + by
			return v, ts > -far && ts < far && ValidTimestamp(v) && ValidTimestamp(v-iv.Micros)
		}
	}
	const never = math.MinInt64
	start := byDay(func(day int64) int64 {
		if v, ok := toCivil(day * MicrosPerDay).addMonths(int64(iv.Months)).ts(); ok && v > -far && v < far {
			return v
		}
		return never
	})
	return func(ts int64) (int64, bool) {
		if ts <= -far || ts >= far {
			return 0, false
		}
		day, us := checked.FloorDiv(ts, MicrosPerDay)
		first := start(day)
		if first == never {
			return 0, false
		}
		v := first + us + by
		return v, ValidTimestamp(first+us) && ValidTimestamp(v-iv.Micros) && ValidTimestamp(v)
	}
}

// TimestampSubInterval is ts - iv.
func TimestampSubInterval(ts int64, iv Interval, loc *time.Location) (int64, error) {
	if iv.Months == math.MinInt32 || iv.Days == math.MinInt32 || iv.Micros == math.MinInt64 {
		return 0, ErrTimestampRange()
	}
	return TimestampAddInterval(ts, Interval{-iv.Months, -iv.Days, -iv.Micros}, loc)
}

// TimestampDiff is a - b: days and time.
func TimestampDiff(a, b int64) (Interval, error) {
	if IsInfTimestamp(a) || IsInfTimestamp(b) {
		return Interval{}, pgerr.New(pgerr.DatetimeFieldOverflow, "cannot subtract infinite timestamps")
	}
	us, ok := checked.Sub(a, b)
	if !ok && b != 0 {
		return Interval{}, errIntervalRange()
	}
	return JustifyHours(Interval{Micros: us})
}

// Age is age(a, b) in years, months and days, of local times.
func Age(a, b int64) (Interval, error) {
	if IsInfTimestamp(a) || IsInfTimestamp(b) {
		return Interval{}, ErrTimestampRange()
	}
	later, earlier, neg := toCivil(a), toCivil(b), a < b
	// Days are borrowed from the month of the argument that is earlier.
	borrow := earlier
	if neg {
		later, earlier = earlier, later
		borrow = toCivil(a)
	}
	us := later.micros - earlier.micros
	day := later.day - earlier.day
	mon := later.month - earlier.month
	year := later.year - earlier.year
	if us < 0 {
		us, day = us+MicrosPerDay, day-1
	}
	for day < 0 {
		day += daysIn(borrow.year, borrow.month)
		mon--
	}
	for mon < 0 {
		mon, year = mon+12, year-1
	}
	iv := Interval{Months: int32(year*12 + mon), Days: int32(day), Micros: us}
	if neg {
		return IntervalNeg(iv)
	}
	return iv, nil
}

// DateAdd is a date plus days.
func DateAdd(day, n int64) (int64, error) {
	if IsInfDate(day) {
		return day, nil
	}
	if n < -1<<40 || n > 1<<40 || !ValidDate(day+n) {
		return 0, ErrDateRange()
	}
	return day + n, nil
}

// DateDiff is the number of days between two dates.
func DateDiff(a, b int64) (int64, error) {
	if IsInfDate(a) || IsInfDate(b) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "cannot subtract infinite dates")
	}
	return a - b, nil
}

// TimeAddInterval is a time of day plus the time of an interval, modulo a day.
func TimeAddInterval(t int64, iv Interval) int64 {
	_, us := checked.FloorDiv(t+iv.Micros%MicrosPerDay, MicrosPerDay)
	return us
}

// DateBin is date_bin(): the start of the stride, counted from origin, that
// holds ts.
func DateBin(stride Interval, ts, origin int64) (int64, error) {
	if IsInfTimestamp(ts) {
		return ts, nil
	}
	if IsInfTimestamp(origin) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "origin out of range")
	}
	if stride.Months != 0 {
		return 0, pgerr.New(pgerr.FeatureNotSupported, "timestamps cannot be binned into intervals containing months or years")
	}
	step, ok := checked.Add(int64(stride.Days)*MicrosPerDay, stride.Micros)
	if !ok && stride.Micros != 0 || abs64(int64(stride.Days)) > math.MaxInt64/MicrosPerDay {
		return 0, errIntervalRange()
	}
	if step <= 0 {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "stride must be greater than zero")
	}
	diff, ok := checked.Sub(ts, origin)
	if !ok && origin != 0 {
		return 0, errIntervalRange()
	}
	q, _ := checked.FloorDiv(diff, step)
	off, ok := checked.Mul(q, step)
	if ok {
		diff, ok = checked.Add(origin, off)
	}
	if !ok && off != 0 || !ValidTimestamp(diff) {
		return 0, ErrTimestampRange()
	}
	return diff, nil
}

// DateToTimestamp is midnight of a date.
func DateToTimestamp(day int64) (int64, error) {
	switch {
	case day == DateInf:
		return TimestampInf, nil
	case day == DateNegInf:
		return TimestampNegInf, nil
	case day > MaxTimestamp/MicrosPerDay:
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range for timestamp")
	}
	return day * MicrosPerDay, nil
}

// DateToTimestamptz is midnight of a date in a zone.
func DateToTimestamptz(day int64, loc *time.Location) (int64, error) {
	ts, err := DateToTimestamp(day)
	if err != nil || IsInfTimestamp(ts) {
		return ts, err
	}
	ts, ok := fromLocal(ts, loc)
	if !ok {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range for timestamp")
	}
	return ts, nil
}

// TimestampToDate is the day of a timestamp.
func TimestampToDate(ts int64) int64 {
	switch ts {
	case TimestampInf:
		return DateInf
	case TimestampNegInf:
		return DateNegInf
	}
	day, _ := checked.FloorDiv(ts, MicrosPerDay)
	return day
}

// TimestampToTimestamptz reads a local time in a zone (AT TIME ZONE of a
// timestamp).
func TimestampToTimestamptz(ts int64, loc *time.Location) (int64, error) {
	if IsInfTimestamp(ts) {
		return ts, nil
	}
	v, ok := fromLocal(ts, loc)
	if !ok {
		return 0, ErrTimestampRange()
	}
	return v, nil
}

// TimestamptzToTimestamp returns the local time in a zone (AT TIME ZONE of a
// timestamp with time zone).
func TimestamptzToTimestamp(ts int64, loc *time.Location) (int64, error) {
	if IsInfTimestamp(ts) {
		return ts, nil
	}
	v, ok := checked.Add(ts, int64(offsetAt(ts, loc))*microsPerSec)
	if !ok && v != ts || !ValidTimestamp(v) {
		return 0, ErrTimestampRange()
	}
	return v, nil
}

// Zone is what AT TIME ZONE names.
type Zone struct {
	Name string
	loc  *time.Location
	// dyn is set for an abbreviation that has changed its meaning: it is taken as it was meant then.
	dyn *time.Location
}

// ZoneNamed finds a zone.
func ZoneNamed(name string) (Zone, error) {
	loc, err := ZoneOf(name)
	z := Zone{Name: name, loc: loc}
	if w, dyn := zoneWord(strings.ToLower(name)); w.kind == kDynTZ {
		z.dyn = dyn
	}
	return z, err
}

// FromTimestamp is timestamp AT TIME ZONE z.
func (z *Zone) FromTimestamp(ts int64) (int64, error) {
	if IsInfTimestamp(ts) {
		return ts, nil
	}
	off := 0
	if z.dyn != nil {
		off = abbrevOffset(z.Name, ts, z.dyn)
	} else {
		off = localOffset(ts, z.loc)
	}
	v, ok := checked.Add(ts, -int64(off)*microsPerSec)
	if !ok && off != 0 || !ValidTimestamp(v) {
		return 0, ErrTimestampRange()
	}
	return v, nil
}

// FromTimestamptz is timestamp with time zone AT TIME ZONE z.
func (z *Zone) FromTimestamptz(ts int64) (int64, error) {
	if IsInfTimestamp(ts) {
		return ts, nil
	}
	loc := z.loc
	if z.dyn != nil {
		loc = time.FixedZone(z.Name, abbrevOffset(z.Name, ToLocal(ts, z.dyn), z.dyn))
	}
	return TimestamptzToTimestamp(ts, loc)
}

// TimestampToTime is the time of day; NULL (ok false) of an infinity.
func TimestampToTime(ts int64) (us int64, ok bool) {
	if IsInfTimestamp(ts) {
		return 0, false
	}
	_, us = checked.FloorDiv(ts, MicrosPerDay)
	return us, true
}

// TimestamptzToTimeTZ is the time of day with the zone's offset then.
func TimestamptzToTimeTZ(ts int64, loc *time.Location) (v TimeTZ, ok bool) {
	if IsInfTimestamp(ts) {
		return TimeTZ{}, false
	}
	_, us := checked.FloorDiv(ToLocal(ts, loc), MicrosPerDay)
	return TimeTZ{us, int32(-offsetAt(ts, loc))}, true
}

// TimeToTimeTZ adds to a time of day the offset that the session's zone has at that time today.
func TimeToTimeTZ(us int64, env *Settings) TimeTZ {
	env = env.orDefault()
	day, _ := checked.FloorDiv(ToLocal(env.now(), env.Zone()), MicrosPerDay)
	return TimeTZ{us, int32(-localOffset(day*MicrosPerDay+us, env.Zone()))}
}

// TimeTZAtZone moves a time to another offset (AT TIME ZONE).
func TimeTZAtZone(v TimeTZ, west int32) TimeTZ {
	_, us := checked.FloorDiv(v.Micros+int64(v.Zone-west)*microsPerSec, MicrosPerDay)
	return TimeTZ{us, west}
}

// IntervalToTime is the time of an interval, modulo a day.
func IntervalToTime(iv Interval) int64 {
	_, us := checked.FloorDiv(iv.Micros, MicrosPerDay)
	return us
}

// ZoneFromInterval is the zone that AT TIME ZONE takes from an interval.
func ZoneFromInterval(iv Interval) (*time.Location, error) {
	if iv.Months != 0 || iv.Days != 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "interval time zone \"%s\" must not include months or days",
			AppendInterval(nil, iv, IntervalPostgres))
	}
	return FixedZone(int(iv.Micros / microsPerSec)), nil
}
