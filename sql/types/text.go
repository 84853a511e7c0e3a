package types

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// maxName is the longest identifier in bytes.
const maxName = 63

// ParseText reads the text form of a value of t, its modifier applied as an
// assignment does (too long is an error). A nil env is DefaultEnv.
func ParseText(t Type, s string, env *Env) (Datum, error) {
	d, err := parseText(t, s, env.orDefault())
	if err != nil || t.Mod < 0 {
		return d, err
	}
	return ApplyMod(t, d, false)
}

func parseText(t Type, s string, env *Env) (Datum, error) {
	if parse := t.OID.def().parse; parse != nil {
		return parse(t, s, env)
	}
	return nil, pgerr.Unsupported("type %s is not supported", t)
}

// parser reads the text of a value.
type parser = func(t Type, s string, env *Env) (Datum, error)

// in is the parser of a type that needs nothing but the text, sure one that cannot fail, dated one that depends on a session's settings of dates.
func in[T any](f func(string) (T, error)) parser {
	return func(_ Type, s string, _ *Env) (Datum, error) { return datum(f(s)) }
}

func sure[T any](f func(string) T) func(string) (T, error) {
	return func(s string) (T, error) { return f(s), nil }
}

func parseInt(bits int) parser {
	return func(_ Type, s string, _ *Env) (Datum, error) {
		v, err := number.ParseInt(bits, s)
		if err != nil {
			return nil, err
		}
		return v, nil
	}
}

func parseFloat(bits int) parser {
	return func(_ Type, s string, _ *Env) (Datum, error) { return datum(number.ParseFloat(bits, s)) }
}

func dated[T any](f func(string, *datetime.Settings) (T, error)) parser {
	return func(_ Type, s string, env *Env) (Datum, error) { return datum(f(s, env.Dates())) }
}

func asIs(_ Type, s string, _ *Env) (Datum, error) { return s, nil }

func parseNumeric(t Type, s string, _ *Env) (Datum, error) { return fixedOf(t)(number.ParseDecimal(s)) }

// fixedOf fits a numeric without a visible modifier to the representation of t.
func fixedOf(t Type) func(d number.Decimal, err error) (Datum, error) {
	return func(d number.Decimal, err error) (Datum, error) {
		if err == nil && t.Mod < 0 && t.Prec > 0 {
			return datum(number.FitFixed(int(t.Prec), int(t.Scale), d))
		}
		return datum(d, err)
	}
}

func parseInterval(t Type, s string, env *Env) (Datum, error) {
	return datum(datetime.ParseInterval(s, t.Mod, env.Dates()))
}

func validJSON(s string) (string, error) { return s, json.Valid(s) }

