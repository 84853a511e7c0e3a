package store

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
)

// sketch estimates the number of distinct values (HyperLogLog, 1,024
// registers: about 3 % off). A register has as many leading ones as the register of the paper
// counts: whether a hash adds to it, which few do, is a comparison.
type sketch struct{ reg [1024]uint64 }

func (s *sketch) add(h uint64) {
	x := h<<10 | 1<<9
	if i := h >> 54; x <= ^s.reg[i] {
		s.reg[i] = ^(^uint64(0) >> (bits.LeadingZeros64(x) + 1))
	}
}

func (s *sketch) estimate() int64 {
	const m = 1024
	sum, zero := 0.0, 0
	for _, r := range s.reg {
		sum += math.Ldexp(1, -bits.LeadingZeros64(^r))
		if r == 0 {
			zero++
		}
	}
	e := 0.7213 / (1 + 1.079/m) * m * m / sum
	if e < 2.5*m && zero > 0 {
		e = m * math.Log(float64(m)/float64(zero))
	}
	return int64(math.Round(e))
}

func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

// numbers adds the values of arr, which are numbers of 4 or 8 bytes.
func numbers[T uint32 | uint64](s *sketch, arr arrow.Array) {
	d := arr.Data()
	b := d.Buffers()[1].Bytes()
	n := arr.Len()
	var one T
	vals := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(one)))[d.Offset():][:n]
	null := nullsOf(arr)
	if null.valid == nil {
		for _, v := range vals {
			s.add(mix(uint64(v)))
		}
		return
	}
	for i, v := range vals {
		if !null.at(i) {
			s.add(mix(uint64(v)))
		}
	}
}

// observe adds a group's values to what is known of the segment's, but those of a
// dictionary, which come at its end.
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
					b.sketch.add(kernel.HashBytes(vals[w*i : w*i+w]))
				}
			}
		}
	}
	b.once.observe(b.typ, arr)
}

// observeBytes is observe of strings and bytes, whose hash once may want too.
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
		b.sketch.add(h)
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
		b.sketch.add(kernel.HashBytes(b.dict.value(int32(k))))
	}
}
