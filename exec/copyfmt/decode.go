package copyfmt

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Column is a column to read or write.
type Column struct {
	Name string
	Type types.Type
}

// Decoder reads COPY data into batches. It is for one goroutine.
type Decoder struct {
	opts               Options
	cols               []Column
	env                *types.Env
	size               int
	r                  *bufio.Reader
	apps               []*appender
	notNull, forceNull []bool
	line               int64
	table              string
	ends               LineEnd
	begun              bool
	ended, marked      bool   // marked: by an end mark
	buf                []byte // a record that did not fit the reader's buffer
	field              []byte // a field with its escapes resolved
	rows               int64  // bytes of records in the batch so far
	acct               *mem.Account
	convert            []func([]byte) ([]byte, error) // of columns; nil: none
	reject             func(Reject)                   // nil: a record that is no row is an error
	refused            bool                           // the current record
	open               []byte                         // a record whose quote is not closed
	count              int64                          // records so far, and
	marks              []lineMark                     // those of them that are not a line after the one before
}

// lineMark says on which line a record ends.
type lineMark struct{ row, line int64 }

// batchBytes ends a batch early where rows are long; chargeStep is how much
// of a long record comes between two charges.
const (
	batchBytes = 4 << 20
	chargeStep = 1 << 20
)

// Charge makes the decoder charge a for long records and batches of them before it holds them. The
// account stays the caller's, to close.
func (d *Decoder) Charge(a *mem.Account) { d.acct = a }

// charge accounts for what is held and more to come. Bytes of a record are held up to three times:
// as a line, with its escapes resolved, in a column.
func (d *Decoder) charge(more int) error {
	if d.acct == nil {
		return nil
	}
	if n := 3*int64(more) + 2*d.rows + int64(cap(d.buf)+cap(d.field)); n > chargeStep || d.acct.Used() > 0 {
		return d.acct.Resize(n)
	}
	return nil
}

// release frees the buffers of an unusually long record.
func (d *Decoder) release() {
	if cap(d.buf) > chargeStep {
		d.buf = nil
	}
	if cap(d.field) > chargeStep {
		d.field = nil
	}
}

// NewDecoder reads rows of cols from r in batches of size rows. table names the
// target in error contexts.
func NewDecoder(r io.Reader, cols []Column, opts Options, env *types.Env, size int, table string) (*Decoder, error) {
	d := &Decoder{opts: opts, ends: opts.Ends, cols: cols, env: env, size: size, r: bufio.NewReaderSize(r, 1<<18), table: table}
	d.notNull, d.forceNull = make([]bool, len(cols)), make([]bool, len(cols))
	for _, set := range []struct {
		names []string
		flags []bool
		what  string
	}{{opts.ForceNotNull, d.notNull, "FORCE_NOT_NULL"}, {opts.ForceNull, d.forceNull, "FORCE_NULL"}} {
		for _, n := range set.names {
			i := slices.IndexFunc(cols, func(c Column) bool { return c.Name == n })
			if i < 0 {
				return nil, pgerr.New(pgerr.InvalidColumnReference, "%s column %q not referenced by COPY", set.what, n)
			}
			set.flags[i] = true
		}
	}
	for _, c := range cols {
		d.apps = append(d.apps, newAppender(c.Type, env))
	}
	return d, nil
}

// reset makes the decoder read another text, whose records are counted from 1.
func (d *Decoder) reset(in io.Reader) {
	d.r.Reset(in)
	d.line, d.ended = 0, false
	d.count, d.marks = 0, nil
}

