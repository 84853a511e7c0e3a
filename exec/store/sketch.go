package store

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
)

// numbers adds the values of arr, which are numbers of 4 or 8 bytes.
func numbers[T uint32 | uint64](s *kernel.Sketch, arr arrow.Array) {
	d := arr.Data()
	b := d.Buffers()[1].Bytes()
	n := arr.Len()
	var one T
	vals := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(one)))[d.Offset():][:n]
	null := nullsOf(arr)
	if null.valid == nil {
		for _, v := range vals {
			s.Add(kernel.Mix(uint64(v)))
		}
		return
	}
	for i, v := range vals {
		if !null.at(i) {
			s.Add(kernel.Mix(uint64(v)))
		}
	}
}

// observe adds a group's values to the segment's statistics, except those of a dictionary, which
// are added at its end.
func (b *builder) observe(arr arrow.Array) {
	switch a := arr.(type) {
	case *array.Dictionary:
	case *array.String:
		b.observeBytes(a.ValueOffsets(), a.ValueBytes(), arr)
		return
	case *array.Binary:
		b.observeBytes(a.ValueOffsets(), a.ValueBytes(), arr)
	default:
		dt, ok := arr.DataType().(arrow.FixedWidthDataType)
		if !ok || dt.BitWidth() < 8 || arr.Len() == 0 {
			break
		}
		switch w := dt.BitWidth() / 8; w {
		case 4:
			numbers[uint32](&b.sketch, arr)
		case 8:
			numbers[uint64](&b.sketch, arr)
		default:
			vals := arr.Data().Buffers()[1].Bytes()[arr.Data().Offset()*w:]
			for i := range arr.Len() {
				if arr.IsValid(i) {
					b.sketch.Add(kernel.HashBytes(vals[w*i : w*i+w]))
				}
			}
		}
	}
	b.once.observe(b.typ, arr)
}

// observeBytes is observe for strings and bytes, whose hashes once may need too.
func (b *builder) observeBytes(offs []int32, data []byte, arr arrow.Array) {
	n, null := arr.Len(), nullsOf(arr)
	hashes := b.once.take(b.typ, n, null.valid != nil)
	if n == 0 {
		return
	}
	base := offs[0]
	for i := range n {
		if null.at(i) {
			continue
		}
		h := kernel.HashBytes(data[offs[i]-base : offs[i+1]-base])
		b.sketch.Add(h)
		if hashes != nil {
			hashes[i] = h
		}
	}
}

// observed ends a segment's observations. Each value of the dictionary, if there is one, is
// some row's.
func (b *builder) observed() {
	b.once.decide()
	if b.dict == nil {
		return
	}
	for k := range b.dict.len() {
		b.sketch.Add(kernel.HashBytes(b.dict.value(int32(k))))
	}
}
