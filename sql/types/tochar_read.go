package types

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// tcReader reads a text by a format: to_date() and to_timestamp().
type tcReader struct {
	s     string
	pos   int
	nodes []tcNode
	at    int  // the node being read
	fixed bool // FX: blanks and separators count

	mode                                       tcMode
	hh, mi, ss, ssss, d, dd, ddd, mm, ms, year int
	ww, w, cc, j, us, yearLen, tzh, tzm        int
	pm, bc                                     int
	clock12                                    bool
	tzSign                                     int
}

func errTemplate(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidDatetimeFormat, format, args...)
}

// ParseTimestampFormat is to_timestamp(text, format): a timestamp with time
// zone, by default in the session's zone.
func ParseTimestampFormat(s, format string, loc *time.Location) (int64, error) {
	st, zone, err := readFormat(s, format)
	if err != nil {
		return 0, err
	}
	us, _ := st.micros()
	day := YMDToDate(st.year, st.month, st.day)
	if day >= minDate-1 && day <= maxTimestamp/microsPerDay {
		if ts, ok := add64(day*microsPerDay, us); ok || us == 0 {
			if zone != nil {
				loc = FixedZone(*zone)
			}
			if ts, ok = FromLocal(ts, loc); ok {
				return ts, nil
			}
		}
	}
	return 0, errTimestampRange()
}

// ParseDateFormat is to_date().
func ParseDateFormat(s, format string) (int64, error) {
	st, _, err := readFormat(s, format)
	if err != nil {
		return 0, err
	}
	day := YMDToDate(st.year, st.month, st.day)
	if !validDate(day) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
	}
	return day, nil
}

// readFormat gives the date and time, and the offset east if one was read.
func readFormat(s, format string) (dtState, *int, error) {
	st := dtState{year: 0, month: 1, day: 1, meridiem: -1}
	if format == "" {
		return st, nil, nil
	}
	nodes, err := parseFormat(format, true, nil)
	if err != nil {
		return st, nil, err
	}
	r := tcReader{s: s, nodes: nodes}
	if err := r.read(); err != nil {
		return st, nil, err
	}
	if err := r.settle(&st); err != nil {
		return st, nil, err
	}
	if r.tzSign == 0 {
		return st, nil, nil
	}
	if r.tzh < 0 || r.tzh > 15 || r.tzm < 0 || r.tzm >= 60 {
		return st, nil, dtFieldOverflow.error("timestamp", s)
	}
	east := r.tzSign * (r.tzh*3600 + r.tzm*60)
	return st, &east, nil
}

func (r *tcReader) rest() string { return r.s[r.pos:] }

func (r *tcReader) blanks() (n int) {
	for r.pos < len(r.s) && isSpace(r.s[r.pos]) {
		r.pos++
		n++
	}
	return n
}

func (r *tcReader) skipRune() {
	_, n := utf8.DecodeRuneInString(r.rest())
	r.pos += n
}

func (r *tcReader) read() error {
	extra := 0 // characters skipped beyond what the format accounts for
	for r.at = 0; r.at < len(r.nodes) && r.pos < len(r.s); r.at++ {
		n := &r.nodes[r.at]
		isFX := n.kind == tcField && n.key.id == tcFX
		if !r.fixed && !isFX && (n.kind == tcField || r.at == 0) {
			extra += r.blanks()
		}
		switch n.kind {
		case tcSpace, tcSeparator:
			if r.fixed {
				r.skipRune()
				continue
			}
			extra--
			if r.pos < len(r.s) && (isSpace(r.s[r.pos]) || isPunct(r.s[r.pos])) {
				r.pos++
				extra++
			}
			continue
		case tcText:
			if !r.fixed && extra > 0 {
				extra--
			} else {
				r.skipRune()
			}
			continue
		}
		if isFX {
			r.fixed = true
			continue
		}
		if n.key.mode != modeNone {
			if r.mode != modeNone && r.mode != n.key.mode {
				return errTemplate("invalid combination of date conventions").
					WithHint("Do not mix Gregorian and ISO week date conventions in a formatting template.")
			}
			r.mode = n.key.mode
		}
		if err := r.field(n, extra); err != nil {
			return err
		}
		if !r.fixed {
			extra = r.blanks()
		}
	}
	return nil
}

