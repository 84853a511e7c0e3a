package datetime

import (
	"strconv"
	"time"

	"github.com/tributarydb/tributary/sql/checked"
)

func appendTwo(dst []byte, v int64) []byte {
	if v > 99 {
		return strconv.AppendInt(dst, v, 10)
	}
	return append(dst, '0'+byte(v/10), '0'+byte(v%10))
}

// appendYear appends a year of at least four digits, counted from 1 BC back.
func appendYear(dst []byte, y int) []byte {
	if y <= 0 {
		y = 1 - y
	}
	for p := 1000; p > y && p > 1; p /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(y), 10)
}

func appendDay(dst []byte, y, m, d int, env *Settings) []byte {
	two := func(v int, sep byte) {
		dst = appendTwo(dst, int64(v))
		if sep != 0 {
			dst = append(dst, sep)
		}
	}
	switch env.DateStyle {
	case DateSQL, DatePostgres:
		sep := byte('/')
		if env.DateStyle == DatePostgres {
			sep = '-'
		}
		if env.DateOrder == OrderDMY {
			two(d, sep)
			two(m, sep)
		} else {
			two(m, sep)
			two(d, sep)
		}
		return appendYear(dst, y)
	case DateGerman:
		two(d, '.')
		two(m, '.')
		return appendYear(dst, y)
	}
	dst = append(appendYear(dst, y), '-')
	two(m, '-')
	two(d, 0)
	return dst
}

func appendBC(dst []byte, y int) []byte {
	if y <= 0 {
		return append(dst, " BC"...)
	}
	return dst
}

// AppendDate appends the text form of a date.
func AppendDate(dst []byte, v int64, env *Settings) []byte {
	switch v {
	case DateInf:
		return append(dst, "infinity"...)
	case DateNegInf:
		return append(dst, "-infinity"...)
	}
	y, m, d := DateToYMD(v)
	return appendBC(appendDay(dst, y, m, d, env.orDefault()), y)
}

// AppendTime appends hh:mm:ss and what there is of a fraction.
func AppendTime(dst []byte, micros int64) []byte {
	h, m, s, us := splitTime(micros)
	dst = append(appendTwo(dst, h), ':')
	dst = append(appendTwo(dst, m), ':')
	return appendFraction(appendTwo(dst, s), us)
}

func appendFraction(dst []byte, us int64) []byte {
	if us == 0 {
		return dst
	}
	dst = append(dst, '.')
	for p := int64(100000); us > 0; p /= 10 {
		dst = append(dst, '0'+byte(us/p))
		us %= p
	}
	return dst
}

// appendOffset appends +hh, +hh:mm or +hh:mm:ss.
func appendOffset(dst []byte, east int) []byte {
	sign := byte('+')
	if east < 0 {
		sign, east = '-', -east
	}
	dst = appendTwo(append(dst, sign), int64(east/3600))
	if east%3600 != 0 {
		dst = appendTwo(append(dst, ':'), int64(east/60%60))
	}
	if east%60 != 0 {
		dst = appendTwo(append(dst, ':'), int64(east%60))
	}
	return dst
}

// AppendTimeTZ appends the text form of a time with time zone.
func AppendTimeTZ(dst []byte, v TimeTZ) []byte {
	return appendOffset(AppendTime(dst, v.Micros), -int(v.Zone))
}

// AppendTimestamp appends the text form of a timestamp without time zone.
func AppendTimestamp(dst []byte, v int64, env *Settings) []byte {
	return appendStamp(dst, v, env.orDefault(), nil)
}

// AppendTimestamptz appends the text form of a timestamp with time zone, in
// the session's zone.
func AppendTimestamptz(dst []byte, v int64, env *Settings) []byte {
	env = env.orDefault()
	return appendStamp(dst, v, env, env.Zone())
}

// appendStamp prints v; loc is nil for a timestamp without time zone.
func appendStamp(dst []byte, v int64, env *Settings, loc *time.Location) []byte {
	switch v {
	case TimestampInf:
		return append(dst, "infinity"...)
	case TimestampNegInf:
		return append(dst, "-infinity"...)
	}
	off := 0
	if loc != nil {
		off = offsetAt(v, loc)
	}
	day, us := checked.FloorDiv(v, MicrosPerDay)
	// Add the offset to the parts: v itself may be near the end of int64.
	carry, us := checked.FloorDiv(us+int64(off)*microsPerSec, MicrosPerDay)
	day += carry
	y, m, d := DateToYMD(day)
	if env.DateStyle == DatePostgres {
		_, dow := checked.FloorDiv(day+4, 7)
		dst = append(dst, title3(dayNames[dow])...)
		dst = append(dst, ' ')
		if env.DateOrder == OrderDMY {
			dst = append(appendTwo(dst, int64(d)), ' ')
			dst = append(dst, title3(monthNames[m-1])...)
		} else {
			dst = append(dst, title3(monthNames[m-1])...)
			dst = appendTwo(append(dst, ' '), int64(d))
		}
		dst = AppendTime(append(dst, ' '), us)
		dst = appendYear(append(dst, ' '), y)
	} else {
		dst = appendDay(dst, y, m, d, env)
		dst = AppendTime(append(dst, ' '), us)
	}
	if loc != nil {
		if env.DateStyle == DateISO {
			dst = appendOffset(dst, off)
		} else {
			sec, _ := checked.FloorDiv(v, microsPerSec)
			dst = append(dst, ' ')
			dst = append(dst, zoneAbbrevAt(sec, loc)...)
		}
	}
	return appendBC(dst, y)
}

// zoneAbbrevAt is the zone's abbreviation in force at a Unix time.
func zoneAbbrevAt(sec int64, loc *time.Location) string {
	name, off := time.Unix(sec, 0).In(loc).Zone()
	if len(name) > 1 && name[0] == '<' {
		return string(appendOffset(nil, off))
	}
	return name
}

// title3 is the first three letters of a name, the first in upper case.
func title3(s string) string { return string([]byte{s[0] - 32, s[1], s[2]}) }

// AppendXSD appends a timestamp with a T and, in a zone, a full offset, as XML
// Schema and to_json() write it; loc is nil for timestamp without time zone.
func AppendXSD(dst []byte, v int64, loc *time.Location) []byte {
	off := 0
	if loc != nil {
		off = offsetAt(v, loc)
	}
	day, us := checked.FloorDiv(v, MicrosPerDay)
	carry, us := checked.FloorDiv(us+int64(off)*microsPerSec, MicrosPerDay)
	y, m, d := DateToYMD(day + carry)
	dst = append(appendDay(dst, y, m, d, defaults), 'T')
	dst = AppendTime(dst, us)
	if loc != nil {
		from := len(dst)
		if dst = appendOffset(dst, off); len(dst)-from == 3 {
			dst = append(dst, ":00"...)
		}
	}
	return appendBC(dst, y)
}
