package kernel

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/spare"
)

// Rows is a copy of several columns row by row, for reading many rows of a large table in no order:
// a row's values lie side by side, so that it costs one cache miss and one TLB miss, not one for
// each column.
//
//	columns  a 1 2 3 …   b x yy - …        rows  1 x  2 yy  3 - …
//
// Short strings lie in the row: 15 bytes and their length. NULLs are not recorded here: the columns have them.
type Rows struct {
	cols   []*Column
	at     []int // by column: where its values lie in a row; -1: not here
	stride int
	words  []uint64 // row id is at id·stride bytes
	chunks int
}

const (
	inRow     = 15 // bytes of a string that lies in its row
	inRowSlot = inRow + 1
)

// NewRows lays out those of the columns which that can lie in rows; widest[i] is the most bytes of
// a value of column i, a string with its offset. It copies nothing yet and takes no memory. It
// returns nil where a copy would not pay: where few columns are read of a row, or all are in a
// cache.
func NewRows(cols []*Column, which []int, widest []int64) *Rows {
	r := &Rows{cols: cols, at: make([]int, len(cols))}
	for i := range r.at {
		r.at[i] = -1
	}
	places, n, bytes := 0, 0, 0
	for _, width := range []int{16, 8, 12, 4, 2, 1} { // the wide first: each at a multiple of its width
		for _, i := range which {
			c := cols[i]
			w, reads := 0, 1
			switch {
			case c.lay == layFixed:
				w = c.width
			case c.lay == layVar && c.dictSame:
				w = 4
			case c.lay == layVar && widest[i] <= 4+inRow:
				w, reads = inRowSlot, 2
			}
			if w != width || r.at[i] >= 0 {
				continue
			}
			r.at[i], n, places = n, n+w, places+reads
		}
	}
	r.stride = (n + 7) &^ 7
	if places < rowsPlaces {
		return nil
	}
	r.chunks = cols[which[0]].Chunks()
	for ch := range r.chunks {
		bytes += n * cols[which[0]].Chunk(ch).Len()
	}
	if bytes < rowsBytes {
		return nil
	}
	return r
}

// A copy pays from so many columns that a row is gathered from, and from a size that exceeds a
// core's caches.
const (
	rowsPlaces = 3
	rowsBytes  = 8 << 20
)

// Bytes returns what the rows take.
func (r *Rows) Bytes() int64 { return int64(r.stride) * int64(r.chunks) * ChunkRows }

// Chunks returns how many chunks there are to Fill.
func (r *Rows) Chunks() int { return r.chunks }

// Make allocates memory for the rows, Free returns it: nobody may read them any more.
func (r *Rows) Make() { r.words = spare.Dirty[uint64](int(r.Bytes() / 8)) }

// Free returns the memory that Make allocated.
func (r *Rows) Free() {
	spare.Reuse(r.words)
	r.words = nil
}

// Fill copies chunk ch. Several may be filled at once.
func (r *Rows) Fill(ch int) {
	to := unsafe.Slice((*byte)(unsafe.Pointer(&r.words[0])), 8*len(r.words))[ch*ChunkRows*r.stride:]
	for i, at := range r.at {
		if at < 0 {
			continue
		}
		c := r.cols[i]
		switch {
		case c.lay == layVar && c.dictSame:
			fillRows(to[at:], r.stride, c.strs[ch].index)
		case c.lay == layVar:
			r.fillStrings(to[at:], c, ch)
		case c.width == 1:
			fillRows(to[at:], r.stride, c.v1[ch])
		case c.width == 2:
			fillRows(to[at:], r.stride, c.v2[ch])
		case c.width == 4:
			fillRows(to[at:], r.stride, c.v4[ch])
		case c.width == 8:
			fillRows(to[at:], r.stride, c.v8[ch])
		case c.width == 12:
			fillRows(to[at:], r.stride, c.v12[ch])
		default:
			fillRows(to[at:], r.stride, c.v16[ch])
		}
	}
}

func fillRows[T any](to []byte, stride int, vals []T) {
	for i, v := range vals {
		*(*T)(unsafe.Pointer(&to[i*stride])) = v
	}
}

func (r *Rows) fillStrings(to []byte, c *Column, ch int) {
	s, valid := &c.strs[ch], &c.valid[ch]
	for i := range c.chunks[ch].Len() {
		slot := to[i*r.stride:][:inRowSlot]
		if c.nulls && !valid.get(uint32(i)) {
			slot[inRow] = 0
			continue
		}
		row := i
		if s.index != nil {
			row = int(s.index[i])
		}
		from, end := s.offs[row], s.offs[row+1]
		if int(from)+inRowSlot <= len(s.data) {
			*(*[inRowSlot]byte)(slot) = [inRowSlot]byte(s.data[from:])
		} else {
			copy(slot, s.data[from:end])
		}
		slot[inRow] = byte(end - from)
	}
}

// rowsAtOnce is how many rows are read by all columns before the next ones: few enough to stay in
// the core's cache.
const rowsAtOnce = 1024

// rowsOut is a column that is read.
type rowsOut struct {
	at, width int
	vals      unsafe.Pointer // n values, of strings none
	offs      []int32        // strings
	data      []byte
	to, next  int // where the next string goes, and the next row
}

