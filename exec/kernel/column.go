package kernel

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// A row id is a chunk's number and a row in it.
const (
	chunkShift = 13
	ChunkRows  = 1 << chunkShift
	chunkMask  = ChunkRows - 1
	// NoRow is the id of no row; Gather yields NULL for it.
	NoRow = ^uint32(0)
	// MaxChunks is how many chunks ids can name.
	MaxChunks = 1<<(32-chunkShift) - 1
)

// RowID makes an id.
func RowID(chunk, row int) uint32 { return uint32(chunk)<<chunkShift | uint32(row) }

// SplitID returns an id's parts.
func SplitID(id uint32) (chunk, row int) { return int(id >> chunkShift), int(id & chunkMask) }

// Column keeps arrays of at most ChunkRows rows and returns any of their rows by id. Append is for
// one goroutine; once nothing more is appended any number may read.
type Column struct {
	Type   types.Type
	chunks []arrow.Array
	lay    layout
	width  int
	nulls  bool
	// the chunks' buffers, by layout
	v1    [][]uint8
	v2    [][]uint16
	v4    [][]uint32
	v8    [][]uint64
	v12   [][]bytes12
	v16   [][]bytes16
	strs  []strChunk
	bits  []bitChunk
	valid []bitChunk
	// dict is the dictionary of all chunks, while they share one and are all dictionary columns.
	dict     *array.Data
	dictSame bool
	flat     arrow.Array // nested types: all chunks in one
	base     []int32
}

// strChunk reads the strings of a chunk: dictionary columns through index.
type strChunk struct {
	index []int32
	offs  []int32
	data  []byte
}

func (s *strChunk) at(i uint32) []byte {
	if s.index != nil {
		i = uint32(s.index[i])
	}
	return s.data[s.offs[i]:s.offs[i+1]]
}

// bitChunk is a bitmap from bit off; nil bits are all ones.
type bitChunk struct {
	bits []byte
	off  uint32
}

func (b *bitChunk) get(i uint32) bool {
	if b.bits == nil {
		return true
	}
	i += b.off
	return b.bits[i>>3]>>(i&7)&1 != 0
}

// NewColumn makes an empty column of type t.
func NewColumn(t types.Type) *Column {
	c := &Column{Type: t}
	c.lay, c.width = layoutOf(t.Arrow())
	return c
}

// Chunks returns the number of arrays appended.
func (c *Column) Chunks() int { return len(c.chunks) }

// Chunk returns the array appended as number i.
func (c *Column) Chunk(i int) arrow.Array { return c.chunks[i] }

// Append adds a chunk.
func (c *Column) Append(arr arrow.Array) {
	if arr.Len() > ChunkRows {
		panic("BUG: kernel: a chunk is too long")
	}
	c.chunks = append(c.chunks, nil)
	c.valid = append(c.valid, bitChunk{})
	switch c.lay {
	case layBit:
		c.bits = append(c.bits, bitChunk{})
	case layFixed:
		switch c.width {
		case 1:
			c.v1 = append(c.v1, nil)
		case 2:
			c.v2 = append(c.v2, nil)
		case 4:
			c.v4 = append(c.v4, nil)
		case 8:
			c.v8 = append(c.v8, nil)
		case 12:
			c.v12 = append(c.v12, nil)
		case 16:
			c.v16 = append(c.v16, nil)
		}
	case layVar:
		if dict := dictOf(arr); len(c.strs) == 0 {
			c.dict, c.dictSame = dict, dict != nil
		}
		c.strs = append(c.strs, strChunk{})
	}
	c.Replace(len(c.chunks)-1, arr)
}

// Replace puts other values in the place of a chunk's.
func (c *Column) Replace(i int, arr arrow.Array) {
	c.chunks[i] = arr
	d := arr.Data()
	bm, off := valid(arr)
	c.valid[i] = bitChunk{bm, uint32(off)}
	c.nulls = c.nulls || bm != nil
	switch c.lay {
	case layBit:
		var b []byte
		if arr.Len() > 0 {
			b = d.Buffers()[1].Bytes()
		}
		c.bits[i] = bitChunk{b, uint32(d.Offset())}
	case layFixed:
		switch c.width {
		case 1:
			c.v1[i] = values[uint8](d)
		case 2:
			c.v2[i] = values[uint16](d)
		case 4:
			c.v4[i] = values[uint32](d)
		case 8:
			c.v8[i] = values[uint64](d)
		case 12:
			c.v12[i] = values[bytes12](d)
		case 16:
			c.v16[i] = values[bytes16](d)
		}
	case layVar:
		c.strs[i] = c.strings(arr)
	case layList, layStruct:
		c.flat = nil
	}
}

