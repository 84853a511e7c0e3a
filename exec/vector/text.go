package vector

import (
	"unicode/utf8"
	"unsafe"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Text is one value of variable length while a kernel writes it. It is written in place, at the end
// of its column, is charged before it grows, refuses to be longer than a value may be, and checks
// the context on the way.
//
//	data  | rows so far … | the open value … | room |
//	                      from            len
type Text struct {
	M    *Meter
	a    *Arena // where small ones come from; nil: the heap
	rows int    // of the column
	row  bool   // charged to the row at hand: no column's
	data []byte
	own  int64 // charged bytes of data, where they are not the arena's
	from int
	open bool
}

// Grow makes room for n more bytes.
func (t *Text) Grow(n int) {
	if n > cap(t.data)-len(t.data) {
		t.more(n)
	}
}

func (t *Text) more(n int) {
	need := len(t.data) + n
	if n < 0 || need < 0 {
		need = maxValueBytes + 1
	}
	if err := TooLarge(t.rows, need); err != nil {
		panic(halt{err})
	}
	// A known size is allocated at once; an unknown one doubles.
	size := need
	if len(t.data) > 0 && (t.rows > 1 || n < len(t.data)) {
		size = max(need, min(2*cap(t.data), maxValueBytes))
	}
	was := t.own
	if t.a != nil && size <= 8*arenaChunk {
		data := Alloc[byte](t.a, size)
		t.data = data[:copy(data, t.data)]
	} else {
		if t.row {
			t.M.Scratch(size)
		} else {
			t.M.Charge(int64(size))
		}
		t.own = int64(size)
		data := make([]byte, len(t.data), size)
		for at := 0; at < len(data); at += PollBytes {
			t.M.Poll(copy(data[at:min(at+PollBytes, len(data))], t.data[at:]))
		}
		t.data = data
	}
	if was > 0 {
		t.M.Release(was)
		if t.row {
			t.M.row -= was
		}
	}
}

// Write, WriteString, WriteByte and WriteRune are as in strings.Builder.
func (t *Text) Write(b []byte) (int, error) {
	t.Grow(len(b))
	for len(b) > PollBytes {
		t.data = append(t.data, b[:PollBytes]...)
		b = b[PollBytes:]
		t.M.Poll(PollBytes)
	}
	t.data = append(t.data, b...)
	t.M.Poll(len(b))
	return len(b), nil
}

// WriteString appends s.
func (t *Text) WriteString(s string) { _, _ = t.Write(StringBytes(s)) }

// WriteByte appends b; it cannot fail.
func (t *Text) WriteByte(b byte) error {
	t.Grow(1)
	t.data = append(t.data, b)
	t.M.Poll(1)
	return nil
}

// WriteRune appends r in UTF-8.
func (t *Text) WriteRune(r rune) {
	t.Grow(utf8.UTFMax)
	n := len(t.data)
	t.data = utf8.AppendRune(t.data, r)
	t.M.Poll(len(t.data) - n)
}

// Repeat writes s n times.
func (t *Text) Repeat(s string, n int64) {
	if n <= 0 || s == "" {
		return
	}
	if n > maxValueBytes/int64(len(s)) {
		panic(halt{ErrTooLong()})
	}
	all := int(n) * len(s)
	t.Grow(all)
	from := len(t.data)
	t.data = append(t.data, s...)
	for done := len(s); done < all; {
		k := min(done, all-done, max(PollBytes, len(s)))
		k -= k % len(s)
		t.data = append(t.data, t.data[from:from+k]...)
		done += k
		t.M.Poll(k)
	}
}

// Extend appends n bytes to the value and returns them to be written to; Cut removes the last n.
func (t *Text) Extend(n int) []byte {
	t.Grow(n)
	at := len(t.data)
	t.data = t.data[:at+n]
	t.M.Poll(n)
	return t.data[at:]
}

// Cut removes the last n bytes.
func (t *Text) Cut(n int) { t.data = t.data[:len(t.data)-n] }

// Bytes and String return what was written; nothing may be written afterwards.
func (t *Text) Bytes() []byte  { return t.data[t.from:len(t.data):len(t.data)] }
func (t *Text) String() string { return BytesString(t.data[t.from:]) }

// holds reports whether b is the open value, or its beginning.
func (t *Text) holds(b []byte) bool {
	return t.open && len(b) > 0 && len(b) <= len(t.data)-t.from && unsafe.SliceData(b) == &t.data[t.from]
}

// Column is the values of a result of variable length, in the order of rows;
// rows that are skipped are empty.
type Column struct {
	Text
	off  []int32
	next int
}

func newColumn(a *Arena, n int) *Column {
	c := &Column{Text: Text{M: a.Meter(), a: a, rows: n}, off: Alloc[int32](a, n+1)}
	c.Grow(16 * n)
	return c
}

// Begin starts a value of about size bytes: in the column, or where another one
// is open there, or there is no column, charged to m with the row at hand.
func (c *Column) Begin(m *Meter, size int) *Text {
	var t *Text
	if c != nil && !c.open {
		t = &c.Text
	} else {
		t = &Text{M: m, rows: 1, row: true}
	}
	t.open = true
	t.Grow(size)
	return t
}

// set makes b the value of row i.
func (c *Column) set(i int, b []byte) error {
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

// Drop discards a value that was begun and not set.
func (c *Column) Drop() { c.data, c.open = c.data[:c.from], false }

// end sets the values of v, after the last row.
func (c *Column) end(v *Vec) {
	for ; c.next < len(c.off); c.next++ {
		c.off[c.next] = int32(c.from)
	}
	v.Off, v.Data = c.off, c.data[:c.from]
}

// Product multiplies lengths; the result is capped just above the longest value.
func Product(a, b int64) int {
	if a > 0 && b > (maxValueBytes+1)/a {
		return maxValueBytes + 1
	}
	return int(a * b)
}

// ErrTooLong returns the error for a value above 1 GB.
func ErrTooLong() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "requested length too large")
}
