package store

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// builder gathers the rows of one column of a group. Values are copied in, so
// that a group's memory is what builders hold.
type builder struct {
	num  int16
	typ  types.Type
	dt   arrow.DataType
	form layoutForm

	expect      int // rows, where that is known: room is made for them at once
	rows, nulls int
	valid       []byte // nil while no row is NULL
	data        []byte // fixed: values; strings: bytes; bits: bytes of 0 and 1
	width       int
	offs        []int32
	held        []arrow.Array // nested types: as they came
	heldBytes   int64

	dict   *dictionary // nil: plain strings
	index  []int32
	sketch sketch
	once   once
}

type layoutForm uint8

const (
	fixedForm layoutForm = iota
	bitForm
	stringForm
	binaryForm
	nestedForm
)

func newBuilder(num int16, t types.Type) *builder {
	b := &builder{num: num, typ: t, dt: t.Arrow()}
	switch dt := b.dt.(type) {
	case *arrow.BooleanType:
		b.form = bitForm
	case *arrow.StringType:
		b.form = stringForm
		b.dict = newDictionary()
	case *arrow.BinaryType:
		b.form = binaryForm
	case arrow.FixedWidthDataType:
		b.form, b.width = fixedForm, dt.BitWidth()/8
	default:
		b.form = nestedForm
	}
	return b
}

// bytes is what the builder holds, allocated or not yet written.
func (b *builder) bytes() int64 {
	n := int64(cap(b.data)) + 4*int64(cap(b.offs)+cap(b.index)) + int64(cap(b.valid)) + b.heldBytes + b.once.bytes()
	if b.dict != nil {
		n += b.dict.bytes()
	}
	return n
}

// room tells whether more bytes of values would overflow 32-bit offsets.
func (b *builder) room(more int64) bool { return int64(len(b.data))+more < 1<<31-1 }

// append adds the rows sel of arr, or all of them if sel is nil.
func (b *builder) append(arr arrow.Array, sel []int32) error {
	n := arr.Len()
	if sel != nil {
		n = len(sel)
	}
	if n == 0 {
		return nil
	}
	if arr.DataType().ID() == arrow.NULL && b.form != nestedForm {
		arr, sel = batch.Nulls(b.dt, n), nil
	}
	if id := arr.DataType().ID(); id != b.dt.ID() && !(id == arrow.DICTIONARY && b.form == stringForm) {
		return pgerr.Internal("store: column %d is represented as %s, not %s", b.num, b.dt, arr.DataType())
	}
	b.appendValid(arr, sel, n)
	switch b.form {
	case fixedForm:
		b.appendFixed(arr, sel, n)
	case bitForm:
		v := arr.(*array.Boolean)
		each(sel, n, func(i int) {
			if v.Value(i) {
				b.data = append(b.data, 1)
			} else {
				b.data = append(b.data, 0)
			}
		})
	case stringForm:
		b.appendStrings(arr, sel, n)
	case binaryForm:
		v := arr.(*array.Binary)
		b.startOffsets()
		each(sel, n, func(i int) {
			if v.IsValid(i) {
				b.data = append(b.data, v.Value(i)...)
			}
			b.offs = append(b.offs, int32(len(b.data)))
		})
	case nestedForm:
		if sel != nil {
			arr = kernel.Take(arr, sel)
		}
		b.held = append(b.held, arr)
		b.heldBytes += batch.ArrayBytes(arr)
	}
	b.rows += n
	return nil
}

func each(sel []int32, n int, f func(i int)) {
	if sel != nil {
		for _, i := range sel {
			f(int(i))
		}
		return
	}
	for i := range n {
		f(i)
	}
}

func (b *builder) appendValid(arr arrow.Array, sel []int32, n int) {
	if arr.NullN() == 0 && b.valid == nil {
		return
	}
	if need := batch.BitmapBytes(b.rows + n); need > len(b.valid) {
		if b.valid == nil {
			b.valid = make([]byte, need, batch.BitmapBytes(GroupRows))
			for i := range b.rows {
				batch.SetBit(b.valid, i)
			}
		} else {
			b.valid = append(b.valid, make([]byte, need-len(b.valid))...)
		}
	}
	at := b.rows
	there, off := arr.NullBitmapBytes(), arr.Data().Offset()
	if arr.NullN() == 0 {
		for i := range n {
			batch.SetBit(b.valid, at+i)
		}
		return
	}
	if sel == nil {
		for i := range n {
			bit := there[(off+i)>>3] >> ((off + i) & 7) & 1
			b.valid[(at+i)>>3] |= bit << ((at + i) & 7)
			b.nulls += int(1 - bit)
		}
		return
	}
	for _, i := range sel {
		if batch.Bit(there, off+int(i)) {
			batch.SetBit(b.valid, at)
		} else {
			b.nulls++
		}
		at++
	}
}