// Next returns the next rows, io.EOF at the end.
func (d *Decoder) Next() (*batch.Batch, error) {
	if d.ended {
		return nil, io.EOF
	}
	if !d.begun {
		d.begun = true
		if err := d.begin(); err != nil {
			return nil, d.context(err, -1, nil)
		}
	}
	n := 0
	d.release()
	d.rows = 0
	var rows []int32 // those that are, where a record was refused
	for n < d.size && d.rows < batchBytes {
		d.refused = false
		next := d.line + 1
		if d.count == 0 {
			next = 1 // a header may be before it
		}
		ok, err := d.record()
		if err != nil {
			return nil, err
		}
		if !ok {
			d.ended = true
			break
		}
		if d.line != next {
			d.marks = append(d.marks, lineMark{d.count, d.line})
		}
		d.count++
		if d.refused && rows == nil {
			rows = make([]int32, 0, d.size)
			for i := range n {
				rows = append(rows, int32(i))
			}
		} else if rows != nil && !d.refused {
			rows = append(rows, int32(n))
		}
		n++
	}
	if n == 0 {
		return nil, io.EOF
	}
	out := make([]arrow.Array, len(d.apps))
	for i, a := range d.apps {
		out[i] = a.b.NewArray()
	}
	b := batch.New(out, n)
	b.Sel = rows
	return b, nil
}

func (d *Decoder) begin() error {
	if d.opts.Format == Binary {
		return d.binaryHeader()
	}
	for range d.opts.Skip {
		if err := d.skipLine(); err != nil {
			return err
		}
	}
	if !d.opts.Header {
		return nil
	}
	d.line++
	rec, err := d.nextRecord()
	if err == io.EOF {
		return nil
	}
	if err != nil || !d.opts.HeaderMatch {
		return err
	}
	fields := d.splitHeader(rec)
	if len(fields) != len(d.cols) {
		return pgerr.New(pgerr.BadCopyFileFormat, "wrong number of fields in header line: got %d, expected %d", len(fields), len(d.cols))
	}
	for i, f := range fields {
		if f != d.cols[i].Name {
			return pgerr.New(pgerr.BadCopyFileFormat, "column name mismatch in header line field %d: got %q, expected %q", i+1, f, d.cols[i].Name)
		}
	}
	return nil
}