// strings makes the chunk of arr.
func (c *Column) strings(arr arrow.Array) strChunk {
	d := arr.Data()
	dict := dictOf(arr)
	c.dictSame = c.dictSame && dict == c.dict
	if arr.DataType().ID() != arrow.DICTIONARY {
		return strChunk{offs: offsets(d), data: bytesOf(d)}
	}
	s := strChunk{index: values[int32](d)}
	if s.index == nil {
		s.index = []int32{}
	}
	if dict != nil {
		s.offs, s.data = offsets(dict), bytesOf(dict)
	}
	return s
}

// IsNull reports whether row id is NULL; NoRow is.
func (c *Column) IsNull(id uint32) bool {
	if id == NoRow || c.lay == layNull {
		return true
	}
	return c.nulls && !c.valid[id>>chunkShift].get(id&chunkMask)
}

// present returns a bitmap of the ids that are not NoRow; nil where all are.
func present(ids []uint32) []byte {
	i := slices.Index(ids, NoRow)
	if i < 0 {
		return nil
	}
	out := make([]byte, batch.BitmapBytes(len(ids)))
	for at := range out {
		var bits byte
		for k, id := range ids[8*at : min(8*at+8, len(ids))] {
			bit := byte(0)
			if id != NoRow {
				bit = 1
			}
			bits |= bit << k
		}
		out[at] = bits
	}
	return out
}

// GatherAll is Gather for the columns which, all if that is nil. The ids that are NoRow are found
// once for all of them.
func GatherAll(cols []*Column, which []int, ids []uint32) []arrow.Array {
	there := present(ids)
	if which == nil {
		out := make([]arrow.Array, len(cols))
		for i, c := range cols {
			out[i] = c.gather(ids, there)
		}
		return out
	}
	out := make([]arrow.Array, len(which))
	for i, w := range which {
		out[i] = cols[w].gather(ids, there)
	}
	return out
}

// Gather returns the rows ids, in their order.
func (c *Column) Gather(ids []uint32) arrow.Array { return c.gather(ids, present(ids)) }

// gather is Gather with a bitmap of the ids that are not NoRow; nil: all.
func (c *Column) gather(ids []uint32, there []byte) arrow.Array {
	none := there != nil
	dt := c.Type.Arrow()
	if c.lay == layNull || len(c.chunks) == 0 {
		return batch.Nulls(dt, len(ids))
	}
	if c.lay == layList || c.lay == layStruct {
		return c.gatherNested(ids)
	}
	bits := c.gatherValid(ids, there)
	switch c.lay {
	case layBit:
		out := make([]byte, batch.BitmapBytes(len(ids)))
		for i, id := range ids {
			if id != NoRow && c.bits[id>>chunkShift].get(id&chunkMask) {
				out[i>>3] |= 1 << (i & 7)
			}
		}
		return makeBits(dt, out, bits, len(ids))
	case layFixed:
		switch c.width {
		case 1:
			return makeFixed(dt, gather(c.v1, ids, none), bits)
		case 2:
			return makeFixed(dt, gather(c.v2, ids, none), bits)
		case 4:
			return makeFixed(dt, gather(c.v4, ids, none), bits)
		case 8:
			return makeFixed(dt, gather(c.v8, ids, none), bits)
		case 12:
			return makeFixed(dt, gather(c.v12, ids, none), bits)
		default:
			return makeFixed(dt, gather(c.v16, ids, none), bits)
		}
	}
	if c.dictSame {
		out := make([]int32, len(ids))
		for i, id := range ids {
			if id != NoRow {
				out[i] = c.strs[id>>chunkShift].index[id&chunkMask]
			}
		}
		return makeDict(out, bits, c.dict)
	}
	return c.gatherStrings(dt, ids, nil, len(ids), bits)
}

