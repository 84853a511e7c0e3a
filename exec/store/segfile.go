package store

import (
	"hash"
	"hash/crc32"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/klauspost/compress/zstd"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
)

// segmentFile is a segment being written: a temporary file that gets its name
// when it is complete and on stable storage.
type segmentFile struct {
	store *Store
	id    catalog.SegmentID
	temp  catalog.SegmentID // names the temporary file
	f     disk.File
	buf   []byte // written, and not yet in the file
	sum   hash.Hash
	off   int64 // of what is written next
	at    int64 // of what is written to the file next
	begun int64 // up to here the disk was told to write
}

// Small writes are buffered until there are bufBytes of them; one of directBytes or more goes to
// the file directly, while it is in the processor's cache, in aligned blocks of at most blockBytes:
// the system caches what is written at once in contiguous memory if it can, and where memory is
// fragmented it searches long for large ranges. The disk is told to write each beginBytes while
// more is made: else the end of a statement would wait for all of them at once.
const (
	bufBytes    = 256 << 10
	directBytes = 32 << 10
	blockBytes  = 128 << 10
	beginBytes  = 1 << 20
)

func (s *Store) createFile() (*segmentFile, error) {
	id := NewID()
	sf, err := s.createAs(id, id, newXXH128())
	if err != nil {
		return nil, err
	}
	if err := sf.write([]byte(magic)); err != nil {
		sf.abort()
		return nil, err
	}
	return sf, sf.pad()
}

func (f *segmentFile) write(b []byte) error {
	f.off += int64(len(b))
	if len(b) < directBytes && len(f.buf)+len(b) <= bufBytes {
		f.buf = append(f.buf, b...)
		return nil
	}
	if err := f.flush(); err != nil {
		return err
	}
	if len(b) < directBytes {
		f.buf = append(f.buf, b...)
		return nil
	}
	return f.out(b)
}

// flush writes the buffer to the file.
func (f *segmentFile) flush() error {
	b := f.buf
	f.buf = b[:0]
	return f.out(b)
}

func (f *segmentFile) out(b []byte) error {
	for len(b) > 0 {
		block := b[:min(int64(len(b)), blockBytes-f.at%blockBytes)]
		f.sum.Write(block)
		if _, err := f.f.Write(block); err != nil {
			return ioError(err, "write to", f.store.tempPath(f.temp))
		}
		f.at += int64(len(block))
		b = b[len(block):]
	}
	if whole := f.at &^ (blockBytes - 1); whole-f.begun >= beginBytes {
		disk.Begin(f.f, f.begun, whole-f.begun)
		f.begun = whole
	}
	return nil
}

var zeros [align]byte

func (f *segmentFile) pad() error { return f.write(zeros[:padded(f.off)-f.off]) }

// encoders are shared by all writers: EncodeAll may be called from many
// goroutines, and an encoder is large.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(4))
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(4<<30))
	return d
})

// writeArray adds a chunk with the buffers of arr.
func (f *segmentFile) writeArray(arr arrow.Array, compress bool) (chunk, error) {
	c := chunk{Off: f.off}
	d := arr.Data()
	if arr.NullN() == arr.Len() && arr.Len() > 0 {
		c.Form = formNulls
		return c, nil
	}
	if arr.DataType().ID() == arrow.DICTIONARY {
		c.Form = formDict
		d = arr.(*array.Dictionary).Indices().Data()
	}
	var bufs [][]byte
	c.Layout, bufs = layout(d, nil)
	for _, b := range bufs {
		c.Raw += padded(int64(len(b)))
	}
	crc := uint32(0)
	put := func(b []byte) error {
		crc = crc32.Update(crc, castagnoli, b)
		c.Len += int64(len(b))
		return f.write(b)
	}
	if id := arr.DataType().ID(); compress && (id == arrow.STRING || id == arrow.BINARY) && c.Raw >= 4096 {
		raw := make([]byte, 0, c.Raw)
		for _, b := range bufs {
			raw = append(raw, b...)
			raw = append(raw, zeros[:padded(int64(len(b)))-int64(len(b))]...)
		}
		if z := encoder().EncodeAll(raw, nil); len(z) < len(raw)*4/5 {
			c.Zstd = true
			if err := put(z); err != nil {
				return c, err
			}
			c.CRC = crc
			return c, f.pad()
		}
	}
	for _, b := range bufs {
		if err := put(b); err != nil {
			return c, err
		}
		if err := put(zeros[:padded(int64(len(b)))-int64(len(b))]); err != nil {
			return c, err
		}
	}
	c.CRC = crc
	return c, nil
}

// finish writes the footer. Then only publish is left, which takes as long as the disk does.
func (f *segmentFile) finish(foot *footer) (*catalog.Segment, error) {
	if err := f.write(appendTail(nil, foot)); err != nil {
		f.abort()
		return nil, err
	}
	seg := &catalog.Segment{ID: f.id, Rows: foot.Rows}
	for _, c := range foot.Cols {
		seg.Zones = append(seg.Zones, c.Zone)
	}
	return seg, nil
}

// publish makes what was written durable under the segment's name, and fills in
// size, hash and node.
func (f *segmentFile) publish(seg *catalog.Segment) error {
	path := f.store.path(f.id)
	if err := f.flush(); err != nil {
		return err
	}
	if err := f.f.Sync(); err != nil {
		return ioError(err, "fsync", path)
	}
	if err := f.f.Close(); err != nil {
		return ioError(err, "close", path)
	}
	if err := f.store.fs.Rename(f.store.tempPath(f.temp), path); err != nil {
		return ioError(err, "rename", path)
	}
	if err := f.store.fs.SyncDir(f.store.dir); err != nil {
		return ioError(err, "fsync", f.store.dir)
	}
	f.store.Cache.held.Add(f.off)
	seg.Bytes = f.off
	keepSum(seg, f.sum)
	seg.Nodes = []uint64{f.store.node}
	return nil
}

// abort removes the partial file.
func (f *segmentFile) abort() {
	f.f.Close()
	_ = f.store.fs.Remove(f.store.tempPath(f.temp))
}
