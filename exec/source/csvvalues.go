package source

import (
	"bytes"
	"strings"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// csvValues is how a file writes numbers, dates and timestamps, where it is not as PostgreSQL does.
type csvValues struct {
	decimal, thousands byte // '.' and 0 unless given
	date, stamp        *datetime.Strptime
}

// values reads the arguments of csvValues.
func (a *args) values() csvValues {
	v := csvValues{decimal: '.'}
	for _, o := range []struct {
		name string
		to   *byte
	}{{"decimal_separator", &v.decimal}, {"thousands", &v.thousands}} {
		switch s := a.text(o.name, ""); {
		case s == "":
		case len(s) != 1 || strings.ContainsAny(s, "0123456789+-eE\"\r\n"):
			a.bad(o.name, "must be a single character that is no part of a number")
		default:
			*o.to = s[0]
		}
	}
	if v.thousands == v.decimal {
		a.bad("thousands", "must differ from decimal_separator")
	}
	for _, o := range []struct {
		name string
		to   **datetime.Strptime
	}{{"dateformat", &v.date}, {"timestampformat", &v.stamp}} {
		s := a.text(o.name, "")
		if s == "" || a.err != nil {
			continue
		}
		f, err := datetime.ParseStrptime(s)
		if err != nil {
			a.bad(o.name, "%s", err.Error())
		}
		*o.to = f
	}
	return v
}

// plainNumbers reports whether numbers are written as PostgreSQL reads them.
func (v *csvValues) plainNumbers() bool { return v.decimal == '.' && v.thousands == 0 }

// number appends a number as PostgreSQL reads it; false where f is none. Thousands are groups of three
// digits before the decimal separator, or there are none.
func (v *csvValues) number(dst, f []byte) ([]byte, bool) {
	f = bytes.TrimSpace(f)
	digits, point, grouped := 0, false, false // digits since the last separator
	for i, c := range f {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == v.decimal && !point:
			if grouped && digits != 3 {
				return dst, false
			}
			point, grouped, c = true, false, '.'
		case c == v.thousands && c != 0 && !point:
			if digits == 0 || digits > 3 || grouped && digits != 3 {
				return dst, false
			}
			grouped, digits = true, 0
			continue
		case (c == 'e' || c == 'E') && digits > 0:
			return append(dst, f[i:]...), !grouped || digits == 3
		case (c == '-' || c == '+') && i == 0:
		default:
			return dst, false
		}
		dst = append(dst, c)
	}
	return dst, (digits > 0 || point) && (!grouped || digits == 3)
}

// conversion returns what turns a field into what a type reads; nil where nothing must.
func (v *csvValues) conversion(t types.Type) func(field []byte) ([]byte, error) {
	var buf []byte
	var format *datetime.Strptime
	switch t.Class() {
	case types.ClassDate:
		format = v.date
	case types.ClassTimestamp, types.ClassTimestamptz:
		format = v.stamp
	default:
		if v.plainNumbers() || t.OID == types.MoneyOID || fn.Category(t.OID) != 'N' {
			return nil
		}
		return func(f []byte) ([]byte, error) {
			out, ok := v.number(buf[:0], f)
			if buf = out; ok {
				return out, nil
			}
			if word := bytes.ToLower(bytes.TrimLeft(f, "+- ")); !bytes.HasPrefix(word, []byte("inf")) && !bytes.HasPrefix(word, []byte("nan")) {
				return nil, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", types.TypeName(t.OID), f)
			}
			return f, nil
		}
	}
	if format == nil {
		return nil
	}
	return func(f []byte) ([]byte, error) {
		out, ok := format.ISO(buf[:0], string(f))
		if buf = out; !ok {
			return nil, pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input syntax for type %s: \"%s\"", types.TypeName(t.OID), f).
				WithDetail("It is not of the format %s.", format.Text)
		}
		return out, nil
	}
}
