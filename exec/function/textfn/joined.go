package textfn

import (
	"strconv"

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
		size += max(len(parts)-1, 0) * textsSize(sep, c.N)
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

func concat(c *function.Call, a []types.Datum) (types.Datum, error) {
	return c.Joined("", a, c.Types), nil
}

func concatWS(c *function.Call, a []types.Datum) (types.Datum, error) {
	if a[0] == nil {
		return nil, nil
	}
	return c.Joined(a[0].(string), a[1:], c.Types[1:]), nil
}

// Digits returns the decimal texts of the integers of a call's rows.
func Digits(c *function.Call, num func(i int) int64) (*vector.Vec, error) {
	var one [20]byte
	size := 0
	for i := range c.N {
		if !c.Skip(i) {
			size += len(strconv.AppendInt(one[:0], num(i), 10))
		}
	}
	if err := vector.TooLarge(c.N, size); err != nil {
		return nil, err
	}
	off, data := vector.Alloc[int32](c.Arena, c.N+1), c.Arena.Bytes(size)
	at := 0
	for i := range c.N {
		off[i] = int32(at)
		if !c.Skip(i) {
			at += len(strconv.AppendInt(data[at:at], num(i), 10))
			c.Meter().Poll(at - int(off[i]))
		}
	}
	off[c.N] = int32(at)
	return &vector.Vec{Kind: vector.Str, N: c.N, Off: off, Data: data, Valid: c.Valid}, nil
}
