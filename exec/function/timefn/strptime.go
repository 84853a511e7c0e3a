package timefn

import (
	"slices"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// addStrptime registers what reads times by formats of strptime: strptime and try_strptime as DuckDB has
// them, and pandas' to_datetime.
func addStrptime(t function.Table) {
	for name, try := range map[string]bool{"strptime": false, "try_strptime": true} {
		read := function.Datums(func(c *function.Call, a []types.Datum) (types.Datum, error) {
			v, err := byFormats(c, a[0].(string), a[1])
			if try && pgerr.Is(err, pgerr.InvalidDatetimeFormat) {
				return nil, nil
			}
			return v, err
		})
		t.Puts(function.Always(read), name+"(text,text)", name+"(text,text[])")
	}
	t.Puts(function.Always(function.Loose(toDatetime)), "to_datetime(text,text,text)", "to_datetime(text,text[],text)")
}

// formats are those of an argument, parsed; they are mostly the same in all rows.
type formats struct {
	text string        // of a single one
	of   []types.Datum // of several
	list []*datetime.Strptime
}

// formatsOf returns the formats of a text or an array, NULLs among which do not count.
func formatsOf(c *function.Call, d types.Datum) ([]*datetime.Strptime, error) {
	now := &formats{}
	if a, several := d.(types.Array); several {
		now.of = a.Elems
	} else {
		now.text = d.(string)
	}
	if f, ok := (*c.Memo).(*formats); ok && f.text == now.text && slices.Equal(f.of, now.of) {
		return f.list, nil
	}
	texts := now.of
	if texts == nil {
		texts = []types.Datum{now.text}
	}
	for _, e := range texts {
		text, ok := e.(string)
		if !ok {
			continue
		}
		p, err := datetime.ParseStrptime(text)
		if err != nil {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "the format %q %s", text, err)
		}
		now.list = append(now.list, p)
	}
	now.of = slices.Clone(now.of)
	*c.Memo = now
	return now.list, nil
}

// byFormats reads a text by the first format that it has.
func byFormats(c *function.Call, s string, of types.Datum) (types.Datum, error) {
	list, err := formatsOf(c, of)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if v, ok := f.Timestamp(s); ok {
			return v, nil
		}
	}
	e := pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input syntax for type timestamp: \"%s\"", s)
	if len(list) == 1 {
		return nil, e.WithDetail("It is not of the format %s.", list[0].Text)
	}
	return nil, e.WithDetail("It is of none of the %d formats.", len(list))
}

// toDatetime is to_datetime(value, format or formats, errors): without a format it reads as the type does.
func toDatetime(c *function.Call, a []types.Datum) (types.Datum, error) {
	how, ok := a[2].(string)
	if !ok || how != "raise" && how != "coerce" {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the argument errors of to_datetime is \"raise\" or \"coerce\"")
	}
	s, ok := a[0].(string)
	if !ok {
		return nil, nil
	}
	var v types.Datum
	var err error
	if a[1] == nil {
		v, err = types.ParseText(types.Timestamp, s, c.Env.TypesEnv())
	} else {
		if _, err := formatsOf(c, a[1]); err != nil {
			return nil, err // a format that is none is nobody's value
		}
		v, err = byFormats(c, s, a[1])
	}
	if err != nil && how == "coerce" {
		switch pgerr.CodeOf(err) {
		case pgerr.InvalidDatetimeFormat, pgerr.DatetimeFieldOverflow, pgerr.InvalidParameterValue:
			return nil, nil
		}
	}
	return v, err
}
