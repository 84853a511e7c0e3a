package store

import (
	"hash/crc32"
	"sync"
	"sync/atomic"
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

	data     []byte // a file's bytes
	unmap    func()
	verified []atomic.Bool // per chunk: group by group, then the dictionaries
	mu       sync.Mutex
	dicts    []arrow.ArrayData // per column, once read

	// Guarded by the store's mu.
	pins int
	dead bool // replaced or removed: unmapped with the last pin
}

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
		return types.Settled(array.MakeFromData(d)), nil
	}
	d, err := s.read(c, group*len(s.foot.Cols)+col, fc.Type.Arrow())
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(d), nil
}

// dict reads a column's dictionary, always giving the same one, so that who
// prepares something for a dictionary does it once a segment.
func (s *segment) dict(col int) (*array.Data, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.dicts[col]; d != nil {
		return d.(*array.Data), nil
	}
	d, err := s.read(s.foot.Cols[col].Dict, len(s.foot.Groups)*len(s.foot.Cols)+col, arrow.BinaryTypes.String)
	if err != nil {
		return nil, err
	}
	s.dicts[col] = d
	return d.(*array.Data), nil
}

func (s *segment) corrupt(what string) error { return &CorruptError{Segment: s.id, What: what} }

func (s *segment) read(c *chunk, number int, dt arrow.DataType) (arrow.ArrayData, error) {
	if c.Form == formNulls {
		return array.NewData(dt, int(c.Layout.Rows), []*memory.Buffer{nil, nil, nil}, nil, 0, 0), nil
	}
	b := s.data[c.Off : c.Off+c.Len]
	if !s.verified[number].Load() {
		if crc32.Checksum(b, castagnoli) != c.CRC {
			return nil, s.corrupt("checksum mismatch")
		}
		s.verified[number].Store(true)
	}
	if c.Zstd {
		raw, err := decoder().DecodeAll(b, make([]byte, 0, c.Raw))
		if err != nil || int64(len(raw)) != c.Raw {
			return nil, s.corrupt("compressed data")
		}
		b = raw
	}
	d, _, ok := c.Layout.build(dt, b, childTypes(dt))
	if !ok {
		return nil, s.corrupt("buffers")
	}
	return d, nil
}

// openFile maps a segment's file and reads its footer.
func openFile(id catalog.SegmentID, path string) (*segment, error) {
	data, unmap, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	foot, ok := readTail(data)
	if !ok {
		unmap()
		return nil, &CorruptError{Segment: id, What: "not a complete segment file"}
	}
	s := &segment{id: id, foot: foot, data: data, unmap: unmap}
	s.verified = make([]atomic.Bool, (len(foot.Groups)+1)*len(foot.Cols))
	s.dicts = make([]arrow.ArrayData, len(foot.Cols))
	return s, nil
}
