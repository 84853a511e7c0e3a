package datetime

import (
	"encoding/binary"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// zoneAbbrev is the meaning of an abbreviation: a fixed offset, or a zone,
// whose history has the offset that it stood for at a given time.
type zoneAbbrev struct {
	name   string
	offset int // seconds east of UTC
	dst    bool
	zone   string
}

var zoneNames = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for _, n := range strings.Fields(zoneNameText) {
		m[strings.ToLower(n)] = n
	}
	return m
})

var zoneAbbrevs = sync.OnceValue(func() map[string]zoneAbbrev {
	m := map[string]zoneAbbrev{}
	for _, line := range strings.FieldsFunc(zoneAbbrevText, func(r rune) bool { return r == ';' || r == '\n' }) {
		f := strings.Fields(line)
		a := zoneAbbrev{name: f[0], dst: len(f) > 2}
		if n, err := strconv.Atoi(f[1]); err == nil {
			a.offset = n
		} else {
			a.zone = f[1]
		}
		m[a.name] = a
	}
	return m
})

// ZoneNames lists the IANA zones, for pg_timezone_names.
func ZoneNames() []string { return strings.Fields(zoneNameText) }

// ZoneAbbrev is a row of pg_timezone_abbrevs.
type ZoneAbbrev struct {
	Name   string
	Offset int // seconds east of UTC at the time asked for
	DST    bool
}

// ZoneAbbrevs lists the abbreviations as they are meant at a time, by name.
func ZoneAbbrevs(at time.Time) []ZoneAbbrev {
	var out []ZoneAbbrev
	for _, line := range strings.FieldsFunc(zoneAbbrevText, func(r rune) bool { return r == ';' || r == '\n' }) {
		name, _, _ := strings.Cut(line, " ")
		a := zoneAbbrevs()[name]
		if a.zone != "" {
			if loc, ok := LoadZone(a.zone); ok {
				_, a.offset = at.In(loc).Zone()
				a.dst = at.In(loc).IsDST()
			}
		}
		out = append(out, ZoneAbbrev{strings.ToUpper(name), a.offset, a.dst})
	}
	return out
}

var zoneCache sync.Map // lower-case name to *time.Location; bounded by the names that exist

// LoadZone finds a zone by its IANA name in any case, or by a POSIX rule such
// as EST5EDT or <+03>-3.
func LoadZone(name string) (*time.Location, bool) {
	key := strings.ToLower(name)
	if key == "utc" {
		return time.UTC, true
	}
	canon, known := zoneNames()[key]
	if !known {
		return posixZone(name)
	}
	if l, ok := zoneCache.Load(key); ok {
		return l.(*time.Location), true
	}
	loc, err := time.LoadLocation(canon)
	if err != nil {
		return nil, false
	}
	zoneCache.Store(key, loc)
	return loc, true
}

// ZoneOf finds what AT TIME ZONE and timezone() accept: an abbreviation, a
// name, or a POSIX rule.
func ZoneOf(name string) (*time.Location, error) {
	if a, ok := zoneAbbrevs()[strings.ToLower(name)]; ok {
		if a.zone == "" {
			return time.FixedZone(strings.ToUpper(a.name), a.offset), nil
		}
		name = a.zone
	}
	if loc, ok := LoadZone(name); ok {
		return loc, nil
	}
	if west, rest, ok := posixOffset(name); ok && rest == "" {
		return time.FixedZone(name, -west), nil // a POSIX rule without a name
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}

// FixedZone is the zone of an offset in seconds east of UTC, named as
// PostgreSQL shows it.
func FixedZone(east int) *time.Location {
	if east == 0 {
		return time.FixedZone("<+00>-00", 0)
	}
	sign, inv, abs := byte('+'), byte('-'), east
	if east < 0 {
		sign, inv, abs = '-', '+', -east
	}
	h, m, s := abs/3600, abs/60%60, abs%60
	b := appendTwo(nil, int64(h))
	if m != 0 || s != 0 {
		b = appendTwo(append(b, ':'), int64(m))
	}
	if s != 0 {
		b = appendTwo(append(b, ':'), int64(s))
	}
	return time.FixedZone("<"+string(sign)+string(b)+">"+string(inv)+string(b), east)
}

// posixZone reads a POSIX rule: name, offset west, and optionally the name of
// daylight saving time with its offset and dates.
func posixZone(s string) (*time.Location, bool) {
	if len(s) > 64 {
		return nil, false
	}
	rest, ok := posixName(s)
	if !ok && rest != s { // PostgreSQL lets the standard time go without a name: +05:30
		return nil, false
	}
	std := rest
	west, rest, ok := posixOffset(std)
	if !ok {
		return nil, false
	}
	if rest == "" {
		return time.FixedZone(strings.ToUpper(s), -west), true
	}
	after, ok := posixName(rest)
	if !ok {
		return nil, false
	}
	angle := func(name string) string { return "<" + strings.ToUpper(strings.Trim(name, "<>")) + ">" }
	rule := angle(s[:len(s)-len(std)]) + std[:len(std)-len(rest)] + angle(rest[:len(rest)-len(after)])
	if _, r, ok := posixOffset(after); ok {
		rule += after[:len(after)-len(r)]
		after = r
	}
	switch {
	case after == "":
		rule += ",M3.2.0,M11.1.0" // the rule of the United States, as where none is given
	case after[0] == ',':
		rule += strings.ToUpper(after)
	default:
		return nil, false
	}
	loc, err := time.LoadLocationFromTZData(strings.ToUpper(s), tzData(rule, -west))
	if err != nil {
		return nil, false
	}
	return loc, true
}

// posixName skips a zone name: anything in <>, or all that cannot begin an
// offset.
func posixName(s string) (rest string, ok bool) {
	if strings.HasPrefix(s, "<") {
		i := strings.IndexByte(s, '>')
		return s[i+1:], i > 1
	}
	i := 0
	for i < len(s) && !ascii.IsDigit(s[i]) && s[i] != ',' && s[i] != '-' && s[i] != '+' {
		i++
	}
	return s[i:], i > 0
}

func posixOffset(s string) (seconds int, rest string, ok bool) {
	i, sign := 0, 1
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		if s[i] == '-' {
			sign = -1
		}
		i++
	}
	unit := 3600
	for unit > 0 {
		from := i
		n := 0
		for i < len(s) && ascii.IsDigit(s[i]) && n < 1000 {
			n = n*10 + int(s[i]-'0')
			i++
		}
		if i == from || unit == 3600 && n > 167 || unit == 60 && n > 59 || n > 60 && unit == 1 {
			return 0, s, false
		}
		seconds += n * unit
		if unit == 1 || i >= len(s) || s[i] != ':' {
			break
		}
		i++
		unit /= 60
	}
	return sign * seconds, s[i:], true
}

