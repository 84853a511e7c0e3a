package datetime

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/ascii"
)

// dtMask is the set of fields that a text has given so far.
type dtMask uint32

const (
	mYear dtMask = 1 << iota
	mMonth
	mDay
	mDoy
	mHour
	mMinute
	mSecond
	mMilli
	mMicro
	mTZ
	mDTZMod
	mADBC
	mAMPM
	mDow
	mSpecial
	mWeek
	mDecade
	mCentury
	mMillennium

	mDate    = mYear | mMonth | mDay
	mTime    = mHour | mMinute | mAllSecs
	mAllSecs = mSecond | mMilli | mMicro
)

// dtState is a date and time while its text is read.
type dtState struct {
	year, month, day, doy int
	hour, min, sec        int
	fsec                  int64 // microseconds of the second
	mask                  dtMask
	twoDigits             bool // the year has at most two digits
	julian, bc            bool
	meridiem              int // -1: 24 hours; else 0 AM, 1 PM
	order                 DateOrder

	zone      int // seconds west of UTC
	namedZone *time.Location
}

// leadInt reads a sign and digits off s as C's strtol does, into an int32.
func leadInt(s string) (v int, rest string, over bool) {
	i, neg := 0, false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		neg = s[i] == '-'
		i++
	}
	from := i
	for i < len(s) && ascii.IsDigit(s[i]) {
		if v <= math.MaxInt32 {
			v = v*10 + int(s[i]-'0')
		}
		i++
	}
	if i == from {
		return 0, s, false
	}
	if neg {
		v = -v
	}
	return v, s[i:], v > math.MaxInt32 || v < math.MinInt32
}

// fraction reads ".ddd" to the end of s.
func fraction(s string) (float64, dtErr) {
	if s == "." {
		return 0, 0
	}
	if strings.Trim(s[1:], "0123456789") != "" {
		return 0, dtBadFormat
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, dtBadFormat
	}
	return f, 0
}

func fractionMicros(s string) (int64, dtErr) {
	f, e := fraction(s)
	return int64(math.RoundToEven(f * 1e6)), e
}

// decodeDate reads one field that holds a whole date, such as 1999-01-08.
func (st *dtState) decodeDate(s string) (tmask dtMask, err dtErr) {
	var parts []string
	for i := 0; i < len(s); {
		for i < len(s) && !ascii.IsAlnum(s[i]) {
			i++
		}
		if i == len(s) {
			return 0, dtBadFormat
		}
		from := i
		if ascii.IsDigit(s[i]) {
			for i < len(s) && ascii.IsDigit(s[i]) {
				i++
			}
		} else {
			for i < len(s) && ascii.IsAlpha(s[i]) {
				i++
			}
		}
		parts = append(parts, s[from:i])
		if i < len(s) {
			i++ // any one separator
		}
	}
	fmask := st.mask
	textMonth := false
	for i, p := range parts {
		if !ascii.IsAlpha(p[0]) {
			continue
		}
		w := dateWord(p)
		switch w.kind {
		case kIgnore:
			continue
		case kMonth:
			st.month = w.val
			textMonth = true
		default:
			return 0, dtBadFormat
		}
		if fmask&mMonth != 0 {
			return 0, dtBadFormat
		}
		fmask |= mMonth
		tmask |= mMonth
		parts[i] = ""
	}
	for _, p := range parts {
		if p == "" {
			continue
		}
		m, err := st.decodeNumber(p, textMonth, fmask)
		if err != 0 {
			return 0, err
		}
		if fmask&m != 0 {
			return 0, dtBadFormat
		}
		fmask |= m
		tmask |= m
	}
	if fmask&^(mDoy|mTZ) != mDate {
		return 0, dtBadFormat
	}
	return tmask, 0
}