func (b *builder) appendFixed(arr arrow.Array, sel []int32, n int) {
	d := arr.Data()
	src := d.Buffers()[1].Bytes()[d.Offset()*b.width:]
	if b.data == nil && b.expect > n {
		b.data = make([]byte, 0, b.expect*b.width)
	}
	if sel == nil {
		b.data = append(b.data, src[:n*b.width]...)
		return
	}
	for _, i := range sel {
		b.data = append(b.data, src[int(i)*b.width:(int(i)+1)*b.width]...)
	}
}

func (b *builder) startOffsets() {
	if len(b.offs) == 0 {
		if b.offs == nil && b.expect > 0 {
			b.offs = make([]int32, 0, b.expect+1)
		}
		b.offs = append(b.offs, 0)
	}
}

func (b *builder) appendStrings(arr arrow.Array, sel []int32, n int) {
	s := batch.StringsOf(arr)
	if b.dict != nil && !b.dict.closed {
		if b.index == nil && b.expect > n {
			b.index = make([]int32, 0, b.expect)
		}
		if b.index = b.dict.encode(b.index, s, arr, sel, n); b.dict.fits(b.rows + n) {
			return
		}
		b.expand()
		return
	}
	b.startOffsets()
	each(sel, n, func(i int) {
		b.data = append(b.data, s.Value(i)...)
		b.offs = append(b.offs, int32(len(b.data)))
	})
}

// expand gives up the dictionary for this group: indices become strings. The
// dictionary is forgotten if no group before uses it.
func (b *builder) expand() {
	b.startOffsets()
	for _, k := range b.index {
		if k >= 0 {
			b.data = append(b.data, b.dict.value(k)...)
		}
		b.offs = append(b.offs, int32(len(b.data)))
	}
	b.index = b.index[:0]
	if b.dict.closed = true; !b.dict.used {
		b.dict = nil
	}
}

// restart makes the builder ready for a new segment.
func (b *builder) restart() {
	b.sketch, b.once = sketch{}, once{}
	if b.form == stringForm {
		b.dict = newDictionary()
	}
}

// array gives the group's rows as a column of its own and empties the builder.
// It is plain, or a dictionary over all values seen so far.
func (b *builder) array() arrow.Array {
	n := b.rows
	var out arrow.Array
	valid := b.valid
	if b.nulls == 0 {
		valid = nil
	}
	switch b.form {
	case fixedForm:
		out = array.MakeFromData(array.NewData(b.dt, n, []*memory.Buffer{bitmap(valid), memory.NewBufferBytes(b.data)}, nil, b.nulls, 0))
	case bitForm:
		bits := make([]byte, batch.BitmapBytes(n))
		for i, v := range b.data {
			bits[i>>3] |= v << (i & 7)
		}
		out = batch.FromBits(bits, valid, n)
	case stringForm:
		if b.dict != nil && !b.dict.closed {
			if b.dict.pays(n) {
				b.dict.used = true
				for i, k := range b.index {
					if k < 0 {
						b.index[i] = 0
					}
				}
				out = batch.FromIndices(types.DictArrow, b.index, valid, b.dict.array())
				break
			}
			b.expand()
		}
		b.startOffsets()
		out = batch.FromOffsets(b.dt, b.offs, b.data, valid)
	case binaryForm:
		b.startOffsets()
		out = batch.FromOffsets(b.dt, b.offs, b.data, valid)
	case nestedForm:
		out = kernel.Concat(b.dt, b.held)
		if out.Data().Offset() != 0 {
			// Stored arrays start at row 0.
			idx := make([]int32, out.Len())
			for i := range idx {
				idx[i] = int32(i)
			}
			out = kernel.Take(out, idx)
		}
	}
	b.rows, b.nulls, b.heldBytes = 0, 0, 0
	b.held, b.valid = nil, nil
	return out
}

func bitmap(valid []byte) *memory.Buffer {
	if valid == nil {
		return nil
	}
	return memory.NewBufferBytes(valid)
}

// release lets the buffers be used again, once the array has been written.
func (b *builder) release() {
	b.data, b.offs, b.index = b.data[:0], b.offs[:0], b.index[:0]
}

// take forgets the buffers, which an array now owns.
func (b *builder) take() { b.data, b.offs, b.index = nil, nil, nil }

