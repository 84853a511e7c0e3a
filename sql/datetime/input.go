package datetime

import (
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func decodeText(s, typ string, env *Settings, timeOnly bool) (dtState, dtResult, error) {
	fields, e := lexDate(s)
	if e != 0 {
		return dtState{}, 0, e.error(typ, s)
	}
	st, res, e, err := decodeDateTime(fields, env.orDefault(), timeOnly)
	if err != nil {
		return st, 0, err
	}
	if e != 0 {
		return st, 0, e.error(typ, s)
	}
	return st, res, nil
}

// ParseDate reads a date: days since 1970-01-01.
func ParseDate(s string, env *Settings) (int64, error) {
	st, res, err := decodeText(s, "date", env, false)
	if err != nil {
		return 0, err
	}
	switch res {
	case resDate:
		day := YMDToDate(st.year, st.month, st.day)
		if !ValidDate(day) {
			return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
		}
		return day, nil
	case resEpoch:
		return 0, nil
	case resLate:
		return DateInf, nil
	case resEarly:
		return DateNegInf, nil
	}
	return 0, dtBadFormat.error("date", s)
}

// ParseTimestamp reads a timestamp without time zone; a zone in it is ignored.
func ParseTimestamp(s string, env *Settings) (int64, error) {
	return parseStamp(s, "timestamp", env, false)
}

// ParseTimestamptz reads a timestamp with time zone; without a zone in the
// text it is the session's.
func ParseTimestamptz(s string, env *Settings) (int64, error) {
	return parseStamp(s, "timestamp with time zone", env, true)
}

func parseStamp(s, typ string, env *Settings, zoned bool) (int64, error) {
	st, res, err := decodeText(s, typ, env, false)
	if err != nil {
		return 0, err
	}
	switch res {
	case resDate:
		us := st.clock()
		day := YMDToDate(st.year, st.month, st.day)
		if day >= MinDate-1 && day <= MaxTimestamp/MicrosPerDay {
			ts, ok := checked.Add(day*MicrosPerDay, us)
			if ok && zoned {
				ts, ok = checked.Add(ts, int64(st.zone)*microsPerSec)
			}
			if ok && ValidTimestamp(ts) {
				return ts, nil
			}
		}
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", s)
	case resEpoch:
		return 0, nil
	case resLate:
		return TimestampInf, nil
	case resEarly:
		return TimestampNegInf, nil
	}
	return 0, dtBadFormat.error(typ, s)
}

// ParseTime reads a time of day; a zone in it is ignored.
func ParseTime(s string, env *Settings) (int64, error) {
	st, _, err := decodeText(s, "time", env, true)
	if err != nil {
		return 0, err
	}
	us, _ := st.micros()
	return us, nil
}

// ParseTimeTZ reads a time of day with its zone, by default the session's.
func ParseTimeTZ(s string, env *Settings) (TimeTZ, error) {
	st, _, err := decodeText(s, "time with time zone", env, true)
	if err != nil {
		return TimeTZ{}, err
	}
	us, _ := st.micros()
	return TimeTZ{Micros: us, Zone: int32(st.zone)}, nil
}
