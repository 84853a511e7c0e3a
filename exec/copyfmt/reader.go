package copyfmt

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"sync"
	"unsafe"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/sql/types"
)

// chunkBytes is how much of a stream is decoded at once. firstBytes is the size of the first
// buffer: most COPYs of a client's rows need no more.
var chunkBytes, firstBytes = 512 << 10, 32 << 10

// Reader decodes a stream in several threads. It divides the stream where records end, for which it
// only counts quotes, has a Decoder read each chunk, and returns the rows in the stream's order. A
// stream in the binary format, whose tuples are found one after the other only, has one Decoder. A
// Reader is for one goroutine, which reads the stream and so waits for it, except for Context; Close
// waits for the others.
type Reader struct {
	in      io.Reader
	threads int
	make    func(in io.Reader, header bool) (*Decoder, error)
	account func() *mem.Account
	first   *Decoder // of the first chunk, or of the whole of a binary stream

	rest  []byte // of what was read, after the last chunk
	ends  LineEnd
	begun bool  // a chunk was made
	end   error // of the stream; io.EOF is its regular end
	ahead []*chunk
	idle  []*Decoder
	line  int64 // of the last record returned

	mu   sync.Mutex // of what follows, which Context reads while another goroutine is ahead in Next
	cur  *chunk
	prev *chunk // the one before, whose rows may not have been used yet
	// marks are of the records that are not a line after the one before; nil where there is no memory for them.
	marks []lineMark
	kept  *mem.Account // of marks
	over  bool         // an end mark came
	rows  int64        // returned
}

// chunk is a part of the stream that consists of whole records.
type chunk struct {
	text    []byte
	acct    *mem.Account // may be nil
	header  bool         // the stream's first
	done    chan struct{}
	dec     *Decoder // nil where decoding failed
	batches []*batch.Batch
	line    int64 // lines before it
	from    int64 // rows before it
	err     error
}

// NewReader makes a Reader; account, which may be nil, makes an account for each chunk that is
// held. The rest is NewDecoder's.
func NewReader(in io.Reader, cols []Column, opts Options, env *types.Env, size int, table string, threads int, account func() *mem.Account) (*Reader, error) {
	r := &Reader{in: in, threads: max(threads, 1), account: account, marks: []lineMark{{0, 1}}}
	r.make = func(in io.Reader, header bool) (*Decoder, error) {
		o := opts
		o.Header, o.Ends = o.Header && header, r.ends
		return NewDecoder(in, cols, o, env, size, table)
	}
	var err error
	if r.first, err = r.make(in, true); err != nil {
		return nil, err
	}
	if opts.Format == Binary && account != nil {
		r.first.Charge(account())
	}
	return r, nil
}

// Next returns the next rows, io.EOF at the end.
func (r *Reader) Next() (*batch.Batch, error) {
	if r.first.opts.Format == Binary {
		return r.first.Next()
	}
	for {
		if r.cur != nil && len(r.cur.batches) > 0 {
			b := r.cur.batches[0]
			r.cur.batches = r.cur.batches[1:]
			r.rows += int64(b.N)
			return b, nil
		}
		if r.cur != nil {
			r.dropPrev()
			r.mu.Lock()
			r.prev, r.cur = r.cur, nil
			r.mu.Unlock()
			if a := r.prev.acct; a != nil { // its text is all that it keeps
				r.prev.batches = nil
				a.Shrink(a.Used() - int64(len(r.prev.text)))
			}
		}
		if r.over {
			return nil, io.EOF
		}
		if err := r.readAhead(); err != nil {
			return nil, err
		}
		if len(r.ahead) == 0 {
			return nil, r.end
		}
		p := r.ahead[0]
		<-p.done
		r.ahead = r.ahead[1:]
		p.line, p.from = r.line, r.rows
		r.mu.Lock()
		r.cur = p
		r.mu.Unlock()
		if p.err != nil {
			return nil, r.redecode(p)
		}
		r.mark(p)
		r.line += p.dec.line
		if p.dec.marked {
			r.over = true
			if _, err := io.Copy(io.Discard, r.in); err != nil {
				return nil, err
			}
		}
		r.idle = append(r.idle, p.dec)
	}
}