// datum drops the value beside an error, so that it is nil.
func datum[T any](v T, err error) (Datum, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// AppendText appends the text form of d, a value of t that is not NULL.
func AppendText(dst []byte, t Type, d Datum, env *Env) []byte {
	env = env.orDefault()
	def := t.OID.def()
	if def.text != nil && d != nil {
		return def.text(dst, t, d, env)
	}
	switch v := d.(type) {
	case nil:
		return dst
	case bool:
		if v {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case string:
		return append(dst, v...)
	case float64:
		return number.AppendFloat(dst, v, 8*def.form.Width(), env.ExtraFloatDigits)
	case number.Decimal:
		return v.AppendText(dst)
	case []byte:
		return appendBytea(dst, v, env.ByteaOutput)
	case [16]byte:
		return appendUUID(dst, v)
	case datetime.Interval:
		return datetime.AppendInterval(dst, v, env.IntervalStyle)
	case datetime.TimeTZ:
		return datetime.AppendTimeTZ(dst, v)
	case Array:
		return appendArray(dst, t, v, env)
	case Row:
		return appendRow(dst, t, v, env)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	}
	return dst
}

// AppendShown appends what a cast of d, a value of t that is not NULL, to text makes.
func AppendShown(dst []byte, t Type, d Datum, env *Env) []byte {
	if show := t.OID.def().show; show != nil {
		return show(dst, d)
	}
	return AppendText(dst, t, d, env)
}

func showBool(dst []byte, d Datum) []byte { return strconv.AppendBool(dst, d.(bool)) }

// TextOf is AppendText as a string.
func TextOf(t Type, d Datum, env *Env) string { return string(AppendText(nil, t, d, env)) }

// TruncateName cuts an identifier to 63 bytes at a character boundary.
func TruncateName(s string) string { return ClipName(s, 0) }

// ClipName cuts an identifier so that less more bytes are within what a name may have.
func ClipName(s string, less int) string {
	if len(s) <= maxName-less {
		return s
	}
	n := maxName - less
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func textChar(dst []byte, _ Type, d Datum, _ *Env) []byte {
	return append(dst, CharText(d.(string))...)
}
func textDate(dst []byte, _ Type, d Datum, env *Env) []byte {
	return datetime.AppendDate(dst, d.(int64), env.Dates())
}
func textTime(dst []byte, _ Type, d Datum, _ *Env) []byte { return datetime.AppendTime(dst, d.(int64)) }
func textTimestamp(dst []byte, _ Type, d Datum, env *Env) []byte {
	return datetime.AppendTimestamp(dst, d.(int64), env.Dates())
}
func textTimestamptz(dst []byte, _ Type, d Datum, env *Env) []byte {
	return datetime.AppendTimestamptz(dst, d.(int64), env.Dates())
}
func textTID(dst []byte, _ Type, d Datum, _ *Env) []byte { return appendTID(dst, d.(int64)) }

func parseVector(t Type, s string, _ *Env) (Datum, error) {
	elem, _ := t.Elem()
	a := Array{Elem: elem}
	for _, f := range strings.Fields(s) {
		var v int64
		var err error
		if elem.OID == OIDOID {
			v, err = parseOID("oid", f)
		} else {
			v, err = number.ParseInt(16, f)
		}
		if err != nil {
			return nil, err
		}
		a.Elems = append(a.Elems, v)
	}
	return a, nil
}

func parseLSN(s string) (string, error) {
	if a, b, ok := strings.Cut(s, "/"); ok && len(a) <= 8 && len(b) <= 8 {
		x, err1 := strconv.ParseUint(a, 16, 32)
		y, err2 := strconv.ParseUint(b, 16, 32)
		if err1 == nil && err2 == nil {
			return strings.ToUpper(strconv.FormatUint(x, 16) + "/" + strconv.FormatUint(y, 16)), nil
		}
	}
	return "", pgerr.InvalidText("pg_lsn", s)
}

func oidOf(name string) func(string) (int64, error) {
	return func(s string) (int64, error) { return parseOID(name, s) }
}

// parseOID reads an oid as strtoul does: a minus sign wraps around.
func parseOID(name, text string) (int64, error) {
	s := ascii.TrimSpace(text)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	if s == "" {
		return 0, pgerr.InvalidText(name, text)
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, pgerr.InvalidText(name, text)
		}
	}
	u, err := strconv.ParseUint(s, 10, 64)
	if err != nil || !neg && u > math.MaxUint32 || neg && u > 1<<31 {
		return 0, pgerr.TextOutOfRange(name, text)
	}
	if neg {
		return int64(uint32(-u)), nil
	}
	return int64(u), nil
}

// parseBool reads a boolean: any prefix of true, false, yes, no; on, off; 1, 0.
func parseBool(text string) (bool, error) {
	s := strings.ToLower(ascii.TrimSpace(text))
	if s != "" {
		switch {
		case strings.HasPrefix("true", s), strings.HasPrefix("yes", s), s == "on", s == "1":
			return true, nil
		case strings.HasPrefix("false", s), strings.HasPrefix("no", s), s == "of", s == "off", s == "0":
			return false, nil
		}
	}
	return false, pgerr.InvalidText("boolean", text)
}
