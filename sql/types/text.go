package types

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/jsonpath"
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
		return datum(ParseBool(s))
	case Int2OID, Int4OID, Int8OID:
		return datum(ParseInt(t.OID, s))
	case Float4OID:
		return datum(ParseFloat(32, s))
	case Float8OID:
		return datum(ParseFloat(64, s))
	case NumericOID:
		d, err := ParseDecimal(s)
		if err == nil && t.Mod < 0 && t.Prec > 0 {
			return fitFixed(t, d)
		}
		return datum(d, err)
	case TextOID, VarcharOID, BpcharOID, UnknownOID, CstringOID, RefcursorOID, PgNodeTreeOID, XMLOID, ACLItemOID:
		return s, nil
	case NameOID:
		return TruncateName(s), nil
	case CharOID:
		if s == "" {
			return "", nil
		}
		return s[:1], nil
	case BitOID, VarbitOID:
		return datum(ParseBits(s))
	case ByteaOID:
		return datum(ParseBytea(s))
	case UUIDOID:
		return datum(ParseUUID(s))
	case DateOID:
		return datum(ParseDate(s, env))
	case TimeOID:
		return datum(ParseTime(s, env))
	case TimetzOID:
		return datum(ParseTimeTZ(s, env))
	case TimestampOID:
		return datum(ParseTimestamp(s, env))
	case TimestamptzOID:
		return datum(ParseTimestamptz(s, env))
	case IntervalOID:
		return datum(ParseInterval(s, t.Mod, env))
	case JSONOID:
		if err := ValidJSON(s); err != nil {
			return nil, err
		}
		return s, nil
	case JSONBOID:
		return datum(CanonicalJSONB(s))
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
		return parseTID(s)
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
		return append(dst, v...)
	case float64:
		if t.OID == Float4OID {
			return AppendFloat(dst, v, 32, env.ExtraFloatDigits)
		}
		return AppendFloat(dst, v, 64, env.ExtraFloatDigits)
	case Decimal:
		return v.AppendText(dst)
	case []byte:
		return AppendBytea(dst, v, env.ByteaOutput)
	case [16]byte:
		return AppendUUID(dst, v)
	case Interval:
		return AppendInterval(dst, v, env.IntervalStyle)
	case TimeTZ:
		return AppendTimeTZ(dst, v)
	case Array:
		return appendArray(dst, t, v, env)
	case Row:
		return appendRow(dst, t, v, env)
	case int64:
		switch t.OID {
		case DateOID:
			return AppendDate(dst, v, env)
		case TimeOID:
			return AppendTime(dst, v)
		case TimestampOID:
			return AppendTimestamp(dst, v, env)
		case TimestamptzOID:
			return AppendTimestamptz(dst, v, env)
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
func TruncateName(s string) string {
	if len(s) <= maxName {
		return s
	}
	n := maxName
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
			v, err = ParseInt(Int2OID, f)
		}
		if err != nil {
			return nil, err
		}
		a.Elems = append(a.Elems, v)
	}
	return a, nil
}

func parseTID(s string) (Datum, error) {
	body := trimSpace(s)
	if a, b, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(body, "("), ")"), ","); ok &&
		strings.HasPrefix(body, "(") && strings.HasSuffix(body, ")") {
		x, err1 := strconv.ParseUint(a, 10, 32)
		y, err2 := strconv.ParseUint(b, 10, 16)
		if err1 == nil && err2 == nil {
			return "(" + strconv.FormatUint(x, 10) + "," + strconv.FormatUint(y, 10) + ")", nil
		}
	}
	return nil, errInvalidText("tid", s)
}

func parseLSN(s string) (Datum, error) {
	if a, b, ok := strings.Cut(s, "/"); ok && len(a) <= 8 && len(b) <= 8 {
		x, err1 := strconv.ParseUint(a, 16, 32)
		y, err2 := strconv.ParseUint(b, 16, 32)
		if err1 == nil && err2 == nil {
			return strings.ToUpper(strconv.FormatUint(x, 16) + "/" + strconv.FormatUint(y, 16)), nil
		}
	}
	return nil, errInvalidText("pg_lsn", s)
}
