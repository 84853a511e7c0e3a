package source

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// valuesOf returns the decoder of a leaf of a file's schema, for which the library would make a
// column of type from, into a column of t; nil where the library must convert. rows is how many the
// chunk has.
func valuesOf(leaf *schema.Column, from arrow.DataType, t types.Type, rows int64) values {
	if leaf.MaxRepetitionLevel() > 0 || leaf.MaxDefinitionLevel() > 1 {
		return nil
	}
	dt, phys := t.Arrow(), leaf.PhysicalType()
	if d, ok := from.(*arrow.DictionaryType); ok && d.ValueType.ID() == arrow.STRING {
		from = d.ValueType
	}
	switch from := from.(type) {
	case *arrow.Int16Type:
		if phys == parquet.Types.Int32 {
			return &fixedValues[int16]{dt: dt, width: 4, decode: int32s[int16]}
		}
	case *arrow.Int32Type:
		if phys == parquet.Types.Int32 {
			return &fixedValues[int32]{dt: dt, width: 4, decode: same[int32]}
		}
	case *arrow.Date32Type:
		if phys == parquet.Types.Int32 {
			return &fixedValues[int32]{dt: dt, width: 4, decode: inRange(0, 1<<20, dateOf)}
		}
	case *arrow.Time32Type:
		if phys == parquet.Types.Int32 {
			return &fixedValues[int64]{dt: dt, width: 4, decode: moments(timeOf(from.Unit))}
		}
	case *arrow.Time64Type:
		if phys == parquet.Types.Int64 {
			return &fixedValues[int64]{dt: dt, width: 8, decode: moments(timeOf(from.Unit))}
		}
	case *arrow.Int64Type:
		if phys == parquet.Types.Int64 {
			return &fixedValues[int64]{dt: dt, width: 8, decode: same[int64]}
		}
	case *arrow.TimestampType:
		switch phys {
		case parquet.Types.Int64:
			decode := moments(timestampOf(from.Unit))
			if from.Unit == arrow.Microsecond {
				decode = inRange(0, 1<<60, timestampOf(from.Unit))
			}
			return &fixedValues[int64]{dt: dt, width: 8, decode: decode}
		case parquet.Types.Int96:
			return &fixedValues[int64]{dt: dt, width: 12, decode: int96s}
		}
	case *arrow.Float16Type:
		if phys == parquet.Types.FixedLenByteArray && leaf.TypeLength() == 2 {
			return &fixedValues[float32]{dt: dt, width: 2, decode: halves}
		}
	case *arrow.Float32Type:
		if phys == parquet.Types.Float {
			return &fixedValues[float32]{dt: dt, width: 4, decode: same[float32]}
		}
	case *arrow.Float64Type:
		if phys == parquet.Types.Double {
			return &fixedValues[float64]{dt: dt, width: 8, decode: same[float64]}
		}
	case *arrow.Decimal128Type:
		if !t.IsFixed() || from.Scale != int32(t.Scale) {
			return nil
		}
		switch phys {
		case parquet.Types.Int32:
			return &fixedValues[int64]{dt: dt, width: 4, decode: int32s[int64]}
		case parquet.Types.Int64:
			return &fixedValues[int64]{dt: dt, width: 8, decode: same[int64]}
		case parquet.Types.FixedLenByteArray:
			if w := leaf.TypeLength(); w > 0 {
				return &fixedValues[int64]{dt: dt, width: w, decode: func(b []byte, out []int64) error { return bigEndian(b, w, out) }}
			}
		}
	case *arrow.StringType, *arrow.BinaryType:
		if phys == parquet.Types.ByteArray {
			return &textValues{dt: dt, rows: rows}
		}
	}
	return nil
}

// fixedValues are values of one width in the file and in memory.
type fixedValues[T batch.Fixed] struct {
	dt     arrow.DataType
	width  int // in the file
	decode func(b []byte, out []T) error
	dict   []T
	out    []T
	n      int
	room   *[]uint64 // not nil: where out lies
}

func (v *fixedValues[T]) dictionary(b []byte, n int) error {
	if n < 0 || n > len(b)/v.width {
		return errPage
	}
	v.dict = make([]T, n)
	return v.decode(b[:n*v.width], v.dict)
}

func (v *fixedValues[T]) start(n int) {
	if v.n = 0; v.room == nil {
		v.out = make([]T, n)
		return
	}
	var zero T
	if need := (n*int(unsafe.Sizeof(zero)) + 7) / 8; cap(*v.room) < need {
		*v.room = make([]uint64, need)
	}
	v.out = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(*v.room))), n)
}

