package datetime

import (
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// fieldWord returns the unit that a field's name stands for; epoch is one.
func fieldWord(name string) (dtUnit, bool) {
	s := strings.ToLower(name)
	w := unitWord(s)
	if w.kind == kUnknown {
		w = dateWord(s)
	}
	switch {
	case w.kind == kUnit:
		return dtUnit(w.val), true
	case w.kind == kSpecial && w.val == spEpoch:
		return uEpoch, true
	}
	return uNone, false
}

func errUnitUnknown(unit string, t Kind) error {
	return pgerr.New(pgerr.InvalidParameterValue, "unit \"%s\" not recognized for type %s", strings.ToLower(unit), t)
}

func errUnitUnsupported(unit string, t Kind) *pgerr.Error {
	return pgerr.New(pgerr.FeatureNotSupported, "unit \"%s\" not supported for type %s", strings.ToLower(unit), t)
}

// Extract is extract(field from d) for the types of dates and times. ok is
// false where the answer is NULL: fields of infinities that have no limit. loc
// is the session's zone, which only timestamp with time zone looks at.
func Extract(field string, t Kind, d any, loc *time.Location) (v number.Decimal, ok bool, err error) {
	u, known := fieldWord(field)
	if !known {
		return number.Decimal{}, false, errUnitUnknown(field, t)
	}
	supported := false
	switch x := d.(type) {
	case nil:
		return number.Decimal{}, false, nil
	case Interval:
		v, supported = extractInterval(u, x)
	case TimeTZ:
		if v, supported = extractZone(u, -int(x.Zone)); supported {
			break
		}
		if u == uEpoch {
			v, supported = number.DecimalFromInt64(x.Micros+int64(x.Zone)*microsPerSec, 6), true
			break
		}
		v, supported = extractClock(u, x.Micros)
	case int64:
		switch t {
		case KindDate:
			if IsInfDate(x) {
				return extractInf(u, x > 0, field, t)
			}
		case KindTimestamp, KindTimestamptz:
			if IsInfTimestamp(x) {
				return extractInf(u, x > 0, field, t)
			}
			if u == uJulian {
				v, err = julianOf(t, x, loc)
				return v, err == nil, err
			}
		}
		var f Field
		if f, supported = fieldOf(u, t, loc); supported {
			v = number.DecimalFromInt64(f.Get(x), f.Scale)
		}
	}
	if !supported {
		return number.Decimal{}, false, errUnitUnsupported(field, t)
	}
	return v, true, nil
}

// extractInf is Extract of an infinite date or timestamp: fields that grow
// without bound, such as the year, are infinite, the others NULL.
func extractInf(u dtUnit, pos bool, field string, t Kind) (number.Decimal, bool, error) {
	switch u {
	case uYear, uDecade, uCentury, uMillennium, uJulian, uIsoYear, uEpoch:
		if pos {
			return number.DecimalInf, true, nil
		}
		return number.DecimalNegInf, true, nil
	case uMonth, uDay, uWeek, uQuarter, uDow, uIsoDow, uDoy:
		return number.Decimal{}, false, nil
	case uHour, uMinute, uSecond, uMillisec, uMicrosec:
		if t != KindDate {
			return number.Decimal{}, false, nil
		}
	case uTZ, uTZHour, uTZMinute:
		if t != KindDate {
			return number.Decimal{}, false, nil
		}
	}
	return number.Decimal{}, false, errUnitUnsupported(field, t)
}

// julianOf is the Julian day of a timestamp with the part of the day that is over.
func julianOf(t Kind, ts int64, loc *time.Location) (number.Decimal, error) {
	if t == KindTimestamptz {
		ts += int64(offsetAt(ts, loc)) * microsPerSec
	}
	day, us := checked.FloorDiv(ts, MicrosPerDay)
	frac, err := number.DecimalFromInt64(us, 0).Div(number.DecimalFromInt64(MicrosPerDay, 0))
	if err != nil {
		return number.Decimal{}, err
	}
	return number.DecimalFromInt64(day+julianUnix, 0).Add(frac)
}

func extractZone(u dtUnit, east int) (number.Decimal, bool) {
	switch u {
	case uTZ:
		return number.DecimalFromInt64(int64(east), 0), true
	case uTZHour:
		return number.DecimalFromInt64(int64(east/3600), 0), true
	case uTZMinute:
		return number.DecimalFromInt64(int64(east/60%60), 0), true
	}
	return number.Decimal{}, false
}

// extractClock is Extract of a time of day.
func extractClock(u dtUnit, micros int64) (number.Decimal, bool) {
	f, ok := clockField(u)
	if !ok {
		return number.Decimal{}, false
	}
	return number.DecimalFromInt64(f.Get(micros), f.Scale), true
}

// isoWeek returns the ISO 8601 year and week of a day.
func isoWeek(day int64) (year, week int) {
	_, dow := checked.FloorDiv(day+3, 7) // 0 is Monday
	thursday := day - dow + 3
	y, _, _ := DateToYMD(thursday)
	return y, int(thursday-YMDToDate(y, 1, 1))/7 + 1
}

// isoWeekStart is the Monday of a week of an ISO year.
func isoWeekStart(year, week int) int64 {
	fourth := YMDToDate(year, 1, 4)
	_, dow := checked.FloorDiv(fourth+3, 7)
	return fourth - dow + int64(week-1)*7
}

// ceilYear groups years by n, years up to 0 into negative groups.
func ceilYear(y, n int) int {
	if y > 0 {
		return (y + n - 1) / n
	}
	return -((n - 1 - (y - 1)) / n)
}

func floorDecade(y int) int {
	if y >= 0 {
		return y / 10
	}
	return -((8 - (y - 1)) / 10)
}

func extractInterval(u dtUnit, iv Interval) (number.Decimal, bool) {
	if v, ok := extractClock(u, iv.Micros); ok {
		return v, true
	}
	y, m := int64(iv.Months/12), int64(iv.Months%12)
	switch u {
	case uDay:
		return number.DecimalFromInt64(int64(iv.Days), 0), true
	case uMonth:
		return number.DecimalFromInt64(m, 0), true
	case uQuarter:
		return number.DecimalFromInt64(m/3+1, 0), true
	case uYear:
		return number.DecimalFromInt64(y, 0), true
	case uDecade:
		return number.DecimalFromInt64(y/10, 0), true
	case uCentury:
		return number.DecimalFromInt64(y/100, 0), true
	case uMillennium:
		return number.DecimalFromInt64(y/1000, 0), true
	case uEpoch:
		v, err := number.DecimalFromInt64(iv.wholeSeconds(), 0).Add(number.DecimalFromInt64(iv.Micros, 6))
		return v, err == nil
	}
	return number.Decimal{}, false
}

// wholeSeconds returns how many seconds the months and days of an interval are: a year is 365.25 days, a month of
// a broken year 30.
func (iv Interval) wholeSeconds() int64 {
	y, m := int64(iv.Months/12), int64(iv.Months%12)
	return (1461*y + 120*m + 4*int64(iv.Days)) * 21600
}

// EpochMicros returns the microseconds of an interval, as its epoch counts them; false if they are too many.
func (iv Interval) EpochMicros() (int64, bool) {
	us, ok := checked.Mul(iv.wholeSeconds(), microsPerSec)
	if !ok {
		return 0, false
	}
	return checked.Add(us, iv.Micros)
}

// IntervalField returns a field of intervals as a whole number of 10^-scale, which is false where it has none; nil for
// fields that extract computes one by one.
func IntervalField(field string) (get func(Interval) (int64, bool), scale int32) {
	u, _ := fieldWord(field)
	switch u {
	case uEpoch:
		return Interval.EpochMicros, 6
	case uYear:
		return func(iv Interval) (int64, bool) { return int64(iv.Months / 12), true }, 0
	case uMonth:
		return func(iv Interval) (int64, bool) { return int64(iv.Months % 12), true }, 0
	case uDay:
		return func(iv Interval) (int64, bool) { return int64(iv.Days), true }, 0
	}
	return nil, 0
}

// IsEpoch reports whether a field is the epoch.
func IsEpoch(field string) bool {
	u, _ := fieldWord(field)
	return u == uEpoch
}
