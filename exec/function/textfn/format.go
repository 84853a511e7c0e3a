package textfn

import (
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addFormat registers format() and the to_char family.
func addFormat(t function.Table) {
	t.Puts(function.Always(formats), "format(text)", "format(text,any)")
	t.Put("to_char(numeric,text)", formatted(number.ParseFormat, func(_ *function.Call, p *number.Format, d number.Decimal) (string, error) { return p.Numeric(d) }))
	t.Put("to_char(int4,text)", formatted(number.ParseFormat, func(_ *function.Call, p *number.Format, v int64) (string, error) { return p.Int(32, v) }))
	t.Put("to_char(int8,text)", formatted(number.ParseFormat, func(_ *function.Call, p *number.Format, v int64) (string, error) { return p.Int(64, v) }))
	t.Put("to_char(float4,text)", formatted(number.ParseFormat, func(_ *function.Call, p *number.Format, v float64) (string, error) { return p.Float(v, 32) }))
	t.Put("to_char(float8,text)", formatted(number.ParseFormat, func(_ *function.Call, p *number.Format, v float64) (string, error) { return p.Float(v, 64) }))
	t.Put("to_number(text,text)", function.Always(function.Try2(func(c *function.Call, s, f string) (number.Decimal, error) {
		picture(c, f)
		d, ok, err := number.ParseNumberFormat(s, f)
		if err == nil && !ok {
			err = function.ErrNull
		}
		return d, err
	})))
	t.Put("to_char(timestamp,text)", formatted(datetime.ParseFormat, func(_ *function.Call, p *datetime.Format, v int64) (string, error) {
		return orNull(p.Timestamp(v, nil))
	}))
	t.Put("to_char(timestamptz,text)", formatted(datetime.ParseFormat, func(c *function.Call, p *datetime.Format, v int64) (string, error) {
		return orNull(p.Timestamp(v, c.Env.Location()))
	}))
	t.Put("to_char(interval,text)", formatted(datetime.ParseFormat, func(_ *function.Call, p *datetime.Format, v datetime.Interval) (string, error) {
		return orNull(p.Interval(v))
	}))
	t.Put("to_timestamp(text,text)", function.Always(function.Try2(func(c *function.Call, s, f string) (int64, error) {
		picture(c, f)
		return datetime.ParseTimestampFormat(s, f, c.Env.Location())
	})))
	t.Put("to_date(text,text)", function.Always(function.Try2(func(c *function.Call, s, f string) (int64, error) {
		picture(c, f)
		return datetime.ParseDateFormat(s, f)
	})))
}

// picture charges and counts what reading a format of to_char and the like
// takes: a node for each of its parts, and a result about as long.
func picture(c *function.Call, f string) {
	const node = 64
	c.Meter().Scratch(node * len(f))
	c.Meter().Poll(node * len(f))
}

// formatted makes to_char of the values of a type. A format that is that of the last row is not read again.
func formatted[A, F any](parse func(string) (F, error), write func(*function.Call, F, A) (string, error)) function.Maker {
	type read struct {
		text   string
		format F
	}
	return function.Always(function.Try2(func(c *function.Call, v A, f string) (string, error) {
		if c.Memo != nil {
			if r, ok := (*c.Memo).(*read); ok && r.text == f {
				c.Meter().Poll(len(f))
				return write(c, r.format, v)
			}
		}
		picture(c, f)
		p, err := parse(strings.Clone(f))
		if err != nil {
			return "", err
		}
		if c.Memo != nil {
			*c.Memo = &read{strings.Clone(f), p}
		}
		return write(c, p, v)
	}))
}

func orNull(s string, ok bool, err error) (string, error) {
	if err == nil && !ok {
		return "", function.ErrNull
	}
	return s, err
}

// formats is format(). One that only puts values in their places, as '%s-%s' does, joins what is between them and the values.
func formats(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	if c.N > 0 && args[0].One && !args[0].Null(0) {
		if parts, ts, ok := places(c.N, args[0].Str(0), args[1:], c.Types[1:]); ok {
			return joined(c, nil, parts, ts, format, args)
		}
	}
	return function.Loose(format)(c, args)
}

// places returns the parts of a format's results: its texts and its arguments, in turn.
func places(n int, f string, args []*vector.Vec, ts []types.Type) (parts []*vector.Vec, of []types.Type, ok bool) {
	text := func(s string) {
		if s != "" {
			parts = append(parts, &vector.Vec{Kind: vector.Str, N: n, One: true, Off: []int32{0, int32(len(s))}, Data: vector.StringBytes(s)})
			of = append(of, types.Text)
		}
	}
	for {
		before, rest, found := strings.Cut(f, "%")
		text(before)
		if !found {
			return parts, of, true
		}
		switch {
		case strings.HasPrefix(rest, "%"):
			text("%")
		case strings.HasPrefix(rest, "s") && len(args) > 0:
			parts, of = append(parts, args[0]), append(of, ts[0])
			args, ts = args[1:], ts[1:]
		default:
			return nil, nil, false
		}
		f = rest[1:]
	}
}

// format is format(): %[position$][flags][width]type.
func format(c *function.Call, a []types.Datum) (types.Datum, error) {
	if a[0] == nil {
		return nil, nil
	}
	f := a[0].(string)
	b := c.Text(len(f))
	next := 1 // argument the next specifier takes
	param := func(s string, what string) error { return pgerr.New(pgerr.InvalidParameterValue, s, what) }
	short := func() error {
		return pgerr.New(pgerr.InvalidParameterValue, "unterminated format() type specifier").
			WithHint("For a single \"%%\" use \"%%%%\".")
	}
	argument := func(i int) (n, end int, err error) {
		end = i
		for end < len(f) && f[end] >= '0' && f[end] <= '9' {
			n = n*10 + int(f[end]-'0')
			if n > 1<<30 {
				return 0, end, pgerr.New(pgerr.NumericValueOutOfRange, "number is out of range")
			}
			end++
		}
		return n, end, nil
	}
	arg := func(n int) (types.Datum, types.Type, error) {
		if n < 1 || n >= len(a) {
			return nil, types.Type{}, param("too few arguments for format()%s", "")
		}
		return a[n], c.Types[n], nil
	}
	for i := 0; i < len(f); {
		if f[i] != '%' {
			_ = b.WriteByte(f[i])
			i++
			continue
		}
		i++
		if i >= len(f) {
			return nil, short()
		}
		if f[i] == '%' {
			_ = b.WriteByte('%')
			i++
			continue
		}
		pos, width, left := -1, 0, false
		n, end, err := argument(i)
		if err != nil {
			return nil, err
		}
		if end > i && end < len(f) && f[end] == '$' {
			if n == 0 {
				return nil, param("format specifies argument 0, but arguments are numbered from 1%s", "")
			}
			pos, i = n, end+1
		}
		for i < len(f) && f[i] == '-' {
			left = true
			i++
		}
		if i < len(f) && f[i] == '*' {
			i++
			wp := -1
			n, end, err := argument(i)
			if err != nil {
				return nil, err
			}
			if end > i {
				if end >= len(f) || f[end] != '$' {
					return nil, param("width argument position must be ended by \"$\"%s", "")
				}
				if n == 0 {
					return nil, param("format specifies argument 0, but arguments are numbered from 1%s", "")
				}
				wp, i = n, end+1
			}
			if wp < 0 {
				wp = next
				next++
			} else {
				next = wp + 1
			}
			d, ty, err := arg(wp)
			if err != nil {
				return nil, err
			}
			if d != nil {
				v, ok := d.(int64)
				if !ok || ty.OID != types.Int2OID && ty.OID != types.Int4OID {
					p, err := number.ParseInt(32, c.TextOf(ty, d))
					if err != nil {
						return nil, err
					}
					v = p
				}
				width = int(v)
				if width < 0 {
					left, width = true, -width
				}
			}
		} else {
			n, end, err := argument(i)
			if err != nil {
				return nil, err
			}
			width, i = n, end
		}
		if i >= len(f) {
			return nil, short()
		}
		if width > maxText/8 {
			return nil, vector.ErrTooLong()
		}
		kind := f[i]
		i++
		if kind != 's' && kind != 'I' && kind != 'L' {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized format() type specifier \"%c\"", kind).
				WithHint("For a single \"%%\" use \"%%%%\".")
		}
		if pos < 0 {
			pos = next
			next++
		} else {
			next = pos + 1
		}
		d, ty, err := arg(pos)
		if err != nil {
			return nil, err
		}
		var s string
		switch {
		case d == nil && kind == 'I':
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "null values cannot be formatted as an SQL identifier")
		case d == nil && kind == 'L':
			s = "NULL"
		case d != nil:
			s = c.TextOf(ty, d)
			switch kind {
			case 'I':
				s = quoteName(c, s)
			case 'L':
				s = quoteLiteral(c, s)
			}
		}
		fill := max(0, int64(width)-runeCount(s))
		if !left {
			b.Repeat(" ", fill)
		}
		b.WriteString(s)
		if left {
			b.Repeat(" ", fill)
		}
	}
	return b.String(), nil
}
