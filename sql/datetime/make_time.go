package datetime

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// checkDay validates a date as its parts; a negative year is BC.
func checkDay(y, m, d int) (int64, error) {
	st := dtState{year: y, month: m, day: d, mask: mDate, meridiem: -1}
	if y < 0 {
		st.bc, st.year = true, -y
	}
	if st.validate() != 0 {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date field value out of range: %d-%02d-%02d", y, m, d)
	}
	day := YMDToDate(st.year, st.month, st.day)
	if !ValidDate(day) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: %d-%02d-%02d", st.year, m, d)
	}
	return day, nil
}

func checkClock(h, m int, sec float64) (int64, error) {
	us := math.RoundToEven(sec * 1e6)
	if h >= 0 && h <= 24 && m >= 0 && m < 60 && us >= 0 && us <= 60e6 {
		if t := int64(h)*microsPerHour + int64(m)*microsPerMin + int64(us); t <= MicrosPerDay {
			return t, nil
		}
	}
	return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "time field value out of range: %d:%02d:%s", h, m, shortG(sec))
}

// shortG prints a number as C's %02g.
func shortG(f float64) string {
	s := strconv.FormatFloat(f, 'g', 6, 64)
	if len(s) < 2 {
		s = "0" + s
	}
	return s
}

// MakeDate is make_date().
func MakeDate(y, m, d int) (int64, error) { return checkDay(y, m, d) }

// MakeTime is make_time().
func MakeTime(h, m int, sec float64) (int64, error) { return checkClock(h, m, sec) }

// MakeTimestamp is make_timestamp().
func MakeTimestamp(y, mon, d, h, m int, sec float64) (int64, error) {
	day, err := checkDay(y, mon, d)
	if err != nil {
		return 0, err
	}
	us, err := checkClock(h, m, sec)
	if err != nil {
		return 0, err
	}
	if day <= MaxTimestamp/MicrosPerDay {
		if ts, ok := checked.Add(day*MicrosPerDay, us); (ok || us == 0) && ValidTimestamp(ts) {
			return ts, nil
		}
	}
	return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range: %d-%02d-%02d %d:%02d:%s", y, mon, d, h, m, shortG(sec))
}

// MakeTimestamptz is make_timestamptz() in a zone.
func MakeTimestamptz(y, mon, d, h, m int, sec float64, loc *time.Location) (int64, error) {
	ts, err := MakeTimestamp(y, mon, d, h, m, sec)
	if err != nil {
		return 0, err
	}
	v, ok := fromLocal(ts, loc)
	if !ok {
		return 0, ErrTimestampRange()
	}
	return v, nil
}

// MakeZone finds the zone argument of make_timestamptz(): an offset with its
// sign, or a name.
func MakeZone(s string) (*time.Location, error) {
	if s != "" && ascii.IsDigit(s[0]) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid input syntax for type %s: \"%s\"", "numeric time zone", s).
			WithHint("Numeric time zones must have \"-\" or \"+\" as first character.")
	}
	if strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") {
		west, e := zoneOffset(s)
		if e == dtZoneOverflow {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "numeric time zone \"%s\" out of range", s)
		}
		if e == 0 {
			return FixedZone(-west), nil
		}
	}
	return ZoneOf(s)
}

// TimestamptzFromUnix is to_timestamp(double precision).
func TimestamptzFromUnix(sec float64) (int64, error) {
	switch {
	case math.IsNaN(sec):
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp cannot be NaN")
	case math.IsInf(sec, 1):
		return TimestampInf, nil
	case math.IsInf(sec, -1):
		return TimestampNegInf, nil
	}
	const epoch = PgEpochDays * 86400
	us := math.RoundToEven((sec - epoch) * 1e6)
	if sec >= float64(MinTimestamp)/1e6 && us < float64(MaxTimestamp)-epoch*1e6 {
		return int64(us) + PgEpochMicros, nil
	}
	return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", shortG(sec))
}
