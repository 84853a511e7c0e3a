package datetime

import (
	"strings"
	"time"
)

// dtKind is what a word or a field of a date means.
type dtKind uint8

const (
	kUnknown dtKind = iota
	kIgnore
	kSpecial // now, today, epoch, infinity ...
	kMonth
	kDow
	kADBC
	kAMPM
	kDTZ    // a zone with daylight saving
	kTZ     // a zone
	kDynTZ  // a zone whose abbreviation has changed its meaning
	kDTZMod // the word dst after a zone
	kUnit
	kISOTime // the letter T
	kAgo
)

// dtUnit is a field of a date or a unit of an interval.
type dtUnit uint8

const (
	uNone dtUnit = iota
	uYear
	uMonth
	uDay
	uHour
	uMinute
	uSecond
	uMillisec
	uMicrosec
	uWeek
	uQuarter
	uDecade
	uCentury
	uMillennium
	uDow
	uDoy
	uIsoDow
	uIsoYear
	uJulian
	uEpoch
	uTime
	uTZ
	uTZHour
	uTZMinute
)

// Values of kSpecial.
const (
	spNow = iota + 1
	spYesterday
	spToday
	spTomorrow
	spZulu
	spEpoch
	spLate
	spEarly
)

type dtWord struct {
	kind dtKind
	val  int
}

var monthNames = [...]string{"january", "february", "march", "april", "may", "june", "july",
	"august", "september", "october", "november", "december"}

var dayNames = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// dateWords are the words that may occur in the text of a date. As in PostgreSQL (TOKMAXLEN) only
// their first ten letters are compared.
var dateWords = func() map[string]dtWord {
	m := map[string]dtWord{
		"-infinity": {kSpecial, spEarly}, "infinity": {kSpecial, spLate},
		"epoch": {kSpecial, spEpoch}, "now": {kSpecial, spNow}, "today": {kSpecial, spToday},
		"tomorrow": {kSpecial, spTomorrow}, "yesterday": {kSpecial, spYesterday}, "allballs": {kSpecial, spZulu},
		"ad": {kADBC, 0}, "bc": {kADBC, 1}, "am": {kAMPM, 0}, "pm": {kAMPM, 1},
		"at": {kIgnore, 0}, "on": {kIgnore, 0}, "dst": {kDTZMod, 3600}, "t": {kISOTime, int(uTime)},
		"d": {kUnit, int(uDay)}, "dow": {kUnit, int(uDow)}, "doy": {kUnit, int(uDoy)}, "h": {kUnit, int(uHour)},
		"isodow": {kUnit, int(uIsoDow)}, "isoyear": {kUnit, int(uIsoYear)}, "j": {kUnit, int(uJulian)},
		"jd": {kUnit, int(uJulian)}, "julian": {kUnit, int(uJulian)}, "m": {kUnit, int(uMonth)},
		"mm": {kUnit, int(uMinute)}, "s": {kUnit, int(uSecond)}, "y": {kUnit, int(uYear)},
		"sept": {kMonth, 9}, "thur": {kDow, 4}, "thurs": {kDow, 4}, "tues": {kDow, 2}, "weds": {kDow, 3},
	}
	for i, n := range monthNames {
		m[n], m[n[:3]] = dtWord{kMonth, i + 1}, dtWord{kMonth, i + 1}
	}
	for i, n := range dayNames {
		m[n], m[n[:3]] = dtWord{kDow, i}, dtWord{kDow, i}
	}
	return m
}()

// unitWords are the words that may occur in the text of an interval, and the names of fields for
// extract().
var unitWords = func() map[string]dtWord {
	m := map[string]dtWord{"@": {kIgnore, 0}, "ago": {kAgo, 0}}
	for u, words := range map[dtUnit]string{
		uCentury: "c cent centuries century", uDay: "d day days", uDecade: "dec decade decades decs",
		uHour: "h hour hours hr hrs", uMinute: "m min mins minute minutes",
		uMicrosec:   "microsecon us usec usecond useconds usecs",
		uMillennium: "mil millennia millennium mils", uMillisec: "millisecon ms msec msecond mseconds msecs",
		uMonth: "mon mons month months", uQuarter: "qtr quarter", uSecond: "s sec second seconds secs",
		uTZ: "timezone", uTZHour: "timezone_h", uTZMinute: "timezone_m",
		uWeek: "w week weeks", uYear: "y year years yr yrs",
	} {
		for _, w := range strings.Fields(words) {
			m[w] = dtWord{kUnit, int(u)}
		}
	}
	return m
}()

func clip10(s string) string {
	if len(s) > 10 {
		return s[:10]
	}
	return s
}

// dateWord looks a lower-case word up among dates' words.
func dateWord(s string) dtWord { return dateWords[clip10(s)] }

func unitWord(s string) dtWord { return unitWords[clip10(s)] }

// zoneWord looks a lower-case word up among the abbreviations of zones. For a
// fixed one val is the offset east; for the others the zone is given.
func zoneWord(s string) (w dtWord, zone *time.Location) {
	a, ok := zoneAbbrevs()[s]
	switch {
	case !ok:
		return dtWord{}, nil
	case a.zone != "":
		loc, ok := LoadZone(a.zone)
		if !ok {
			return dtWord{}, nil
		}
		return dtWord{kDynTZ, 0}, loc
	case a.dst:
		return dtWord{kDTZ, a.offset}, nil
	}
	return dtWord{kTZ, a.offset}, nil
}
