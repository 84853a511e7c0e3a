package kernel

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
)

// Sketch estimates the number of distinct values by their hashes (Flajolet et al., "HyperLogLog", 2007;
// 1,024 registers: about 3 % off). A register has as many leading one bits as the paper's register
// counts, so that a comparison finds whether a hash changes it, which few do.
type Sketch struct{ reg [1024]uint64 }

// Add adds a value's hash.
func (s *Sketch) Add(h uint64) {
	x := h<<10 | 1<<9
	if i := h >> 54; x <= ^s.reg[i] {
		s.reg[i] = ^(^uint64(0) >> (bits.LeadingZeros64(x) + 1))
	}
}

// AddNumbers adds the values of a column of numbers of 4 or 8 bytes.
func AddNumbers[T uint32 | uint64](s *Sketch, arr arrow.Array) {
	d := arr.Data()
	b := d.Buffers()[1].Bytes()
	n := arr.Len()
	var one T
	vals := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(one)))[d.Offset():][:n]
	if arr.NullN() == 0 {
		for _, v := range vals {
			s.Add(Mix(uint64(v)))
		}
		return
	}
	for i, v := range vals {
		if arr.IsValid(i) {
			s.Add(Mix(uint64(v)))
		}
	}
}

// AddConsecutive is AddNumbers of n numbers from first on, each of so many bytes.
func (s *Sketch) AddConsecutive(first, n int64, width int) {
	for i := range n {
		v := uint64(first + i)
		if width == 4 {
			v = uint64(uint32(v))
		}
		s.Add(Mix(v))
	}
}

// Estimate estimates how many different hashes were added.
func (s *Sketch) Estimate() int64 {
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

// Mix returns a hash of a number.
func Mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}