// dictionary numbers the strings of a column, over all groups of a segment.
//
//	slots[h & mask] = h | number + 1, h being the upper half of a hash, linear probing
type dictionary struct {
	offs   []int32
	data   []byte
	slots  []uint64
	used   bool            // some group refers to it
	closed bool            // takes no more values
	half   int             // values after half a group
	last   arrow.ArrayData // the dictionary of the column last seen, and
	lastTo []int32         // the numbers of its values; -1: not looked up
	arr    *array.String
}

func newDictionary() *dictionary { return &dictionary{offs: []int32{0}, slots: make([]uint64, 64)} }

func (d *dictionary) len() int { return len(d.offs) - 1 }

func (d *dictionary) value(k int32) []byte { return d.data[d.offs[k]:d.offs[k+1]] }

func (d *dictionary) bytes() int64 {
	return int64(cap(d.data)) + 4*int64(cap(d.offs)+cap(d.lastTo)) + 8*int64(len(d.slots))
}

func (d *dictionary) number(s string) int32 {
	h := kernel.HashBytes(unsafe.Slice(unsafe.StringData(s), len(s))) >> 32
	mask := uint64(len(d.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		x := d.slots[at]
		if x == 0 {
			d.slots[at] = h<<32 | uint64(len(d.offs))
			break
		}
		if k := int32(uint32(x)) - 1; x>>32 == h && string(d.value(k)) == s {
			return k
		}
	}
	d.data = append(d.data, s...)
	d.offs = append(d.offs, int32(len(d.data)))
	d.arr = nil
	if 2*d.len() > len(d.slots) {
		d.grow()
	}
	return int32(d.len() - 1)
}

func (d *dictionary) grow() {
	old := d.slots
	d.slots = make([]uint64, 2*len(old))
	mask := uint64(len(d.slots) - 1)
	for _, x := range old {
		if x != 0 {
			at := x >> 32 & mask
			for d.slots[at] != 0 {
				at = (at + 1) & mask
			}
			d.slots[at] = x
		}
	}
}

// encode appends the numbers of the rows' strings to index, -1 for NULL. It
// stops numbering when the dictionary is full: the caller looks at fits.
func (d *dictionary) encode(index []int32, s batch.Strings, arr arrow.Array, sel []int32, n int) []int32 {
	if s.Plain != nil {
		nulls := arr.NullN() > 0
		prev, prevK := "", int32(-1)
		each(sel, n, func(i int) {
			if nulls && arr.IsNull(i) {
				index = append(index, -1)
				return
			}
			v := s.Plain.Value(i)
			if prevK < 0 || v != prev {
				prev, prevK = v, d.number(v)
			}
			index = append(index, prevK)
		})
		return index
	}
	// A dictionary column: each of its values is looked up once.
	if of := arr.Data().Dictionary(); d.last != of {
		d.last, d.lastTo = of, make([]int32, s.Values.Len())
		for i := range d.lastTo {
			d.lastTo[i] = -1
		}
	}
	m := d.lastTo
	nulls := arr.NullN() > 0
	each(sel, n, func(i int) {
		if nulls && arr.IsNull(i) {
			index = append(index, -1)
			return
		}
		k := s.Index[i]
		if m[k] < 0 {
			m[k] = d.number(s.Values.Value(int(k)))
		}
		index = append(index, m[k])
	})
	return index
}

// fits tells whether the dictionary may grow on, rows being in the group.
func (d *dictionary) fits(rows int) bool {
	if d.len() > dictEntries || len(d.data) > dictBytes {
		return false
	}
	if rows <= GroupRows/2 {
		d.half = d.len()
	}
	// Mostly different strings: see it early, hashing them costs. Of dictEntries values,
	// each as often as another, n rows have about n²/(2·dictEntries) that came before.
	return d.used || rows < 4096 || (rows-d.len())*4*dictEntries >= rows*rows
}

// pays tells whether a group of rows is smaller and quicker as indices, or those after it
// will be: it has most of the values that there are. Of dictEntries values, each as often
// as another, the second half of a group brings 7/9 of those that the first brought; where
// half of the rows have a value of their own, it brings as many.
func (d *dictionary) pays(rows int) bool {
	return d.used || d.len()*4 <= rows || rows == GroupRows && 2*len(d.data) <= dictBytes && 9*(d.len()-d.half) <= 7*d.half
}

func (d *dictionary) array() *array.String {
	if d.arr == nil {
		// The slices only grow behind what this array sees.
		d.arr = batch.FromOffsets(arrow.BinaryTypes.String, d.offs[:len(d.offs):len(d.offs)], d.data[:len(d.data):len(d.data)], nil).(*array.String)
	}
	return d.arr
}