// redecode decodes a chunk that has an error once more: the error names the number of the record,
// and only now are the records before it counted.
func (r *Reader) redecode(p *chunk) error {
	d, err := r.make(bytes.NewReader(p.text), p.header)
	if err != nil {
		return err
	}
	for d.line = r.line; err == nil; {
		_, err = d.Next()
	}
	return err
}

// Context adds to an error of a row, of those that have been returned, where that is, as PostgreSQL's
// CONTEXT line does: for a row of the last two chunks. It may be called while another goroutine is in Next.
func (r *Reader) Context(err error, row int64) error {
	if r.first.opts.Format == Binary {
		return (&Decoder{table: r.first.table, line: row + 1}).context(err, -1, nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range []*chunk{r.cur, r.prev} {
		if p == nil || p.dec == nil || row < p.from {
			continue
		}
		if d, e := r.make(bytes.NewReader(p.text), p.header); e == nil {
			d.line = p.line
			return d.at(err, row-p.from)
		}
		break
	}
	return err
}

// Line adds to an error the line of a row, of those that have been returned, as Context does of a row
// whose text is not shown.
func (r *Reader) Line(err error, row int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, at := slices.BinarySearchFunc(r.marks, row, func(m lineMark, row int64) int { return cmp.Compare(m.row, row) })
	if !at {
		i--
	}
	if i < 0 {
		return err
	}
	return (&Decoder{table: r.first.table, line: r.marks[i].line + row - r.marks[i].row}).context(err, -1, nil)
}

// mark keeps the lines of a chunk's records.
func (r *Reader) mark(p *chunk) {
	if len(p.dec.marks) == 0 || r.marks == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.account != nil {
		if r.kept == nil {
			r.kept = r.account()
		}
		// An append may have both its old room and the new.
		if !r.kept.Try(4 * int64(len(p.dec.marks)) * int64(unsafe.Sizeof(lineMark{}))) {
			r.marks = nil
			return
		}
	}
	for _, m := range p.dec.marks {
		r.marks = append(r.marks, lineMark{p.from + m.row, p.line + m.line})
	}
}

// dropPrev frees the chunk before the current one.
func (r *Reader) dropPrev() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.prev != nil {
		r.prev.free()
		r.prev = nil
	}
}

// readAhead starts decoding chunks until there is one more than threads, so that they stay busy
// while the rows of a finished one are returned; fewer where there is no memory for more.
func (r *Reader) readAhead() error {
	for len(r.ahead) <= r.threads && r.end == nil {
		p, err := r.chunk(len(r.ahead) > 0)
		if err == errNoRoom {
			return nil
		}
		if err != nil || p == nil {
			return err
		}
		if n := len(r.idle); n > 0 && !p.header {
			p.dec = r.idle[n-1]
			r.idle = r.idle[:n-1]
		} else if p.dec, err = r.make(nil, p.header); err != nil {
			return err
		}
		r.ahead = append(r.ahead, p)
		work := func() {
			defer close(p.done)
			p.err = op.Guard("copy", p.decode)
		}
		if r.end != nil && len(r.ahead) == 1 { // all there is, or the last of it
			work()
		} else {
			go work()
		}
	}
	return nil
}

// errNoRoom is returned for a chunk for which there is no memory yet.
var errNoRoom = errors.New("copyfmt: no memory to read ahead")

// hold charges for n bytes. Where that can wait, as much again is left to those who take the rows: the
// one that writes them would be refused its first.
func (p *chunk) hold(n int64, canWait bool) error {
	more := n - p.acct.Used()
	if !canWait || more <= 0 {
		return p.acct.Resize(n)
	}
	if !p.acct.Try(more + n) {
		return errNoRoom
	}
	p.acct.Shrink(n)
	return nil
}

// chunk reads the next chunk of the stream; nil where there is none.
func (r *Reader) chunk(canWait bool) (*chunk, error) {
	p := &chunk{header: !r.begun, done: make(chan struct{})}
	if r.account != nil {
		p.acct = r.account()
	}
	size := chunkBytes
	if !r.begun && r.rest == nil {
		size = firstBytes
	}
	for ; ; size *= 2 {
		// The bytes are held up to four times: here, as a record, with its escapes resolved, in a column.
		if p.acct != nil {
			err := p.hold(4*int64(max(size, len(r.rest))), canWait)
			if err != nil && r.prev != nil { // which is there for errors alone
				r.dropPrev()
				err = p.hold(4*int64(max(size, len(r.rest))), canWait)
			}
			if err != nil {
				p.acct.Close()
				return nil, err
			}
		}
		r.fill(size)
		if r.end != nil && r.end != io.EOF {
			break // what came before its failure makes no difference
		}
		if r.ends == EndUnknown {
			r.mu.Lock()
			r.ends = r.first.opts.FirstEnd(r.rest, r.end == nil)
			r.mu.Unlock()
			r.first.ends = r.ends
		}
		cut := len(r.rest)
		if r.end == nil && cut <= MaxRecord { // the Decoder refuses a longer one
			if cut = r.first.lastEnd(r.rest); cut == 0 {
				continue
			}
		}
		if cut == 0 {
			break
		}
		r.begun = true
		p.text, r.rest = r.rest[:cut:cut], r.rest[cut:]
		return p, nil
	}
	p.free()
	return nil, nil
}

// fill reads until rest has a size, into a new buffer: the chunks before are being decoded.
func (r *Reader) fill(size int) {
	if size <= len(r.rest) {
		return
	}
	buf := make([]byte, size)
	n := copy(buf, r.rest)
	for n < size && r.end == nil {
		var got int
		got, r.end = r.in.Read(buf[n:])
		n += got
	}
	r.rest = buf[:n]
}

// decode reads a chunk's rows.
func (p *chunk) decode() error {
	p.dec.reset(bytes.NewReader(p.text))
	for {
		b, err := p.dec.Next()
		if err == io.EOF {
			p.shrink()
			return nil
		}
		if err != nil {
			return err
		}
		p.batches = append(p.batches, b)
	}
}

// shrink releases all but the rows, and their text, which an error shows.
func (p *chunk) shrink() {
	if p.acct == nil {
		return
	}
	n := int64(len(p.text))
	for _, b := range p.batches {
		n += b.Bytes()
	}
	p.acct.Shrink(max(p.acct.Used()-n, 0))
}

func (p *chunk) free() {
	p.text, p.batches = nil, nil
	if p.acct != nil {
		p.acct.Close()
	}
}

// Close frees what is held. It does not close the stream.
func (r *Reader) Close() {
	for _, p := range r.ahead {
		<-p.done
		p.free()
	}
	for _, p := range []*chunk{r.cur, r.prev} {
		if p != nil {
			p.free()
		}
	}
	for _, a := range []*mem.Account{r.first.acct, r.kept} {
		if a != nil {
			a.Close()
		}
	}
	r.ahead, r.cur, r.prev, r.over = nil, nil, nil, true
}

// lastEnd returns where the last whole record of a text ends that begins with a record, 0 where
// none does.
func (d *Decoder) lastEnd(text []byte) int {
	if d.ends == EndUnknown {
		return 0
	}
	if d.opts.Format == CSV && d.opts.Escape != d.opts.Quote {
		end, in := 0, false
		for at := 0; ; {
			n := bytes.IndexByte(text[at:], d.ends.Last()) + 1
			if n == 0 {
				return end
			}
			if in = d.quoteState(text[at:at+n], in); !in {
				end = at + n
			}
			at += n
		}
	}
	quotes := 0 // before the text's end
	if d.opts.Format == CSV {
		quotes = bytes.Count(text, []byte{d.opts.Quote})
	}
	for end := len(text); ; end-- {
		n := bytes.LastIndexByte(text[:end], d.ends.Last()) + 1
		if n == 0 {
			return 0
		}
		if d.opts.Format == CSV {
			if quotes -= bytes.Count(text[n:end], []byte{d.opts.Quote}); quotes%2 == 0 {
				return n
			}
		} else if !escapedEnd(nil, text[:n]) {
			return n
		}
		end = n
	}
}
