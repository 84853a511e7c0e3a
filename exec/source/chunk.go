package source

import (
	"errors"
	"io"
	"sync"

	"github.com/apache/arrow/go/v15/parquet/compress"
	pqfile "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
)

// pageReader is the library's reader of a column chunk's pages over memory that is used
// again: for a page after the other, and for the next chunk. The library's own way holds
// the whole chunk twice and each of its pages twice more, all made anew, which is most of
// what a statement over many files leaves to the collector. A page is there until the next.
type pageReader struct {
	pqfile.PageReader
	in      pieces
	page    scratch
	numbers []int32 // for whoever decodes the pages
}

// pageReaders are those that no chunk uses now.
var pageReaders = sync.Pool{New: func() any { return &pageReader{} }}

// openChunk reads the pages of a column chunk; free gives the reader back.
func openChunk(in io.ReaderAt, chunk *metadata.ColumnChunkMetaData, writer *metadata.AppVersion) (*pageReader, error) {
	start, size := chunk.DataPageOffset(), chunk.TotalCompressedSize()
	if d := chunk.DictionaryPageOffset(); chunk.HasDictionaryPage() && d > 0 && d < start {
		start = d
	}
	if start < 0 || size < 0 || start+size < 0 {
		return nil, errors.New("a column lies outside of the file")
	}
	if writer.LessThan(metadata.Parquet816FixedVersion) {
		size += dictionaryHeader
	}
	p := pageReaders.Get().(*pageReader)
	p.in.open(in, start, start+size)
	if p.PageReader == nil {
		var err error
		p.PageReader, err = pqfile.NewPageReader(&p.in, chunk.NumValues(), chunk.Compression(), &p.page, nil)
		return p, err
	}
	p.Reset(&p.in, chunk.NumValues(), chunk.Compression(), nil)
	return p, p.Err()
}

// dictionaryHeader is the most that a dictionary page's header takes, which old writers
// did not count as part of the chunk.
const dictionaryHeader = 100

// mostKept is how much memory a reader has at most that the next chunk is to use: no account
// has it, and pages of usual size need less.
const mostKept = 4 << 20

// free gives the reader back. Nothing of its pages may be looked at any more.
func (p *pageReader) free() {
	p.in.open(nil, 0, 0)
	p.Reset(&p.in, 0, compress.Codecs.Uncompressed, nil)
	if cap(p.page.b)+cap(p.in.buf)+4*cap(p.numbers) <= mostKept {
		pageReaders.Put(p)
	}
}

// scratch is an allocator for one piece of memory at a time.
type scratch struct{ b []byte }

func (s *scratch) Allocate(n int) []byte {
	if cap(s.b) < n {
		s.b = make([]byte, n)
	}
	return s.b[:n]
}

func (s *scratch) Reallocate(n int, old []byte) []byte {
	b := s.Allocate(n)
	copy(b, old) // onto itself where there was room
	return b
}

func (s *scratch) Free([]byte) {}

// pieceBytes is how much of a file is read at once at least, where there is as much.
const pieceBytes = 128 << 10

// pieces reads a stretch of a file piece by piece: a parquet.BufferedReader.
type pieces struct {
	in      io.ReaderAt
	at, end int64
	buf     []byte
	r, w    int // what is read and not yet taken: buf[r:w]
}

func (p *pieces) open(in io.ReaderAt, from, to int64) {
	p.in, p.at, p.end, p.r, p.w = in, from, to, 0, 0
}

// Peek gives the next n bytes; fewer, and io.EOF, at the end.
func (p *pieces) Peek(n int) ([]byte, error) {
	if p.w-p.r >= n {
		return p.buf[p.r : p.r+n], nil
	}
	p.w = copy(p.buf, p.buf[p.r:p.w])
	p.r = 0
	if want := int(min(int64(max(n, pieceBytes)), int64(p.w)+p.end-p.at)); len(p.buf) < want {
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
func (p *pieces) fetch(b []byte) (int, error) {
	if p.at >= p.end {
		return 0, io.EOF
	}
	k, err := p.in.ReadAt(b[:min(int64(len(b)), p.end-p.at)], p.at)
	p.at += int64(k)
	if k > 0 {
		err = nil // it comes again
	}
	return k, err
}

// Discard skips n bytes.
func (p *pieces) Discard(n int) (int, error) {
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

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	if p.r == p.w {
		return p.fetch(b)
	}
	k := copy(b, p.buf[p.r:p.w])
	p.r += k
	return k, nil
}
