package eval

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// text is one value of variable length while a kernel writes it. It lies where
// it is to stay, at the end of its column, is charged before it grows, refuses
// to be longer than a value may be, and looks at the context as it goes.
//
//	data  | rows so far … | the open value … | room |
//	                      from            len
type text struct {
	m    *meter
	a    *arena // where small ones come from; nil: the heap
	rows int    // of the column
	row  bool   // charged to the row at hand: no column's
	data []byte
	own  int64 // charged bytes of data, where they are not the arena's
	from int
	open bool
}

// Grow makes room for n more bytes.
func (t *text) Grow(n int) {
	if n > cap(t.data)-len(t.data) {
		t.more(n)
	}
}

func (t *text) more(n int) {
	need := len(t.data) + n
	if n < 0 || need < 0 {
		need = maxValueBytes + 1
	}
	if err := tooLarge(t.rows, need); err != nil {
		panic(halt{err})
	}
	// What is known in size is asked for once; what is not doubles.
	size := need
	if len(t.data) > 0 && (t.rows > 1 || n < len(t.data)) {
		size = max(need, min(2*cap(t.data), maxValueBytes))
	}
	was := t.own
	if t.a != nil && size <= 8*arenaChunk {
		data := alloc[byte](t.a, size)
		t.data = data[:copy(data, t.data)]
	} else {
		if t.row {
			t.m.scratch(size)
		} else {
			t.m.charge(int64(size))
		}
		t.own = int64(size)
		data := make([]byte, len(t.data), size)
		for at := 0; at < len(data); at += pollBytes {
			t.m.poll(copy(data[at:min(at+pollBytes, len(data))], t.data[at:]))
		}
		t.data = data
	}
	if was > 0 {
		t.m.release(was)
		if t.row {
			t.m.row -= was
		}
	}
}

// Write, WriteString, WriteByte and WriteRune are as in strings.Builder.
func (t *text) Write(b []byte) (int, error) {
	t.Grow(len(b))
	for len(b) > pollBytes {
		t.data = append(t.data, b[:pollBytes]...)
		b = b[pollBytes:]
		t.m.poll(pollBytes)
	}
	t.data = append(t.data, b...)
	t.m.poll(len(b))
	return len(b), nil
}

func (t *text) WriteString(s string) { _, _ = t.Write(stringBytes(s)) }

func (t *text) WriteByte(b byte) error {
	t.Grow(1)
	t.data = append(t.data, b)
	t.m.poll(1)
	return nil
}

func (t *text) WriteRune(r rune) {
	t.Grow(utf8.UTFMax)
	n := len(t.data)
	t.data = utf8.AppendRune(t.data, r)
	t.m.poll(len(t.data) - n)
}

// Repeat writes s n times.
func (t *text) Repeat(s string, n int64) {
	if n <= 0 || s == "" {
		return
	}
	if n > maxValueBytes/int64(len(s)) {
		panic(halt{errTooLong()})
	}
	all := int(n) * len(s)
	t.Grow(all)
	from := len(t.data)
	t.data = append(t.data, s...)
	for done := len(s); done < all; {
		k := min(done, all-done, max(pollBytes, len(s)))
		k -= k % len(s)
		t.data = append(t.data, t.data[from:from+k]...)
		done += k
		t.m.poll(k)
	}
}

// extend gives n more bytes of the value to be written to; cut takes the last n
// back.
func (t *text) extend(n int) []byte {
	t.Grow(n)
	at := len(t.data)
	t.data = t.data[:at+n]
	t.m.poll(n)
	return t.data[at:]
}

func (t *text) cut(n int) { t.data = t.data[:len(t.data)-n] }

// Len is how many bytes were written.
func (t *text) Len() int { return len(t.data) - t.from }

// Bytes and String are what was written; nothing may be written after.
func (t *text) Bytes() []byte  { return t.data[t.from:len(t.data):len(t.data)] }
func (t *text) String() string { return bytesString(t.data[t.from:]) }

// holds tells whether b is the open value, or its beginning.
func (t *text) holds(b []byte) bool {
	return t.open && len(b) > 0 && len(b) <= len(t.data)-t.from && unsafe.SliceData(b) == &t.data[t.from]
}

// column is the values of a result of variable length, in the order of rows;
// rows that are skipped are empty.
type column struct {
	text
	off  []int32
	next int
}