func (v *fixedValues[T]) reuse(room *[]uint64) { v.room = room }

func (v *fixedValues[T]) free(bool) int { return math.MaxInt }

func (v *fixedValues[T]) alone() int { return 0 }

func (v *fixedValues[T]) whole(b []byte, n int) (k, need int) { return min(n, len(b)/v.width), v.width }

func (v *fixedValues[T]) plain(b []byte, n int) ([]byte, error) {
	if n > len(b)/v.width {
		return nil, errPage
	}
	to := v.out[v.n : v.n+n]
	v.n += n
	return b[n*v.width:], v.decode(b[:n*v.width], to)
}

var errIndex = errors.New("a value is not in the dictionary")

func (v *fixedValues[T]) indices(idx []int32) error {
	to := v.out[v.n : v.n+len(idx)]
	v.n += len(idx)
	for i, k := range idx {
		if uint(k) >= uint(len(v.dict)) {
			return errIndex
		}
		to[i] = v.dict[k]
	}
	return nil
}

func (v *fixedValues[T]) spread(valid []byte, first, rows, values int) {
	spread(v.out, valid, first, rows, values)
	v.n = first + rows
}

// spread moves values that lie from out[first] on to the rows that valid has, and
// puts zeros between.
func spread[T batch.Fixed](out []T, valid []byte, first, rows, values int) {
	from := first + values - 1
	for i := first + rows - 1; i >= first; i-- {
		if batch.Bit(valid, i) {
			out[i] = out[from]
			from--
		} else {
			out[i] = 0
		}
	}
}

func (v *fixedValues[T]) finish(valid []byte) arrow.Array {
	return batch.FromSlice(v.dt, v.out, valid)
}

// same copies values that have the same layout in memory and in the file.
func same[T batch.Fixed](b []byte, out []T) error {
	if len(out) > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(b)), b)
	}
	return nil
}

