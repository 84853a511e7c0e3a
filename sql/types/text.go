package types

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/jsonpath"
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
	switch t.OID {
	case BoolOID:
		return datum(parseBool(s))
	case Int2OID:
		return datum(number.ParseInt(16, s))
	case Int4OID:
		return datum(number.ParseInt(32, s))
	case Int8OID:
		return datum(number.ParseInt(64, s))
	case Float4OID:
		return datum(number.ParseFloat(32, s))
	case Float8OID:
		return datum(number.ParseFloat(64, s))
	case NumericOID:
		d, err := number.ParseDecimal(s)
		if err == nil && t.Mod < 0 && t.Prec > 0 {
			return datum(number.FitFixed(int(t.Prec), int(t.Scale), d))
		}
		return datum(d, err)
	case TextOID, VarcharOID, BpcharOID, UnknownOID, CstringOID, RefcursorOID, PgNodeTreeOID, XMLOID, ACLItemOID:
		return s, nil
	case NameOID:
		return TruncateName(s), nil
	case CharOID:
		return ParseChar(s), nil
	case BitOID, VarbitOID:
		return datum(ParseBits(s))
	case ByteaOID:
		return datum(parseBytea(s))
	case UUIDOID:
		return datum(parseUUID(s))
	case DateOID:
		return datum(datetime.ParseDate(s, env.Dates()))
	case TimeOID:
		return datum(datetime.ParseTime(s, env.Dates()))
	case TimetzOID:
		return datum(datetime.ParseTimeTZ(s, env.Dates()))
	case TimestampOID:
		return datum(datetime.ParseTimestamp(s, env.Dates()))
	case TimestamptzOID:
		return datum(datetime.ParseTimestamptz(s, env.Dates()))
	case IntervalOID:
		return datum(datetime.ParseInterval(s, t.Mod, env.Dates()))
	case JSONOID:
		if err := json.Valid(s); err != nil {
			return nil, err
		}
		return s, nil
	case JSONBOID:
		return datum(json.CanonicalJSONB(s))
	case JSONPathOID:
		return datum(jsonpath.Canonical(s))
	case OIDOID, XIDOID, CIDOID:
		return datum(parseOID(TypeName(t.OID), s))
	case Int2VectorOID, OIDVectorOID:
		return parseVector(t, s)
	case RecordOID:
		return parseRecord(t, s, env)
	case VoidOID:
		return nil, nil
	case TIDOID:
		return datum(parseTID(s))
	case PgLSNOID:
		return parseLSN(s)
	}
	if IsReg(t.OID) {
		return parseReg(t.OID, s, env)
	}
	if t.IsArray() {
		return parseArray(t, s, env)
	}
	if t.OID >= FirstUserOID {
		return s, nil // an enum: its labels are the catalog's to check
	}
	return nil, pgerr.Unsupported("type %s is not supported", t)
}

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
	switch v := d.(type) {
	case nil:
		return dst
	case bool:
		if v {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case string:
		if t.OID == CharOID {
			return append(dst, CharText(v)...)
		}
		return append(dst, v...)
	case float64:
		if t.OID == Float4OID {
			return number.AppendFloat(dst, v, 32, env.ExtraFloatDigits)
		}
		return number.AppendFloat(dst, v, 64, env.ExtraFloatDigits)
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
		switch t.OID {
		case DateOID:
			return datetime.AppendDate(dst, v, env.Dates())
		case TimeOID:
			return datetime.AppendTime(dst, v)
		case TimestampOID:
			return datetime.AppendTimestamp(dst, v, env.Dates())
		case TimestamptzOID:
			return datetime.AppendTimestamptz(dst, v, env.Dates())
		case TIDOID:
			return appendTID(dst, v)
		}
		if IsReg(t.OID) {
			return appendReg(dst, t.OID, OID(v), env)
		}
		return strconv.AppendInt(dst, v, 10)
	}
	return dst
}

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

func parseVector(t Type, s string) (Datum, error) {
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

func parseLSN(s string) (Datum, error) {
	if a, b, ok := strings.Cut(s, "/"); ok && len(a) <= 8 && len(b) <= 8 {
		x, err1 := strconv.ParseUint(a, 16, 32)
		y, err2 := strconv.ParseUint(b, 16, 32)
		if err1 == nil && err2 == nil {
			return strings.ToUpper(strconv.FormatUint(x, 16) + "/" + strconv.FormatUint(y, 16)), nil
		}
	}
	return nil, pgerr.InvalidText("pg_lsn", s)
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
