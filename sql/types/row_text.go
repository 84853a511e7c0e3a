package types

import (
	"github.com/tributarydb/tributary/sql/ascii"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func errRecord(s, detail string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "malformed record literal: \"%s\"", s).WithDetail("%s", detail)
}

// parseRecord reads (1,"a b",) for a record whose columns are known.
func parseRecord(t Type, text string, env *Env) (Datum, error) {
	if t.Rec == nil {
		return nil, pgerr.Unsupported("input of anonymous composite types is not implemented")
	}
	s := text
	i := 0
	skip := func() {
		for i < len(s) && ascii.IsSpace(s[i]) {
			i++
		}
	}
	skip()
	if i >= len(s) || s[i] != '(' {
		return nil, errRecord(text, "Missing left parenthesis.")
	}
	i++
	row := make(Row, len(t.Rec.Fields))
	for f := range t.Rec.Fields {
		if f > 0 {
			if i >= len(s) || s[i] != ',' {
				return nil, errRecord(text, "Too few columns.")
			}
			i++
		}
		if i < len(s) && (s[i] == ',' || s[i] == ')') {
			continue // NULL
		}
		var b []byte
		inQuote := false
	word:
		for {
			if i >= len(s) {
				return nil, errRecord(text, "Unexpected end of input.")
			}
			c := s[i]
			switch {
			case !inQuote && (c == ',' || c == ')'):
				break word
			case c == '\\':
				i++
				if i >= len(s) {
					return nil, errRecord(text, "Unexpected end of input.")
				}
				b = append(b, s[i])
			case c == '"' && inQuote && i+1 < len(s) && s[i+1] == '"':
				b = append(b, '"')
				i++
			case c == '"':
				inQuote = !inQuote
			default:
				b = append(b, c)
			}
			i++
		}
		d, err := ParseText(t.Rec.Fields[f].Type, string(b), env)
		if err != nil {
			return nil, err
		}
		row[f] = d
	}
	if i >= len(s) || s[i] != ')' {
		return nil, errRecord(text, "Too many columns.")
	}
	i++
	skip()
	if i < len(s) {
		return nil, errRecord(text, "Junk after right parenthesis.")
	}
	return row, nil
}

func appendRow(dst []byte, t Type, v Row, env *Env) []byte {
	dst = append(dst, '(')
	for i, d := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		if d == nil {
			continue
		}
		from := len(dst)
		dst = AppendText(dst, t.fieldType(i, d), d, env)
		dst = quoteRowField(dst, from)
	}
	return append(dst, ')')
}

// fieldType is the type of field i; where the record's shape is not known, one
// whose text form fits the Go type of the value.
func (t Type) fieldType(i int, d Datum) Type {
	if t.Rec != nil && i < len(t.Rec.Fields) {
		return t.Rec.Fields[i].Type
	}
	switch v := d.(type) {
	case bool:
		return Bool
	case int64:
		return Int8
	case float64:
		return Float8
	case number.Decimal:
		return Numeric
	case []byte:
		return Bytea
	case [16]byte:
		return UUID
	case datetime.Interval:
		return IntervalT
	case datetime.TimeTZ:
		return Timetz
	case Array:
		a, _ := ArrayOf(v.Elem)
		return a
	case Row:
		return RecordT
	}
	return Text
}

func quoteRowField(dst []byte, from int) []byte {
	word := dst[from:]
	need := len(word) == 0
	for _, c := range word {
		if c == '"' || c == '\\' || c == '(' || c == ')' || c == ',' || ascii.IsSpace(c) {
			need = true
			break
		}
	}
	if !need {
		return dst
	}
	return quoted(dst, from, func(c byte) byte { return c })
}