// skipLine passes over a line, whatever it has.
func (d *Decoder) skipLine() error {
	d.line++
	for {
		_, err := d.r.ReadSlice(d.ends.Last())
		if err == io.EOF {
			return nil // the records end too
		}
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}

func (d *Decoder) splitHeader(rec []byte) []string {
	var out []string
	split := d.splitText
	if d.opts.Format == CSV {
		split = d.splitCSV
	}
	_ = split(rec, func(_ int, f []byte, _ bool) error {
		out = append(out, string(f))
		return nil
	})
	return out
}

// context adds where an error is, as PostgreSQL's CONTEXT line does: text is a column's, or for col < 0
// the line's; nil for neither.
func (d *Decoder) context(err error, col int, text []byte) error {
	var e *pgerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Where = "COPY " + d.table + ", line " + itoa(d.line)
	if col >= 0 && col < len(d.cols) {
		c.Where += ", column " + d.cols[col].Name
	}
	if text != nil {
		c.Where += ": \"" + shown(text) + "\""
	}
	return &c
}

// shownBytes is how much of a line or a field an error shows.
const shownBytes = 100

func shown(text []byte) string {
	n := shownBytes
	if len(text) <= n {
		return string(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return string(text[:n]) + "..."
}

// at adds to an error where it is, for one of record n of those that have been read, counted from 0.
func (d *Decoder) at(err error, n int64) error {
	if d.begin() != nil {
		return err
	}
	for ; ; n-- {
		d.line++
		rec, e := d.nextRecord()
		if e != nil {
			return err
		}
		if n == 0 {
			return d.context(err, -1, rec)
		}
	}
}

func itoa(n int64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

// record reads one row; false at the end.
func (d *Decoder) record() (bool, error) {
	if d.opts.Format == Binary {
		d.line++
		ok, err := d.binaryRecord()
		if err != nil {
			err = d.context(err, -1, nil)
		}
		return ok, err
	}
	d.line++
	rec, err := d.nextRecord()
	if err == io.EOF {
		d.line--
		return false, nil
	}
	if err != nil {
		if d.refuse(err, -1, nil, d.buf) {
			return false, nil // a quote that is not closed: there is nothing after it
		}
		return false, d.context(err, -1, d.open)
	}
	if d.opts.Format == Text && len(rec) == 2 && rec[0] == '\\' && rec[1] == '.' {
		return false, d.drain()
	}
	if d.opts.Format == CSV && len(rec) == 2 && rec[0] == '\\' && rec[1] == '.' {
		return false, d.drain()
	}
	seen := 0
	put := func(i int, f []byte, null bool) error {
		if i >= len(d.apps) {
			err := pgerr.New(pgerr.BadCopyFileFormat, "extra data after last expected column")
			if i > len(d.apps) || d.refuse(err, -1, nil, rec) {
				return nil
			}
			return err
		}
		seen = i + 1
		if null {
			d.apps[i].b.AppendNull()
			return nil
		}
		text, err := f, error(nil)
		if d.convert != nil && d.convert[i] != nil {
			text, err = d.convert[i](f)
		}
		if err == nil {
			err = d.apps[i].text(text)
		}
		if err == nil {
			return nil
		}
		if d.refuse(err, i, f, rec) {
			d.apps[i].b.AppendNull()
			return nil
		}
		return d.context(err, i, f)
	}
	if d.opts.Format == CSV {
		err = d.splitCSV(rec, put)
	} else {
		err = d.splitText(rec, put)
	}
	if err == nil && seen < len(d.cols) && !(len(d.cols) == 0 && len(rec) == 0) {
		err = pgerr.New(pgerr.BadCopyFileFormat, "missing data for column %q", d.cols[seen].Name)
		if d.refuse(err, -1, nil, rec) {
			for _, a := range d.apps[seen:] {
				a.b.AppendNull()
			}
			err = nil
		}
	}
	var e *pgerr.Error
	if errors.As(err, &e) && e.Where == "" {
		err = d.context(err, -1, rec)
	}
	return err == nil, err
}

// drain discards what follows the end mark.
func (d *Decoder) drain() error {
	d.marked = true
	_, err := io.Copy(io.Discard, d.r)
	return err
}

// nextRecord is readRecord, but for empty lines where these are no records.
func (d *Decoder) nextRecord() ([]byte, error) {
	rec, err := d.readRecord()
	for d.opts.Blank && len(d.cols) > 1 && len(rec) == 0 && err == nil {
		d.line++
		rec, err = d.readRecord()
	}
	return rec, err
}

// readRecord returns the next line without its end; in CSV a quoted field may
// hold line ends. The bytes are valid until the next call.
func (d *Decoder) readRecord() ([]byte, error) {
	d.buf = d.buf[:0]
	if d.ends == EndUnknown {
		d.findEnds()
	}
	inQuote := false
	for charged := 0; ; {
		part, err := d.r.ReadSlice(d.ends.Last())
		if len(d.buf) >= charged+chargeStep {
			charged = len(d.buf)
			if err := d.charge(charged + chargeStep); err != nil {
				return nil, err
			}
		}
		if err == bufio.ErrBufferFull || len(d.buf) > 0 || d.opts.Format == CSV && err == nil {
			if len(d.buf)+len(part) > MaxRecord {
				return nil, pgerr.New(pgerr.ProgramLimitExceeded, "COPY record is longer than %d bytes", MaxRecord)
			}
		}
		if d.opts.Format == CSV {
			if inQuote = d.quoteState(part, inQuote); inQuote && err == nil {
				d.line++ // within the record
			}
		}
		whole := err == nil && !inQuote
		if whole && d.opts.Format == Text && escapedEnd(d.buf, part) {
			// A backslash before the line end makes it data.
			whole = false
		}
		switch {
		case whole && len(d.buf) == 0:
			d.rows += int64(len(part))
			return d.trimEnd(part)
		case whole:
			d.buf = append(d.buf, part...)
			d.rows += int64(len(d.buf))
			return d.trimEnd(d.buf)
		case err == io.EOF:
			if len(d.buf) == 0 && len(part) == 0 {
				return nil, io.EOF
			}
			d.buf = append(d.buf, part...)
			if inQuote {
				d.open = d.buf
				return nil, pgerr.New(pgerr.BadCopyFileFormat, "unterminated CSV quoted field")
			}
			return d.trimEnd(d.buf)
		case err != nil && err != bufio.ErrBufferFull:
			return nil, err
		}
		d.buf = append(d.buf, part...)
	}
}

func escapedEnd(before, part []byte) bool {
	n := 0
	i := len(part) - 2
	for ; i >= 0 && part[i] == '\\'; i-- {
		n++
	}
	if i < 0 {
		for j := len(before) - 1; j >= 0 && before[j] == '\\'; j-- {
			n++
		}
	}
	return n%2 == 1
}

func (d *Decoder) quoteState(part []byte, in bool) bool {
	q, esc := d.opts.Quote, d.opts.Escape
	if esc == q {
		if bytes.Count(part, []byte{q})%2 == 1 {
			return !in
		}
		return in
	}
	for i := 0; i < len(part); i++ {
		switch {
		case in && part[i] == esc && i+1 < len(part) && (part[i+1] == q || part[i+1] == esc):
			i++
		case part[i] == q:
			in = !in
		}
	}
	return in
}

// splitText returns the fields of a text-format line.
func (d *Decoder) splitText(rec []byte, put func(i int, f []byte, null bool) error) error {
	delim := d.opts.Delimiter
	for i := 0; ; i++ {
		end, esc := len(rec), false
		for j := 0; j < len(rec); j++ {
			if rec[j] == '\\' {
				esc = true
				j++
			} else if rec[j] == delim {
				end = j
				break
			}
		}
		raw := rec[:end]
		null := view(raw) == d.opts.Null
		f := raw
		if esc && !null {
			f = d.unescape(raw)
		}
		if err := put(i, f, null); err != nil {
			return err
		}
		if end == len(rec) {
			return nil
		}
		rec = rec[end+1:]
	}
}

func (d *Decoder) unescape(raw []byte) []byte {
	out := d.field[:0]
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' || i+1 == len(raw) {
			out = append(out, c)
			continue
		}
		i++
		switch c = raw[i]; c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'v':
			c = '\v'
		case 'x':
			v, n := 0, 0
			for n < 2 && i+1 < len(raw) && hexVal(raw[i+1]) >= 0 {
				i++
				n++
				v = v*16 + hexVal(raw[i])
			}
			if n > 0 {
				c = byte(v)
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v := int(c - '0')
			for n := 1; n < 3 && i+1 < len(raw) && raw[i+1] >= '0' && raw[i+1] <= '7'; n++ {
				i++
				v = v*8 + int(raw[i]-'0')
			}
			c = byte(v)
		}
		out = append(out, c)
	}
	d.field = out
	return out
}

func hexVal(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// splitCSV returns the fields of a CSV record.
func (d *Decoder) splitCSV(rec []byte, put func(i int, f []byte, null bool) error) error {
	delim, q, escape := d.opts.Delimiter, d.opts.Quote, d.opts.Escape
	plain := bytes.IndexByte(rec, q) < 0
	for i := 0; ; i++ {
		var f []byte
		quoted := false
		j := bytes.IndexByte(rec, delim)
		if plain || bytes.IndexByte(rec[:max(j, 0)], q) < 0 && (j >= 0 || bytes.IndexByte(rec, q) < 0) {
			// No quote in this field: take it as it is.
			if j < 0 {
				j = len(rec)
			}
			f = rec[:j]
		} else {
			out := d.field[:0]
			in := false
			for j = 0; j < len(rec); j++ {
				c := rec[j]
				switch {
				case in && c == escape && j+1 < len(rec) && (rec[j+1] == q || rec[j+1] == escape):
					j++
					out = append(out, rec[j])
				case c == q:
					in = !in
					quoted = true
				case !in && c == delim:
					goto end
				default:
					out = append(out, c)
				}
			}
		end:
			d.field, f = out, out
		}
		isNull := view(f) == d.opts.Null
		if quoted {
			isNull = isNull && i < len(d.forceNull) && d.forceNull[i]
		} else {
			isNull = isNull && !(i < len(d.notNull) && d.notNull[i])
		}
		if err := put(i, f, isNull); err != nil {
			return err
		}
		if j >= len(rec) {
			return nil
		}
		rec = rec[j+1:]
	}
}

var signature = []byte("PGCOPY\n\xff\r\n\x00")

func (d *Decoder) binaryHeader() error {
	var h [19]byte
	if _, err := io.ReadFull(d.r, h[:]); err != nil || !bytes.Equal(h[:11], signature) {
		return pgerr.New(pgerr.BadCopyFileFormat, "COPY file signature not recognized")
	}
	if binary.BigEndian.Uint32(h[11:])&0xffff0000 != 0 {
		return pgerr.New(pgerr.BadCopyFileFormat, "unrecognized critical flags in COPY file header")
	}
	n := binary.BigEndian.Uint32(h[15:])
	if _, err := io.CopyN(io.Discard, d.r, int64(n)); err != nil {
		return pgerr.New(pgerr.BadCopyFileFormat, "invalid COPY file header (wrong length)")
	}
	return nil
}

func (d *Decoder) binaryRecord() (bool, error) {
	var b [4]byte
	if _, err := io.ReadFull(d.r, b[:2]); err != nil {
		if err == io.EOF {
			return false, nil
		}
		return false, pgerr.New(pgerr.BadCopyFileFormat, "unexpected EOF in COPY data")
	}
	n := int16(binary.BigEndian.Uint16(b[:2]))
	if n == -1 {
		if _, err := d.r.Peek(1); err != io.EOF {
			if err == nil {
				err = pgerr.New(pgerr.BadCopyFileFormat, "received copy data after EOF marker")
			}
			return false, err
		}
		return false, d.drain()
	}
	if int(n) != len(d.cols) {
		return false, pgerr.New(pgerr.BadCopyFileFormat, "row field count is %d, expected %d", n, len(d.cols))
	}
	for i, c := range d.cols {
		if _, err := io.ReadFull(d.r, b[:4]); err != nil {
			return false, pgerr.New(pgerr.BadCopyFileFormat, "unexpected EOF in COPY data")
		}
		size := int32(binary.BigEndian.Uint32(b[:4]))
		if size == -1 {
			d.apps[i].b.AppendNull()
			continue
		}
		if size < 0 || size > MaxRecord {
			return false, pgerr.New(pgerr.BadCopyFileFormat, "invalid field size")
		}
		// Grow with what arrives: the sender's length is not trusted.
		d.field = d.field[:0]
		for left := int(size); left > 0; {
			step := min(left, chargeStep)
			at := len(d.field)
			if at > 0 || d.rows > chargeStep {
				if err := d.charge(at + step); err != nil {
					return false, err
				}
			}
			d.field = slices.Grow(d.field, step)[:at+step]
			if _, err := io.ReadFull(d.r, d.field[at:]); err != nil {
				return false, pgerr.New(pgerr.BadCopyFileFormat, "unexpected EOF in COPY data")
			}
			left -= step
		}
		d.rows += int64(size)
		v, err := types.ParseBinary(c.Type, d.field)
		if err == nil {
			v, err = types.ApplyMod(c.Type, v, false)
		}
		if err == nil {
			err = types.AppendDatum(d.apps[i].b, c.Type, v)
		}
		if err != nil {
			return false, d.context(err, i, nil)
		}
	}
	return true, nil
}
