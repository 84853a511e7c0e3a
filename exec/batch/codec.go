package batch

import (
	"encoding/binary"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// A batch as bytes, for spill files and exchanges. Both ends know the columns'
// types, so only the shapes travel:
//
//	uint32  length of the shapes       ┐ 16 bytes
//	uint32  0                          │
//	uint64  length of the buffers      ┘
//	shapes  uvarints: rows, zigzag Seq, columns; an array: form, rows, NULLs
//	        and what its form needs
//	        padding to 8
//	buffers each padded to 8, in the order of the shapes
//
// A reader checks every length and offset, so that hostile bytes cause an error and never an
// allocation larger than themselves. Buffers are not copied: the decoded arrays alias the bytes.
const headerBytes = 16

// The forms of an array.
const (
	formNull = iota
	formPlain
	formDict
)

// Encoder encodes batches. It has scratch memory: use one a goroutine.
type Encoder struct {
	shapes []byte
	body   []byte // without what is in refs
	refs   []ref
	apart  int // bytes of refs
	remap  []int32
}

// ref is a long part of the body that is not copied: it stands before body[at:].
type ref struct {
	at int
	b  []byte
}

// refBytes is how long a part must be for that.
const refBytes = 64 << 10

// Append appends the encoding of b, which must not have a selection
// (kernel.Compact), to dst, whose length should be a multiple of 8.
func (e *Encoder) Append(dst []byte, b *Batch) []byte {
	e.Encode(b)
	_ = e.Parts(func(p []byte) error {
		dst = append(dst, p...)
		return nil
	})
	e.Reset()
	return dst
}

// Encode makes the encoding of b, as Append does, to be read by Len and Parts. b must stay
// unchanged until then: long parts are not copied.
func (e *Encoder) Encode(b *Batch) {
	if b.Sel != nil {
		panic("BUG: batch: encoding a batch with a selection")
	}
	e.Reset()
	e.shapes, e.body = append(e.shapes[:0], make([]byte, headerBytes)...), e.body[:0]
	e.uint(uint64(b.N))
	e.uint(uint64(b.Seq<<1) ^ uint64(b.Seq>>63))
	e.uint(uint64(len(b.Cols)))
	for _, c := range b.Cols {
		e.array(c)
	}
	for len(e.shapes)%8 != 0 {
		e.shapes = append(e.shapes, 0)
	}
	binary.LittleEndian.PutUint32(e.shapes, uint32(len(e.shapes)-headerBytes))
	binary.LittleEndian.PutUint64(e.shapes[8:], uint64(len(e.body)+e.apart))
}

// Len returns the length of what Encode made.
func (e *Encoder) Len() int { return len(e.shapes) + len(e.body) + e.apart }

// Parts calls yield with what Encode made, in consecutive parts, until yield fails.
func (e *Encoder) Parts(yield func([]byte) error) error {
	if err := yield(e.shapes); err != nil {
		return err
	}
	from := 0
	for _, r := range e.refs {
		if err := yield(e.body[from:r.at]); err != nil {
			return err
		}
		if err := yield(r.b); err != nil {
			return err
		}
		from = r.at
	}
	return yield(e.body[from:])
}

// Reset forgets the batch.
func (e *Encoder) Reset() {
	clear(e.refs)
	e.refs, e.apart = e.refs[:0], 0
}

func (e *Encoder) uint(v uint64) { e.shapes = binary.AppendUvarint(e.shapes, v) }

func (e *Encoder) buffer(b []byte) {
	e.bytes(b)
	e.pad()
}

func (e *Encoder) bytes(b []byte) {
	if len(b) < refBytes {
		e.body = append(e.body, b...)
		return
	}
	e.refs = append(e.refs, ref{len(e.body), b})
	e.apart += len(b)
}

func (e *Encoder) pad() {
	for (len(e.body)+e.apart)%8 != 0 {
		e.body = append(e.body, 0)
	}
}

func (e *Encoder) array(arr arrow.Array) {
	d, n := arr.Data(), arr.Len()
	form := uint64(formPlain)
	switch arr.DataType().ID() {
	case arrow.NULL:
		form = formNull
	case arrow.DICTIONARY:
		form = formDict
		if dict, _ := d.Dictionary().(*array.Data); dict == nil {
			arr = Nulls(types.DictArrow.ValueType, n)
			d, form = arr.Data(), formPlain
		}
	}
	e.uint(form)
	e.uint(uint64(n))
	if form == formNull {
		return
	}
	nulls := arr.NullN()
	e.uint(uint64(nulls))
	if nulls > 0 {
		e.bits(d.Buffers()[0].Bytes(), d.Offset(), n)
	}
	if form == formDict {
		e.dictionary(arr)
		return
	}
	switch dt := arr.DataType().(type) {
	case *arrow.BooleanType:
		if n > 0 {
			e.bits(d.Buffers()[1].Bytes(), d.Offset(), n)
		}
	case *arrow.StringType, *arrow.BinaryType:
		from, to := e.offsets(d)
		var data []byte
		if b := d.Buffers()[2]; b != nil {
			data = b.Bytes()
		}
		e.uint(uint64(to - from))
		e.buffer(data[from:to])
	case *arrow.ListType:
		from, to := e.offsets(d)
		e.array(array.MakeFromData(array.NewSliceData(d.Children()[0], int64(from), int64(to))))
	case *arrow.StructType:
		s := arr.(*array.Struct)
		for f := 0; f < s.NumField(); f++ {
			e.array(s.Field(f))
		}
	case arrow.FixedWidthDataType:
		w := dt.BitWidth() / 8
		if n > 0 {
			e.buffer(d.Buffers()[1].Bytes()[d.Offset()*w : (d.Offset()+n)*w])
		}
	}
}

// bits writes n bits from bit off, moved to start at bit 0.
func (e *Encoder) bits(src []byte, off, n int) {
	if off%8 == 0 {
		e.buffer(src[off/8 : off/8+BitmapBytes(n)])
		return
	}
	at := len(e.body)
	e.body = append(e.body, make([]byte, BitmapBytes(n))...)
	out := e.body[at:]
	for i := 0; i < n; i++ {
		if Bit(src, off+i) {
			SetBit(out, i)
		}
	}
	e.pad()
}

// offsets writes the offsets of a window, starting at 0, and returns the range
// of the child they span.
func (e *Encoder) offsets(d arrow.ArrayData) (from, to int32) {
	n := d.Len()
	if n == 0 {
		e.body = binary.LittleEndian.AppendUint32(e.body, 0)
		e.pad()
		return 0, 0
	}
	offs := arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+n+1]
	from, to = offs[0], offs[n]
	if from == 0 {
		e.buffer(bytesOf(offs))
		return from, to
	}
	for _, o := range offs {
		e.body = binary.LittleEndian.AppendUint32(e.body, uint32(o-from))
	}
	e.pad()
	return from, to
}

