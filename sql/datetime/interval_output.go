package datetime

import (
	"strconv"

	"github.com/tributarydb/tributary/sql/checked"
)

// AppendInterval appends the text form of iv in a style.
func AppendInterval(dst []byte, iv Interval, style IntervalStyle) []byte {
	h, m, s, us := splitTime(iv.Micros)
	f := ivFields{int64(iv.Months / 12), int64(iv.Months % 12), int64(iv.Days), h, m, s, us}
	switch style {
	case IntervalVerbose:
		return f.verbose(dst)
	case IntervalSQL:
		return f.sql(dst)
	case IntervalISO:
		return f.iso(dst)
	}
	return f.postgres(dst)
}

// ivFields is an interval taken apart; all parts of the time share its sign.
type ivFields struct{ year, mon, day, hour, min, sec, us int64 }

func (f ivFields) timeNegative() bool { return f.hour < 0 || f.min < 0 || f.sec < 0 || f.us < 0 }
func (f ivFields) hasTime() bool      { return f.hour != 0 || f.min != 0 || f.sec != 0 || f.us != 0 }

// appendAbs appends the magnitude of v, also of the least int64, whose negation overflows.
func appendAbs(dst []byte, v int64) []byte { return strconv.AppendUint(dst, checked.Abs(v), 10) }

func appendTwoAbs(dst []byte, v int64) []byte {
	if u := checked.Abs(v); u > 99 {
		return strconv.AppendUint(dst, u, 10)
	}
	return appendTwo(dst, abs64(v))
}

func appendSeconds(dst []byte, sec, us int64, fill bool) []byte {
	if fill {
		dst = appendTwoAbs(dst, sec)
	} else {
		dst = appendAbs(dst, sec)
	}
	return appendFraction(dst, abs64(us))
}

func plural(dst []byte, v int64) []byte {
	if v != 1 {
		return append(dst, 's')
	}
	return dst
}

func (f ivFields) postgres(dst []byte) []byte {
	first, before := true, false
	part := func(v int64, unit string) {
		if v == 0 {
			return
		}
		if !first {
			dst = append(dst, ' ')
		}
		if before && v > 0 {
			dst = append(dst, '+')
		}
		dst = strconv.AppendInt(dst, v, 10)
		dst = plural(append(append(dst, ' '), unit...), v)
		before, first = v < 0, false
	}
	part(f.year, "year")
	part(f.mon, "mon")
	part(f.day, "day")
	if !first && !f.hasTime() {
		return dst
	}
	if !first {
		dst = append(dst, ' ')
	}
	if f.timeNegative() {
		dst = append(dst, '-')
	} else if before {
		dst = append(dst, '+')
	}
	dst = append(appendTwoAbs(dst, f.hour), ':')
	dst = append(appendTwoAbs(dst, f.min), ':')
	return appendSeconds(dst, f.sec, f.us, true)
}

func (f ivFields) verbose(dst []byte) []byte {
	dst = append(dst, '@')
	first, ago := true, false
	part := func(v int64, unit string) {
		if v == 0 {
			return
		}
		if first {
			ago = v < 0
			v = abs64(v)
		} else if ago {
			v = -v
		}
		dst = strconv.AppendInt(append(dst, ' '), v, 10)
		dst = plural(append(append(dst, ' '), unit...), v)
		first = false
	}
	part(f.year, "year")
	part(f.mon, "mon")
	part(f.day, "day")
	part(f.hour, "hour")
	part(f.min, "min")
	if f.sec != 0 || f.us != 0 {
		dst = append(dst, ' ')
		if f.sec < 0 || f.us < 0 {
			if first {
				ago = true
			} else if !ago {
				dst = append(dst, '-')
			}
		} else if ago {
			dst = append(dst, '-')
		}
		dst = append(appendSeconds(dst, f.sec, f.us, false), " sec"...)
		if abs64(f.sec) != 1 || f.us != 0 {
			dst = append(dst, 's')
		}
		first = false
	}
	if first {
		dst = append(dst, " 0"...)
	}
	if ago {
		dst = append(dst, " ago"...)
	}
	return dst
}

func (f ivFields) sql(dst []byte) []byte {
	neg := f.year < 0 || f.mon < 0 || f.day < 0 || f.timeNegative()
	pos := f.year > 0 || f.mon > 0 || f.day > 0 || f.hour > 0 || f.min > 0 || f.sec > 0 || f.us > 0
	ym, dt := f.year != 0 || f.mon != 0, f.day != 0 || f.hasTime()
	standard := !(neg && pos) && !(ym && dt)
	if neg && standard {
		dst = append(dst, '-')
	}
	clock := func() {
		dst = append(appendAbs(dst, f.hour), ':')
		dst = append(appendTwoAbs(dst, f.min), ':')
		dst = appendSeconds(dst, f.sec, f.us, true)
	}
	sign := func(neg bool) {
		if neg {
			dst = append(dst, '-')
		} else {
			dst = append(dst, '+')
		}
	}
	switch {
	case !neg && !pos:
		dst = append(dst, '0')
	case !standard:
		sign(f.year < 0 || f.mon < 0)
		dst = append(appendAbs(dst, f.year), '-')
		dst = append(appendAbs(dst, f.mon), ' ')
		sign(f.day < 0)
		dst = append(appendAbs(dst, f.day), ' ')
		sign(f.timeNegative())
		clock()
	case ym:
		dst = append(appendAbs(dst, f.year), '-')
		dst = appendAbs(dst, f.mon)
	default:
		if f.day != 0 {
			dst = append(appendAbs(dst, f.day), ' ')
		}
		clock()
	}
	return dst
}

func (f ivFields) iso(dst []byte) []byte {
	if f == (ivFields{}) {
		return append(dst, "PT0S"...)
	}
	dst = append(dst, 'P')
	part := func(v int64, unit byte) {
		if v != 0 {
			dst = append(strconv.AppendInt(dst, v, 10), unit)
		}
	}
	part(f.year, 'Y')
	part(f.mon, 'M')
	part(f.day, 'D')
	if f.hasTime() {
		dst = append(dst, 'T')
	}
	part(f.hour, 'H')
	part(f.min, 'M')
	if f.sec != 0 || f.us != 0 {
		if f.sec < 0 || f.us < 0 {
			dst = append(dst, '-')
		}
		dst = append(appendSeconds(dst, f.sec, f.us, false), 'S')
	}
	return dst
}