func int32s[T int16 | int64](b []byte, out []T) error {
	for i := range out {
		out[i] = T(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return nil
}

// bigEndian reads two's complements of w bytes.
func bigEndian(b []byte, w int, out []int64) error {
	for i := range out {
		d := b[i*w : (i+1)*w]
		x := int64(int8(d[0]))
		for _, c := range d[1:] {
			if x > math.MaxInt64>>8 || x < math.MinInt64>>8 {
				return pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow")
			}
			x = x<<8 | int64(c)
		}
		out[i] = x
	}
	return nil
}

// textValues are strings or bytes. Strings of a dictionary that is small against its chunk stay
// indices into it, always the same one, so that what is prepared for a dictionary is prepared once
// a chunk.
type textValues struct {
	dt   arrow.DataType
	rows int64 // of the chunk
	most int   // bytes of a batch

	longest  int // string of the dictionary
	dictOffs []int32
	dictData []byte
	dict     arrow.Array // nil: batches have the strings themselves

	index []int32 // of the batch, while all its values are of the dictionary
	offs  []int32 // nil then; else the ends of the strings after a 0
	data  []byte
}

var errText = errors.New("a string is cut off")

// strings appends n strings to offsets and data, and returns what is left of b.
func (v *textValues) strings(offs []int32, data, b []byte, n int) ([]int32, []byte, []byte, error) {
	first := len(offs) - 1
	for range n {
		if len(b) < 4 {
			return nil, nil, nil, errText
		}
		l := binary.LittleEndian.Uint32(b)
		if uint64(l) > uint64(len(b)-4) {
			return nil, nil, nil, errText
		}
		if uint64(len(data))+uint64(l) > math.MaxInt32 {
			return nil, nil, nil, errors.New("strings are too long")
		}
		data = append(data, b[4:4+l]...)
		offs = append(offs, int32(len(data)))
		b = b[4+l:]
	}
	if v.dt.ID() == arrow.STRING {
		if err := checkText(offs[first:], data); err != nil {
			return nil, nil, nil, err
		}
	}
	return offs, data, b, nil
}

// checkText refuses strings that are not UTF-8, and bytes of zero, which no text of
// the database has. offs are where the strings begin in data, and where the last ends.
func checkText(offs []int32, data []byte) error {
	if plainText(data[offs[0]:offs[len(offs)-1]]) {
		return nil
	}
	for i := range len(offs) - 1 { // one by one: a character must not begin in one string and end in the next
		s := data[offs[i]:offs[i+1]]
		if err := pgerr.CheckUTF8(unsafe.String(unsafe.SliceData(s), len(s))); err != nil {
			return err
		}
	}
	return nil
}

// plainText reports whether bytes are all from 1 to 127.
func plainText(b []byte) bool {
	const low, high = 0x0101010101010101, 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		if (w|(w-low))&high != 0 {
			return false
		}
	}
	for _, c := range b {
		if c == 0 || c >= 0x80 {
			return false
		}
	}
	return true
}

func (v *textValues) dictionary(b []byte, n int) (err error) {
	if n < 0 || n > len(b)/4 {
		return errText
	}
	v.dictOffs, v.dictData, _, err = v.strings(append(make([]int32, 0, n+1), 0), make([]byte, 0, len(b)-4*n), b, n)
	for i := range max(len(v.dictOffs)-1, 0) {
		v.longest = max(v.longest, int(v.dictOffs[i+1]-v.dictOffs[i]))
	}
	if err == nil && v.dt.ID() == arrow.STRING && n > 0 && int64(n)*4 <= v.rows {
		v.dict = batch.FromOffsets(arrow.BinaryTypes.String, v.dictOffs, v.dictData, nil)
	}
	return err
}

func (v *textValues) start(n int) {
	v.index, v.offs, v.data = nil, nil, nil
	if v.dict != nil {
		v.index = make([]int32, 0, n)
		return
	}
	v.offs = append(make([]int32, 0, n+1), 0)
}

func (v *textValues) free(indexed bool) int {
	switch {
	case v.offs != nil && indexed:
		return (v.most - len(v.data)) / max(v.longest, 1)
	case v.offs != nil:
		return v.most - len(v.data)
	case indexed:
		return math.MaxInt
	case len(v.index) > 0:
		return 0 // its strings may be many times as long as the dictionary's
	}
	return v.most
}

func (v *textValues) alone() int {
	if v.dict != nil || v.longest <= v.most { // indices are no strings
		return 0
	}
	return v.longest
}

func (v *textValues) whole(b []byte, n int) (k, need int) {
	room := v.free(false)
	for k < n {
		if len(b) < 4 {
			return k, 4
		}
		l := binary.LittleEndian.Uint32(b)
		if need = 4 + int(l); need > len(b) || int(l) > room {
			break
		}
		k, b, room = k+1, b[need:], room-int(l)
	}
	return k, need
}

func (v *textValues) plain(b []byte, n int) (rest []byte, err error) {
	if v.offs == nil {
		v.offs = append(make([]int32, 0, cap(v.index)+1), 0)
		if err := v.look(v.index); err != nil {
			return nil, err
		}
		v.index = nil
	}
	v.offs, v.data, rest, err = v.strings(v.offs, v.data, b, n)
	return rest, err
}

func (v *textValues) indices(idx []int32) error {
	n := uint(max(len(v.dictOffs)-1, 0))
	for _, k := range idx {
		if uint(k) >= n {
			return errIndex
		}
	}
	if v.offs == nil {
		v.index = append(v.index, idx...)
		return nil
	}
	return v.look(idx)
}

// look appends the strings of the dictionary at the indices.
func (v *textValues) look(idx []int32) error {
	for _, k := range idx {
		s := v.dictData[v.dictOffs[k]:v.dictOffs[k+1]]
		if uint64(len(v.data))+uint64(len(s)) > math.MaxInt32 {
			return errors.New("strings are too long")
		}
		v.data = append(v.data, s...)
		v.offs = append(v.offs, int32(len(v.data)))
	}
	return nil
}

func (v *textValues) spread(valid []byte, first, rows, values int) {
	if v.offs == nil {
		v.index = v.index[:first+rows]
		spread(v.index, valid, first, rows, values)
		return
	}
	v.offs = v.offs[:first+rows+1]
	from := first + values
	for i := first + rows; i > first; i-- {
		v.offs[i] = v.offs[from]
		if batch.Bit(valid, i-1) {
			from--
		}
	}
}

// reuse changes nothing: strings are of any length, and their dictionary is read later.
func (v *textValues) reuse(*[]uint64) {}

func (v *textValues) finish(valid []byte) arrow.Array {
	if v.offs == nil {
		return batch.FromIndices(types.DictArrow, v.index, valid, v.dict)
	}
	return batch.FromOffsets(v.dt, v.offs, v.data, valid)
}