// set stores a value that may have been given before, if it is the same.
func (r *tcReader) set(dest *int, v int, n *tcNode) error {
	if *dest != 0 && *dest != v {
		return errTemplate("conflicting values for \"%s\" field in formatting string", n.key.name).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	*dest = v
	return nil
}

// nextSeparates tells whether the digits of a field end where no digit is, so
// that it may have any number of them.
func (r *tcReader) nextSeparates() bool {
	if r.nodes[r.at].mods&(modTH|modTh) != 0 {
		return true
	}
	if r.at+1 >= len(r.nodes) {
		return true
	}
	next := &r.nodes[r.at+1]
	if next.kind == tcField {
		return !next.key.digit
	}
	return len(next.text) != 1 || !isDigit(next.text[0])
}

// cInt reads an integer as C's strtol does and tells how many bytes it took.
func cInt(s string) (v int64, n int, over bool) {
	for n < len(s) && isSpace(s[n]) {
		n++
	}
	neg := false
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		neg = s[n] == '-'
		n++
	}
	from := n
	for n < len(s) && isDigit(s[n]) {
		if v < math.MaxInt64/100 {
			v = v*10 + int64(s[n]-'0')
		} else {
			over = true
		}
		n++
	}
	if n == from {
		return 0, 0, false
	}
	if neg {
		v = -v
	}
	return v, n, over || v > math.MaxInt32 || v < math.MinInt32
}

// integer reads a field of at most width digits into dest and gives the bytes
// it took.
func (r *tcReader) integer(dest *int, width int, n *tcNode) (int, error) {
	init := r.pos
	r.blanks()
	var v int64
	var over bool
	const hint = "If your source string is not fixed-width, try using the \"FM\" modifier."
	if n.mods&modFM != 0 || r.nextSeparates() {
		took := 0
		v, took, over = cInt(r.s[init:])
		r.pos = init + took
	} else {
		text := r.rest()
		if len(text) < width {
			return 0, errTemplate("source string too short for \"%s\" formatting field", n.key.name).
				WithDetail("Field requires %d characters, but only %d remain.", width, len(text)).WithHint(hint)
		}
		text = text[:width]
		took := 0
		v, took, over = cInt(text)
		if took > 0 && took < width {
			return 0, errTemplate("invalid value \"%s\" for \"%s\"", text, n.key.name).
				WithDetail("Field requires %d characters, but only %d could be parsed.", width, took).WithHint(hint)
		}
		r.pos += took
		if took == 0 {
			r.pos = init
		}
	}
	if r.pos == init {
		text := r.rest()
		text = strings.TrimLeft(text, " \t\n\v\f\r")
		if len(text) > width {
			text = text[:width]
		}
		return 0, errTemplate("invalid value \"%s\" for \"%s\"", text, n.key.name).WithDetail("Value must be an integer.")
	}
	if over {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "value for \"%s\" in source string is out of range", n.key.name).
			WithDetail("Value must be in the range %d to %d.", math.MinInt32, math.MaxInt32)
	}
	took := r.pos - init
	r.skipOrdinal(n)
	if dest == nil {
		return took, nil
	}
	return took, r.set(dest, int(v), n)
}

// skipOrdinal passes over the two letters that a TH modifier stands for.
func (r *tcReader) skipOrdinal(n *tcNode) {
	if n.mods&(modTH|modTh) == 0 {
		return
	}
	for range 2 {
		if r.pos < len(r.s) {
			r.skipRune()
		}
	}
}

// choice reads one of some names, in any case.
func (r *tcReader) choice(names []string, n *tcNode) (int, error) {
	for i, name := range names {
		if len(r.rest()) >= len(name) && strings.EqualFold(r.rest()[:len(name)], name) {
			r.pos += len(name)
			return i, nil
		}
	}
	word := r.rest()
	if i := strings.IndexAny(word, " \t\n\v\f\r"); i >= 0 {
		word = word[:i]
	}
	return 0, errTemplate("invalid value \"%s\" for \"%s\"", word, n.key.name).
		WithDetail("The given value did not match any of the allowed values for this field.")
}

func short3(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n[:3]
	}
	return out
}

