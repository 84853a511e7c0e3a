package datetime

import (
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// dtResult is what a date's text came to: a point of time, or one of the
// special values.
type dtResult int

const (
	resDate dtResult = iota
	resEpoch
	resLate
	resEarly
	resTimeOnly // a time without a date
)

// decodeDateTime reads the fields of a date with an optional time and zone.
// With timeOnly it reads a time, whose date may be there only to resolve the
// zone.
func decodeDateTime(fields []dtField, env *Settings, timeOnly bool) (st dtState, res dtResult, derr dtErr, err error) {
	d := dtDecoder{env: env, fields: fields, timeOnly: timeOnly}
	d.meridiem = -1
	d.order = env.DateOrder
	for i := range fields {
		tmask, e := d.field(i)
		if d.hard != nil {
			return d.dtState, 0, 0, d.hard
		}
		if e != 0 {
			return d.dtState, 0, e, nil
		}
		if tmask&d.mask != 0 {
			return d.dtState, 0, dtBadFormat, nil
		}
		d.mask |= tmask
	}
	if timeOnly {
		return d.dtState, resTimeOnly, d.finishTime(), nil
	}
	res, derr = d.finish()
	return d.dtState, res, derr, nil
}

type dtDecoder struct {
	dtState
	env       *Settings
	fields    []dtField
	timeOnly  bool
	label     dtUnit // the unit of this field, where the previous field names it: J in "J 2451187"
	textMonth bool
	special   int
	abbrev    *time.Location // the zone of an abbreviation that has changed its meaning
	abbrevTxt string
	hard      error // an error whose message is complete
}

// now is the local date and time of the transaction.
func (d *dtDecoder) now() int64 { return ToLocal(d.env.now(), d.env.Zone()) }

func (d *dtDecoder) field(i int) (tmask dtMask, e dtErr) {
	f := d.fields[i]
	switch f.kind {
	case fDate:
		if d.timeOnly {
			return d.dateInTime(i)
		}
		return d.dateField(f.s)
	case fTime:
		if d.label != uNone {
			if d.label != uTime {
				return 0, dtBadFormat
			}
			d.label = uNone
		}
		if e = d.decodeTime(f.s); e != 0 {
			return 0, e
		}
		if !d.timeOnly {
			if _, ok := d.micros(); !ok {
				return 0, dtFieldOverflow
			}
		}
		return mTime, 0
	case fTZ:
		d.zone, e = zoneOffset(f.s)
		return mTZ, e
	case fNumber:
		if d.label != uNone {
			return d.labelled(f.s)
		}
		return d.number(i)
	}
	return d.word(i)
}

func (d *dtDecoder) dateField(s string) (tmask dtMask, e dtErr) {
	if d.label == uJulian {
		// a Julian day with its zone
		v, rest, over := leadInt(s)
		if over || v < 0 {
			return 0, dtFieldOverflow
		}
		d.setDay(int64(v) - julianUnix)
		d.julian = true
		d.label = uNone
		d.zone, e = zoneOffset(rest)
		return mDate | mTime | mTZ, e
	}
	if d.label == uNone && d.mask&(mMonth|mDay) != mMonth|mDay {
		return d.decodeDate(s)
	}
	// There is a date already: a run-together time with its zone, or a name.
	if ascii.IsDigit(s[0]) || d.label != uNone {
		if d.label != uNone {
			if d.label != uTime {
				return 0, dtBadFormat
			}
			d.label = uNone
		}
		if d.mask&mTime == mTime {
			return 0, dtBadFormat
		}
		return d.timeAndZone(s, d.mask)
	}
	return d.zoneName(s)
}

// timeAndZone reads hhmmss-zz.
func (d *dtDecoder) timeAndZone(s string, mask dtMask) (tmask dtMask, e dtErr) {
	i := strings.IndexByte(s, '-')
	if i < 0 {
		return 0, dtBadFormat
	}
	if d.zone, e = zoneOffset(s[i:]); e != 0 {
		return 0, e
	}
	tmask, _, e = d.decodeRun(s[:i], mask)
	return tmask | mTZ, e
}

func (d *dtDecoder) zoneName(s string) (dtMask, dtErr) {
	loc, ok := LoadZone(s)
	if !ok {
		d.hard = pgerr.New(pgerr.InvalidParameterValue, "time zone \"%s\" not recognized", s)
		return 0, 0
	}
	d.namedZone = loc
	return mTZ, 0
}

// dateInTime reads a field with separators inside the text of a time.
func (d *dtDecoder) dateInTime(i int) (dtMask, dtErr) {
	s := d.fields[i].s
	n := len(d.fields)
	if i == 0 && n >= 2 && (d.fields[n-1].kind == fDate || d.fields[1].kind == fTime) {
		return d.decodeDate(s)
	}
	if ascii.IsDigit(s[0]) {
		if d.mask&mTime == mTime {
			return 0, dtBadFormat
		}
		return d.timeAndZone(s, d.mask|mDate)
	}
	return d.zoneName(s)
}

// labelled reads a number whose unit came before it, as in J2451187 or T0405.
func (d *dtDecoder) labelled(s string) (tmask dtMask, e dtErr) {
	v, rest, over := leadInt(s)
	if over {
		return 0, dtFieldOverflow
	}
	if rest != "" && rest[0] != '.' {
		return 0, dtBadFormat
	}
	label := d.label
	d.label = uNone
	switch label {
	case uYear:
		d.year = v
		return mYear, 0
	case uMonth:
		if d.mask&mMonth != 0 && d.mask&mHour != 0 {
			d.min = v
			return mMinute, 0
		}
		d.month = v
		return mMonth, 0
	case uDay:
		d.day = v
		return mDay, 0
	case uHour:
		d.hour = v
		return mHour, 0
	case uMinute:
		d.min = v
		return mMinute, 0
	case uSecond:
		d.sec = v
		if rest == "" {
			return mSecond, 0
		}
		d.fsec, e = fractionMicros(rest)
		return mAllSecs, e
	case uTZ:
		d.zone, e = zoneOffset(s)
		return mTZ, e
	case uJulian:
		if v < 0 {
			return 0, dtFieldOverflow
		}
		d.setDay(int64(v) - julianUnix)
		d.julian = true
		if rest == "" {
			return mDate, 0
		}
		f, e := fraction(rest)
		if e != 0 {
			return 0, e
		}
		d.setClock(int64(f * float64(MicrosPerDay)))
		return mDate | mTime, 0
	case uTime:
		tmask, _, e = d.decodeRun(s, d.mask|mDate)
		if e == 0 && tmask != mTime {
			e = dtBadFormat
		}
		return tmask, e
	}
	return 0, dtBadFormat
}

func (d *dtDecoder) number(i int) (tmask dtMask, e dtErr) {
	s := d.fields[i].s
	point := strings.IndexByte(s, '.')
	if d.timeOnly {
		switch {
		case point >= 0 && i == 0 && len(d.fields) >= 2 && d.fields[len(d.fields)-1].kind == fDate:
			return d.decodeDate(s)
		case point > 2, point < 0 && len(s) > 4:
			tmask, _, e = d.decodeRun(s, d.mask|mDate)
			return tmask, e
		case point >= 0:
			return 0, dtBadFormat
		}
		return d.decodeNumber(s, false, d.mask|mDate)
	}
	switch {
	case point >= 0 && d.mask&mDate == 0:
		return d.decodeDate(s)
	case point > 2, len(s) >= 6 && (d.mask&mDate == 0 || d.mask&mTime == 0):
		tmask, _, e = d.decodeRun(s, d.mask)
		return tmask, e
	}
	return d.decodeNumber(s, d.textMonth, d.mask)
}

func (d *dtDecoder) word(i int) (dtMask, dtErr) {
	s := d.fields[i].s
	w, loc := zoneWord(s)
	if w.kind == kUnknown {
		w = dateWord(s)
	}
	switch w.kind {
	case kIgnore:
		return 0, 0
	case kSpecial:
		return d.specialWord(w.val)
	case kMonth:
		if d.timeOnly {
			return 0, dtBadFormat
		}
		tmask := mMonth
		if d.mask&mMonth != 0 && !d.textMonth && d.mask&mDay == 0 && d.month >= 1 && d.month <= 31 {
			d.day = d.month // what was taken for the month was the day
			tmask = mDay
		}
		d.textMonth = true
		d.month = w.val
		return tmask, 0
	case kDTZMod:
		d.zone -= w.val
		return mDTZMod, 0
	case kDTZ, kTZ:
		d.zone = -w.val
		return mTZ, 0
	case kDynTZ:
		d.abbrev, d.abbrevTxt = loc, s
		return mTZ, 0
	case kAMPM:
		d.meridiem = w.val
		return mAMPM, 0
	case kADBC:
		d.bc = w.val == 1
		return mADBC, 0
	case kDow:
		if d.timeOnly {
			return 0, dtBadFormat
		}
		return mDow, 0
	case kUnit:
		d.label = dtUnit(w.val)
		return 0, 0
	case kISOTime:
		if !d.timeOnly && d.mask&mDate != mDate || i+1 >= len(d.fields) {
			return 0, dtBadFormat
		}
		if k := d.fields[i+1].kind; k != fNumber && k != fTime && k != fDate {
			return 0, dtBadFormat
		}
		d.label = uTime
		return 0, 0
	case kUnknown:
		loc, ok := LoadZone(s)
		if !ok {
			return 0, dtBadFormat
		}
		d.namedZone = loc
		return mTZ, 0
	}
	return 0, dtBadFormat
}

func (d *dtDecoder) specialWord(v int) (dtMask, dtErr) {
	day, micros := checked.FloorDiv(d.now(), MicrosPerDay)
	switch v {
	case spNow:
		d.setClock(micros)
		if d.timeOnly {
			return mTime, 0
		}
		d.setDay(day)
		d.zone = -offsetAt(d.env.now(), d.env.Zone())
		return mDate | mTime | mTZ, 0
	case spZulu:
		d.setClock(0)
		d.zone = 0
		return mTime | mTZ, 0
	}
	if d.timeOnly {
		return 0, dtBadFormat
	}
	switch v {
	case spYesterday:
		d.setDay(day - 1)
		return mDate, 0
	case spToday:
		d.setDay(day)
		return mDate, 0
	case spTomorrow:
		d.setDay(day + 1)
		return mDate, 0
	}
	d.special = v
	return mSpecial, 0
}

// local is the point of time in its own zone, kept within int64: offsets are
// looked up before the range is checked.
func (st *dtState) local() int64 {
	us := st.clock()
	day := YMDToDate(st.year, st.month, st.day)
	return min(max(day, MinDate-1), MaxTimestamp/MicrosPerDay-1)*MicrosPerDay + us
}

func (d *dtDecoder) finish() (dtResult, dtErr) {
	if e := d.validate(); e != 0 {
		return 0, e
	}
	if e := d.noon(); e != 0 {
		return 0, e
	}
	switch d.special {
	case spEpoch:
		return resEpoch, 0
	case spLate:
		return resLate, 0
	case spEarly:
		return resEarly, 0
	}
	if d.mask&mDate != mDate {
		if d.mask&mTime == mTime {
			return resTimeOnly, 0
		}
		return 0, dtBadFormat
	}
	return resDate, d.resolveZone()
}

func (d *dtDecoder) finishTime() dtErr {
	if e := d.validate(); e != 0 {
		return e
	}
	if e := d.noon(); e != 0 {
		return e
	}
	if _, ok := d.micros(); !ok {
		return dtFieldOverflow
	}
	if d.mask&mTime != mTime {
		return dtBadFormat
	}
	if d.namedZone == nil && d.abbrev == nil && d.mask&mTZ != 0 {
		return 0
	}
	switch {
	case d.mask&mDate == mDate:
	case d.namedZone != nil && !constantZone(d.namedZone), d.mask&mDate != 0:
		return dtBadFormat // only a zone of one offset can do without a date
	default:
		day, _ := checked.FloorDiv(d.now(), MicrosPerDay)
		d.setDay(day)
	}
	return d.resolveZone()
}

// resolveZone computes the offset of a zone that is known by name, now that the
// date is known.
func (d *dtDecoder) resolveZone() dtErr {
	zone := d.namedZone
	switch {
	case zone != nil || d.abbrev != nil:
	case d.mask&mTZ == 0:
		zone = d.env.Zone()
	default:
		return 0
	}
	if d.mask&mDTZMod != 0 {
		return dtBadFormat
	}
	local := d.local()
	if zone != nil {
		d.zone = -localOffset(local, zone)
	} else {
		d.zone = -abbrevOffset(d.abbrevTxt, local, d.abbrev)
	}
	return 0
}

// constantZone reports whether a zone has had one offset only.
func constantZone(loc *time.Location) bool {
	from, to := time.Unix(0, 0).In(loc).ZoneBounds()
	return from.IsZero() && to.IsZero()
}