// tzData is the smallest TZif file (RFC 8536) that holds a POSIX rule: one
// local time type, in force from the earliest time that the format can express,
// and the rule for all times.
func tzData(rule string, east int) []byte {
	b := []byte{}
	for _, long := range []bool{false, true} {
		b = append(b, "TZif2"...)
		b = append(b, make([]byte, 15)...)
		for _, n := range []uint32{0, 0, 0, 1, 1, 4} { // one transition, one type, four letters
			b = binary.BigEndian.AppendUint32(b, n)
		}
		if long {
			b = binary.BigEndian.AppendUint64(b, 1<<63|1<<60)
		} else {
			b = binary.BigEndian.AppendUint32(b, 1<<31)
		}
		b = append(b, 0)
		b = binary.BigEndian.AppendUint32(b, uint32(int32(east)))
		b = append(b, 0, 0, 'L', 'M', 'T', 0)
	}
	return append(append(append(b, '\n'), rule...), '\n')
}

// ToLocal returns local microseconds of an instant.
func ToLocal(ts int64, loc *time.Location) int64 {
	return ts + int64(offsetAt(ts, loc))*microsPerSec
}

// offsetAt is the offset east of UTC, in seconds, in force at an instant.
func offsetAt(ts int64, loc *time.Location) int {
	if loc == nil || loc == time.UTC {
		return 0
	}
	sec, _ := checked.FloorDiv(ts, microsPerSec)
	_, off := time.Unix(sec, 0).In(loc).Zone()
	return off
}

// localOffset is the offset that a local time is read with. A time that a
// change of clocks skips is read as if before the change, a time that occurs
// twice as the second.
func localOffset(local int64, loc *time.Location) int {
	if loc == nil || loc == time.UTC {
		return 0
	}
	sec, _ := checked.FloorDiv(local, microsPerSec)
	prev := time.Unix(sec-86400, 0).In(loc)
	_, before := prev.Zone()
	_, end := prev.ZoneBounds()
	if end.IsZero() {
		return before
	}
	_, after := end.Zone()
	boundary := end.Unix()
	t1, t2 := sec-int64(before), sec-int64(after)
	switch {
	case t1 < boundary && t2 < boundary:
		return before
	case t1 > boundary && t2 >= boundary:
		return after
	case t1 > t2:
		return before
	}
	return after
}

// fromLocal returns the instant of local microseconds; ok is false out of range.
func fromLocal(local int64, loc *time.Location) (ts int64, ok bool) {
	ts = local - int64(localOffset(local, loc))*microsPerSec
	return ts, ValidTimestamp(ts) && (ts < local) == (ts-local < 0)
}

// abbrevOffset is what an abbreviation meant in a zone at a local time: as it
// was last used before, else as it was first used after, else what is in force.
func abbrevOffset(name string, local int64, loc *time.Location) int {
	off := localOffset(local, loc)
	sec, _ := checked.FloorDiv(local, microsPerSec)
	name = strings.ToUpper(name)
	at := time.Unix(sec-int64(off), 0).In(loc)
	const most = 300 // transitions looked at; no zone's history has more
	for t, i := at, 0; i < most; i++ {
		if n, o := t.Zone(); n == name {
			return o
		}
		start, _ := t.ZoneBounds()
		if start.IsZero() {
			break
		}
		t = start.Add(-time.Second)
	}
	for t, i := at, 0; i < most; i++ {
		_, end := t.ZoneBounds()
		if end.IsZero() {
			break
		}
		if n, o := end.Zone(); n == name {
			return o
		}
		t = end
	}
	return off
}
