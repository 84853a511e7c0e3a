package datetime

import (
	"math"
	"strings"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Modifiers of interval: the fields it keeps in the high half, the digits of
// its seconds in the low half.
const (
	ivMonth     = 1 << 1
	ivYear      = 1 << 2
	ivDay       = 1 << 3
	ivHour      = 1 << 10
	ivMinute    = 1 << 11
	RangeSecond = 1 << 12

	FullRange       = 0x7fff
	ivFullPrecision = 0xffff
)

func ivRange(mod int32) int {
	if mod < 0 {
		return FullRange
	}
	return int(mod >> 16 & 0x7fff)
}

// ivParts is an interval that is being read. Years are separate from months:
// 178956970 years fit, as 2147483640 months do.
type ivParts struct {
	years, months, days int64 // each kept within 32 bits
	micros              int64
}

func fit32(v int64) bool { return v >= math.MinInt32 && v <= math.MaxInt32 }

func addTo32(p *int64, v int64) bool {
	*p += v
	return fit32(v) && fit32(*p)
}

func (p *ivParts) addMicros(v int64) bool {
	var ok bool
	p.micros, ok = checked.Add(p.micros, v)
	return ok
}

// addFraction adds a fraction of a unit of so many microseconds, rounded.
func (p *ivParts) addFraction(f float64, unit int64) bool {
	if f == 0 {
		return true
	}
	f *= float64(unit)
	us := int64(f)
	f -= float64(us)
	if f > 0.5 {
		us++
	} else if f < -0.5 {
		us--
	}
	return p.addMicros(us)
}

func (p *ivParts) addUnits(v int64, f float64, unit int64) bool {
	n, ok := checked.Mul(v, unit)
	return ok && p.addMicros(n) && p.addFraction(f, unit)
}

func (p *ivParts) addDays(v, scale int64) bool {
	return fit32(v) && addTo32(&p.days, v*scale)
}

// addDayFraction adds a fraction of a unit of so many days.
func (p *ivParts) addDayFraction(f float64, days int) bool {
	if f == 0 {
		return true
	}
	f *= float64(days)
	whole := int64(f)
	return addTo32(&p.days, whole) && p.addFraction(f-float64(whole), MicrosPerDay)
}

func (p *ivParts) addMonths(v int64) bool { return fit32(v) && addTo32(&p.months, v) }

func (p *ivParts) addYears(v int64, f float64, years int64) bool {
	y, ok := checked.Mul(v, years)
	if !ok || !fit32(y) || !addTo32(&p.years, y) {
		return false
	}
	return addTo32(&p.months, int64(math.RoundToEven(f*float64(years)*12)))
}

// add adds v and a fraction of a unit and returns which fields that sets.
func (p *ivParts) add(u dtUnit, v int64, f float64) (tmask dtMask, e dtErr) {
	ok := false
	switch u {
	case uMicrosec:
		tmask, ok = mMicro, p.addUnits(v, f, 1)
	case uMillisec:
		tmask, ok = mMilli, p.addUnits(v, f, 1000)
	case uSecond:
		tmask, ok = mSecond, p.addUnits(v, f, microsPerSec)
		if f != 0 {
			tmask = mAllSecs
		}
	case uMinute:
		tmask, ok = mMinute, p.addUnits(v, f, microsPerMin)
	case uHour:
		tmask, ok = mHour, p.addUnits(v, f, microsPerHour)
	case uDay:
		tmask, ok = mDay, p.addDays(v, 1) && p.addFraction(f, MicrosPerDay)
	case uWeek:
		tmask, ok = mWeek, p.addDays(v, 7) && p.addDayFraction(f, 7)
	case uMonth:
		tmask, ok = mMonth, p.addMonths(v) && p.addDayFraction(f, 30)
	case uYear:
		tmask, ok = mYear, p.addYears(v, f, 1)
	case uDecade:
		tmask, ok = mDecade, p.addYears(v, f, 10)
	case uCentury:
		tmask, ok = mCentury, p.addYears(v, f, 100)
	case uMillennium:
		tmask, ok = mMillennium, p.addYears(v, f, 1000)
	default:
		return 0, dtBadFormat
	}
	if !ok {
		return 0, dtFieldOverflow
	}
	return tmask, 0
}

func (p *ivParts) interval() (Interval, bool) {
	m := p.years*12 + p.months
	return Interval{Months: int32(m), Days: int32(p.days), Micros: p.micros}, fit32(m)
}

// ParseInterval reads an interval in any of its forms: verbose, SQL, ISO 8601.
// The modifier says what a number without a unit is, and what is kept.
func ParseInterval(s string, mod int32, env *Settings) (Interval, error) {
	env = env.orDefault()
	parts, e := ivParts{}, dtErr(0)
	fields, e := lexDate(s)
	if e == 0 {
		parts, e = decodeInterval(fields, ivRange(mod), env)
	}
	if e == dtBadFormat {
		if p, e2 := decodeISOInterval(s); e2 != dtBadFormat {
			parts, e = p, e2
		}
	}
	if e == dtFieldOverflow {
		e = dtIntervalOverflow
	}
	if e != 0 {
		return Interval{}, e.error("interval", s)
	}
	iv, ok := parts.interval()
	if !ok {
		return Interval{}, errIntervalRange()
	}
	return FitInterval(iv, mod)
}

func errIntervalRange() error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "interval out of range")
}

