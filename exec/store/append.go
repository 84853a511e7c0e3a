package store

import (
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
)

// rowAt returns the i-th selected row.
func rowAt(sel []int32, i int) int {
	if sel == nil {
		return i
	}
	return int(sel[i])
}

// more extends s by n places; it returns the longer slice and the new places.
func more[T any](s []T, n int) (all, added []T) {
	s = slices.Grow(s, n)
	return s[:len(s)+n], s[len(s) : len(s)+n]
}

func (b *builder) appendValid(arr arrow.Array, sel []int32, n int) {
	nulls := arr.NullN() > 0
	if !nulls && b.valid == nil {
		return
	}
	if need := batch.BitmapBytes(b.rows + n); need > len(b.valid) {
		if b.valid == nil {
			b.valid = make([]byte, need, max(need, batch.BitmapBytes(GroupRows)))
			setBits(b.valid, 0, b.rows)
		} else {
			b.valid = append(b.valid, make([]byte, need-len(b.valid))...)
		}
	}
	at := b.rows
	there, off := arr.NullBitmapBytes(), arr.Data().Offset()
	switch {
	case !nulls:
		setBits(b.valid, at, n)
	case sel == nil:
		b.nulls += arr.NullN()
		i := 0
		if at&7 == 0 && off&7 == 0 {
			copy(b.valid[at>>3:], there[off>>3:(off+n)>>3])
			i = n &^ 7
		}
		for ; i < n; i++ {
			b.valid[(at+i)>>3] |= there[(off+i)>>3] >> ((off + i) & 7) & 1 << ((at + i) & 7)
		}
	default:
		set := 0
		for _, i := range sel {
			bit := there[(off+int(i))>>3] >> ((off + int(i)) & 7) & 1
			b.valid[at>>3] |= bit << (at & 7)
			set += int(bit)
			at++
		}
		b.nulls += n - set
	}
}

// setBits sets n bits of a bitmap from bit at on.
func setBits(bits []byte, at, n int) {
	for ; n > 0 && at&7 != 0; n-- {
		batch.SetBit(bits, at)
		at++
	}
	for ; n >= 8; n -= 8 {
		bits[at>>3] = 0xff
		at += 8
	}
	for ; n > 0; n-- {
		batch.SetBit(bits, at)
		at++
	}
}

func (b *builder) appendFixed(arr arrow.Array, sel []int32, n int) {
	d := arr.Data()
	src := d.Buffers()[1].Bytes()[d.Offset()*b.width:]
	if b.data == nil && b.expect > n {
		b.data = make([]byte, 0, b.expect*b.width)
	}
	var dst []byte
	b.data, dst = more(b.data, n*b.width)
	switch {
	case sel == nil:
		copy(dst, src)
	case b.width == 4:
		pick[uint32](dst, src, sel)
	case b.width == 8:
		pick[uint64](dst, src, sel)
	case b.width == 2:
		pick[uint16](dst, src, sel)
	default:
		for i, row := range sel {
			copy(dst[i*b.width:(i+1)*b.width], src[int(row)*b.width:])
		}
	}
}

// pick copies the values sel of src, as wide as T is.
func pick[T uint16 | uint32 | uint64](dst, src []byte, sel []int32) {
	var one T
	width := int(unsafe.Sizeof(one))
	to := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)/width)
	from := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(src))), len(src)/width)
	to = to[:len(sel)]
	for i, row := range sel {
		to[i] = from[row]
	}
}

func (b *builder) appendBits(v *array.Boolean, sel []int32, n int) {
	var dst []byte
	b.data, dst = more(b.data, n)
	for i := range dst {
		dst[i] = 0
		if v.Value(rowAt(sel, i)) {
			dst[i] = 1
		}
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

// appendVar adds strings or bytes, consecutive ones at once. The bytes of a NULL are copied too:
// nobody reads them, and there are mostly none.
func (b *builder) appendVar(d arrow.ArrayData, sel []int32, n int) {
	b.startOffsets()
	var data []byte
	if v := d.Buffers()[2]; v != nil {
		data = v.Bytes()
	}
	offs := arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset():]
	var to []int32
	b.offs, to = more(b.offs, n)
	for i := 0; i < n; {
		first := rowAt(sel, i)
		k := n - i
		if sel != nil {
			for k = 1; i+k < n && int(sel[i+k]) == first+k; k++ {
			}
		}
		from := offs[first : first+k+1]
		base := int32(len(b.data)) - from[0]
		b.data = append(b.data, data[from[0]:from[k]]...)
		for j, o := range from[1:] {
			to[i+j] = base + o
		}
		i += k
	}
}

func (b *builder) appendStrings(arr arrow.Array, sel []int32, n int) {
	if b.dict != nil && !b.dict.closed {
		if b.index == nil && b.expect > n {
			b.index = make([]int32, 0, b.expect)
		}
		if b.index = b.dict.encode(b.index, batch.StringsOf(arr), arr, sel, n); b.dict.fits(b.rows + n) {
			return
		}
		if b.full = b.dict.shrinks(b.index); !b.full {
			b.expand()
		}
		return
	}
	if arr.DataType().ID() == arrow.STRING {
		b.appendVar(arr.Data(), sel, n)
		return
	}
	b.startOffsets()
	s := batch.StringsOf(arr)
	for i := range n {
		b.data = append(b.data, s.Value(rowAt(sel, i))...)
		b.offs = append(b.offs, int32(len(b.data)))
	}
}
