package store

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/sketch"
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

	expect      int // rows, if known: their memory is allocated at once
	rows, nulls int
	valid       []byte // nil while no row is NULL
	data        []byte // fixed: values; strings: bytes; bits: bytes of 0 and 1
	width       int
	offs        []int32
	held        []arrow.Array // nested types: as they came
	heldBytes   int64

	dict   *dictionary // nil: plain strings
	index  []int32
	full   bool // the group must end: its dictionary is to be written and takes no more values
	sketch sketch.Sketch
	once   once
	run    consecutive // of the newest values; not in the sketch yet
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

// bytes returns the memory that the builder holds.
func (b *builder) bytes() int64 {
	n := int64(cap(b.data)) + 4*int64(cap(b.offs)+cap(b.index)) + int64(cap(b.valid)) + b.heldBytes + b.once.bytes()
	if b.dict != nil {
		n += b.dict.bytes()
	}
	return n
}

// adds returns about how many bytes appending the rows sel of arr, or all of them if sel is nil, adds.
func (b *builder) adds(arr arrow.Array, sel []int32) int64 {
	if b.dict != nil && !b.dict.closed && arr.DataType().ID() == arrow.DICTIONARY {
		return batch.ArrayBytes(arr)
	}
	return batch.PlainBytes(arr, sel)
}

// room reports whether more bytes of values would overflow 32-bit offsets.
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
		b.appendBits(arr.(*array.Boolean), sel, n)
	case stringForm:
		b.appendStrings(arr, sel, n)
	case binaryForm:
		b.appendVar(arr.Data(), sel, n)
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

// expand abandons the dictionary for this group: indices become strings. The dictionary is dropped
// if no earlier group uses it.
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
	b.sketch, b.once, b.run = sketch.Sketch{}, once{}, consecutive{}
	if b.form == stringForm {
		b.dict = newDictionary()
	}
}

// array returns the group's rows as a column of its own and empties the builder.
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
			if b.full || b.dict.pays(n) || b.dict.shrinks(b.index) {
				b.dict.used = true
				b.dict.closed, b.full = b.full, false
				if b.nulls > 0 {
					for i, k := range b.index {
						b.index[i] = max(k, 0)
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

// release lets the buffers be reused, once the array has been written.
func (b *builder) release() {
	b.data, b.offs, b.index = b.data[:0], b.offs[:0], b.index[:0]
}

// take drops the buffers, which an array now owns.
func (b *builder) take() { b.data, b.offs, b.index = nil, nil, nil }