// dictionary writes a dictionary column with only the values that its rows use: the dictionary of a
// segment may be far larger than a batch.
func (e *Encoder) dictionary(arr arrow.Array) {
	d, n := arr.Data(), arr.Len()
	dict := d.Dictionary()
	vals := array.NewStringData(dict)
	if len(e.remap) < vals.Len() {
		e.remap = make([]int32, vals.Len())
	}
	index := []int32(nil)
	if n > 0 {
		index = arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+n]
	}
	used := make([]int32, 0, min(n, vals.Len()))
	at := len(e.body)
	e.body = append(e.body, make([]byte, 4*n)...)
	for i, k := range index {
		if arr.NullN() > 0 && arr.IsNull(i) {
			continue
		}
		if e.remap[k] == 0 {
			used = append(used, k)
			e.remap[k] = int32(len(used))
		}
		binary.LittleEndian.PutUint32(e.body[at+4*i:], uint32(e.remap[k]-1))
	}
	e.pad()
	e.uint(uint64(len(used)))
	total := int32(0)
	e.body = binary.LittleEndian.AppendUint32(e.body, 0)
	for _, k := range used {
		e.remap[k] = 0
		total += int32(len(vals.Value(int(k))))
		e.body = binary.LittleEndian.AppendUint32(e.body, uint32(total))
	}
	e.pad()
	e.uint(uint64(total))
	for _, k := range used {
		v := vals.Value(int(k))
		e.bytes(unsafe.Slice(unsafe.StringData(v), len(v)))
	}
	e.pad()
}

