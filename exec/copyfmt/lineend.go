package copyfmt

import (
	"bytes"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// LineEnd is how the lines of a stream end: as its first one does. Other ends outside of quotes, or
// not behind a backslash, are errors, as in PostgreSQL: they are more often a damaged file than data.
type LineEnd byte

// The ends.
const (
	EndUnknown LineEnd = iota
	EndLF
	EndCR
	EndCRLF
	EndAny // LF, with a CR before it or not: read_csv takes both in one file
)

// Last is the byte that a line's end ends with.
func (e LineEnd) Last() byte {
	if e == EndCR {
		return '\r'
	}
	return '\n'
}

// findEnds looks in what the reader's buffer can hold for the end of the first line.
func (d *Decoder) findEnds() {
	for n := 1 << 10; d.ends == EndUnknown; n *= 4 {
		all := n >= d.r.Size()
		b, err := d.r.Peek(min(n, d.r.Size()))
		if d.ends = d.opts.FirstEnd(b, err == nil && !all); all || err != nil {
			break
		}
	}
	if d.ends == EndUnknown {
		d.ends = EndLF
	}
}

// FirstEnd returns how the first line of a text ends; unknown where that is not in the text, of which
// more may follow.
func (o *Options) FirstEnd(text []byte, more bool) LineEnd {
	i := o.bare(text, "\r\n")
	switch {
	case i < 0:
		return EndUnknown
	case text[i] == '\n':
		return EndLF
	case i+1 < len(text) && text[i+1] == '\n':
		return EndCRLF
	case i+1 == len(text) && more:
		return EndUnknown
	}
	return EndCR
}

// bare returns where a text first has one of some bytes outside of quotes, and not behind a backslash
// in the text format; -1 where it has none.
func (o *Options) bare(text []byte, of string) int {
	if !bytes.ContainsAny(text, of) {
		return -1
	}
	in := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case o.Format != CSV && c == '\\':
			i++
		case o.Format == CSV && in && c == o.Escape && i+1 < len(text) && (text[i+1] == o.Quote || text[i+1] == o.Escape):
			i++
		case o.Format == CSV && c == o.Quote:
			in = !in
		case !in && bytes.IndexByte([]byte(of), c) >= 0:
			return i
		}
	}
	return -1
}

// trimEnd takes the end off a line, and refuses ends of another kind.
func (d *Decoder) trimEnd(rec []byte) ([]byte, error) {
	if d.ends == EndAny {
		return bytes.TrimSuffix(bytes.TrimSuffix(rec, []byte{'\n'}), []byte{'\r'}), nil
	}
	stray := byte('\r')
	switch n := len(rec); {
	case n > 0 && rec[n-1] == d.ends.Last() && d.ends == EndCRLF:
		if n < 2 || rec[n-2] != '\r' || d.opts.Format != CSV && escapedEnd(nil, rec[:n-1]) {
			return nil, d.strayEnd('\n')
		}
		rec = rec[:n-2]
	case n > 0 && rec[n-1] == d.ends.Last():
		rec = rec[:n-1]
	}
	if d.ends == EndCR {
		stray = '\n'
	}
	if bytes.IndexByte(rec, stray) >= 0 && d.opts.bare(rec, string(stray)) >= 0 {
		return nil, d.strayEnd(stray)
	}
	return rec, nil
}

func (d *Decoder) strayEnd(c byte) error {
	what, escape := "newline", `"\n"`
	if c == '\r' {
		what, escape = "carriage return", `"\r"`
	}
	if d.opts.Format == CSV {
		return pgerr.New(pgerr.BadCopyFileFormat, "unquoted %s found in data", what).WithHint("Use quoted CSV field to represent %s.", what)
	}
	return pgerr.New(pgerr.BadCopyFileFormat, "literal %s found in data", what).WithHint("Use %s to represent %s.", escape, what)
}
