package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Kind is a setting's type, as pg_settings.vartype.
type Kind string

// The kinds.
const (
	Bool   Kind = "bool"
	Int    Kind = "integer"
	Real   Kind = "real"
	String Kind = "string"
	Enum   Kind = "enum"
)

// Context says who may change a setting.
type Context string

// The contexts.
const (
	User     Context = "user"
	Super    Context = "superuser"
	Sighup   Context = "sighup" // the cluster's, not a session's: by ALTER SYSTEM
	Internal Context = "internal"

	Postmaster       Context = "postmaster" // PostgreSQL's, when its server starts
	Backend          Context = "backend"    // PostgreSQL's, when a connection starts
	SuperuserBackend Context = "superuser-backend"
)

// OfSession reports whether a session may have a value of its own.
func (d *Def) OfSession() bool { return d.Context == User || d.Context == Super }

// Def describes a setting.
type Def struct {
	Name     string // lower case, as looked up
	Display  string // as PostgreSQL spells it where that differs (DateStyle)
	Kind     Kind
	Default  string
	Context  Context
	Unit     string // "ms", "kB", "8kB" or ""
	Min, Max int64
	Enum     []string
	Category string
	Desc     string
	Report   bool // sent as ParameterStatus when it changes
	// lasting settings are of one session or transaction: RESET ALL leaves them, and the
	// cluster has none (PostgreSQL's GUC_NO_RESET_ALL and GUC_DISALLOW_IN_FILE).
	lasting bool
	only    bool   // another value than the default would have to have an effect
	shared  bool   // the cluster has its value, which nobody sets
	inert   bool   // has no effect here; known because clients of PostgreSQL ask for it
	clears  string // the setting that goes back to its default when this one is set
	parse   func(string) (string, error)
}

// ShowName is the name as SHOW heads its column.
func (d *Def) ShowName() string {
	if d.Display != "" {
		return d.Display
	}
	return d.Name
}

func (d *Def) check(v string) (string, error) {
	if d.parse != nil {
		return d.parse(v)
	}
	v, err := d.checkKind(v)
	if err == nil && d.only && v != d.Default {
		err = pgerr.Unsupported("parameter %q can only be %q", d.ShowName(), d.Default)
	}
	return v, err
}

func (d *Def) checkKind(v string) (string, error) {
	switch d.Kind {
	case Bool:
		b, ok := parseBool(v)
		if !ok {
			return "", pgerr.New(pgerr.InvalidParameterValue, "parameter %q requires a Boolean value", d.ShowName())
		}
		if b {
			return "on", nil
		}
		return "off", nil
	case Int:
		n, err := parseUnits(v, d.Unit)
		if err != nil {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", d.ShowName(), v)
		}
		if n < d.Min || n > d.Max {
			return "", pgerr.New(pgerr.InvalidParameterValue, "%d%s is outside the valid range for parameter %q (%d .. %d)", n, space(d.Unit), d.ShowName(), d.Min, d.Max)
		}
		return strconv.FormatInt(n, 10), nil
	case Real:
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", d.ShowName(), v)
		}
		return v, nil
	case Enum:
		for _, e := range d.Enum {
			if strings.EqualFold(e, v) {
				return e, nil
			}
		}
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", d.ShowName(), v).
			WithHint("Available values: %s.", strings.Join(d.Enum, ", "))
	}
	return v, nil
}

func space(u string) string {
	if u == "" {
		return ""
	}
	return " " + u
}

