package datetime

import (
	"math"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Dates count days and timestamps microseconds from 1970-01-01. The wire and
// PostgreSQL's arithmetic (rounding, bins) count from 2000-01-01.
const (
	microsPerSec  = int64(1_000_000)
	microsPerMin  = 60 * microsPerSec
	microsPerHour = 60 * microsPerMin
	MicrosPerDay  = 24 * microsPerHour

	PgEpochDays   = 10957
	PgEpochMicros = PgEpochDays * MicrosPerDay

	julianUnix = 2440588 // the Julian day of 1970-01-01
	MaxZone    = 16 * 3600
)

// The infinities, and the bounds of finite values. Dates reach from 4714-11-24
// BC to 5874897-12-31; timestamps to the last microsecond of int64, early in
// the year 294247 (PostgreSQL, counting from 2000, reaches 294276).
const (
	DateInf         = int64(math.MaxInt32)
	DateNegInf      = int64(math.MinInt32)
	TimestampInf    = int64(math.MaxInt64)
	TimestampNegInf = int64(math.MinInt64)

	MinDate      = -julianUnix
	MaxDate      = 2147483493 - julianUnix
	MinTimestamp = int64(MinDate) * MicrosPerDay
	MaxTimestamp = int64(math.MaxInt64) - 1
)

// IsInfDate reports whether v is one of the infinite dates.
func IsInfDate(v int64) bool { return v == DateInf || v == DateNegInf }

// IsInfTimestamp reports whether v is one of the infinite timestamps.
func IsInfTimestamp(v int64) bool { return v == TimestampInf || v == TimestampNegInf }

// ValidDate reports whether a day lies in date's range.
func ValidDate(v int64) bool { return v >= MinDate && v <= MaxDate }

// ValidTimestamp reports whether microseconds since 1970 lie in timestamp's range.
func ValidTimestamp(v int64) bool { return v >= MinTimestamp && v <= MaxTimestamp }

// ErrTimestampRange is the error of a timestamp beyond the range of its type.
func ErrTimestampRange() error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range")
}

// ErrDateRange is the error of a date beyond the range of its type.
func ErrDateRange() error { return pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range") }

// YMDToDate returns the day of a date of the proleptic Gregorian calendar. Year
// 0 is 1 BC. Month and day may lie outside their ranges: month 13 is January of
// the year after. The formulas of both directions are Howard Hinnant's
// days_from_civil and civil_from_days ("chrono-Compatible Low-Level Date
// Algorithms", 2013).
func YMDToDate(y, m, d int) int64 {
	yy, mm := int64(y), int64(m)
	if m < 1 || m > 12 {
		yy, mm = checked.FloorDiv(yy*12+mm-1, 12)
		mm++
	}
	// Years are counted from March, so that the leap day is the last of its year.
	if mm <= 2 {
		yy, mm = yy-1, mm+12
	}
	doy := (153*(mm-3)+2)/5 + int64(d) - 1
	if n := uint64(yy + 400*civilEras); n < 1<<32 {
		return int64(n*365+n/4-n/100+n/400) + doy - civilEpoch
	}
	era, yoe := checked.FloorDiv(yy, 400)
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// Days are counted from the 1st of March of a year before all that dates have, the first of an era of
// 400 years, so that quotients are those of unsigned integers.
const (
	civilEras  = 30
	civilEpoch = 719468 + 146097*civilEras
)

// DateToYMD is the inverse of YMDToDate. For most days it is to_date of C. Neri and L. Schneider
// ("Euclidean affine functions and their application to calendar algorithms", 2022), which takes the
// years of a century and the months of a year by a multiplication each.
func DateToYMD(day int64) (y, m, d int) {
	n := uint64(day + civilEpoch)
	if n >= 1<<32 {
		return farDateToYMD(day)
	}
	n = 4*n + 3
	century, rest := n/146097, n%146097/4
	p := 2939745 * (4*rest + 3)
	doy := uint64(uint32(p)) / 2939745 / 4
	md := 2141*doy + 197913
	y, m, d = int(100*century+p>>32)-400*civilEras, int(md>>16), int(md&0xffff/2141)+1
	if doy >= 306 {
		y, m = y+1, m-12
	}
	return y, m, d
}

func farDateToYMD(day int64) (y, m, d int) {
	era, doe := checked.FloorDiv(day+719468, 146097)
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = int(doy - (153*mp+2)/5 + 1)
	m = int(mp + 3)
	if m > 12 {
		m -= 12
	}
	y = int(yoe + era*400)
	if m <= 2 {
		y++
	}
	return y, m, d
}

func isLeap(y int) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

func daysIn(y, m int) int {
	switch m {
	case 2:
		if isLeap(y) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// civil is a point of the calendar with a time of day, in no zone.
type civil struct {
	year, month, day int
	micros           int64 // since midnight
}

// splitTime returns hours, minutes, seconds and microseconds of a span.
func splitTime(micros int64) (h, m, s, us int64) {
	h, micros = micros/microsPerHour, micros%microsPerHour
	m, micros = micros/microsPerMin, micros%microsPerMin
	return h, m, micros / microsPerSec, micros % microsPerSec
}

// toCivil splits local microseconds since 1970.
func toCivil(ts int64) civil {
	day, us := checked.FloorDiv(ts, MicrosPerDay)
	y, m, d := DateToYMD(day)
	return civil{y, m, d, us}
}

func (c civil) date() int64 { return YMDToDate(c.year, c.month, c.day) }

// ts joins the parts to local microseconds; ok is false out of range.
func (c civil) ts() (int64, bool) {
	day := c.date()
	if day < MinDate || day > MaxTimestamp/MicrosPerDay {
		return 0, false
	}
	v, ok := checked.Add(day*MicrosPerDay, c.micros)
	return v, ok && ValidTimestamp(v)
}

// RoundMicros rounds to p digits of a second, halves away from 2000-01-01.
func RoundMicros(v int64, p int32) int64 {
	if p >= 6 || p < 0 {
		return v
	}
	unit := int64(checked.Pow10[6-p])
	if v >= 0 {
		return (v + unit/2) / unit * unit
	}
	return -((-v + unit/2) / unit * unit)
}