func newColumn(a *arena, n int) *column {
	c := &column{text: text{m: a.meter(), a: a, rows: n}, off: alloc[int32](a, n+1)}
	c.Grow(16 * n)
	return c
}

// set makes b the value of row i.
func (c *column) set(i int, b []byte) error {
	for ; c.next <= i; c.next++ {
		c.off[c.next] = int32(c.from)
	}
	if c.holds(b) {
		c.data = c.data[:c.from+len(b)]
	} else {
		c.data = c.data[:c.from]
		if len(b) > 0 {
			_, _ = c.Write(b)
		}
	}
	c.from, c.open = len(c.data), false
	return nil
}

// drop forgets a value that was begun and not set.
func (c *column) drop() { c.data, c.open = c.data[:c.from], false }

// end gives v the values, after the last row.
func (c *column) end(v *vec) {
	for ; c.next < len(c.off); c.next++ {
		c.off[c.next] = int32(c.from)
	}
	v.off, v.data = c.off, c.data[:c.from]
}

// text begins a value of about size bytes: the result's, where that is one of
// variable length and no other value is open.
func (c *call) text(size int) *text {
	var t *text
	if c.col != nil && !c.col.open {
		t = &c.col.text
	} else {
		t = &text{m: c.meter(), rows: 1, row: true}
	}
	t.open = true
	t.Grow(size)
	return t
}

// mapped is a text of what f makes of each of s's characters; negative ones are
// left out.
func (c *call) mapped(s string, f func(rune) rune) string {
	t := c.text(len(s))
	for _, r := range s {
		if r = f(r); r >= 0 {
			t.WriteRune(r)
		} else {
			t.m.poll(1)
		}
	}
	return t.String()
}

// product multiplies lengths; more than a value may be stays just that.
func product(a, b int64) int {
	if a > 0 && b > (maxValueBytes+1)/a {
		return maxValueBytes + 1
	}
	return int(a * b)
}

// replaced is s with every from as to; the length is counted first.
func (c *call) replaced(s, from, to string) string {
	n := 0
	for rest := s; ; n++ {
		i := strings.Index(rest, from)
		if i < 0 {
			break
		}
		rest = rest[i+len(from):]
		c.meter().poll(i + len(from))
	}
	if n == 0 {
		return s
	}
	t := c.text(len(s) - n*len(from) + product(int64(n), int64(len(to))))
	for ; n > 0; n-- {
		i := strings.Index(s, from)
		t.WriteString(s[:i])
		t.WriteString(to)
		s = s[i+len(from):]
	}
	t.WriteString(s)
	return t.String()
}

func errTooLong() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "requested length too large")
}

// castText is a value as text, as a cast gives it: true and false in full.
func (c *call) castText(t types.Type, d types.Datum) string {
	if b, ok := d.(bool); ok {
		if b {
			return "true"
		}
		return "false"
	}
	return c.textOf(t, d)
}

// textOf is a value as its type's output gives it.
func (c *call) textOf(t types.Type, d types.Datum) string {
	if s, ok := d.(string); ok {
		return s
	}
	c.meter().scratch(outputBytes(t, d))
	return types.TextOf(t, d, c.env.types())
}

// outputBytes is a bound of what a value's output takes, and of what writing it
// by appending takes beside.
func outputBytes(t types.Type, d types.Datum) int {
	switch v := d.(type) {
	case string:
		return 4 * len(v)
	case []byte:
		return 4*len(v) + 2
	case types.Array:
		n := 2
		for _, e := range v.Elems {
			n += outputBytes(v.Elem, e) + 3
		}
		return 2 * n
	case types.Row:
		n := 2
		for _, e := range v {
			n += outputBytes(types.Type{}, e) + 3
		}
		return 2 * n
	}
	return 64
}

// joined writes the outputs of values that are not NULL, with sep between them.
func (c *call) joined(sep string, a []types.Datum, ts []types.Type) string {
	parts, size := make([]string, 0, len(a)), 0
	for i, d := range a {
		if d != nil {
			parts = append(parts, c.textOf(ts[i], d))
			size += len(parts[len(parts)-1]) + len(sep)
		}
	}
	b := c.text(max(size-len(sep), 0))
	for i, p := range parts {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(p)
	}
	return b.String()
}

// byteAt is the byte offset of character n, len(s) beyond the end.
func byteAt(s string, n int64) int {
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
