package store

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// The file begins with magic, padded to align, and ends with
//
//	footer │ uint32 its length │ uint32 its CRC-32C │ tailMagic
const (
	magic     = "TRIBSEG\x01"
	tailMagic = "\x01GESBIRT"
	tailBytes = 4 + 4 + len(tailMagic)
	align     = 64
)

// Sizes of groups and segments. Splits are multiples of GroupRows.
const (
	GroupRows       = 64 << 10
	SegmentRows     = 1 << 20
	SegmentBytes    = 128 << 20
	InlineBytes     = 64 << 10
	groupBytes      = 64 << 20 // a group with wide rows is cut early
	dictEntries     = 128 << 10
	dictBytes       = 4 << 20
	dictWorth       = 1 << 20 // of dictionaries that a segment is ended for, where memory is short
	zoneStringBytes = 64      // a longer bound is cut (min) or left out (max)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// footer is the table of contents.
type footer struct {
	Rows   int64
	Cols   []footerCol
	Groups []footerGroup
}

type footerCol struct {
	Num  int16
	Type types.Type
	// Dict are the values that the dictionary chunks of the column refer to.
	Dict *chunk
	// Zone is for the whole segment.
	Zone catalog.Zone
}

type footerGroup struct {
	Rows   int64
	Chunks []chunk // one a column
	Zones  []catalog.Zone
}

// The forms of a chunk.
const (
	formPlain = iota // the column's Arrow type
	formDict         // int32 indices into the column's Dict
	formNulls        // nothing stored: every row is NULL
)

// chunk is where one column of a group lies.
type chunk struct {
	Form   uint8
	Zstd   bool
	Off    int64
	Len    int64 // stored bytes
	Raw    int64 // bytes of the buffers, each padded to align
	CRC    uint32
	Layout node
}

// node describes the buffers of an array, in the order they are stored; children follow their
// parent.
type node struct {
	Rows, Nulls int64
	Bufs        []int64 // lengths; -1 for a buffer that is not there
	Kids        []node
}

func padded(n int64) int64 { return (n + align - 1) &^ (align - 1) }

// layout lists the buffers of d, which starts at row 0.
func layout(d arrow.ArrayData, bufs [][]byte) (node, [][]byte) {
	n := node{Rows: int64(d.Len()), Nulls: int64(d.NullN())}
	for i, b := range d.Buffers() {
		if b == nil || i == 0 && n.Nulls == 0 {
			n.Bufs = append(n.Bufs, -1)
			continue
		}
		n.Bufs = append(n.Bufs, int64(b.Len()))
		bufs = append(bufs, b.Bytes())
	}
	for _, k := range d.Children() {
		var kn node
		kn, bufs = layout(k, bufs)
		n.Kids = append(n.Kids, kn)
	}
	return n, bufs
}

// build makes an array of type dt over the chunk's bytes.
func (n *node) build(dt arrow.DataType, b []byte, kids []arrow.DataType) (arrow.ArrayData, []byte, bool) {
	bufs := make([]*memory.Buffer, len(n.Bufs))
	for i, l := range n.Bufs {
		if l < 0 {
			continue
		}
		if padded(l) > int64(len(b)) {
			return nil, nil, false
		}
		bufs[i] = memory.NewBufferBytes(b[:l:l])
		b = b[padded(l):]
	}
	if len(kids) != len(n.Kids) {
		return nil, nil, false
	}
	var children []arrow.ArrayData
	for i := range n.Kids {
		var c arrow.ArrayData
		var ok bool
		if c, b, ok = n.Kids[i].build(kids[i], b, childTypes(kids[i])); !ok {
			return nil, nil, false
		}
		children = append(children, c)
	}
	return array.NewData(dt, int(n.Rows), bufs, children, int(n.Nulls), 0), b, true
}

func childTypes(dt arrow.DataType) []arrow.DataType {
	switch t := dt.(type) {
	case *arrow.ListType:
		return []arrow.DataType{t.Elem()}
	case *arrow.StructType:
		out := make([]arrow.DataType, t.NumFields())
		for i, f := range t.Fields() {
			out[i] = f.Type
		}
		return out
	}
	return nil
}

// appendTail adds the footer and the end of the file.
func appendTail(dst []byte, f *footer) []byte {
	n := len(dst)
	dst = codec.Append(dst, *f)
	foot := dst[n:]
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(foot)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(foot, castagnoli))
	return append(dst, tailMagic...)
}

// readTail finds and checks the footer of a mapped file.
func readTail(b []byte) (*footer, bool) {
	if len(b) < align+tailBytes || string(b[:len(magic)]) != magic || string(b[len(b)-len(tailMagic):]) != tailMagic {
		return nil, false
	}
	tail := b[len(b)-tailBytes:]
	n, sum := int(binary.LittleEndian.Uint32(tail)), binary.LittleEndian.Uint32(tail[4:])
	if n > len(b)-align-tailBytes {
		return nil, false
	}
	// A copy: decoded values may alias it, and are used where a fault is fatal.
	foot := bytes.Clone(b[len(b)-tailBytes-n : len(b)-tailBytes])
	if crc32.Checksum(foot, castagnoli) != sum {
		return nil, false
	}
	f, err := codec.Unmarshal[footer](foot)
	if err != nil || !f.sane(int64(len(b)-tailBytes-n)) {
		return nil, false
	}
	return &f, true
}

// sane checks what the reader relies on. The CRC was right, so this guards against bugs of the
// writer, not against bit rot.
func (f *footer) sane(limit int64) bool {
	in := func(c *chunk) bool {
		return c.Off >= 0 && c.Len >= 0 && c.Len <= limit && c.Off <= limit-c.Len && c.Raw >= 0 && c.Form <= formNulls
	}
	var rows int64
	for i := range f.Groups {
		g := &f.Groups[i]
		rows += g.Rows
		if len(g.Chunks) != len(f.Cols) || len(g.Zones) != len(f.Cols) || g.Rows < 0 {
			return false
		}
		for j := range g.Chunks {
			c := &g.Chunks[j]
			if !in(c) || c.Form == formDict && f.Cols[j].Dict == nil || c.Form != formNulls && c.Layout.Rows != g.Rows {
				return false
			}
		}
	}
	for i := range f.Cols {
		if d := f.Cols[i].Dict; d != nil && !in(d) {
			return false
		}
	}
	return rows == f.Rows
}
