package datetime

import (
	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// dtErr says why a date or an interval cannot be read; 0 is no error.
type dtErr uint8

const (
	dtBadFormat dtErr = iota + 1
	dtFieldOverflow
	dtMDOverflow // month or day: perhaps the order is another
	dtIntervalOverflow
	dtZoneOverflow
	dtBadZone
)

// error is PostgreSQL's error for e.
func (e dtErr) error(typ, s string) error {
	switch e {
	case dtFieldOverflow:
		return pgerr.New(pgerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s)
	case dtMDOverflow:
		return pgerr.New(pgerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s).
			WithHint("Perhaps you need a different \"datestyle\" setting.")
	case dtIntervalOverflow:
		return pgerr.New(pgerr.IntervalFieldOverflow, "interval field value out of range: \"%s\"", s)
	case dtZoneOverflow:
		return pgerr.New(pgerr.InvalidTimeZoneDisplacement, "time zone displacement out of range: \"%s\"", s)
	}
	return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input syntax for type %s: \"%s\"", typ, s)
}

// fieldKind is the shape of a field of a date's text.
type fieldKind uint8

const (
	fNumber  fieldKind = iota // digits, perhaps with a fraction
	fString                   // letters
	fDate                     // digits and letters with separators; also names of zones
	fTime                     // digits and colons
	fTZ                       // a sign and digits
	fSpecial                  // a sign and letters
)

type dtField struct {
	kind fieldKind
	s    string // lower case
}

const (
	maxDateFields = 25
	maxDateBytes  = 128 + maxDateFields
)

// lexDate splits the text of a date, time or interval into fields.
func lexDate(s string) ([]dtField, dtErr) {
	var fields []dtField
	total := 0
	i := 0
	at := func(c byte) bool { return i < len(s) && s[i] == c }
	digit := func() bool { return i < len(s) && ascii.IsDigit(s[i]) }
	for i < len(s) {
		c := s[i]
		if ascii.IsSpace(c) {
			i++
			continue
		}
		var b []byte
		take := func(ok func(c byte) bool) {
			for i < len(s) && ok(s[i]) {
				b = append(b, ascii.Lower(s[i]))
				i++
			}
		}
		var kind fieldKind
		switch {
		case ascii.IsDigit(c):
			take(ascii.IsDigit)
			switch {
			case at(':'):
				kind = fTime
				take(func(c byte) bool { return ascii.IsDigit(c) || c == ':' || c == '.' })
			case at('-') || at('/') || at('.'):
				delim := s[i]
				b = append(b, delim)
				i++
				if digit() {
					kind = fDate
					if delim == '.' {
						kind = fNumber
					}
					take(ascii.IsDigit)
					if at(delim) {
						kind = fDate
						take(func(c byte) bool { return ascii.IsDigit(c) || c == delim })
					}
				} else {
					kind = fDate
					take(func(c byte) bool { return ascii.IsAlnum(c) || c == delim })
				}
			default:
				kind = fNumber
			}
		case c == '.':
			kind = fNumber
			b = append(b, c)
			i++
			take(ascii.IsDigit)
		case ascii.IsAlpha(c):
			kind = fString
			take(ascii.IsAlpha)
			// What follows may make it a date with the month's name in it, or
			// the name of a zone.
			date := at('-') || at('/') || at('.')
			if !date && (at('+') || digit()) {
				date = dateWord(string(b)).kind == kUnknown
			}
			if date {
				kind = fDate
				take(func(c byte) bool {
					return ascii.IsAlnum(c) || c == '+' || c == '-' || c == '/' || c == '_' || c == '.' || c == ':'
				})
			}
		case c == '+' || c == '-':
			b = append(b, c)
			i++
			for i < len(s) && ascii.IsSpace(s[i]) {
				i++
			}
			switch {
			case digit():
				kind = fTZ
				take(func(c byte) bool { return ascii.IsDigit(c) || c == ':' || c == '.' || c == '-' })
			case i < len(s) && ascii.IsAlpha(s[i]):
				kind = fSpecial
				take(ascii.IsAlpha)
			default:
				return nil, dtBadFormat
			}
		case ascii.IsPunct(c):
			i++
			continue
		default:
			return nil, dtBadFormat
		}
		total += len(b) + 1
		if len(fields) == maxDateFields || total > maxDateBytes {
			return nil, dtBadFormat
		}
		fields = append(fields, dtField{kind, string(b)})
	}
	return fields, 0
}
