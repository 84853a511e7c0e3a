package datetime

import (
	"fmt"
	"strconv"
	"strings"
)

// Strptime is a format of strptime, as DuckDB takes it for dates and timestamps: "%d/%m/%Y".
type Strptime struct {
	Text  string
	items []timeItem
}

// timeItem is a field, or text that must stand there.
type timeItem struct {
	field byte // 0 for text
	text  string
}

// timeFields are the fields of formats and how many digits each may have; names have 0.
var timeFields = map[byte]int{'d': 2, 'm': 2, 'Y': 4, 'y': 2, 'H': 2, 'I': 2, 'M': 2, 'S': 2, 'f': 6, 'g': 3, 'n': 9, 'p': 0, 'b': 0, 'B': 0, 'a': 0, 'A': 0, 'z': 0}

// timeFormats are fields that stand for several.
var timeFormats = strings.NewReplacer("%D", "%m/%d/%y", "%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%R", "%H:%M", "%%", "%%", "%x", "%Y-%m-%d", "%X", "%H:%M:%S", "%c", "%Y-%m-%d %H:%M:%S")

// ParseStrptime reads a format. The error says what is wrong with it, to follow its name.
func ParseStrptime(text string) (*Strptime, error) {
	f := &Strptime{Text: text}
	rest := timeFormats.Replace(text)
	for rest != "" {
		before, after, ok := strings.Cut(rest, "%")
		if before != "" {
			f.items = append(f.items, timeItem{text: before})
		}
		if !ok {
			break
		}
		after = strings.TrimPrefix(after, "-") // %-d: digits need not be two, which no field asks for
		if after == "" {
			return nil, fmt.Errorf("ends with %%")
		}
		c := after[0]
		if _, known := timeFields[c]; c == '%' {
			f.items = append(f.items, timeItem{text: "%"})
		} else if !known {
			return nil, fmt.Errorf("has the field %%%c; there are %%d, %%m, %%Y, %%y, %%b, %%B, %%a, %%A, %%H, %%I, %%p, %%M, %%S, %%f, %%g, %%n, %%z and %%D, %%F, %%T, %%R, %%c, %%x, %%X", c)
		} else {
			f.items = append(f.items, timeItem{field: c})
		}
		rest = after[1:]
	}
	if !strings.ContainsAny(f.Fields(), "dmYy") {
		return nil, fmt.Errorf("has neither day nor month nor year")
	}
	return f, nil
}

// Zoned reports whether the format has the field of a time zone.
func (f *Strptime) Zoned() bool { return strings.Contains(f.Fields(), "z") }

// Timestamp reads s; false where it is not of the format. With a zone it is the time of UTC.
func (f *Strptime) Timestamp(s string) (int64, bool) {
	iso, ok := f.ISO(nil, s)
	if !ok {
		return 0, false
	}
	read := ParseTimestamp
	if f.Zoned() {
		read = ParseTimestamptz
	}
	v, err := read(string(iso), strptimeSettings)
	return v, err == nil
}

// strptimeSettings read ISO 8601, whatever the session's are.
var strptimeSettings = &Settings{}

// Fields are the letters of the fields.
func (f *Strptime) Fields() string {
	var b strings.Builder
	for _, it := range f.items {
		if it.field != 0 {
			b.WriteByte(it.field)
		}
	}
	return b.String()
}

// ISO appends what s says in the form of ISO 8601; false where it is not of the format. Whether there is
// such a day is for the type to say.
func (f *Strptime) ISO(dst []byte, s string) ([]byte, bool) {
	year, month, day, hour, minute, second := 1900, 1, 1, 0, 0, 0
	fraction, zone, timed := "", "", false
	half, pm := false, false // the hour is of twelve
	s = strings.TrimSpace(s)
	for _, it := range f.items {
		switch it.field {
		case 0:
			rest, ok := strings.CutPrefix(s, it.text)
			if !ok {
				return dst, false
			}
			s = rest
			continue
		case 'p':
			if len(s) < 2 || s[1]|0x20 != 'm' || s[0]|0x20 != 'a' && s[0]|0x20 != 'p' {
				return dst, false
			}
			half, pm, s = true, s[0]|0x20 == 'p', s[2:]
			continue
		case 'b', 'B', 'a', 'A':
			names := monthNames[:]
			if it.field|0x20 == 'a' {
				names = dayNames[:]
			}
			n, rest := cutWord(s, names, it.field >= 'a')
			if n == 0 {
				return dst, false
			}
			if s = rest; it.field|0x20 == 'b' {
				month = n
			}
			continue
		case 'z':
			n := len(s) - len(strings.TrimLeft(s, "+-0123456789:Z"))
			zone, s = s[:n], s[n:]
			if zone == "" {
				return dst, false
			}
			continue
		}
		n := 0
		for n < len(s) && n < timeFields[it.field] && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		if n == 0 || it.field == 'Y' && n != 4 {
			return dst, false
		}
		text := s[:n]
		v, _ := strconv.Atoi(text)
		s = s[n:]
		switch it.field {
		case 'd':
			day = v
		case 'm':
			month = v
		case 'Y':
			year = v
		case 'y': // as POSIX says
			if year = 2000 + v; v >= 69 {
				year -= 100
			}
		case 'H', 'I':
			if hour, timed = v, true; it.field == 'I' && (v < 1 || v > 12) {
				return dst, false
			}
		case 'M':
			minute, timed = v, true
		case 'S':
			second, timed = v, true
		default:
			fraction, timed = text, true
		}
	}
	if half && hour <= 12 {
		if hour %= 12; pm {
			hour += 12
		}
	}
	if s != "" {
		return dst, false
	}
	dst = fmt.Appendf(dst, "%04d-%02d-%02d", year, month, day)
	if timed {
		if dst = fmt.Appendf(dst, " %02d:%02d:%02d", hour, minute, second); fraction != "" {
			dst = append(append(dst, '.'), fraction...)
		}
	}
	return append(dst, zone...), true
}

// cutWord takes one of some names, or with short its first three letters, and returns its number from 1.
func cutWord(s string, names []string, short bool) (int, string) {
	for i, name := range names {
		if short {
			name = name[:3]
		}
		if len(s) >= len(name) && strings.EqualFold(s[:len(name)], name) {
			return i + 1, s[len(name):]
		}
	}
	return 0, s
}
