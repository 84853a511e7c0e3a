package textfn

import (
	"strings"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"
)

// concat(), concat_ws() and format() join columns: each result is written once, from the values where they lie. What is
// neither text nor an integer goes by datums, a row at a time.

// concatColumns is concat().
func concatColumns(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	return joined(c, nil, args, c.Types, concat, args)
}

// concatWithSeparator is concat_ws().
func concatWithSeparator(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
	return joined(c, args[0], args[1:], c.Types[1:], concatWS, args)
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

// joined writes the values of each row, except NULLs, with the separator's between them; a row whose separator is NULL is
// NULL. Without a column of text for each, datum computes the rows of args.
func joined(c *function.Call, sep *vector.Vec, parts []*vector.Vec, ts []types.Type, datum func(*function.Call, []types.Datum) (types.Datum, error), args []*vector.Vec) (*vector.Vec, error) {
	texts, size := make([]*vector.Vec, len(parts)), 0
	for k, v := range parts {
		switch {
		case v.AllNull():
			continue
		case ts[k].OID != types.TextOID && ts[k].OID != types.VarcharOID || v.Kind != vector.Str && v.Kind != vector.Dict:
			if !ts[k].IsInteger() {
				return function.Loose(datum)(c, args)
			}
			digits, err := Digits(c, function.Arg[int64](&function.Call{Types: ts}, parts, k))
			if err != nil {
				return nil, err
			}
			digits.Valid = v.Valid
			if v.One {
				digits.Valid = nil
			}
			texts[k] = digits
		default:
			texts[k] = v
		}
		size += textsSize(texts[k], c.N)
	}
	if sep != nil {
		if sep.Kind != vector.Str && sep.Kind != vector.Dict {
			return function.Loose(datum)(c, args)
		}
		size += (len(parts) - 1) * textsSize(sep, c.N)
	}
	if err := vector.TooLarge(c.N, size); err != nil {
		return nil, err
	}
	off, data, at := vector.Alloc[int32](c.Arena, c.N+1), c.Arena.Bytes(size), 0
	for i := range c.N {
		off[i] = int32(at)
		if sep != nil && sep.Null(i) {
			continue
		}
		first := true
		for _, v := range texts {
			if v == nil || v.Null(i) {
				continue
			}
			if sep != nil && !first {
				at += copy(data[at:], sep.Str(i))
			}
			at, first = at+copy(data[at:], v.Str(i)), false
		}
		c.Meter().Poll(at - int(off[i]))
	}
	off[c.N] = int32(at)
	out := &vector.Vec{Kind: vector.Str, N: c.N, Off: off, Data: data[:at]}
	if sep != nil && sep.Valid != nil {
		out.Valid = vector.CloneBits(c.Arena, nil, c.N)
		for i := range c.N {
			if sep.Null(i) {
				out.Valid[i>>3] &^= 1 << (i & 7)
			}
		}
	}
	return out, nil
}

// textsSize returns how many bytes n rows of a column of texts have.
func textsSize(v *vector.Vec, n int) int {
	if n == 0 {
		return 0
	}
	if v.One {
		if v.Null(0) {
			return 0
		}
		return n * len(v.Str(0))
	}
	if v.Kind == vector.Str && v.Valid == nil {
		return int(v.Off[n] - v.Off[0])
	}
	size := 0
	for i := range n {
		if !v.Null(i) {
			size += len(v.Str(i))
		}
	}
	return size
}
