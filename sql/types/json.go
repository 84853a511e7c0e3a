package types

import (
	"strconv"
	"time"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// AppendJSON appends what to_json() makes of a value: numbers and booleans as
// they are, dates in ISO 8601, json and jsonb as their text, arrays and
// records as arrays and objects, all else as a string.
func AppendJSON(dst []byte, t Type, d Datum, env *Env) ([]byte, error) {
	return appendJSON(dst, t, d, env.orDefault(), 0)
}

func appendJSON(dst []byte, t Type, d Datum, env *Env, depth int) ([]byte, error) {
	if depth > json.MaxDepth {
		return dst, pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded")
	}
	switch v := d.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		switch t.OID {
		case Int2OID, Int4OID, Int8OID:
			return strconv.AppendInt(dst, v, 10), nil
		case DateOID:
			if !datetime.IsInfDate(v) {
				return append(datetime.AppendDate(append(dst, '"'), v, nil), '"'), nil
			}
		case TimestampOID, TimestamptzOID:
			if !datetime.IsInfTimestamp(v) {
				var loc *time.Location
				if t.OID == TimestamptzOID {
					loc = env.Dates().Zone()
				}
				return append(datetime.AppendXSD(append(dst, '"'), v, loc), '"'), nil
			}
		}
	case float64:
		from := len(dst)
		dst = AppendText(dst, t, v, env)
		return quoteNonNumber(dst, from), nil
	case number.Decimal:
		from := len(dst)
		return quoteNonNumber(v.AppendText(dst), from), nil
	case string:
		if t.OID == JSONOID || t.OID == JSONBOID {
			return append(dst, v...), nil
		}
	case Array:
		elem := v.Elem
		if e, ok := t.Elem(); ok {
			elem = e
		}
		var err error
		dst = append(dst, '[')
		for i, e := range v.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendJSON(dst, elem, e, env, depth+1); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case Row:
		var err error
		dst = append(dst, '{')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			name := "f" + strconv.Itoa(i+1)
			if t.Rec != nil && i < len(t.Rec.Fields) {
				name = t.Rec.Fields[i].Name
			}
			dst = append(json.AppendString(dst, name), ':')
			if dst, err = appendJSON(dst, t.fieldType(i, e), e, env, depth+1); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
	return json.AppendString(dst, TextOf(t, d, env)), nil
}

// quoteNonNumber quotes NaN and the infinities, which JSON lacks.
func quoteNonNumber(dst []byte, from int) []byte {
	if c := dst[len(dst)-1]; ascii.IsDigit(c) {
		return dst
	}
	word := string(dst[from:])
	return json.AppendString(dst[:from], word)
}