// decodeNumber decides what a number without separators is: year, month or day, by which of them
// are still missing and by DateStyle's order, or a whole date or time such as 20240131.
func (st *dtState) decodeNumber(s string, textMonth bool, fmask dtMask) (tmask dtMask, err dtErr) {
	val, rest, over := leadInt(s)
	if over {
		return 0, dtFieldOverflow
	}
	if len(rest) == len(s) {
		return 0, dtBadFormat
	}
	flen := len(s)
	switch {
	case strings.HasPrefix(rest, "."):
		if flen-len(rest) > 2 {
			m, _, err := st.decodeRun(s, fmask|mDate)
			return m, err
		}
		if st.fsec, err = fractionMicros(rest); err != 0 {
			return 0, err
		}
	case rest != "":
		return 0, dtBadFormat
	}
	if flen == 3 && fmask&mDate == mYear && val >= 1 && val <= 366 {
		st.doy = val
		return mDoy | mMonth | mDay, 0
	}
	setYear := func() { tmask, st.year = mYear, val }
	setMonth := func() { tmask, st.month = mMonth, val }
	setDay := func() { tmask, st.day = mDay, val }
	switch fmask & mDate {
	case 0:
		switch {
		case flen >= 3 || st.order == OrderYMD:
			setYear()
		case st.order == OrderDMY:
			setDay()
		default:
			setMonth()
		}
	case mYear:
		setMonth()
	case mMonth:
		if textMonth && (flen >= 3 || st.order == OrderYMD) {
			setYear()
		} else {
			setDay()
		}
	case mYear | mMonth:
		if textMonth && flen >= 3 && st.twoDigits {
			// What was taken for the year was the day: DD-MON-YYYY.
			st.day, st.year, st.twoDigits = st.year, val, false
			tmask = mDay
		} else {
			setDay()
		}
	case mDay:
		setMonth()
	case mMonth | mDay:
		setYear()
	case mDate:
		m, _, err := st.decodeRun(s, fmask)
		return m, err
	}
	if tmask == mYear {
		st.twoDigits = flen <= 2
	}
	return tmask, 0
}

// decodeRun reads digits run together: yymmdd or more for a date, hhmmss or
// hhmm for a time, a fraction making it a time. isTime says which it was.
func (st *dtState) decodeRun(s string, fmask dtMask) (tmask dtMask, isTime bool, err dtErr) {
	if i := strings.IndexByte(s, '.'); i >= 0 {
		f, _ := strconv.ParseFloat("0"+s[i:], 64)
		st.fsec = int64(math.RoundToEven(f * 1e6))
		s = s[:i]
	} else if fmask&mDate != mDate && len(s) >= 6 {
		n := len(s)
		st.day, _ = strconv.Atoi(s[n-2:])
		st.month, _ = strconv.Atoi(s[n-4 : n-2])
		year, over := 0, false
		if year, _, over = leadInt(s[:n-4]); over {
			return 0, false, dtFieldOverflow
		}
		st.year = year
		if n-4 == 2 {
			st.twoDigits = true
		}
		return mDate, false, 0
	}
	if fmask&mTime != mTime && (len(s) == 6 || len(s) == 4) {
		st.sec = 0
		if len(s) == 6 {
			st.sec, _ = strconv.Atoi(s[4:])
		}
		st.min, _ = strconv.Atoi(s[2:4])
		st.hour, _ = strconv.Atoi(s[:2])
		return mTime, true, 0
	}
	return 0, false, dtBadFormat
}

// clockText reads hh:mm, hh:mm:ss, mm:ss.fff; for an interval MINUTE TO SECOND
// two numbers are minutes and seconds. Hours may be many.
func clockText(s string, minSec bool) (h, m, sec, fsec int64, err dtErr) {
	i := 0
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		i++
	}
	for i < len(s) && ascii.IsDigit(s[i]) {
		i++
	}
	if i > 0 {
		if h, err = parse64(s[:i]); err != 0 {
			return 0, 0, 0, 0, err
		}
	}
	if i == len(s) || s[i] != ':' {
		return 0, 0, 0, 0, dtBadFormat
	}
	n, rest, over := leadInt(s[i+1:])
	if over {
		return 0, 0, 0, 0, dtFieldOverflow
	}
	m = int64(n)
	switch {
	case rest == "":
		if minSec {
			h, m, sec = 0, h, m
		}
	case rest[0] == '.':
		if fsec, err = fractionMicros(rest); err != 0 {
			return 0, 0, 0, 0, err
		}
		h, m, sec = 0, h, m
	case rest[0] == ':':
		n, rest, over = leadInt(rest[1:])
		if over {
			return 0, 0, 0, 0, dtFieldOverflow
		}
		sec = int64(n)
		switch {
		case rest == "":
		case rest[0] == '.':
			if fsec, err = fractionMicros(rest); err != 0 {
				return 0, 0, 0, 0, err
			}
		default:
			return 0, 0, 0, 0, dtBadFormat
		}
	default:
		return 0, 0, 0, 0, dtBadFormat
	}
	if h < 0 || m < 0 || m > 59 || sec < 0 || sec > 60 || fsec < 0 || fsec > microsPerSec {
		return 0, 0, 0, 0, dtFieldOverflow
	}
	return h, m, sec, fsec, 0
}