// FrameBytes returns the length of the encoding that data begins with, from its
// first 16 bytes; ok is false if they cannot be a batch's.
func FrameBytes(data []byte) (n int, ok bool) {
	if len(data) < headerBytes || binary.LittleEndian.Uint32(data[4:]) != 0 {
		return 0, false
	}
	shapes := uint64(binary.LittleEndian.Uint32(data))
	body := binary.LittleEndian.Uint64(data[8:])
	if body > 1<<40 || shapes%8 != 0 || body%8 != 0 {
		return 0, false
	}
	return int(headerBytes + shapes + body), true
}

type decoder struct {
	shapes []byte
	body   []byte
}

func errDamaged(what string) error {
	return pgerr.New(pgerr.DataCorrupted, "invalid batch data: %s", what)
}

// Decode reads one encoded batch whose columns are represented as dts (strings
// perhaps as dictionaries). The batch aliases data, which must be 8-byte
// aligned and must not change any more.
func Decode(data []byte, dts []arrow.DataType) (*Batch, error) {
	n, ok := FrameBytes(data)
	if !ok || n != len(data) {
		return nil, errDamaged("length")
	}
	shapes := int(binary.LittleEndian.Uint32(data))
	d := &decoder{shapes: data[headerBytes : headerBytes+shapes], body: data[headerBytes+shapes:]}
	rows, err := d.length()
	if err != nil {
		return nil, err
	}
	z, err := d.uint()
	if err != nil {
		return nil, err
	}
	cols, err := d.uint()
	if err != nil {
		return nil, err
	}
	if cols != uint64(len(dts)) {
		return nil, errDamaged("number of columns")
	}
	b := &Batch{Cols: make([]arrow.Array, len(dts)), N: rows, Seq: int64(z>>1) ^ -int64(z&1)}
	for i, dt := range dts {
		if b.Cols[i], err = d.array(dt, 0); err != nil {
			return nil, err
		}
		if b.Cols[i].Len() != rows {
			return nil, errDamaged("rows of a column")
		}
	}
	if len(d.body) != 0 {
		return nil, errDamaged("bytes left over")
	}
	return b, nil
}

func (d *decoder) uint() (uint64, error) {
	v, n := binary.Uvarint(d.shapes)
	if n <= 0 {
		return 0, errDamaged("shape")
	}
	d.shapes = d.shapes[n:]
	return v, nil
}

// length reads a number of rows.
func (d *decoder) length() (int, error) {
	v, err := d.uint()
	if err == nil && v > 1<<31-2 {
		err = errDamaged("rows")
	}
	return int(v), err
}

func (d *decoder) buffer(n int) (*memory.Buffer, error) {
	padded := (n + 7) &^ 7
	if n < 0 || padded > len(d.body) {
		return nil, errDamaged("buffer")
	}
	b := d.body[:n:n]
	d.body = d.body[padded:]
	return memory.NewBufferBytes(b), nil
}

