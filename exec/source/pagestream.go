package source

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// pageStream decompresses a page that is too large to be in memory as a whole: a writer may make
// one page of a whole column, of gigabytes.
//
//	file ── packedBytes ──▶ decompressor ──▶ window ──▶ values
type pageStream struct {
	packed packedBytes
	out    io.Reader
	close  io.Closer // the decompressor's, may be nil
	left   int       // bytes of the page not yet in the window
	window []byte
	r, w   int // window[r:w] is not consumed yet
	hold   func(window int) error
}

const (
	// streamFrom is the size from which on a page is streamed. Writers usually make pages of 1 MiB.
	streamFrom   = 4 << 20
	streamWindow = 64 << 10
	// The memory of the decompressors: their windows.
	snappyState = snappyBack + 32<<10
	gzipState   = 64 << 10
	zstdState   = 1 << 20 // and twice the window size, which the writer of the page chose
)

// streams reports whether pages of a compression can be decompressed incrementally.
func streams(c compress.Compression) bool {
	switch c {
	case compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd:
		return true
	}
	return false
}

// openStream begins to stream the page whose bytes are next in the file.
func (p *pageReader) openStream() error {
	plain := 0 // uncompressed bytes before the values: levels
	if p.kind == dataPage2 {
		plain = p.reps + p.defs
	}
	if plain > min(p.packed, p.size) {
		return errPage
	}
	state := 0
	s := &pageStream{packed: packedBytes{&p.in, p.packed}, left: p.size}
	s.hold = func(window int) error { return p.hold(state+2*window, true) } // a long value is copied to its column
	if p.codec == nil || p.kind == dataPage2 && p.plain {
		if p.size != p.packed {
			return errPage
		}
		s.out = &s.packed
	} else {
		if state = gzipState; p.compression == compress.Codecs.Snappy {
			state = snappyState
		}
		head := io.LimitReader(&s.packed, int64(plain))
		rest := &lateReader{open: func() (io.Reader, error) {
			if p.compression == compress.Codecs.Snappy {
				return newSnappyReader(&s.packed, p.size-plain)
			}
			if p.compression == compress.Codecs.Gzip {
				return gzip.NewReader(&s.packed)
			}
			b, _ := p.in.Peek(min(s.packed.left, zstd.HeaderMaxSize))
			var head zstd.Header
			err := head.Decode(b)
			look := head.WindowSize // how far back references may be
			if head.SingleSegment {
				look = head.FrameContentSize
			}
			if err != nil || look > 1<<31 {
				return nil, errPage
			}
			state = 2*int(look) + zstdState
			if err := s.hold(len(s.window)); err != nil {
				return nil, err
			}
			rd, err := zstd.NewReader(&s.packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(max(look, zstd.MinWindowSize)))
			if err != nil {
				return nil, err
			}
			s.close = rd.IOReadCloser()
			return rd, nil
		}}
		s.out = io.MultiReader(head, rest)
	}
	p.stream = s
	return nil
}

// lateReader opens its reader at the first Read, since decompressors read ahead when they are
// opened.
type lateReader struct {
	open func() (io.Reader, error)
	in   io.Reader
}

func (l *lateReader) Read(b []byte) (n int, err error) {
	if l.in == nil {
		if l.in, err = l.open(); err != nil {
			return 0, err
		}
	}
	return l.in.Read(b)
}

// end skips what is left of the page.
func (s *pageStream) end() error {
	if s.close != nil {
		_ = s.close.Close()
	}
	_, err := s.packed.in.Discard(s.packed.left)
	return err
}

// peek returns at least the next n bytes of the page: all that are in memory.
func (s *pageStream) peek(n int) ([]byte, error) {
	if s.w-s.r >= n {
		return s.window[s.r:s.w], nil
	}
	if n > s.w-s.r+s.left {
		return nil, errPage
	}
	if want := max(n, streamWindow); len(s.window) < want {
		if err := s.hold(want); err != nil {
			return nil, err
		}
		s.window = append(make([]byte, 0, want), s.window[s.r:s.w]...)[:want]
	} else {
		copy(s.window, s.window[s.r:s.w])
	}
	s.r, s.w = 0, s.w-s.r
	for s.w < n {
		k, err := s.out.Read(s.window[s.w:min(len(s.window), s.w+s.left)])
		s.w, s.left = s.w+k, s.left-k
		if err != nil && s.w < n {
			if errors.Is(err, io.EOF) {
				err = errPage
			}
			return nil, err
		}
	}
	return s.window[:s.w], nil
}

