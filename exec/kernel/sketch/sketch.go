package sketch

import (
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/batch"
)

// Sketch has 1,024 registers, for a standard error of about 3 %. A register is stored as a word
// with as many leading one bits as the register of the paper counts, so that one comparison tells
// whether a hash changes it; few do.
type Sketch struct{ reg [1024]uint64 }

// Add adds a value's hash.
func (s *Sketch) Add(h uint64) {
	x := h<<10 | 1<<9
	if i := h >> 54; x <= ^s.reg[i] {
		s.reg[i] = ^(^uint64(0) >> (bits.LeadingZeros64(x) + 1))
	}
}

// AddHash adds a hash whose top bits may depend on few of the value's.
func (s *Sketch) AddHash(h uint64) { s.Add(mix(h)) }

// nearby is the largest range of numbers for which each number is added only once, by marking it in
// an array of bytes that fits in the L1 cache.
const nearby = 16 << 10

// AddNumbers adds the numbers whose bit in valid is set, beginning at bit off; all of them if valid
// is nil. All are from least to most, as signed or unsigned numbers.
func AddNumbers[T uint32 | uint64](s *Sketch, vals []T, valid []byte, off int, least, most T) {
	if width := most - least; width < nearby && int(width) < len(vals)/4 {
		addNearby(s, vals, valid, off, least, int(width))
		return
	}
	if valid != nil && off&7 != 0 {
		addNumbers(s, vals, valid, off)
		return
	}
	const some = 512 // hashes compared at a time; those that change a register are added after
	var maybe [some]uint64
	for len(vals) > 0 {
		n := min(some, len(vals))
		k, done := changes(s, vals[:n], valid, off, maybe[:])
		for _, h := range maybe[:k] {
			s.Add(h)
		}
		addNumbers(s, vals[done:n], valid, off+done)
		vals, off = vals[n:], off+n
	}
}

func addNumbers[T uint32 | uint64](s *Sketch, vals []T, valid []byte, off int) {
	for i, v := range vals {
		if valid == nil || batch.Bit(valid, off+i) {
			s.Add(mix(uint64(v)))
		}
	}
}

// addNearby adds numbers from least to least+width.
func addNearby[T uint32 | uint64](s *Sketch, vals []T, valid []byte, off int, least T, width int) {
	var seen [nearby]bool
	if valid == nil {
		for _, v := range vals {
			seen[(v-least)%nearby] = true
		}
	} else {
		for i, v := range vals {
			if batch.Bit(valid, off+i) { // under a NULL there may be any value
				seen[(v-least)%nearby] = true
			}
		}
	}
	for i, there := range seen[:width+1] {
		if there {
			s.Add(mix(uint64(least + T(i))))
		}
	}
}

// AddConsecutive adds the n numbers from first on, which are of so many bytes each.
func (s *Sketch) AddConsecutive(first, n int64, width int) {
	for i := range n {
		v := uint64(first + i)
		if width == 4 {
			v = uint64(uint32(v))
		}
		s.Add(mix(v))
	}
}

// Bytes is the size of a sketch, and encoded the number of bytes that Append appends.
const (
	Bytes   = 8 * 1024
	encoded = 1024
)

// Append appends the registers, a byte each.
func (s *Sketch) Append(dst []byte) []byte {
	for _, r := range s.reg {
		dst = append(dst, byte(bits.LeadingZeros64(^r)))
	}
	return dst
}

// Merge adds what was added to an appended sketch; false for other bytes.
func (s *Sketch) Merge(b []byte) bool {
	if len(b) != encoded {
		return false
	}
	for i, n := range b {
		if n > 64 {
			return false
		}
		s.reg[i] |= ^(^uint64(0) >> n)
	}
	return true
}

// Estimate estimates how many different hashes were added (Flajolet et al. 2007).
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

// mix returns a hash of a number.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= factor
	x ^= x >> 32
	x *= factor
	return x ^ x>>32
}

const factor = 0xd6e8feb86659fd93
