package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// segment is an open segment: a mapped file, or inline rows.
type segment struct {
	id   catalog.SegmentID
	foot *footer
	rows []arrow.Array // inline: the columns

	ref      *catalog.Segment
	path     string
	stamp    stamp
	looked   time.Time                                // when the file had the stamp; under the store's lock
	data     []byte                                   // a file's bytes
	stat     func() (size, modified int64, err error) // of the file that is mapped; nil: it is asked for by its name
	unmap    func()
	prefetch func(off, n int64)
	now      func() time.Time
	verified []atomic.Int64 // per chunk, group by group, then the dictionaries: when, 0 for never
	fetched  []atomic.Int64 // when the system was told to read a chunk; as verified
	mu       sync.Mutex
	dicts    []arrow.ArrayData // per column, once read

	keyMu sync.Mutex
	keys  map[indexOf]*segmentKey

	pins int         // guarded by the store's mu
	uses int64       // bytes that it adds to Cache.inUse while it is pinned; guarded by it too
	dead atomic.Bool // replaced or removed: unmapped with the last pin
	// spoilt: the file was written to after it was mapped.
	spoilt atomic.Bool
}

// stamp identifies a file's state, to find whether it is as it was when it was mapped.
type stamp struct {
	size  int64
	mtime int64 // nanoseconds
}

func stampOf(st fs.FileInfo) stamp { return stamp{st.Size(), st.ModTime().UnixNano()} }

// verifyAfter is how long a verified chunk counts as good: its pages may leave memory and be read
// again from a disk that has changed.
const verifyAfter = time.Minute

func aligned(b []byte) bool {
	return len(b) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 == 0
}

func (s *segment) column(num int16) int {
	for i := range s.foot.Cols {
		if s.foot.Cols[i].Num == num {
			return i
		}
	}
	return -1
}

// array reads one column of a group. Plain buffers alias the file.
func (s *segment) array(group, col int) (arrow.Array, error) {
	if s.rows != nil {
		return s.rows[col], nil
	}
	g := &s.foot.Groups[group]
	c, fc := &g.Chunks[col], &s.foot.Cols[col]
	switch c.Form {
	case formNulls:
		return batch.Nulls(fc.Type.Arrow(), int(g.Rows)), nil
	case formDict:
		dict, err := s.dict(col)
		if err != nil {
			return nil, err
		}
		idx, err := s.read(c, group*len(s.foot.Cols)+col, types.DictArrow.IndexType)
		if err != nil {
			return nil, err
		}
		d := array.NewDataWithDictionary(types.DictArrow, idx.Len(), idx.Buffers(), idx.NullN(), 0, dict)
		return types.Shareable(array.MakeFromData(d)), nil
	}
	d, err := s.read(c, group*len(s.foot.Cols)+col, fc.Type.Arrow())
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(d), nil
}

// fetchAfter is for how long a chunk that was read counts as being in memory: to ask for one of a megabyte that is there takes ten
// microseconds.
const fetchAfter = time.Second

// fetch has the system read a chunk as a whole, and that of the next group with it, as most who read a column go on there.
func (s *segment) fetch(c *chunk, number int, now int64) {
	if !s.fetchOnce(c, number, now) {
		return
	}
	cols := len(s.foot.Cols)
	number += cols
	if group := number / cols; group < len(s.foot.Groups) {
		s.fetchOnce(&s.foot.Groups[group].Chunks[number%cols], number, now)
	}
}

// fetchOnce has the system read a chunk, unless it was told to lately.
func (s *segment) fetchOnce(c *chunk, number int, now int64) bool {
	if at := s.fetched[number].Load(); c.Len == 0 || at != 0 && now-at < int64(fetchAfter) {
		return false
	}
	s.fetched[number].Store(now)
	s.prefetch(c.Off, c.Len)
	return true
}

// dict reads a column's dictionary. It always returns the same one, so that what is prepared for a
// dictionary is prepared once a segment.
func (s *segment) dict(col int) (*array.Data, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, number := s.foot.Cols[col].Dict, len(s.foot.Groups)*len(s.foot.Cols)+col
	if d := s.dicts[col]; d != nil {
		return d.(*array.Data), s.verify(c, number)
	}
	d, err := s.read(c, number, arrow.BinaryTypes.String)
	if err != nil {
		return nil, err
	}
	s.dicts[col] = d
	return d.(*array.Data), nil
}

