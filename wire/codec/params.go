package codec

import (
	"strconv"

	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Params reads the parameters of a Bind message for a statement of that name. formats has none (all text),
// one for all, or one each. from is the client's encoding.
func Params(statement string, ts []types.Type, formats []int16, values [][]byte, env *types.Env, from *charset.Charset) ([]types.Datum, error) {
	if len(formats) > 1 && len(formats) != len(values) {
		return nil, pgerr.New(pgerr.ProtocolViolation, "bind message has %d parameter formats but %d parameters", len(formats), len(values))
	}
	if len(values) != len(ts) {
		return nil, pgerr.New(pgerr.ProtocolViolation, "bind message supplies %d parameters, but prepared statement %q requires %d", len(values), statement, len(ts))
	}
	out := make([]types.Datum, len(values))
	for i, v := range values {
		if v == nil {
			continue
		}
		f, err := format(formats, i)
		if err != nil {
			return nil, err
		}
		if from != nil && (f == Text || ts[i].BinaryIsText()) {
			v, err = from.Decode(v)
		}
		if err != nil {
		} else if f == Binary {
			out[i], err = types.ParseBinary(ts[i], v)
		} else if err = pgerr.CheckUTF8(string(v)); err == nil {
			out[i], err = types.ParseText(ts[i], string(v), env)
		}
		if err != nil {
			e := *pgerr.From(err)
			e.Where = "unnamed portal parameter $" + strconv.Itoa(i+1)
			return nil, &e
		}
	}
	return out, nil
}

// Formats spreads the result formats of a Bind message over n columns.
func Formats(formats []int16, n int) ([]int16, error) {
	if len(formats) > 1 && len(formats) != n {
		return nil, pgerr.New(pgerr.ProtocolViolation, "bind message has %d result formats but query has %d columns", len(formats), n)
	}
	out := make([]int16, n)
	for i := range out {
		f, err := format(formats, i)
		if err != nil {
			return nil, err
		}
		out[i] = f
	}
	return out, nil
}

func format(formats []int16, i int) (int16, error) {
	var f int16
	switch {
	case len(formats) == 1:
		f = formats[0]
	case i < len(formats):
		f = formats[i]
	}
	if f != Text && f != Binary {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "unsupported format code: %d", f)
	}
	return f, nil
}
