package store

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/sketch"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// observe adds a group's values, with their extremes, to the segment's statistics, except those of a
// dictionary, which are added at its end.
func (b *builder) observe(arr arrow.Array, lo, hi int) {
	switch a := arr.(type) {
	case *array.Dictionary:
	case *array.String:
		b.observeBytes(a.ValueOffsets(), a.ValueBytes(), arr)
		return
	case *array.Binary:
		b.observeBytes(a.ValueOffsets(), a.ValueBytes(), arr)
	default:
		if b.form != fixedForm || arr.Len() == 0 {
			break
		}
		switch w := b.width; w {
		case 2:
			observeShorts(&b.sketch, arr, lo, hi)
		case 4:
			observeNumbers[uint32](&b.sketch, arr, lo, hi)
		case 8:
			observeNumbers[uint64](&b.sketch, arr, lo, hi)
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

func observeNumbers[T uint32 | uint64](s *sketch.Sketch, arr arrow.Array, lo, hi int) {
	d, null := arr.Data(), nullsOf(arr)
	b := d.Buffers()[1].Bytes()
	vals := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), d.Offset()+d.Len())[d.Offset():]
	least, most := T(0), ^T(0)
	if lo >= 0 {
		least, most = vals[lo], vals[hi]
	}
	sketch.AddNumbers(s, vals, null.valid, null.off, least, most)
}

// observeShorts is observe for values of two bytes: there are so few that each is hashed once.
func observeShorts(s *sketch.Sketch, arr arrow.Array, lo, hi int) {
	d, null := arr.Data(), nullsOf(arr)
	b := d.Buffers()[1].Bytes()
	vals := unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), d.Offset()+d.Len())[d.Offset():]
	if lo >= 0 && vals[lo] == vals[hi] {
		vals, null = vals[lo:lo+1], nulls{}
	}
	var seen [1 << 16 / 64]uint64
	last := -1 // rows often repeat it
	for i, v := range vals {
		if int(v) != last && !null.at(i) {
			last = int(v)
			seen[v>>6] |= 1 << (v & 63)
		}
	}
	for i, word := range seen {
		for ; word != 0; word &= word - 1 {
			var value [2]byte
			binary.LittleEndian.PutUint16(value[:], uint16(64*i+bits.TrailingZeros64(word)))
			s.Add(kernel.HashBytes(value[:]))
		}
	}
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

// consecutive are values of a segment's column, each by one more than the one before, as a
// sequence gives them. Zones follow from the first and how many there are: their hashes are
// made up for, and are in the sketch, only where others come after them.
type consecutive struct{ first, n int64 }

// observeConsecutive is bounds and observe at once for a group of such values; false, and
// nothing is observed, for others.
func (b *builder) observeConsecutive(arr arrow.Array) (z catalog.Zone, ok bool) {
	first, ok := kernel.Consecutive(arr)
	if !ok {
		return z, false
	}
	n := arr.Len()
	if b.run.n == 0 || b.run.first+b.run.n != first {
		b.addRun()
		b.run.first = first
	}
	b.run.n += int64(n)
	b.once.rose(first, first+int64(n)-1)
	return catalog.Zone{Column: b.num, Min: types.DatumAt(b.typ, arr, 0), Max: types.DatumAt(b.typ, arr, n-1)}, true
}

// addRun adds the consecutive values so far to the sketch.
func (b *builder) addRun() {
	b.sketch.AddConsecutive(b.run.first, b.run.n, b.width)
	b.run = consecutive{}
}

// distinct is about how many different values a segment of so many rows has.
func (b *builder) distinct(rows int64) int64 {
	if b.run.n == rows {
		return rows
	}
	b.addRun()
	return b.sketch.Estimate()
}
