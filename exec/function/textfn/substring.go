package textfn

import (
	"math"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// substrings is substring of a column: where position and length are the same for all rows the
// substrings are copied in one loop, which costs a third of rows one by one.
func substrings(limited bool) function.Impl {
	rows := function.Strict2(func(s string, from int64) string { r, _ := substring(s, from, 0, false); return r })
	if limited {
		rows = function.Try3(func(_ *function.Call, s string, from, n int64) (string, error) { return substring(s, from, n, true) })
	}
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		s := args[0]
		if s.Kind != vector.Str || s.One || !args[1].One || limited && !args[2].One {
			return rows(c, args)
		}
		from, n := vector.IntAt(args[1], 0), int64(0)
		if limited {
			if n = vector.IntAt(args[2], 0); n < 0 { // an error, if any row counts
				return rows(c, args)
			}
			n = max(from+n-max(from, 1), 0)
		}
		skip := max(from, 1) - 1
		starts, off := vector.Alloc[int32](c.Arena, c.N), vector.Alloc[int32](c.Arena, c.N+1)
		off[0] = 0
		for i := range c.N {
			starts[i], off[i+1] = 0, off[i]
			if c.Skip(i) {
				continue
			}
			text := s.Str(i)
			at := function.ByteAt(text, skip)
			end := len(text)
			if limited {
				end = at + function.ByteAt(text[at:], n)
			}
			starts[i], off[i+1] = s.Off[i]+int32(at), off[i]+int32(end-at)
			c.Meter().Poll(end)
		}
		data := c.Arena.Bytes(int(off[c.N]))
		for i, start := range starts {
			copy(data[off[i]:off[i+1]], s.Data[start:])
		}
		return &vector.Vec{Kind: vector.Str, N: c.N, Off: off, Data: data, Valid: c.Valid}, nil
	}
}

// substring counts characters from 1; a start before the string shortens the length.
func substring(s string, from, n int64, limited bool) (string, error) {
	end := int64(math.MaxInt64)
	if limited {
		if n < 0 {
			return "", pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
		}
		end = from + n
	}
	if from < 1 {
		from = 1
	}
	if end <= from {
		return "", nil
	}
	i := function.ByteAt(s, from-1)
	if !limited {
		return s[i:], nil
	}
	return s[i : i+function.ByteAt(s[i:], end-from)], nil
}