// rightmostUnit is what a number without a unit means, by the fields an
// interval type keeps.
func rightmostUnit(rng int) dtUnit {
	switch {
	case rng == FullRange || rng&RangeSecond != 0:
		return uSecond
	case rng&ivMinute != 0:
		return uMinute
	case rng&ivHour != 0:
		return uHour
	case rng&ivDay != 0:
		return uDay
	case rng&ivMonth != 0:
		return uMonth
	case rng&ivYear != 0:
		return uYear
	}
	return uSecond
}

// decodeInterval reads the fields from the last to the first, so that a unit
// is known before its number.
func decodeInterval(fields []dtField, rng int, env *Settings) (p ivParts, e dtErr) {
	// In SQL's own style a leading minus holds for all fields, unless another
	// field has a sign.
	negate := false
	if env.IntervalStyle == IntervalSQL && len(fields) > 0 && fields[0].s[0] == '-' {
		negate = true
		for _, f := range fields[1:] {
			if f.s[0] == '-' || f.s[0] == '+' {
				negate = false
			}
		}
	}
	minSec := rng == ivMinute|RangeSecond
	unit, known := uNone, false // known: a unit stands to the right
	ago := false
	var fmask dtMask
	clock := func(s string) (int64, dtErr) {
		h, m, sec, fsec, e := clockText(s, minSec)
		if e != 0 {
			return 0, e
		}
		v, ok := checked.Mul(h, microsPerHour)
		if ok {
			v, ok = checked.Add(v, m*microsPerMin+sec*microsPerSec+fsec)
		}
		if !ok {
			return 0, dtFieldOverflow
		}
		return v, 0
	}
	for i := len(fields) - 1; i >= 0; i-- {
		f := fields[i]
		var tmask dtMask
		switch f.kind {
		case fTime:
			v, e := clock(f.s)
			if e != 0 {
				return p, e
			}
			if negate {
				v = -v
			}
			p.micros = v
			tmask, unit, known = mTime, uDay, true
		case fTZ, fDate, fNumber:
			if f.kind == fTZ && strings.IndexByte(f.s, ':') > 0 {
				if v, e := clock(f.s[1:]); e == 0 {
					if f.s[0] == '-' {
						v = -v
					}
					p.micros = v
					tmask, unit, known = mTime, uDay, true
					break
				}
			}
			if !known {
				unit = rightmostUnit(rng)
			}
			val, frac, u, e := ivNumber(f.s, unit)
			if e != 0 {
				return p, e
			}
			unit, known = u, true
			if negate {
				val, frac = -abs64(val), -math.Abs(frac)
			}
			if tmask, e = p.add(unit, val, frac); e != 0 {
				return p, e
			}
			if unit == uHour {
				unit = uDay // for the number to the left
			}
		case fString, fSpecial:
			w := unitWord(f.s)
			switch w.kind {
			case kIgnore:
				continue
			case kUnit:
				unit, known = dtUnit(w.val), true
			case kAgo:
				ago = true
				unit, known = uNone, true
			default:
				return p, dtBadFormat
			}
		}
		if tmask&fmask != 0 {
			return p, dtBadFormat
		}
		fmask |= tmask
	}
	if fmask == 0 {
		return p, dtBadFormat
	}
	if ago {
		if p.micros == math.MinInt64 || p.days == math.MinInt32 || p.months == math.MinInt32 || p.years == math.MinInt32 {
			return p, dtFieldOverflow
		}
		p = ivParts{-p.years, -p.months, -p.days, -p.micros}
	}
	return p, 0
}

func abs64(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// ivNumber reads a number of an interval, or SQL's years-months.
func ivNumber(s string, unit dtUnit) (val int64, frac float64, u dtUnit, e dtErr) {
	i := 0
	if s[0] == '+' || s[0] == '-' {
		i++
	}
	for i < len(s) && ascii.IsDigit(s[i]) {
		i++
	}
	if head := s[:i]; head != "" && head != "-" && head != "+" {
		if val, e = parse64(head); e != 0 {
			return 0, 0, unit, e
		}
	}
	switch rest := s[i:]; {
	case rest == "":
	case rest[0] == '-':
		m, after, over := leadInt(rest[1:])
		if over || m < 0 || m >= 12 {
			return 0, 0, unit, dtFieldOverflow
		}
		if after != "" {
			return 0, 0, unit, dtBadFormat
		}
		if s[0] == '-' {
			m = -m
		}
		v, ok := checked.Mul(val, 12)
		if ok {
			v, ok = checked.Add(v, int64(m))
		}
		if !ok {
			return 0, 0, unit, dtFieldOverflow
		}
		return v, 0, uMonth, 0
	case rest[0] == '.':
		if frac, e = fraction(rest); e != 0 {
			return 0, 0, unit, e
		}
		if s[0] == '-' {
			frac = -frac
		}
	default:
		return 0, 0, unit, dtBadFormat
	}
	return val, frac, unit, 0
}