func (d *decoder) array(dt arrow.DataType, depth int) (arrow.Array, error) {
	form, err := d.uint()
	if err != nil {
		return nil, err
	}
	n, err := d.length()
	if err != nil {
		return nil, err
	}
	if (form == formNull) != (dt.ID() == arrow.NULL) || form > formDict || depth > 64 {
		return nil, errDamaged("form")
	}
	if form == formNull {
		return array.NewNull(n), nil
	}
	nulls, err := d.length()
	if err != nil {
		return nil, err
	}
	if nulls > n {
		return nil, errDamaged("NULLs")
	}
	bufs := make([]*memory.Buffer, 1, 3)
	if nulls > 0 {
		if bufs[0], err = d.buffer(BitmapBytes(n)); err != nil {
			return nil, err
		}
		if n-CountBits(bufs[0].Bytes(), n) != nulls {
			return nil, errDamaged("NULLs")
		}
	}
	if form == formDict {
		if dt.ID() != arrow.STRING {
			return nil, errDamaged("form")
		}
		return d.dictionary(bufs[0], n, nulls)
	}
	var kids []arrow.ArrayData
	switch t := dt.(type) {
	case *arrow.BooleanType:
		err = d.add(&bufs, BitmapBytes(n))
	case *arrow.StringType, *arrow.BinaryType:
		var end int
		if end, err = d.offsets(&bufs, n); err == nil {
			err = d.bytes(&bufs, end)
		}
	case *arrow.ListType:
		var end int
		if end, err = d.offsets(&bufs, n); err == nil {
			var kid arrow.Array
			if kid, err = d.array(t.Elem(), depth+1); err == nil {
				if kid.Len() != end {
					return nil, errDamaged("elements")
				}
				kids = append(kids, kid.Data())
			}
		}
	case *arrow.StructType:
		for _, f := range t.Fields() {
			kid, err := d.array(f.Type, depth+1)
			if err != nil {
				return nil, err
			}
			if kid.Len() != n {
				return nil, errDamaged("fields")
			}
			kids = append(kids, kid.Data())
		}
	case arrow.FixedWidthDataType:
		err = d.add(&bufs, n*t.BitWidth()/8)
	default:
		err = errDamaged("type")
	}
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(array.NewData(dt, n, bufs, kids, nulls, 0)), nil
}

func (d *decoder) add(bufs *[]*memory.Buffer, n int) error {
	b, err := d.buffer(n)
	*bufs = append(*bufs, b)
	return err
}

// offsets reads n+1 offsets that ascend from 0 and returns the last.
func (d *decoder) offsets(bufs *[]*memory.Buffer, n int) (int, error) {
	if err := d.add(bufs, 4*(n+1)); err != nil {
		return 0, err
	}
	offs := arrow.Int32Traits.CastFromBytes((*bufs)[len(*bufs)-1].Bytes())
	last := int32(0)
	if offs[0] != 0 {
		return 0, errDamaged("offsets")
	}
	for _, o := range offs {
		if o < last {
			return 0, errDamaged("offsets")
		}
		last = o
	}
	return int(last), nil
}

// bytes reads the length of a byte buffer, which must be want, and the buffer.
func (d *decoder) bytes(bufs *[]*memory.Buffer, want int) error {
	n, err := d.uint()
	if err != nil {
		return err
	}
	if n != uint64(want) {
		return errDamaged("offsets")
	}
	return d.add(bufs, want)
}

func (d *decoder) dictionary(nullBits *memory.Buffer, n, nulls int) (arrow.Array, error) {
	bufs := []*memory.Buffer{nullBits}
	if err := d.add(&bufs, 4*n); err != nil {
		return nil, err
	}
	size, err := d.length()
	if err != nil {
		return nil, err
	}
	vals := make([]*memory.Buffer, 1, 3)
	end, err := d.offsets(&vals, size)
	if err != nil {
		return nil, err
	}
	if err := d.bytes(&vals, end); err != nil {
		return nil, err
	}
	for i, k := range arrow.Int32Traits.CastFromBytes(bufs[1].Bytes()) {
		if uint32(k) >= uint32(size) && !(nulls > 0 && k == 0 && !Bit(nullBits.Bytes(), i)) {
			return nil, errDamaged("dictionary index")
		}
	}
	dict := array.NewData(types.DictArrow.ValueType, size, vals, nil, 0, 0)
	return types.Shareable(array.MakeFromData(array.NewDataWithDictionary(types.DictArrow, n, bufs, nulls, 0, dict))), nil
}
