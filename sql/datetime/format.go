package datetime

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/tochar"
)

// formatTime is a time taken apart for to_char.
type formatTime struct {
	year, mon, mday int
	hour            int64
	min, sec, us    int64
	wday, yday      int
	day             int64 // for fields that count weeks and Julian days
	interval        bool
	zone            string
	east            int
}

// Format is a format of to_char, read once for many values. One that writes nothing but days keeps some days' texts; it is for one
// thread.
type Format struct {
	Text  string
	nodes []tochar.Node
	daily bool // of a timestamp it writes nothing but the day
	uses  int
	days  []shownDay // by the day's last bits, from the second use
}

// shownDay is what a format writes of a day; "" for none yet.
type shownDay struct {
	day  int64
	text string
}

const (
	keptDays = 1024 // a power of two
	// shortFormat is up to how many bytes a format keeps days: a field writes at most some ten, so that all are below 200 kB.
	shortFormat = 32
)

// ParseFormat reads a format of to_char for dates and times.
func ParseFormat(text string) (*Format, error) {
	nodes, err := tochar.Parse(text, true, nil)
	if err != nil {
		return nil, err
	}
	return &Format{Text: text, nodes: nodes, daily: len(text) <= shortFormat && !slices.ContainsFunc(nodes, func(n tochar.Node) bool {
		if n.Kind != tochar.KindField {
			return false
		}
		switch n.Key.ID {
		case tochar.FieldMeridiem, tochar.FieldHH12, tochar.FieldHH24, tochar.FieldMI, tochar.FieldSS, tochar.FieldFF, tochar.FieldMS, tochar.FieldUS, tochar.FieldSSSS,
			tochar.FieldTZ, tochar.FieldTZH, tochar.FieldTZM, tochar.FieldOF:
			return true
		}
		return false
	})}, nil
}

// Timestamp is to_char() of a timestamp; loc is the session's zone for one with time zone, else nil. ok is false
// where the answer is NULL.
func (f *Format) Timestamp(ts int64, loc *time.Location) (s string, ok bool, err error) {
	if f.Text == "" || IsInfTimestamp(ts) {
		return "", false, nil
	}
	t := formatTime{}
	local := ts
	switch loc {
	case nil:
	case time.UTC:
		t.zone = "UTC"
	default:
		t.east = offsetAt(ts, loc)
		sec, _ := checked.FloorDiv(ts, microsPerSec)
		t.zone = zoneAbbrevAt(sec, loc)
		local += int64(t.east) * microsPerSec
	}
	day, _ := checked.FloorDiv(local, MicrosPerDay)
	var kept *shownDay
	if f.daily {
		if f.uses++; f.uses == 2 {
			f.days = make([]shownDay, keptDays)
		}
		if f.days != nil {
			if kept = &f.days[day&(keptDays-1)]; kept.day == day && kept.text != "" {
				return kept.text, true, nil
			}
		}
	}
	c := toCivil(local)
	t.year, t.mon, t.mday = c.year, c.month, c.day
	t.hour, t.min, t.sec, t.us = splitTime(c.micros)
	t.day = day
	_, dow := checked.FloorDiv(t.day+4, 7)
	t.wday = int(dow)
	t.yday = int(t.day-YMDToDate(t.year, 1, 1)) + 1
	if s, err = t.format(f); err == nil && kept != nil {
		kept.day, kept.text = day, s
	}
	return s, err == nil, err
}

// Interval is to_char() of an interval.
func (f *Format) Interval(iv Interval) (s string, ok bool, err error) {
	if f.Text == "" {
		return "", false, nil
	}
	t := formatTime{interval: true, year: int(iv.Months / 12), mon: int(iv.Months % 12), mday: int(iv.Days)}
	t.hour, t.min, t.sec, t.us = splitTime(iv.Micros)
	t.yday = (t.year*12+t.mon)*30 + t.mday
	s, err = t.format(f)
	return s, err == nil, err
}

var romanMonths = [...]string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"}

