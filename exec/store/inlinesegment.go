package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/types"
)

// An inline segment is the rows themselves, in the catalog:
//
//	uint32 length of the columns │ columns (pack) │ padding to 8 │ a batch
//
// without zones of groups and without checksums: the log that carries it has
// its own.
type inlineCols struct {
	Nums  []int16
	Types []types.Type
}

// inline makes a segment of the pending rows and empties the writer.
func (w *Writer) inline() *catalog.Segment {
	seg := &catalog.Segment{ID: NewID(), Rows: w.rows}
	cols := make([]WriterColumn, 0, len(w.cols))
	arrs := make([]arrow.Array, len(w.cols))
	for i, c := range w.cols {
		arrs[i] = c.array()
		lo, hi := extremes(c.typ, arrs[i])
		z := zoneAt(c.num, c.typ, arrs[i], lo, hi)
		if seg.Rows > 1 {
			c.observe(arrs[i], lo, hi)
			c.observed()
			z.Distinct = min(c.sketch.Estimate(), seg.Rows-z.Nulls)
			z.Unique = c.once.known()
		} else {
			z.Distinct = seg.Rows - z.Nulls
			z.Unique = z.Nulls == 0
		}
		seg.Zones = append(seg.Zones, z)
		cols = append(cols, WriterColumn{Num: c.num, Type: c.typ})
		c.held = []arrow.Array{arrs[i]} // see restore
		c.take()
	}
	seg.Inline = encodeInline(cols, batch.New(arrs, int(seg.Rows)))
	return seg
}

// restore puts rows back that were too many for an inline segment.
func (w *Writer) restore() error {
	for _, c := range w.cols {
		arr := c.held[0]
		c.held = nil
		c.restart()
		if err := c.append(arr, nil); err != nil {
			return err
		}
	}
	return nil
}

func encodeInline(cols []WriterColumn, b *batch.Batch) []byte {
	head := inlineHeads.write(cols)
	e := encoders.Get().(*batch.Encoder)
	defer encoders.Put(e)
	e.Encode(b)
	n := (4 + len(head) + 7) &^ 7
	out := make([]byte, n, n+e.Len())
	binary.LittleEndian.PutUint32(out, uint32(len(head)))
	copy(out[4:], head)
	_ = e.Parts(func(p []byte) error {
		out = append(out, p...)
		return nil
	})
	e.Reset()
	return out
}

var encoders = sync.Pool{New: func() any { return new(batch.Encoder) }}

// inlineHead is the decoded columns of an inline segment.
type inlineHead struct {
	foot  []footerCol
	arrow []arrow.DataType
}

// heads caches the heads of inline segments: rows are inserted one by one, by the thousand, and
// those of a table have the same head.
type heads struct {
	mu      sync.Mutex
	made    map[string]*inlineHead
	written atomic.Pointer[[]writtenHead] // the newest first
}

// writtenHead is the encoding of some columns.
type writtenHead struct {
	cols []WriterColumn
	head []byte
}

// write encodes columns.
func (h *heads) write(cols []WriterColumn) []byte {
	var list []writtenHead
	if p := h.written.Load(); p != nil {
		list = *p
	}
	for i := range list {
		if slices.Equal(list[i].cols, cols) {
			return list[i].head
		}
	}
	var of inlineCols
	for _, c := range cols {
		of.Nums, of.Types = append(of.Nums, c.Num), append(of.Types, c.Type)
	}
	b := codec.Marshal(of)
	if len(b) <= longHead {
		next := append([]writtenHead{{slices.Clone(cols), b}}, list[:min(len(list), maxWritten-1)]...)
		h.written.Store(&next) // a concurrent one may be lost, and is made again
	}
	return b
}

const (
	maxWritten = 16
	maxHeads   = 256
	longHead   = 4 << 10
)

var inlineHeads heads

func (h *heads) of(b []byte) (*inlineHead, error) {
	h.mu.Lock()
	x := h.made[string(b)]
	h.mu.Unlock()
	if x != nil {
		return x, nil
	}
	cols, err := codec.Unmarshal[inlineCols](b)
	if err == nil && len(cols.Nums) != len(cols.Types) {
		err = errColumns
	}
	if err != nil {
		return nil, err
	}
	x = &inlineHead{}
	for i, t := range cols.Types {
		x.foot, x.arrow = append(x.foot, footerCol{Num: cols.Nums[i], Type: t}), append(x.arrow, t.Arrow())
	}
	if len(b) <= longHead {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.made == nil || len(h.made) >= maxHeads {
			h.made = map[string]*inlineHead{}
		}
		h.made[string(b)] = x
	}
	return x, nil
}

