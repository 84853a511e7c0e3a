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
		case KindTime:
			if u == uEpoch {
				return number.DecimalFromInt64(x, 6), true, nil
			}
			v, supported = extractClock(u, x)
		case KindDate:
			if IsInfDate(x) {
				return extractInf(u, x > 0, field, t)
			}
			switch u {
			case uEpoch:
				v, supported = number.DecimalFromInt64(x*86400, 0), true
			case uJulian:
				v, supported = number.DecimalFromInt64(x+julianUnix, 0), true
			default:
				v, supported = extractDay(u, x)
			}
		case KindTimestamp, KindTimestamptz:
			if IsInfTimestamp(x) {
				return extractInf(u, x > 0, field, t)
			}
			v, supported, err = extractStamp(u, t, x, loc)
		}
	}
	if err != nil {
		return number.Decimal{}, false, err
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

func extractStamp(u dtUnit, t Kind, ts int64, loc *time.Location) (number.Decimal, bool, error) {
	if u == uEpoch {
		return number.DecimalFromInt64(ts, 6), true, nil
	}
	if t == KindTimestamptz {
		off := offsetAt(ts, loc)
		if v, ok := extractZone(u, off); ok {
			return v, true, nil
		}
		ts += int64(off) * microsPerSec
	}
	day, us := checked.FloorDiv(ts, MicrosPerDay)
	if u == uJulian {
		frac, err := number.DecimalFromInt64(us, 0).Div(number.DecimalFromInt64(MicrosPerDay, 0))
		if err != nil {
			return number.Decimal{}, false, err
		}
		v, err := number.DecimalFromInt64(day+julianUnix, 0).Add(frac)
		return v, true, err
	}
	if v, ok := extractClock(u, us); ok {
		return v, true, nil
	}
	v, ok := extractDay(u, day)
	return v, ok, nil
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
	h, m, _, _ := splitTime(micros)
	inMinute := micros % microsPerMin
	switch u {
	case uMicrosec:
		return number.DecimalFromInt64(inMinute, 0), true
	case uMillisec:
		return number.DecimalFromInt64(inMinute, 3), true
	case uSecond:
		return number.DecimalFromInt64(inMinute, 6), true
	case uMinute:
		return number.DecimalFromInt64(m, 0), true
	case uHour:
		return number.DecimalFromInt64(h, 0), true
	}
	return number.Decimal{}, false
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

// extractDay is Extract of a date.
func extractDay(u dtUnit, day int64) (number.Decimal, bool) {
	y, m, d := DateToYMD(day)
	bc := func(y int) int {
		if y <= 0 {
			return y - 1 // there is no year 0
		}
		return y
	}
	v := 0
	switch u {
	case uDay:
		v = d
	case uMonth:
		v = m
	case uQuarter:
		v = (m-1)/3 + 1
	case uWeek:
		_, v = isoWeek(day)
	case uYear:
		v = bc(y)
	case uIsoYear:
		iy, _ := isoWeek(day)
		v = bc(iy)
	case uDecade:
		v = floorDecade(y)
	case uCentury:
		v = ceilYear(y, 100)
	case uMillennium:
		v = ceilYear(y, 1000)
	case uDow, uIsoDow:
		_, dow := checked.FloorDiv(day+4, 7)
		if v = int(dow); v == 0 && u == uIsoDow {
			v = 7
		}
	case uDoy:
		v = int(day-YMDToDate(y, 1, 1)) + 1
	default:
		return number.Decimal{}, false
	}
	return number.DecimalFromInt64(int64(v), 0), true
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
		// A year is 365.25 days, a month of a broken year 30.
		secs := (1461*y + 120*m + 4*int64(iv.Days)) * 21600
		v, err := number.DecimalFromInt64(secs, 0).Add(number.DecimalFromInt64(iv.Micros, 6))
		return v, err == nil
	}
	return number.Decimal{}, false
}
