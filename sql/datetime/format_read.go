package datetime

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/tochar"
)

// formatReader reads a text by a format: to_date() and to_timestamp().
type formatReader struct {
	s     string
	pos   int
	nodes []tochar.Node
	at    int  // the node being read
	fixed bool // FX: blanks and separators count

	mode                                       tochar.Mode
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
	if day >= MinDate-1 && day <= MaxTimestamp/MicrosPerDay {
		if ts, ok := checked.Add(day*MicrosPerDay, us); ok || us == 0 {
			if zone != nil {
				loc = FixedZone(*zone)
			}
			if ts, ok = fromLocal(ts, loc); ok {
				return ts, nil
			}
		}
	}
	return 0, ErrTimestampRange()
}

// ParseDateFormat is to_date().
func ParseDateFormat(s, format string) (int64, error) {
	st, _, err := readFormat(s, format)
	if err != nil {
		return 0, err
	}
	day := YMDToDate(st.year, st.month, st.day)
	if !ValidDate(day) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
	}
	return day, nil
}

// readFormat returns the date and time, and the offset east if one was read.
func readFormat(s, format string) (dtState, *int, error) {
	st := dtState{year: 0, month: 1, day: 1, meridiem: -1}
	if format == "" {
		return st, nil, nil
	}
	nodes, err := tochar.Parse(format, true, nil)
	if err != nil {
		return st, nil, err
	}
	r := formatReader{s: s, nodes: nodes}
	if err := r.read(); err != nil {
		return st, nil, err
	}
	if err := r.resolve(&st); err != nil {
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

func (r *formatReader) rest() string { return r.s[r.pos:] }

func (r *formatReader) blanks() (n int) {
	for r.pos < len(r.s) && ascii.IsSpace(r.s[r.pos]) {
		r.pos++
		n++
	}
	return n
}

func (r *formatReader) skipRune() {
	_, n := utf8.DecodeRuneInString(r.rest())
	r.pos += n
}

func (r *formatReader) read() error {
	extra := 0 // characters skipped beyond what the format accounts for
	for r.at = 0; r.at < len(r.nodes) && r.pos < len(r.s); r.at++ {
		n := &r.nodes[r.at]
		isFX := n.Kind == tochar.KindField && n.Key.ID == tochar.FieldFX
		if !r.fixed && !isFX && (n.Kind == tochar.KindField || r.at == 0) {
			extra += r.blanks()
		}
		switch n.Kind {
		case tochar.KindSpace, tochar.KindSeparator:
			if r.fixed {
				r.skipRune()
				continue
			}
			extra--
			if r.pos < len(r.s) && (ascii.IsSpace(r.s[r.pos]) || ascii.IsPunct(r.s[r.pos])) {
				r.pos++
				extra++
			}
			continue
		case tochar.KindText:
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
		if n.Key.Mode != tochar.ModeNone {
			if r.mode != tochar.ModeNone && r.mode != n.Key.Mode {
				return errTemplate("invalid combination of date conventions").
					WithHint("Do not mix Gregorian and ISO week date conventions in a formatting template.")
			}
			r.mode = n.Key.Mode
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
func (r *formatReader) set(dest *int, v int, n *tochar.Node) error {
	if *dest != 0 && *dest != v {
		return errTemplate("conflicting values for \"%s\" field in formatting string", n.Key.Name).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	*dest = v
	return nil
}

// nextSeparates reports whether the digits of a field end where no digit is, so
// that it may have any number of them.
func (r *formatReader) nextSeparates() bool {
	if r.nodes[r.at].Mods&(tochar.TH|tochar.Th) != 0 {
		return true
	}
	if r.at+1 >= len(r.nodes) {
		return true
	}
	next := &r.nodes[r.at+1]
	if next.Kind == tochar.KindField {
		return !next.Key.Digit
	}
	return len(next.Text) != 1 || !ascii.IsDigit(next.Text[0])
}

// integer reads a field of at most width digits into dest and returns the number of bytes read.
func (r *formatReader) integer(dest *int, width int, n *tochar.Node) (int, error) {
	init := r.pos
	r.blanks()
	var v int64
	var over bool
	const hint = "If your source string is not fixed-width, try using the \"FM\" modifier."
	if n.Mods&tochar.FM != 0 || r.nextSeparates() {
		took := 0
		v, took, over = ascii.LeadingInt(r.s[init:])
		r.pos = init + took
	} else {
		text := r.rest()
		if len(text) < width {
			return 0, errTemplate("source string too short for \"%s\" formatting field", n.Key.Name).
				WithDetail("Field requires %d characters, but only %d remain.", width, len(text)).WithHint(hint)
		}
		text = text[:width]
		took := 0
		v, took, over = ascii.LeadingInt(text)
		if took > 0 && took < width {
			return 0, errTemplate("invalid value \"%s\" for \"%s\"", text, n.Key.Name).
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
		return 0, errTemplate("invalid value \"%s\" for \"%s\"", text, n.Key.Name).WithDetail("Value must be an integer.")
	}
	if over {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "value for \"%s\" in source string is out of range", n.Key.Name).
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
func (r *formatReader) skipOrdinal(n *tochar.Node) {
	if n.Mods&(tochar.TH|tochar.Th) == 0 {
		return
	}
	for range 2 {
		if r.pos < len(r.s) {
			r.skipRune()
		}
	}
}

// choice reads one of some names, in any case.
func (r *formatReader) choice(names []string, n *tochar.Node) (int, error) {
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
	return 0, errTemplate("invalid value \"%s\" for \"%s\"", word, n.Key.Name).
		WithDetail("The given value did not match any of the allowed values for this field.")
}

func short3(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n[:3]
	}
	return out
}

func (r *formatReader) field(n *tochar.Node, extra int) error {
	key := n.Key.Name
	number := func(dest *int, width int) error {
		_, err := r.integer(dest, width, n)
		return err
	}
	switch n.Key.ID {
	case tochar.FieldMeridiem, tochar.FieldEra:
		names := []string{"am", "pm"}
		if n.Key.ID == tochar.FieldEra {
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
		if n.Key.ID == tochar.FieldEra {
			return r.set(&r.bc, v, n)
		}
		r.clock12 = true
		return r.set(&r.pm, v, n)
	case tochar.FieldHH12:
		r.clock12 = true
		return number(&r.hh, 2)
	case tochar.FieldHH24:
		return number(&r.hh, 2)
	case tochar.FieldMI:
		return number(&r.mi, 2)
	case tochar.FieldSS:
		return number(&r.ss, 2)
	case tochar.FieldMS:
		took, err := r.integer(&r.ms, 3, n)
		if err == nil && took < 3 {
			r.ms *= int(checked.Pow10[3-max(took, 1)])
		}
		return err
	case tochar.FieldFF, tochar.FieldUS:
		width := 6
		if n.Key.ID == tochar.FieldFF {
			width = int(key[2] - '0')
		}
		took, err := r.integer(&r.us, width, n)
		if err == nil && took < 6 {
			r.us *= int(checked.Pow10[6-max(took, 1)])
		}
		return err
	case tochar.FieldSSSS:
		return number(&r.ssss, len(key))
	case tochar.FieldTZ, tochar.FieldOF:
		return pgerr.New(pgerr.FeatureNotSupported, "formatting field \"%s\" is only supported in to_char", key)
	case tochar.FieldTZH:
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
	case tochar.FieldTZM:
		if r.tzSign == 0 {
			r.tzSign = 1
		}
		return number(&r.tzm, 2)
	case tochar.FieldMONTH, tochar.FieldMON:
		names := monthNames[:]
		if n.Key.ID == tochar.FieldMON {
			names = short3(names)
		}
		v, err := r.choice(names, n)
		if err != nil {
			return err
		}
		return r.set(&r.mm, v+1, n)
	case tochar.FieldDAY, tochar.FieldDY:
		names := dayNames[:]
		if n.Key.ID == tochar.FieldDY {
			names = short3(names)
		}
		v, err := r.choice(names, n)
		if err != nil {
			return err
		}
		return r.set(&r.d, v+1, n)
	case tochar.FieldRM:
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

func (r *formatReader) dateField(n *tochar.Node, number func(dest *int, width int) error) error {
	key := n.Key.Name
	switch n.Key.ID {
	case tochar.FieldMM:
		return number(&r.mm, 2)
	case tochar.FieldDDD:
		return number(&r.ddd, 3)
	case tochar.FieldIDDD:
		return number(&r.ddd, 3)
	case tochar.FieldDD:
		return number(&r.dd, 2)
	case tochar.FieldD:
		return number(&r.d, 1)
	case tochar.FieldIDay:
		err := number(&r.d, 1)
		if r.d++; r.d > 7 {
			r.d = 1
		}
		return err
	case tochar.FieldWW, tochar.FieldIW:
		return number(&r.ww, 2)
	case tochar.FieldQ:
		return number(nil, 1)
	case tochar.FieldCC:
		return number(&r.cc, 2)
	case tochar.FieldJ:
		return number(&r.j, 1)
	case tochar.FieldW:
		return number(&r.w, 1)
	case tochar.FieldYComma:
		th, a, _ := ascii.LeadingInt(r.rest())
		if a == 0 || a >= len(r.rest()) || r.rest()[a] != ',' {
			return errTemplate("invalid input string for \"Y,YYY\"")
		}
		tail := r.rest()[a+1:]
		if len(tail) > 3 {
			tail = tail[:3]
		}
		y, b, _ := ascii.LeadingInt(tail)
		if b == 0 {
			return errTemplate("invalid input string for \"Y,YYY\"")
		}
		r.pos += a + 1 + b
		r.yearLen = 4
		r.skipOrdinal(n)
		return r.set(&r.year, int(th)*1000+int(y), n)
	case tochar.FieldYear, tochar.FieldIYear:
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
