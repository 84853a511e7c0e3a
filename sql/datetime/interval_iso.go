package datetime

import (
	"math"
	"strconv"

	"github.com/tributarydb/tributary/sql/ascii"
)

// isoNumber reads a number at the start of s.
func isoNumber(s string) (val int64, frac float64, rest string, e dtErr) {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	digits := 0
	for i < len(s) && ascii.IsDigit(s[i]) {
		i, digits = i+1, digits+1
	}
	if i < len(s) && s[i] == '.' {
		i++
		for i < len(s) && ascii.IsDigit(s[i]) {
			i, digits = i+1, digits+1
		}
	}
	if digits == 0 {
		return 0, 0, s, dtBadFormat
	}
	if j := i + 1; i < len(s) && s[i]|0x20 == 'e' {
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if from := j; j < len(s) && ascii.IsDigit(s[j]) {
			for j < len(s) && ascii.IsDigit(s[j]) {
				j++
			}
			if j > from {
				i = j
			}
		}
	}
	f, err := strconv.ParseFloat(s[:i], 64)
	if err != nil {
		return 0, 0, s, dtBadFormat
	}
	if f < -1e15 || f > 1e15 {
		return 0, 0, s, dtFieldOverflow
	}
	val = int64(math.Trunc(f))
	return val, f - float64(val), s[i:], 0
}

// leadDigits counts the digits at the start, after a sign.
func leadDigits(s string) int {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	n := 0
	for n < len(s) && ascii.IsDigit(s[n]) {
		n++
	}
	return n
}

// decodeISOInterval reads P1Y2M3DT4H5M6S and the alternative forms
// P0001-02-03T04:05:06 and P00010203T040506.
func decodeISOInterval(s string) (p ivParts, e dtErr) {
	if len(s) < 2 || s[0] != 'P' {
		return p, dtBadFormat
	}
	s = s[1:]
	date, seen := true, false
	check := func(ok bool) bool {
		if !ok && e == 0 {
			e = dtFieldOverflow
		}
		return ok
	}
	for s != "" {
		if s[0] == 'T' {
			date, seen = false, false
			s = s[1:]
			continue
		}
		width := leadDigits(s)
		val, frac, rest, err := isoNumber(s)
		if err != 0 {
			return p, err
		}
		unit := byte(0)
		s = rest
		if s != "" {
			unit, s = s[0], s[1:]
		}
		if date {
			switch unit {
			case 'Y':
				check(p.addYears(val, frac, 1))
			case 'M':
				check(p.addMonths(val) && p.addDayFraction(frac, 30))
			case 'W':
				check(p.addDays(val, 7) && p.addDayFraction(frac, 7))
			case 'D':
				check(p.addDays(val, 1) && p.addFraction(frac, MicrosPerDay))
			case 'T', 0, '-':
				if unit != '-' && width == 8 && !seen {
					if !check(p.addYears(val/10000, 0, 1) && p.addMonths(val/100%100) &&
						p.addDays(val%100, 1) && p.addFraction(frac, MicrosPerDay)) {
						return p, e
					}
				} else {
					if seen {
						return p, dtBadFormat
					}
					if s, unit, e = p.isoDate(s, unit, val, frac); e != 0 {
						return p, e
					}
				}
				if unit == 0 {
					return p, 0
				}
				date, seen = false, false
				continue
			default:
				return p, dtBadFormat
			}
		} else {
			switch unit {
			case 'H':
				check(p.addUnits(val, frac, microsPerHour))
			case 'M':
				check(p.addUnits(val, frac, microsPerMin))
			case 'S':
				check(p.addUnits(val, frac, microsPerSec))
			case 0, ':':
				if unit == 0 && width == 6 && !seen {
					check(p.addUnits(val/10000, 0, microsPerHour) && p.addUnits(val/100%100, 0, microsPerMin) &&
						p.addUnits(val%100, 0, microsPerSec) && p.addFraction(frac, 1))
					return p, e
				}
				if seen {
					return p, dtBadFormat
				}
				return p, p.isoTime(s, unit, val, frac)
			default:
				return p, dtBadFormat
			}
		}
		if e != 0 {
			return p, e
		}
		seen = true
	}
	return p, 0
}

// isoDate reads the rest of years-months-days; the unit that ends it is T or 0.
func (p *ivParts) isoDate(s string, unit byte, val int64, frac float64) (string, byte, dtErr) {
	if !p.addYears(val, frac, 1) {
		return s, 0, dtFieldOverflow
	}
	if unit == 0 || unit == 'T' {
		return s, unit, 0
	}
	val, frac, s, e := isoNumber(s)
	if e != 0 {
		return s, 0, e
	}
	if !p.addMonths(val) || !p.addDayFraction(frac, 30) {
		return s, 0, dtFieldOverflow
	}
	switch {
	case s == "":
		return s, 0, 0
	case s[0] == 'T':
		return s[1:], 'T', 0
	case s[0] != '-':
		return s, 0, dtBadFormat
	}
	val, frac, s, e = isoNumber(s[1:])
	if e != 0 {
		return s, 0, e
	}
	if !p.addDays(val, 1) || !p.addFraction(frac, MicrosPerDay) {
		return s, 0, dtFieldOverflow
	}
	switch {
	case s == "":
		return s, 0, 0
	case s[0] == 'T':
		return s[1:], 'T', 0
	}
	return s, 0, dtBadFormat
}

// isoTime reads the rest of hours:minutes:seconds.
func (p *ivParts) isoTime(s string, unit byte, val int64, frac float64) dtErr {
	if !p.addUnits(val, frac, microsPerHour) {
		return dtFieldOverflow
	}
	if unit == 0 {
		return 0
	}
	val, frac, s, e := isoNumber(s)
	if e != 0 {
		return e
	}
	if !p.addUnits(val, frac, microsPerMin) {
		return dtFieldOverflow
	}
	switch {
	case s == "":
		return 0
	case s[0] != ':':
		return dtBadFormat
	}
	val, frac, s, e = isoNumber(s[1:])
	if e != 0 {
		return e
	}
	if !p.addUnits(val, frac, microsPerSec) {
		return dtFieldOverflow
	}
	if s != "" {
		return dtBadFormat
	}
	return 0
}
