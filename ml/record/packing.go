package record

import (
	"bufio"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/tributarydb/tributary/ml/tempfile"
)

// Raw rows are spilled only where they cannot be read again or that does not pay, and
// each extent of them is packed to keep it small; so are encoded rows of windows. Where
// all records have one length their first bytes follow each other, then their second
// ones and so on, so that bytes that are equal in neighbouring records (a partition's
// hash, NULL bits, the exponents of numbers) are adjacent, and the whole is compressed.
// Other encoded rows are read in each iteration: they are not packed.
//
//	chunk   length of the records │ of what follows │ records, packed if that is shorter

const (
	packChunk  = 32 << 10 // bytes of records, unless one record is longer
	packHeader = 8
	packBytes  = 4 * packChunk // that packing or unpacking takes, about
)

var packer = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(4), zstd.WithEncoderCRC(false))
	if err != nil {
		panic("BUG: training rows: " + err.Error())
	}
	return e
})

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(1<<33))
	if err != nil {
		panic("BUG: training rows: " + err.Error())
	}
	return d
})

// packing writes an extent.
type packing struct {
	l           *Layout
	w           io.Writer
	buf, planes []byte
	out         []byte
	size, sum   int // bytes of the extent so far, and their CRC-32C
}

// add appends a record.
func (p *packing) add(rec []byte) error {
	if len(p.buf) > 0 && len(p.buf)+len(rec) > packChunk {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.buf = append(p.buf, rec...)
	return nil
}

// flush ends a chunk.
func (p *packing) flush() error {
	if len(p.buf) == 0 {
		return nil
	}
	p.planes = p.l.planes(p.planes, p.buf)
	p.out = packer().EncodeAll(p.planes, append(p.out[:0], make([]byte, packHeader)...))
	if len(p.out) >= packHeader+len(p.buf) {
		p.out = append(p.out[:packHeader], p.buf...)
	}
	le.PutUint32(p.out, uint32(len(p.buf)))
	le.PutUint32(p.out[4:], uint32(len(p.out)-packHeader))
	p.buf = p.buf[:0]
	return p.write(p.out)
}

func (p *packing) write(b []byte) error {
	p.sum = int(crc32.Update(uint32(p.sum), tempfile.Castagnoli, b))
	p.size += len(b)
	_, err := p.w.Write(b)
	return err
}

// end ends the extent, and returns its size, which is whole words of the directory, and
// sum.
func (p *packing) end() (size int, sum uint32, err error) {
	if err = p.flush(); err == nil && p.size%dirWord != 0 {
		err = p.write(make([]byte, dirWord-p.size%dirWord))
	}
	size, sum = p.size, uint32(p.sum)
	p.size, p.sum = 0, 0
	return size, sum, err
}

// packedMost returns the most bytes that so many bytes of records in so many extents
// take.
func packedMost(bytes, records, extents int) int {
	return bytes + packHeader*(min(records, 2*bytes/packChunk)+extents) + dirWord*extents
}

// planes writes records byte by byte where all have one length; else as they are.
func (l *Layout) planes(dst, recs []byte) []byte {
	dst = append(dst[:0], recs...)
	if len(l.vars) > 0 {
		return dst
	}
	n := len(recs) / l.fixed
	for i := range n {
		for j, b := range recs[i*l.fixed : (i+1)*l.fixed] {
			dst[j*n+i] = b
		}
	}
	return dst
}

// records is the reverse.
func (l *Layout) records(dst, planes []byte) []byte {
	dst = append(dst[:0], planes...)
	if len(l.vars) > 0 {
		return dst
	}
	n := len(planes) / l.fixed
	for i := range n {
		rec := dst[i*l.fixed : (i+1)*l.fixed]
		for j := range rec {
			rec[j] = planes[j*n+i]
		}
	}
	return dst
}

// unpacking reads consecutive extents of the file.
type unpacking struct {
	s                 *Store
	r                 *bufio.Reader
	packed, raw, recs []byte
	charged           int64
}

// unpack starts reading size bytes of extents from off on. The result must be closed.
func (s *Store) unpack(off int64, size int) *unpacking {
	s.take(packBytes)
	return &unpacking{s: s, r: bufio.NewReaderSize(io.NewSectionReader(&s.file, off, int64(size)), packChunk), charged: packBytes}
}

func (u *unpacking) close() { u.s.shrink(u.charged) }

// extent calls f with the records of the next extent.
func (u *unpacking) extent(e extent, f func(rec []byte)) error {
	l := u.s.layout
	var header [packHeader]byte
	sum, left, raw := uint32(0), e.Len, 0
	read := func(b []byte) error {
		if left -= len(b); left < 0 {
			return tempfile.ErrDamaged()
		}
		if _, err := io.ReadFull(u.r, b); err != nil {
			return err
		}
		sum = crc32.Update(sum, tempfile.Castagnoli, b)
		return nil
	}
	for left >= packHeader {
		if err := read(header[:]); err != nil {
			return err
		}
		n, size := int(le.Uint32(header[:])), int(le.Uint32(header[4:]))
		if raw += n; size > left || size > n || raw > e.raw {
			return tempfile.ErrDamaged()
		}
		if n > packChunk && 3*int64(n) > u.charged { // one long record
			if err := u.s.grow(3*int64(n) - u.charged); err != nil {
				return err
			}
			u.charged = 3 * int64(n)
		}
		if cap(u.packed) < size {
			u.packed = make([]byte, max(size, packChunk))
		}
		b := u.packed[:size]
		if err := read(b); err != nil {
			return err
		}
		if size < n {
			var err error
			if u.raw, err = unpacker().DecodeAll(b, u.raw[:0]); err != nil || len(u.raw) != n {
				return tempfile.ErrDamaged()
			}
			u.recs = l.records(u.recs, u.raw)
			b = u.recs
		}
		for len(b) > 0 {
			k, ok := l.recordLen(b)
			if !ok {
				return tempfile.ErrDamaged()
			}
			f(b[:k])
			b = b[k:]
		}
	}
	if err := read(header[:left]); err != nil {
		return err
	}
	if sum != e.Sum || raw != e.raw {
		return tempfile.ErrDamaged()
	}
	return nil
}

// dirEntry is the size of a directory entry: an extent's end in the run in words of
// dirWord bytes, its checksum, the length of its records, for which memory is charged,
// and the checksum of the entry.
const (
	dirEntry = 16
	dirWord  = 4
)

// extent is a bucket or a leaf of a run.
type extent struct {
	tempfile.Extent
	raw int // bytes of its records
}