// more reports whether part of the page is not in memory yet.
func (s *pageStream) more() bool { return s.left > 0 }

// skip consumes n bytes that peek has returned.
func (s *pageStream) skip(n int) { s.r += n }

// packedBytes reads the next bytes of a file range, of which `left` are left.
type packedBytes struct {
	in   *rangeReader
	left int
}

func (p *packedBytes) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	part, err := p.in.Peek(min(len(b), p.left, readBytes))
	if len(part) == 0 {
		return 0, err
	}
	n := copy(b, part)
	_, _ = p.in.Discard(n)
	p.left -= n
	return n, nil
}

// snappyReader decompresses a Snappy block incrementally; the library needs the whole block and its
// result in memory. Encoders make back-references of at most 64 KiB (the format allows more, which
// is refused).
type snappyReader struct {
	in   *bufio.Reader
	left int // bytes of the block
	ring []byte
	at   int // where the next byte goes, modulo the ring
	made int // bytes produced so far
	lit  int // bytes left of the current literal
	copy int // and of the current copy, from `back` bytes before
	back int
}

const snappyBack = 64 << 10

var errSnappy = errors.New("a page's compression is damaged")

// newSnappyReader reads a block whose uncompressed size must be `size`.
func newSnappyReader(in io.Reader, size int) (io.Reader, error) {
	r := &snappyReader{in: bufio.NewReaderSize(in, 32<<10), left: size, ring: make([]byte, snappyBack)}
	if n, err := binary.ReadUvarint(r.in); err != nil || n != uint64(size) {
		return nil, errSnappy
	}
	return r, nil
}

func (r *snappyReader) Read(b []byte) (n int, err error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	for n < len(b) && r.left > 0 {
		if r.lit == 0 && r.copy == 0 {
			if err := r.element(); err != nil {
				return n, err
			}
		}
		var out []byte
		if r.lit > 0 {
			out = b[n:min(len(b), n+r.lit)]
			if _, err := io.ReadFull(r.in, out); err != nil {
				return n, errSnappy
			}
			r.lit -= len(out)
		} else {
			// A copy may overlap its output, so at most back bytes can be copied at a time.
			from := (r.at - r.back + snappyBack) % snappyBack
			k := min(len(b)-n, r.copy, r.back, snappyBack-from)
			out = b[n : n+k]
			copy(out, r.ring[from:from+k])
			r.copy -= k
		}
		n, r.left = n+len(out), r.left-len(out)
		for last := out[max(0, len(out)-snappyBack):]; len(last) > 0; {
			k := copy(r.ring[r.at:], last)
			last, r.at = last[k:], (r.at+k)%snappyBack
		}
		r.made += len(out)
	}
	return n, nil
}

// element reads the tag of the next literal or copy.
func (r *snappyReader) element() error {
	tag, err := r.in.ReadByte()
	if err != nil {
		return errSnappy
	}
	number := func(bytes int) (n int) {
		for i := range bytes {
			c, e := r.in.ReadByte()
			if e != nil {
				err = errSnappy
			}
			n |= int(c) << (8 * i)
		}
		return n
	}
	switch x := int(tag >> 2); tag & 3 {
	case 0:
		if r.lit = x + 1; x >= 60 {
			r.lit = number(x-59) + 1
		}
	case 1:
		r.copy, r.back = x&7+4, x>>3<<8|number(1)
	case 2:
		r.copy, r.back = x+1, number(2)
	case 3:
		r.copy, r.back = x+1, number(4)
	}
	if err != nil || r.lit+r.copy > r.left || r.copy > 0 && (r.back == 0 || r.back > min(r.made, snappyBack)) {
		return errSnappy
	}
	return nil
}
