package types

import (
	"strconv"
	"time"

	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/json"
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
	case int64:
		switch class := t.Class(); {
		case class == ClassDate && !datetime.IsInfDate(v):
			return append(datetime.AppendDate(append(dst, '"'), v, nil), '"'), nil
		case (class == ClassTimestamp || class == ClassTimestamptz) && !datetime.IsInfTimestamp(v):
			var loc *time.Location
			if class == ClassTimestamptz {
				loc = env.Dates().Zone()
			}
			return append(datetime.AppendXSD(append(dst, '"'), v, loc), '"'), nil
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
	if t.OID.def().json {
		from := len(dst)
		switch v := d.(type) {
		case bool:
			return strconv.AppendBool(dst, v), nil
		case string:
			return append(dst, v...), nil
		}
		if dst = AppendText(dst, t, d, env); ascii.IsDigit(dst[len(dst)-1]) {
			return dst, nil
		}
		dst = dst[:from] // NaN and the infinities, which JSON lacks
	}
	return json.AppendString(dst, TextOf(t, d, env)), nil
}