func parse64(s string) (int64, dtErr) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		if ne, ok := err.(*strconv.NumError); ok && ne.Err == strconv.ErrRange {
			return 0, dtFieldOverflow
		}
		return 0, dtBadFormat
	}
	return v, 0
}

// decodeTime reads a field with colons as a time of day.
func (st *dtState) decodeTime(s string) dtErr {
	h, m, sec, fsec, err := clockText(s, false)
	if err != 0 {
		return err
	}
	if h > math.MaxInt32 {
		return dtFieldOverflow
	}
	st.hour, st.min, st.sec, st.fsec = int(h), int(m), int(sec), fsec
	return 0
}

// micros is the time of day; ok is false beyond 24:00:00.
func (st *dtState) micros() (v int64, ok bool) {
	if st.hour < 0 || st.hour > 24 || st.min < 0 || st.min > 59 || st.sec < 0 || st.sec > 60 ||
		st.fsec < 0 || st.fsec > microsPerSec {
		return 0, false
	}
	v = st.clock()
	return v, v <= MicrosPerDay
}

// clock is the time of day unchecked. Digits run together are taken as they
// are in a timestamp: 137201 is 14:12:01.
func (st *dtState) clock() int64 {
	return int64(st.hour)*microsPerHour + int64(st.min)*microsPerMin + int64(st.sec)*microsPerSec + st.fsec
}

// zoneOffset reads +hh, +hhmm, +hh:mm, +hh:mm:ss into seconds west of UTC.
func zoneOffset(s string) (west int, err dtErr) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, dtBadFormat
	}
	hr, rest, over := leadInt(s[1:])
	if over {
		return 0, dtZoneOverflow
	}
	mi, sec := 0, 0
	switch {
	case strings.HasPrefix(rest, ":"):
		if mi, rest, over = leadInt(rest[1:]); over {
			return 0, dtZoneOverflow
		}
		if strings.HasPrefix(rest, ":") {
			if sec, rest, over = leadInt(rest[1:]); over {
				return 0, dtZoneOverflow
			}
		}
	case rest == "" && len(s) > 3:
		hr, mi = hr/100, hr%100
	}
	if hr < 0 || hr > 15 || mi < 0 || mi >= 60 || sec < 0 || sec >= 60 {
		return 0, dtZoneOverflow
	}
	if rest != "" {
		return 0, dtBadFormat
	}
	west = -(hr*3600 + mi*60 + sec)
	if s[0] == '-' {
		west = -west
	}
	return west, 0
}

// validate checks the date's fields and resolves its year.
func (st *dtState) validate() dtErr {
	if st.mask&mYear != 0 && !st.julian {
		switch {
		case st.bc:
			if st.year <= 0 {
				return dtFieldOverflow
			}
			st.year = -(st.year - 1)
		case st.twoDigits:
			if st.year < 70 {
				st.year += 2000
			} else if st.year < 100 {
				st.year += 1900
			}
		case st.year <= 0:
			return dtFieldOverflow
		}
	}
	if st.mask&mDoy != 0 {
		st.year, st.month, st.day = DateToYMD(YMDToDate(st.year, 1, 1) + int64(st.doy) - 1)
	}
	if st.mask&mMonth != 0 && (st.month < 1 || st.month > 12) {
		return dtMDOverflow
	}
	if st.mask&mDay != 0 && (st.day < 1 || st.day > 31) {
		return dtMDOverflow
	}
	if st.mask&mDate == mDate && st.day > daysIn(st.year, st.month) {
		return dtFieldOverflow
	}
	return 0
}

// noon applies AM and PM.
func (st *dtState) noon() dtErr {
	if st.meridiem < 0 {
		return 0
	}
	switch {
	case st.hour > 12:
		return dtFieldOverflow
	case st.meridiem == 0 && st.hour == 12:
		st.hour = 0
	case st.meridiem == 1 && st.hour != 12:
		st.hour += 12
	}
	return 0
}

// setDay takes over a day number.
func (st *dtState) setDay(day int64) { st.year, st.month, st.day = DateToYMD(day) }

// setClock takes over a time of day.
func (st *dtState) setClock(micros int64) {
	h, m, s, us := splitTime(micros)
	st.hour, st.min, st.sec, st.fsec = int(h), int(m), int(s), us
}