// Spread is Spread of the columns which, or, where at is nil, Gather of n ids. rooms may be nil.
func (r *Rows) Spread(ids []uint32, at []int32, n int, none bool, which []int, rooms []Room) []arrow.Array {
	arrays, outs := make([]arrow.Array, len(which)), make([]rowsOut, len(which))
	var there []byte
	if at == nil {
		there = present(ids)
		none = there != nil
	}
	for k, i := range which {
		var room *Room
		if rooms != nil {
			room = &rooms[k]
		}
		c, o := r.cols[i], &outs[k]
		if o.at = r.at[i]; o.at < 0 {
			if at == nil {
				arrays[k] = c.gather(ids, there)
			} else {
				arrays[k] = c.Spread(ids, at, n, none, room)
			}
			continue
		}
		dt := c.Type.Arrow()
		bits := there
		if at != nil {
			bits = c.spreadValid(ids, at, n, none)
		} else if c.nulls {
			bits = c.gatherValid(ids, there)
		}
		o.width = c.width
		switch {
		case c.lay == layVar && c.dictSame:
			v := make([]int32, n) // all must be of the dictionary
			o.width, o.vals = 4, first(v)
			arrays[k] = makeDict(v, bits, c.dict)
		case c.lay == layVar:
			o.offs, o.data = make([]int32, n+1), make([]byte, inRow*len(ids)+inRowSlot)
			defer func() {
				for ; o.next < n; o.next++ {
					o.offs[o.next+1] = int32(o.to)
				}
				arrays[k] = makeVar(dt, o.offs, o.data[:o.to:o.to], bits)
			}()
		case c.width == 1:
			arrays[k] = rowsArray[uint8](o, dt, n, bits, room)
		case c.width == 2:
			arrays[k] = rowsArray[uint16](o, dt, n, bits, room)
		case c.width == 4:
			arrays[k] = rowsArray[uint32](o, dt, n, bits, room)
		case c.width == 8:
			arrays[k] = rowsArray[uint64](o, dt, n, bits, room)
		case c.width == 12:
			arrays[k] = rowsArray[bytes12](o, dt, n, bits, room)
		default:
			arrays[k] = rowsArray[bytes16](o, dt, n, bits, room)
		}
	}
	r.read(outs, ids, at, n, none)
	return arrays
}

func first[T any](v []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(v)) }

func rowsArray[T any](o *rowsOut, dt arrow.DataType, n int, bits []byte, room *Room) arrow.Array {
	v := inRoom[T](room, n)
	o.vals = first(v)
	return makeFixed(dt, v, bits)
}

func (r *Rows) read(outs []rowsOut, ids []uint32, at []int32, n int, none bool) {
	for from := 0; from < len(ids); from += rowsAtOnce {
		to := min(from+rowsAtOnce, len(ids))
		part, places := ids[from:to], []int32(nil)
		if at != nil {
			places = at[from:to]
		}
		for k := range outs {
			o := &outs[k]
			switch {
			case o.at < 0:
			case o.offs != nil:
				r.readStrings(o, part, places, from)
			case o.width == 1:
				readRows[uint8](r, o, part, places, from, n, none)
			case o.width == 2:
				readRows[uint16](r, o, part, places, from, n, none)
			case o.width == 4:
				readRows[uint32](r, o, part, places, from, n, none)
			case o.width == 8:
				readRows[uint64](r, o, part, places, from, n, none)
			case o.width == 12:
				readRows[bytes12](r, o, part, places, from, n, none)
			default:
				readRows[bytes16](r, o, part, places, from, n, none)
			}
		}
	}
}

// bytes returns the rows from a place of the first one on.
func (r *Rows) bytes(at int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&r.words[0])), 8*len(r.words))[at:]
}

func readRows[T any](r *Rows, o *rowsOut, ids []uint32, at []int32, from, n int, none bool) {
	rows, stride, out := r.bytes(o.at), r.stride, unsafe.Slice((*T)(o.vals), n)
	switch {
	case none:
		for i, id := range ids {
			if id == NoRow {
				continue
			}
			row := from + i
			if at != nil {
				row = int(at[i])
			}
			out[row] = *(*T)(unsafe.Pointer(&rows[int(id)*stride]))
		}
	case at == nil:
		out = out[from:][:len(ids)]
		for i, id := range ids {
			out[i] = *(*T)(unsafe.Pointer(&rows[int(id)*stride]))
		}
	default:
		at = at[:len(ids)]
		for i, id := range ids {
			out[at[i]] = *(*T)(unsafe.Pointer(&rows[int(id)*stride]))
		}
	}
}

func (r *Rows) readStrings(o *rowsOut, ids []uint32, at []int32, from int) {
	rows, stride, offs, data := r.bytes(o.at), r.stride, o.offs, o.data
	to, next := o.to, o.next
	for i, id := range ids {
		row := from + i
		if at != nil {
			for row = int(at[i]); next < row; next++ {
				offs[next+1] = int32(to)
			}
		}
		next = row + 1
		if id != NoRow {
			slot := (*[inRowSlot]byte)(rows[int(id)*stride:])
			*(*[inRowSlot]byte)(data[to:]) = *slot
			to += int(slot[inRow])
		}
		offs[next] = int32(to)
	}
	o.to, o.next = to, next
}