var errColumns = errors.New("numbers and types of columns do not match")

// openInline reads an inline segment. Its columns alias the bytes.
func openInline(s *catalog.Segment) (*segment, error) {
	b := s.Inline
	bad := func() error { return &CorruptError{Segment: s.ID, What: "inline rows"} }
	if len(b) < 8 {
		return nil, bad()
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n > len(b)-4 {
		return nil, bad()
	}
	cols, err := inlineHeads.of(b[4 : 4+n])
	if err != nil {
		return nil, bad()
	}
	rest := b[min((4+n+7)&^7, len(b)):]
	if !aligned(rest) {
		rest = append(make([]byte, 0, len(rest)), rest...)
	}
	rows, err := batch.Decode(rest, cols.arrow)
	if err != nil || int64(rows.N) != s.Rows {
		return nil, bad()
	}
	out := &segment{id: s.ID, foot: &footer{Rows: s.Rows, Cols: cols.foot, Groups: []footerGroup{{Rows: s.Rows, Zones: s.Zones}}}}
	if len(s.Zones) != len(cols.foot) {
		out.foot.Groups[0].Zones = make([]catalog.Zone, len(cols.foot))
	}
	out.rows = rows.Cols
	return out, nil
}

// fewInline is up to how many rows are compared with each other.
const fewInline = 16

// InlineOf makes an inline segment of a batch of few rows, up to fewInline, without a writer. ok is false if it would be larger
// than InlineBytes.
func InlineOf(cols []WriterColumn, b *batch.Batch) (seg *catalog.Segment, ok bool) {
	if b.Rows() > fewInline || b.Bytes() > 4*InlineBytes {
		return nil, false
	}
	b = kernel.Compact(b)
	seg = &catalog.Segment{ID: NewID(), Rows: int64(b.N)}
	seg.Zones = make([]catalog.Zone, 0, len(cols))
	for i, c := range cols {
		lo, hi := extremes(c.Type, b.Cols[i])
		z := zoneAt(c.Num, c.Type, b.Cols[i], lo, hi)
		z.Distinct = different(b.Cols[i])
		z.Unique = z.Nulls == 0 && z.Distinct == seg.Rows && (seg.Rows == 1 || lo >= 0 && onceType(c.Type))
		seg.Zones = append(seg.Zones, z)
	}
	seg.Inline = encodeInline(cols, b)
	return seg, len(seg.Inline) <= InlineBytes
}

// different counts the different values of few rows; 0 where that is not known.
func different(arr arrow.Array) (n int64) {
	var seen [fewInline][]byte
	null := nullsOf(arr)
rows:
	for i := range arr.Len() {
		if null.at(i) {
			continue
		}
		v, ok := rawValue(arr, i)
		if !ok {
			if arr.Len() == 1 {
				return 1
			}
			return 0
		}
		for _, s := range seen[:n] {
			if bytes.Equal(s, v) {
				continue rows
			}
		}
		seen[n] = v
		n++
	}
	return n
}

// rawValue returns the bytes of a value; false where it has none of its own.
func rawValue(arr arrow.Array, i int) ([]byte, bool) {
	switch a := arr.(type) {
	case *array.String:
		offs := a.ValueOffsets()
		return a.ValueBytes()[offs[i]-offs[0] : offs[i+1]-offs[0]], true
	case *array.Binary:
		return a.Value(i), true
	case *array.Boolean:
		if a.Value(i) {
			return []byte{1}, true
		}
		return []byte{0}, true
	}
	t, ok := arr.DataType().(arrow.FixedWidthDataType)
	if !ok || t.BitWidth()%8 != 0 || len(arr.Data().Buffers()) != 2 {
		return nil, false
	}
	w := t.BitWidth() / 8
	at := (arr.Data().Offset() + i) * w
	return arr.Data().Buffers()[1].Bytes()[at : at+w], true
}