func gather[T any](chunks [][]T, ids []uint32, none bool) []T {
	out := make([]T, len(ids))
	if none {
		for i, id := range ids {
			if id != NoRow {
				out[i] = chunks[id>>chunkShift][id&chunkMask]
			}
		}
		return out
	}
	if len(chunks) == 1 {
		for i, id := range ids {
			out[i] = chunks[0][id]
		}
		return out
	}
	for i, id := range ids {
		out[i] = chunks[id>>chunkShift][id&chunkMask]
	}
	return out
}

// gatherValid may return there.
func (c *Column) gatherValid(ids []uint32, there []byte) []byte {
	if !c.nulls {
		return there
	}
	out := make([]byte, batch.BitmapBytes(len(ids)))
	for i, id := range ids {
		if id != NoRow && c.valid[id>>chunkShift].get(id&chunkMask) {
			out[i>>3] |= 1 << (i & 7)
		}
	}
	return out
}

// wordText is the longest text that is copied as two words, with bytes after it that the next one
// overwrites.
const wordText = 16

// gatherStrings returns the texts ids as rows at of n, which ascend (nil: as all rows); NULLs and
// the rows between are empty. First the places of all texts are looked up, then they are copied: so
// the reads of many rows of a large table overlap.
func (c *Column) gatherStrings(dt arrow.DataType, ids []uint32, at []int32, n int, bits []byte) arrow.Array {
	offs := make([]int32, n+1)
	from := make([]int32, 2*len(ids)) // where a text begins and how long it is
	lens := from[len(ids):]
	from = from[:len(ids)]
	total := 0
	for i, id := range ids {
		if id == NoRow || c.nulls && !c.valid[id>>chunkShift].get(id&chunkMask) {
			continue
		}
		s := &c.strs[id>>chunkShift]
		row := id & chunkMask
		if s.index != nil {
			row = uint32(s.index[row])
		}
		o := s.offs[row : row+2 : row+2]
		from[i], lens[i] = o[0], o[1]-o[0]
		total += int(lens[i])
	}
	if total > 1<<31-1 {
		panic("BUG: kernel: gathered strings pass 2 GiB")
	}
	data := make([]byte, total+wordText)
	to, next := 0, 0
	for i, id := range ids {
		row := i
		if at != nil {
			for row = int(at[i]); next < row; next++ {
				offs[next+1] = int32(to)
			}
		}
		next = row + 1
		if k := int(lens[i]); k > 0 {
			src, first := c.strs[id>>chunkShift].data, int(from[i])
			if k <= wordText && first+wordText <= len(src) {
				*(*[wordText]byte)(data[to:]) = [wordText]byte(src[first:])
			} else {
				copy(data[to:], src[first:first+k])
			}
			to += k
		}
		offs[next] = int32(to)
	}
	for ; next < n; next++ {
		offs[next+1] = int32(to)
	}
	return makeVar(dt, offs, data[:total:total], bits)
}

// gatherNested reads lists and records, which are rare, through one array of
// all chunks.
func (c *Column) gatherNested(ids []uint32) arrow.Array {
	flat, base := c.flat, c.base
	if flat == nil {
		flat, base = c.flatten()
	}
	rows := make([]int32, len(ids))
	for i, id := range ids {
		rows[i] = -1
		if id != NoRow {
			rows[i] = base[id>>chunkShift] + int32(id&chunkMask)
		}
	}
	return Take(flat, rows)
}

func (c *Column) flatten() (arrow.Array, []int32) {
	base := make([]int32, len(c.chunks))
	at := int32(0)
	for i, ch := range c.chunks {
		base[i] = at
		at += int32(ch.Len())
	}
	return Concat(c.Type.Arrow(), c.chunks), base
}

// Finish prepares a column that is complete for reading: strings whose chunks
// have different dictionaries get one, where that is small beside the rows.
func (c *Column) Finish() {
	switch {
	case c.lay == layList || c.lay == layStruct:
		if len(c.chunks) > 0 {
			c.flat, c.base = c.flatten()
		}
	case c.lay == layVar && !c.dictSame && len(c.chunks) > 0:
		if one := unify(c.chunks); one != nil {
			fresh := NewColumn(c.Type)
			for _, ch := range one {
				fresh.Append(ch)
			}
			*c = *fresh
		}
	}
}