func (r *tcReader) field(n *tcNode, extra int) error {
	key := n.key.name
	number := func(dest *int, width int) error {
		_, err := r.integer(dest, width, n)
		return err
	}
	switch n.key.id {
	case tcMeridiem, tcEra:
		names := []string{"am", "pm"}
		if n.key.id == tcEra {
			names = []string{"ad", "bc"}
		}
		if strings.Contains(key, ".") {
			for i, s := range names {
				names[i] = s[:1] + "." + s[1:] + "."
			}
		}
		v, err := r.choice(names, n)
		if err != nil {
			return err
		}
		if n.key.id == tcEra {
			return r.set(&r.bc, v, n)
		}
		r.clock12 = true
		return r.set(&r.pm, v, n)
	case tcHH12:
		r.clock12 = true
		return number(&r.hh, 2)
	case tcHH24:
		return number(&r.hh, 2)
	case tcMI:
		return number(&r.mi, 2)
	case tcSS:
		return number(&r.ss, 2)
	case tcMS:
		took, err := r.integer(&r.ms, 3, n)
		if err == nil && took < 3 {
			r.ms *= int(pow10Tab[3-max(took, 1)])
		}
		return err
	case tcFF, tcUS:
		width := 6
		if n.key.id == tcFF {
			width = int(key[2] - '0')
		}
		took, err := r.integer(&r.us, width, n)
		if err == nil && took < 6 {
			r.us *= int(pow10Tab[6-max(took, 1)])
		}
		return err
	case tcSSSS:
		return number(&r.ssss, len(key))
	case tcTZ, tcOF:
		return pgerr.New(pgerr.FeatureNotSupported, "formatting field \"%s\" is only supported in to_char", key)
	case tcTZH:
		r.tzSign = 1
		if r.pos < len(r.s) && strings.IndexByte("+- ", r.s[r.pos]) >= 0 {
			if r.s[r.pos] == '-' {
				r.tzSign = -1
			}
			r.pos++
		} else if extra > 0 && r.s[r.pos-1] == '-' {
			r.tzSign = -1 // the sign was taken for a separator
		}
		return number(&r.tzh, 2)
	case tcTZM:
		if r.tzSign == 0 {
			r.tzSign = 1
		}
		return number(&r.tzm, 2)
	case tcMONTH, tcMON:
		names := monthNames[:]
		if n.key.id == tcMON {
			names = short3(names)
		}
		v, err := r.choice(names, n)
		if err != nil {
			return err
		}
		return r.set(&r.mm, v+1, n)
	case tcDAY, tcDY:
		names := dayNames[:]
		if n.key.id == tcDY {
			names = short3(names)
		}
		v, err := r.choice(names, n)
		if err != nil {
			return err
		}
		return r.set(&r.d, v+1, n)
	case tcRM:
		// The longer numerals come first: I is the beginning of III.
		var names []string
		for _, m := range []int{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0} {
			names = append(names, romanMonths[m])
		}
		v, err := r.choice(names, n)
		if err != nil {
			return err
		}
		return r.set(&r.mm, 12-v, n)
	}
	return r.dateField(n, number)
}

func (r *tcReader) dateField(n *tcNode, number func(dest *int, width int) error) error {
	key := n.key.name
	switch n.key.id {
	case tcMM:
		return number(&r.mm, 2)
	case tcDDD:
		return number(&r.ddd, 3)
	case tcIDDD:
		return number(&r.ddd, 3)
	case tcDD:
		return number(&r.dd, 2)
	case tcD:
		return number(&r.d, 1)
	case tcIDay:
		err := number(&r.d, 1)
		if r.d++; r.d > 7 {
			r.d = 1
		}
		return err
	case tcWW, tcIW:
		return number(&r.ww, 2)
	case tcQ:
		return number(nil, 1)
	case tcCC:
		return number(&r.cc, 2)
	case tcJ:
		return number(&r.j, 1)
	case tcW:
		return number(&r.w, 1)
	case tcYComma:
		th, a, _ := cInt(r.rest())
		if a == 0 || a >= len(r.rest()) || r.rest()[a] != ',' {
			return errTemplate("invalid input string for \"Y,YYY\"")
		}
		tail := r.rest()[a+1:]
		if len(tail) > 3 {
			tail = tail[:3]
		}
		y, b, _ := cInt(tail)
		if b == 0 {
			return errTemplate("invalid input string for \"Y,YYY\"")
		}
		r.pos += a + 1 + b
		r.yearLen = 4
		r.skipOrdinal(n)
		return r.set(&r.year, int(th)*1000+int(y), n)
	case tcYear, tcIYear:
		took, err := r.integer(&r.year, len(key), n)
		if err != nil {
			return err
		}
		r.yearLen = len(key)
		if len(key) < 4 && took < 4 {
			r.year = nearYear(r.year)
		}
	}
	return nil
}

// nearYear completes a year of few digits to the one nearest to 2020.
func nearYear(y int) int {
	switch {
	case y < 70:
		return y + 2000
	case y < 100:
		return y + 1900
	case y < 520:
		return y + 2000
	case y < 1000:
		return y + 1000
	}
	return y
}