// cased returns a name in the case in which a format names the field.
func cased(name, key string) string {
	switch {
	case strings.ToUpper(key) == key:
		return strings.ToUpper(name)
	case strings.ToLower(key) == key:
		return strings.ToLower(name)
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

func (t *formatTime) format(f *Format) (string, error) {
	b := make([]byte, 0, len(f.Text)+16)
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.Kind != tochar.KindField {
			b = append(b, n.Text...)
			continue
		}
		if v := t.twoDigits(n); v >= 0 {
			b = append(b, byte('0'+v/10), byte('0'+v%10))
			continue
		}
		text, err := t.field(n)
		if err != nil {
			return "", err
		}
		b = append(b, text...)
	}
	return string(b), nil
}

// twoDigits returns the value of a field that is written as two digits, -1 for other fields and values.
func (t *formatTime) twoDigits(n *tochar.Node) int64 {
	v := int64(-1)
	if n.Mods == 0 {
		switch n.Key.ID {
		case tochar.FieldHH24:
			v = t.hour
		case tochar.FieldMI:
			v = t.min
		case tochar.FieldSS:
			v = t.sec
		case tochar.FieldMM:
			v = int64(t.mon)
		case tochar.FieldDD:
			v = int64(t.mday)
		}
	}
	if v > 99 {
		return -1
	}
	return v
}

// shownYear counts years BC from 1 without a sign.
func (t *formatTime) shownYear(y int) int {
	if !t.interval && y <= 0 {
		return 1 - y
	}
	return y
}

func (t *formatTime) field(n *tochar.Node) (string, error) {
	if t.interval {
		switch n.Key.ID {
		case tochar.FieldEra, tochar.FieldTZ, tochar.FieldTZH, tochar.FieldTZM, tochar.FieldOF, tochar.FieldMONTH, tochar.FieldMON, tochar.FieldDAY, tochar.FieldDY, tochar.FieldD, tochar.FieldIDay:
			return "", pgerr.New(pgerr.InvalidDatetimeFormat, "invalid format specification for an interval value").
				WithHint("Intervals are not tied to specific calendar dates.")
		}
	}
	key := n.Key.Name
	switch n.Key.ID {
	case tochar.FieldMeridiem:
		s := "am"
		if h := t.hour % 24; h >= 12 {
			s = "pm"
		}
		if strings.Contains(key, ".") {
			s = s[:1] + "." + s[1:] + "."
		}
		return cased(s, key), nil
	case tochar.FieldEra:
		s := "ad"
		if t.year <= 0 {
			s = "bc"
		}
		if strings.Contains(key, ".") {
			s = s[:1] + "." + s[1:] + "."
		}
		return cased(s, key), nil
	case tochar.FieldHH12:
		h := t.hour % 12
		if h == 0 {
			h = 12
		}
		width := 2
		if t.hour < 0 && h > 0 {
			width = 3
		}
		return n.Num(width, h)
	case tochar.FieldHH24:
		return n.Num(2, t.hour)
	case tochar.FieldMI:
		return n.Num(2, t.min)
	case tochar.FieldSS:
		return n.Num(2, t.sec)
	case tochar.FieldFF:
		d := int(key[2] - '0')
		return n.Ordinal(fmt.Sprintf("%0*d", d, t.us/int64(checked.Pow10[6-d])))
	case tochar.FieldMS:
		return n.Ordinal(fmt.Sprintf("%03d", t.us/1000))
	case tochar.FieldUS:
		return n.Ordinal(fmt.Sprintf("%06d", t.us))
	case tochar.FieldSSSS:
		return n.Ordinal(strconv.FormatInt(t.hour*3600+t.min*60+t.sec, 10))
	case tochar.FieldTZ:
		return cased(t.zone, key), nil
	case tochar.FieldTZH, tochar.FieldTZM, tochar.FieldOF:
		return t.offset(n)
	case tochar.FieldMONTH:
		return n.Name(9, cased(monthNames[t.mon-1], key))
	case tochar.FieldMON:
		return cased(monthNames[t.mon-1][:3], key), nil
	case tochar.FieldDAY:
		return n.Name(9, cased(dayNames[t.wday], key))
	case tochar.FieldDY:
		return cased(dayNames[t.wday][:3], key), nil
	}
	return t.dateField(n)
}

func (t *formatTime) offset(n *tochar.Node) (string, error) {
	sign, abs := '+', t.east
	if abs < 0 {
		sign, abs = '-', -abs
	}
	switch n.Key.ID {
	case tochar.FieldTZH:
		return fmt.Sprintf("%c%02d", sign, abs/3600), nil
	case tochar.FieldTZM:
		return fmt.Sprintf("%02d", abs%3600/60), nil
	}
	width := 2
	if n.Mods&tochar.FM != 0 {
		width = 0
	}
	s := fmt.Sprintf("%c%0*d", sign, width, abs/3600)
	if abs%3600 != 0 {
		s += fmt.Sprintf(":%02d", abs%3600/60)
	}
	return s, nil
}

func (t *formatTime) dateField(n *tochar.Node) (string, error) {
	key := n.Key.Name
	var isoYear, isoNum, isoDay int
	switch id := n.Key.ID; {
	case id != tochar.FieldIDDD && id != tochar.FieldIW && id != tochar.FieldIYear:
	case t.interval:
		isoYear, isoNum, isoDay = isoOfInterval(t.year, t.mon, t.mday)
	default:
		isoYear, isoNum = isoWeek(t.day)
		isoDay = int(t.day-isoWeekStart(isoYear, 1)) + 1
	}
	switch n.Key.ID {
	case tochar.FieldMM:
		return n.Num(2, int64(t.mon))
	case tochar.FieldDDD:
		return n.Fixed(3, int64(t.yday))
	case tochar.FieldIDDD:
		return n.Fixed(3, int64(isoDay))
	case tochar.FieldDD:
		return n.Fixed(2, int64(t.mday))
	case tochar.FieldD:
		return n.Ordinal(strconv.Itoa(t.wday + 1))
	case tochar.FieldIDay:
		return n.Ordinal(strconv.Itoa((t.wday+6)%7 + 1))
	case tochar.FieldWW:
		return n.Fixed(2, int64((t.yday-1)/7+1))
	case tochar.FieldIW:
		return n.Fixed(2, int64(isoNum))
	case tochar.FieldQ:
		if t.mon == 0 {
			return "", nil
		}
		return n.Ordinal(strconv.Itoa((t.mon-1)/3 + 1))
	case tochar.FieldCC:
		c := 0
		switch {
		case t.interval:
			c = t.year / 100
		case t.year > 0:
			c = (t.year-1)/100 + 1
		default:
			c = t.year/100 - 1
		}
		if c > 99 || c < -99 {
			return n.Ordinal(strconv.Itoa(c))
		}
		return n.Num(2, int64(c))
	case tochar.FieldYComma:
		y := t.shownYear(t.year)
		return n.Ordinal(fmt.Sprintf("%d,%03d", y/1000, y%1000))
	case tochar.FieldYear, tochar.FieldIYear:
		y := t.shownYear(t.year)
		width := len(key)
		if y < 0 { // room for a sign by the year, whichever is printed
			width++
		}
		if n.Key.ID == tochar.FieldIYear {
			y = t.shownYear(isoYear)
		}
		if len(key) < 4 {
			y %= int(checked.Pow10[len(key)])
		}
		return n.Fixed(width, int64(y))
	case tochar.FieldRM:
		m := 0
		switch {
		case t.mon == 0 && t.year == 0:
			return "", nil
		case t.mon == 0 && t.year > 0:
			m = 11 // the year is counted to its end
		case t.mon == 0:
			m = 0
		case t.mon < 0:
			m = 12 + t.mon
		default:
			m = t.mon - 1
		}
		return n.Name(4, cased(romanMonths[m], key))
	case tochar.FieldW:
		return n.Ordinal(strconv.Itoa((t.mday-1)/7 + 1))
	case tochar.FieldJ:
		if t.interval {
			return n.Ordinal(strconv.FormatInt(YMDToDate(t.year, t.mon, t.mday)+julianUnix, 10))
		}
		return n.Ordinal(strconv.FormatInt(t.day+julianUnix, 10))
	}
	return "", nil // FX has no text
}