// Show writes a value as SHOW does: with its unit.
func (d *Def) Show(v string) string {
	if d.Kind != Int || d.Unit == "" {
		return v
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n <= 0 {
		return v
	}
	steps := []unit{{"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}}
	if _, ok := times[d.Unit]; ok {
		n *= int64(times[d.Unit])
	} else {
		n *= int64(sizes[d.Unit])
		steps = []unit{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}, {"B", 1}}
	}
	for _, s := range steps {
		if n%s.n == 0 {
			return fmt.Sprintf("%d%s", n/s.n, s.name)
		}
	}
	return v
}

type unit struct {
	name string
	n    int64
}

// The units of settings: of times in milliseconds, of sizes in bytes. KiB and the like are as in
// --memory, and the same.
var (
	times = map[string]float64{"us": 0.001, "ms": 1, "s": 1000, "min": 60000, "h": 3600000, "d": 86400000}
	sizes = map[string]float64{"B": 1, "kB": 1 << 10, "8kB": 8 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
)

func parseBool(v string) (b, ok bool) {
	l := strings.ToLower(strings.TrimSpace(v))
	if l == "" {
		return false, false
	}
	for _, w := range []string{"true", "yes"} {
		if strings.HasPrefix(w, l) {
			return true, true
		}
	}
	for _, w := range []string{"false", "no"} {
		if strings.HasPrefix(w, l) {
			return false, true
		}
	}
	switch l {
	case "on", "1":
		return true, true
	case "of", "off", "0":
		return false, true
	}
	return false, false
}

// parseUnits reads an integer with an optional unit into the setting's unit.
func parseUnits(v, unit string) (int64, error) {
	v = strings.TrimSpace(v)
	i := len(v)
	for i > 0 && (v[i-1] < '0' || v[i-1] > '9') && v[i-1] != '.' {
		i--
	}
	num, u := strings.TrimSpace(v[:i]), strings.TrimSpace(v[i:])
	f, err := strconv.ParseFloat(num, 64)
	if err != nil {
		return 0, err
	}
	if u == "" {
		return int64(f), nil
	}
	scale := times[u] / times[unit]
	if sizes[unit] > 0 {
		scale = sizes[u] / sizes[unit]
	}
	if u == "8kB" || !(scale > 0) {
		return 0, fmt.Errorf("unit %q", u)
	}
	return int64(f * scale), nil
}

// Bytes reads a size, such as 50MB, as settings do.
func Bytes(v string) (int64, error) { return parseUnits(v, "B") }

// Amount reads an amount with an optional unit, such as 30s, into a unit of settings.
func Amount(v, unit string) (int64, error) { return parseUnits(v, unit) }

// Shown writes an amount of a unit as SHOW does.
func Shown(n int64, unit string) string {
	return (&Def{Kind: Int, Unit: unit}).Show(strconv.FormatInt(n, 10))
}

func dateStyle(v string) (string, error) {
	style, order := "ISO", "MDY"
	for _, p := range strings.FieldsFunc(strings.ToUpper(v), func(r rune) bool { return r == ',' || r == ' ' }) {
		switch p {
		case "ISO", "SQL", "GERMAN":
			style = p
			if p == "GERMAN" {
				order = "DMY"
				style = "German"
			}
		case "POSTGRES":
			style = "Postgres"
		case "MDY", "US", "NONEURO", "NONEUROPEAN":
			order = "MDY"
		case "DMY", "EURO", "EUROPEAN":
			order = "DMY"
		case "YMD":
			order = "YMD"
		case "DEFAULT":
		default:
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "DateStyle", v).WithDetail("Unrecognized key word: %q.", strings.ToLower(p))
		}
	}
	return style + ", " + order, nil
}

// timeZone takes what PostgreSQL takes: INTERVAL '…', hours east of Greenwich,
// a name in any case or a POSIX rule. It returns the zone's own name.
func timeZone(v string) (string, error) {
	bad := pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "TimeZone", v)
	var east float64
	if quoted, ok := cutPrefixFold(strings.TrimSpace(v), "interval"); ok {
		text := strings.TrimSpace(quoted)
		if len(text) < 2 || text[0] != '\'' || text[len(text)-1] != '\'' {
			return "", bad
		}
		iv, err := datetime.ParseInterval(text[1:len(text)-1], -1, nil)
		switch {
		case err != nil:
			return "", bad
		case iv.Months != 0:
			return "", bad.WithDetail("Cannot specify months in time zone interval.")
		case iv.Days != 0:
			return "", bad.WithDetail("Cannot specify days in time zone interval.")
		}
		east = float64(iv.Micros / 1e6)
	} else if hours, err := strconv.ParseFloat(v, 64); err == nil {
		east = hours * 3600
	} else if loc, ok := datetime.LoadZone(v); ok {
		return loc.String(), nil
	} else {
		return "", bad
	}
	if !(math.Abs(east) < 168*3600) {
		return "", bad.WithDetail("UTC timezone offset is out of range.")
	}
	return datetime.FixedZone(int(east)).String(), nil
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

const maxInt = 2147483647

func canonical(name string) string {
	k := strings.ToLower(name)
	switch k {
	case "timezone", "time zone":
		return "timezone"
	}
	return k
}
