package source

import (
	"errors"
	"io"
	"sync"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// pageReader reads a column chunk's pages into memory that is reused, for each page and for the
// next chunk. The library's reader holds the whole chunk twice and each of its pages twice more,
// all newly allocated, which is most of the garbage of a statement over many files. A page is valid
// until the next; one that is not compressed is read in place.
type pageReader struct {
	pageHead
	body    []byte      // of the page, uncompressed
	stream  *pageStream // in place of body: the page is too large
	in      rangeReader
	codec   decoder // nil: pages are not compressed
	left    int64   // values of the pages that are not read yet
	page    []byte  // buffer for uncompressed pages
	flat    []byte  // for values that were encoded as differences
	before  []byte  // the last string of the page before, if it was
	charge  charge
	charged int
	kept    int // bytes of the chunk's dictionary
	long    int // and of a string that has a batch for itself

	compression compress.Compression
	numbers     []int32  // scratch for decoding the pages
	column      []uint64 // the column of a batch that nobody keeps
}

// pageReaders has the readers that no chunk uses at the moment.
var pageReaders = sync.Pool{New: func() any { return &pageReader{} }}

// openChunk returns a reader of the pages of a column chunk. It reads the file, whose size is given, by at least
// atOnce bytes (bytesAtOnce); free returns the reader for reuse. charge is called before memory is allocated, and when it is released.
func openChunk(in io.ReaderAt, fileSize int64, chunk *metadata.ColumnChunkMetaData, writer *metadata.AppVersion, atOnce int, charge charge) (*pageReader, error) {
	start, size := chunkRange(chunk)
	if start < 0 || size < 0 || start > fileSize || size > fileSize-start {
		return nil, errors.New("a column lies outside of the file")
	}
	if writer.LessThan(metadata.Parquet816FixedVersion) {
		size = min(size+dictionaryHeader, fileSize-start)
	}
	codec, err := decoderOf(chunk.Compression())
	if err != nil {
		return nil, err
	}
	p := pageReaders.Get().(*pageReader)
	p.in.open(in, start, start+size)
	if p.in.least = atOnce; atOnce < readBytes && cap(p.in.buf) > 4*atOnce {
		p.in.buf = nil
	}
	p.codec, p.left, p.charge, p.compression = codec, chunk.NumValues(), charge, chunk.Compression()
	if err := p.hold(0, true); err != nil {
		p.free()
		return nil, err
	}
	return p, nil
}

// chunkRange is where a column chunk says that it lies.
func chunkRange(chunk *metadata.ColumnChunkMetaData) (start, size int64) {
	start, size = chunk.DataPageOffset(), chunk.TotalCompressedSize()
	if d := chunk.DictionaryPageOffset(); chunk.HasDictionaryPage() && d > 0 && d < start {
		start = d
	}
	return start, size
}

const (
	usualHead = 1 << 10 // bytes that are first read for a page's header
	mostHead  = 16 << 20
)

// next goes to the next page; false at the end.
func (p *pageReader) next() (bool, error) {
	if p.stream != nil {
		err := p.stream.end()
		if p.stream = nil; err != nil {
			return false, err
		}
	}
	if p.left <= 0 {
		return false, nil
	}
	if more, err := p.head(); !more {
		return false, err
	}
	switch p.kind {
	case dataPage, dataPage2:
		p.left -= int64(p.values)
	case dictionaryPage:
	default: // not needed
		p.body = nil
		_, err := p.in.Discard(p.packed)
		return err == nil, err
	}
	if p.tooLong() {
		return false, errPage
	}
	stream := p.kind != dictionaryPage && p.encoding == parquet.Encodings.Plain && streams(p.compression)
	if stream && max(p.size, p.packed) <= streamFrom {
		stream = p.hold(0, false) != nil
	}
	if stream {
		p.body = nil
		return true, p.openStream()
	}
	err := p.load()
	return err == nil, err
}

// load reads the whole page whose bytes are next in the file.
func (p *pageReader) load() error {
	if err := p.hold(0, true); err != nil {
		return err
	}
	b, err := p.in.Peek(p.packed)
	if err != nil && err != io.EOF {
		return err
	}
	if len(b) < p.packed {
		return errPage
	}
	_, _ = p.in.Discard(p.packed)
	p.body, err = p.unpack(b)
	return err
}

// sizes returns the uncompressed bytes of the chunk's largest page, and of all its pages, as plain
// values. Only the heads are read, unless what they say is to be checked, or the values are encoded as
// differences: then the library trusts what is in the pages too.
func (p *pageReader) sizes(leaf *schema.Column, check bool) (most, all int64, err error) {
	for last := 0; p.left > 0; {
		more, err := p.head()
		if !more || err != nil {
			return most, all, err
		}
		if p.tooLong() {
			return 0, 0, errPage
		}
		size := int64(p.size)
		switch p.kind {
		case dataPage, dataPage2:
			p.left -= int64(p.values)
		case dictionaryPage:
		default:
			if check { // the library would take the bytes of such a page for headers
				return 0, 0, errPage
			}
		}
		switch delta := p.kind != dictionaryPage && isDelta(p.encoding); {
		case !check && !delta:
			_, err = p.in.Discard(p.packed)
		default:
			if err = p.load(); err != nil || !delta {
				break
			}
			var b []byte
			if b, err = p.behindLevels(leaf.MaxRepetitionLevel() > 0, leaf.MaxDefinitionLevel() > 0); err != nil {
				break
			}
			var plain int64
			plain, last, err = deltaBytes(p.encoding, b, p.values, last, leaf.PhysicalType())
			size += plain
		}
		if err != nil {
			return 0, 0, err
		}
		most, all = max(most, size), all+size
	}
	return most, all, nil
}

// tooLong reports whether a page's head claims more than there can be, before that is allocated.
func (p *pageReader) tooLong() bool {
	return int64(p.packed) > p.in.rest() || int64(p.size) > int64(p.packed)*mostRatio(p.compression)+mostHead
}

// charge charges for more bytes, or fewer; must says that the statement fails without them.
type charge func(more int, must bool) error

// hold charges the buffers that the page needs, and more beside them.
func (p *pageReader) hold(more int, must bool) error {
	if p.charge == nil {
		return nil
	}
	need := max(cap(p.in.buf), p.in.least) + cap(p.page) + cap(p.flat) + cap(p.before) + p.kept + p.long + more
	if p.stream == nil {
		need += max(p.packed-max(cap(p.in.buf), p.in.least), 0)
		if p.codec != nil {
			need += max(p.size-cap(p.page), 0)
		}
	}
	err := p.charge(need-p.charged, must)
	if err == nil {
		p.charged = need
	}
	return err
}

// alone charges for a string of n bytes that a batch has no room for beside others.
func (p *pageReader) alone(n int) error {
	if n <= p.long || p.stream != nil { // whose window counts for it
		return nil
	}
	p.long = n
	return p.hold(0, true)
}

// mostRatio returns how many times as long as its compressed form a page can be.
func mostRatio(c compress.Compression) int64 {
	switch c {
	case compress.Codecs.Uncompressed:
		return 1
	case compress.Codecs.Snappy:
		return 22 // three bytes make 64
	case compress.Codecs.Gzip:
		return 1032
	}
	return 1 << 16
}

// head reads a page's header; false at the end.
func (p *pageReader) head() (bool, error) {
	for n := usualHead; ; n *= 2 {
		b, err := p.in.Peek(n)
		if err != nil && err != io.EOF {
			return false, err
		}
		if len(b) == 0 {
			return false, nil
		}
		var size int
		if p.pageHead, size, err = readPageHead(b); err == nil {
			_, err = p.in.Discard(size)
			return err == nil, err
		}
		if err != errHeadShort || len(b) < n || n >= mostHead {
			return false, err
		}
	}
}

// unpack returns a page's bytes uncompressed; those of levels may not be compressed.
func (p *pageReader) unpack(b []byte) ([]byte, error) {
	head := 0
	if p.kind == dataPage2 {
		head = p.reps + p.defs
	}
	if p.codec == nil || p.kind == dataPage2 && p.plain {
		if len(b) != p.size {
			return nil, errPage
		}
		return b, nil
	}
	if head > min(len(b), p.size) {
		return nil, errPage
	}
	if cap(p.page) < p.size {
		p.page = make([]byte, p.size)
	}
	out := p.page[:p.size]
	copy(out, b[:head])
	if rest := out[head:]; len(rest) > 0 {
		if err := p.codec(rest, b[head:]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// dictionaryHeader is the most that a dictionary page's header takes, which old writers
// did not count as part of the chunk.
const dictionaryHeader = 100

// mostKept bounds the memory of a reader that is kept for reuse, which is charged to no account. Pages of
// usual size need less.
const mostKept = 4 << 20

// free returns the reader for reuse. Nothing of its pages may be read any more.
func (p *pageReader) free() {
	if p.stream != nil && p.stream.close != nil {
		_ = p.stream.close.Close()
	}
	if p.charge != nil {
		_ = p.charge(-p.charged, true) // a release is not refused
	}
	p.in.open(nil, 0, 0)
	p.before = p.before[:0]
	p.pageHead, p.body, p.stream, p.left, p.charge, p.charged, p.kept, p.long = pageHead{}, nil, nil, 0, nil, 0, 0, 0
	if cap(p.page)+cap(p.flat)+cap(p.before)+cap(p.in.buf)+4*cap(p.numbers)+8*cap(p.column) <= mostKept {
		pageReaders.Put(p)
	}
}

// readBytes is how much of a file is read at once at least, if there is as much, and leastBytes where
// there are many columns, which have a buffer each.
const (
	readBytes  = 128 << 10
	leastBytes = 4 << 10
)

// bytesAtOnce is how much of each of so many columns is read at once: of all, half of what a thread may
// hold without an account.
func bytesAtOnce(columns int) int { return max(min(freePages/2/columns, readBytes), leastBytes) }

// rangeReader reads a range of a file through a buffer, at least so many bytes at a time.
type rangeReader struct {
	in      io.ReaderAt
	at, end int64
	buf     []byte
	r, w    int // buf[r:w] is read and not yet consumed
	least   int
}

func (p *rangeReader) open(in io.ReaderAt, from, to int64) {
	p.in, p.at, p.end, p.r, p.w, p.least = in, from, to, 0, 0, readBytes
}

// rest returns how many bytes of the range are not consumed.
func (p *rangeReader) rest() int64 { return int64(p.w-p.r) + p.end - p.at }

// Peek returns the next n bytes without advancing; fewer, and io.EOF, at the end.
func (p *rangeReader) Peek(n int) ([]byte, error) {
	if p.w-p.r >= n {
		return p.buf[p.r : p.r+n], nil
	}
	p.w = copy(p.buf, p.buf[p.r:p.w])
	p.r = 0
	if want := int(min(int64(max(n, p.least)), int64(p.w)+p.end-p.at)); len(p.buf) < want {
		p.buf = append(make([]byte, 0, want), p.buf[:p.w]...)[:want]
	}
	var err error
	for p.w < n && err == nil {
		var k int
		k, err = p.fetch(p.buf[p.w:])
		p.w += k
	}
	if n > p.w {
		n = p.w
		return p.buf[:n], err
	}
	return p.buf[:n], nil
}

// fetch reads what comes next in the file.
func (p *rangeReader) fetch(b []byte) (int, error) {
	if p.at >= p.end {
		return 0, io.EOF
	}
	k, err := p.in.ReadAt(b[:min(int64(len(b)), p.end-p.at)], p.at)
	p.at += int64(k)
	if k > 0 {
		err = nil // the next read returns it again
	}
	return k, err
}

// Discard skips n bytes.
func (p *rangeReader) Discard(n int) (int, error) {
	k := min(n, p.w-p.r)
	p.r += k
	if more := min(int64(n-k), p.end-p.at); more > 0 {
		p.at += more
		k += int(more)
	}
	if k < n {
		return k, io.EOF
	}
	return k, nil
}