func (s *segment) corrupt(what string) error {
	return &CorruptError{Segment: s.id, What: what, ref: s.ref, bad: s}
}

// verify has a chunk fetched, and compares it with its checksum, unless that was done lately.
func (s *segment) verify(c *chunk, number int) error {
	now := s.now().UnixNano()
	s.fetch(c, number, now)
	if at := s.verified[number].Load(); at != 0 && now-at < int64(verifyAfter) {
		return nil
	}
	if crc32.Checksum(s.data[c.Off:c.Off+c.Len], castagnoli) != c.CRC {
		return s.corrupt("checksum mismatch")
	}
	s.verified[number].Store(now)
	return nil
}

func (s *segment) read(c *chunk, number int, dt arrow.DataType) (arrow.ArrayData, error) {
	if c.Form == formNulls {
		return array.NewData(dt, int(c.Layout.Rows), []*memory.Buffer{nil, nil, nil}, nil, 0, 0), nil
	}
	if err := s.verify(c, number); err != nil {
		return nil, err
	}
	b := s.data[c.Off : c.Off+c.Len]
	if c.Zstd {
		raw, err := decoder().DecodeAll(b, make([]byte, 0, c.Raw))
		if err != nil || int64(len(raw)) != c.Raw {
			return nil, s.corrupt("compressed data")
		}
		b = raw
	}
	d, _, ok := c.Layout.build(dt, b, childTypes(dt))
	if !ok || !valuesWithin(d) {
		return nil, s.corrupt("buffers")
	}
	return d, nil
}

// valuesWithin reports whether the values of d end within its bytes, which Arrow panics about: a
// forged footer may assign one column's bytes to another.
func valuesWithin(d arrow.ArrayData) bool {
	b, at := d.Buffers(), 4*(d.Offset()+d.Len())
	switch dt := d.DataType().(type) {
	case *arrow.StringType, *arrow.BinaryType:
	case arrow.FixedWidthDataType:
		return d.Len() == 0 || len(b) == 2 && b[1] != nil && b[1].Len() >= (dt.BitWidth()*d.Len()+7)/8
	default:
		return true
	}
	switch {
	case d.Len() == 0:
		return true
	case len(b) != 3 || b[1] == nil || b[1].Len() < at+4:
		return false
	}
	bytes := 0
	if b[2] != nil {
		bytes = b[2].Len()
	}
	return int64(int32(binary.LittleEndian.Uint32(b[1].Bytes()[at:]))) <= int64(bytes)
}

// usualTail is at least as long as the footers of most files.
const usualTail = 64 << 10

// openFile maps a segment's file, whose size st has, and reads its footer.
func (s *Store) openFile(ref *catalog.Segment, st fs.FileInfo) (_ *segment, err error) {
	path := s.path(ref.ID)
	m, err := s.fs.Map(path)
	if err != nil {
		return nil, ioError(err, "map", path)
	}
	data := m.Data
	m.Random() // one column of a hundred is read
	if end := int64(len(data)); end > 0 {
		n := min(end, usualTail)
		m.Prefetch(end-n, n)
	}
	g := &segment{prefetch: m.Prefetch, id: ref.ID, ref: ref, path: path, stamp: stampOf(st), data: data, stat: m.Stat, now: s.now}
	forget := batch.Mapped(data, func(off int64) error { return g.corrupt(fmt.Sprintf("could not read byte %d of the file", off)) })
	g.unmap = func() { forget(); m.Unmap(); s.dropIndexes(g) }
	defer func() {
		if err != nil {
			g.unmap()
		}
	}()
	if ref.Bytes > 0 && int64(len(data)) != ref.Bytes {
		return nil, g.corrupt(fmt.Sprintf("the file has %d bytes, not %d", len(data), ref.Bytes))
	}
	err = batch.Guard(func() error {
		var ok bool
		if g.foot, ok = readTail(data); !ok {
			return g.corrupt("not a complete segment file")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	g.verified = make([]atomic.Int64, (len(g.foot.Groups)+1)*len(g.foot.Cols))
	g.fetched = make([]atomic.Int64, len(g.verified))
	g.dicts = make([]arrow.ArrayData, len(g.foot.Cols))
	return g, nil
}
