package function

import (
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"
)

// Text begins a value of about size bytes. It is written directly in the result
// column where that is of variable length and no other value is begun.
func (c *Call) Text(size int) *vector.Text {
	return c.col.Begin(c.Meter(), size)
}

// Mapped returns a text with f applied to each of s's characters; negative results are left out.
func (c *Call) Mapped(s string, f func(rune) rune) string {
	t := c.Text(len(s))
	for _, r := range s {
		if r = f(r); r >= 0 {
			t.WriteRune(r)
		} else {
			t.M.Poll(1)
		}
	}
	return t.String()
}

// Replaced returns s with every from replaced by to; the length is computed first.
func (c *Call) Replaced(s, from, to string) string {
	n := 0
	// What is short needs no look at the clock on the way.
	if len(s) < vector.PollBytes && len(to) < 256 && from != "" {
		c.Meter().Poll(len(s))
		if n = strings.Count(s, from); n == 0 {
			return s
		}
		size := len(s) + n*(len(to)-len(from))
		t := c.Text(size)
		out := t.Extend(size)
		for ; n > 0; n-- {
			i := strings.Index(s, from)
			out = out[copy(out, s[:i]):]
			out = out[copy(out, to):]
			s = s[i+len(from):]
		}
		copy(out, s)
		return t.String()
	}
	for rest := s; ; n++ {
		i := strings.Index(rest, from)
		if i < 0 {
			break
		}
		rest = rest[i+len(from):]
		c.Meter().Poll(i + len(from))
	}
	if n == 0 {
		return s
	}
	t := c.Text(len(s) - n*len(from) + vector.Product(int64(n), int64(len(to))))
	for ; n > 0; n-- {
		i := strings.Index(s, from)
		t.WriteString(s[:i])
		t.WriteString(to)
		s = s[i+len(from):]
	}
	t.WriteString(s)
	return t.String()
}

// CastText returns a value as a cast to text does: true and false in full.
func (c *Call) CastText(t types.Type, d types.Datum) string { return c.text(t, d, types.AppendShown) }

// TextOf returns a value as its type's output function does.
func (c *Call) TextOf(t types.Type, d types.Datum) string { return c.text(t, d, types.AppendText) }

func (c *Call) text(t types.Type, d types.Datum, form func([]byte, types.Type, types.Datum, *types.Env) []byte) string {
	if s, ok := d.(string); ok {
		return s
	}
	c.Meter().Scratch(OutputBytes(t, d))
	return string(form(nil, t, d, c.Env.TypesEnv()))
}

// Joined writes the output texts of those values that are not NULL, with sep between them.
func (c *Call) Joined(sep string, a []types.Datum, ts []types.Type) string {
	parts, size := make([]string, 0, len(a)), 0
	for i, d := range a {
		if d != nil {
			parts = append(parts, c.TextOf(ts[i], d))
			size += len(parts[len(parts)-1]) + len(sep)
		}
	}
	b := c.Text(max(size-len(sep), 0))
	for i, p := range parts {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(p)
	}
	return b.String()
}

// OutputBytes bounds the bytes of a value's output, and of the memory for writing it by appending.
func OutputBytes(t types.Type, d types.Datum) int {
	switch v := d.(type) {
	case string:
		return 4 * len(v)
	case []byte:
		return 4*len(v) + 2
	case types.Array:
		n := 2
		for _, e := range v.Elems {
			n += OutputBytes(v.Elem, e) + 3
		}
		return 2 * n
	case types.Row:
		n := 2
		for _, e := range v {
			n += OutputBytes(types.Type{}, e) + 3
		}
		return 2 * n
	}
	return 64
}

// ByteAt returns the byte offset of character n, len(s) beyond the end.
func ByteAt(s string, n int64) int {
	if n >= int64(len(s)) {
		return len(s)
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
		} else {
			_, w := utf8.DecodeRuneInString(s[i:])
			i += w
		}
	}
	return i
}
