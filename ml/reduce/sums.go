package reduce

import (
	"encoding/binary"
	"math"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Kinds of partials: the first byte of each. Others define kinds from 16 on.
const (
	KindSums       = 1 // Sums
	KindSparseSums = 2 // reserved: sums of a vector of which few members are not 0
)

// Sums is a partial of plain sums over rows.
type Sums struct {
	Rows   int64
	Weight float64
	Loss   float64
	Vec    []float64
}

const sumsHeader = 1 + 7 + 8 + 8 + 8 + 8 // kind, zeros up to a word, rows, weight, loss, length

// Encode gives the canonical bytes.
func (s *Sums) Encode() []byte {
	b := make([]byte, sumsHeader+8*len(s.Vec))
	b[0] = KindSums
	le := binary.LittleEndian
	le.PutUint64(b[8:], uint64(s.Rows))
	le.PutUint64(b[16:], math.Float64bits(s.Weight))
	le.PutUint64(b[24:], math.Float64bits(s.Loss))
	le.PutUint64(b[32:], uint64(len(s.Vec)))
	for i, v := range s.Vec {
		le.PutUint64(b[sumsHeader+8*i:], math.Float64bits(v))
	}
	return b
}

// DecodeSums reads what Encode wrote.
func DecodeSums(b []byte) (*Sums, error) {
	le := binary.LittleEndian
	if len(b) < sumsHeader || b[0] != KindSums || le.Uint64(b[32:]) != uint64(len(b)-sumsHeader)/8 || (len(b)-sumsHeader)%8 != 0 {
		return nil, pgerr.New(pgerr.DataCorrupted, "invalid encoding of a partial sum")
	}
	s := &Sums{Rows: int64(le.Uint64(b[8:])), Weight: math.Float64frombits(le.Uint64(b[16:])),
		Loss: math.Float64frombits(le.Uint64(b[24:])), Vec: make([]float64, (len(b)-sumsHeader)/8)}
	for i := range s.Vec {
		s.Vec[i] = math.Float64frombits(le.Uint64(b[sumsHeader+8*i:]))
	}
	return s, nil
}

// MergeSums adds two encoded sums.
func MergeSums(left, right []byte) ([]byte, error) {
	if len(left) != len(right) || len(left) < sumsHeader || left[0] != KindSums || right[0] != KindSums {
		return nil, pgerr.New(pgerr.DataCorrupted, "partial sums of %d and %d bytes do not belong together", len(left), len(right))
	}
	le := binary.LittleEndian
	b := make([]byte, len(left))
	copy(b, left[:8])
	le.PutUint64(b[8:], le.Uint64(left[8:])+le.Uint64(right[8:]))
	copy(b[32:40], left[32:40])
	add := func(i int) {
		le.PutUint64(b[i:], math.Float64bits(math.Float64frombits(le.Uint64(left[i:]))+math.Float64frombits(le.Uint64(right[i:]))))
	}
	add(16)
	add(24)
	for i := sumsHeader; i < len(b); i += 8 {
		add(i)
	}
	return b, nil
}

// Slices cuts a vector of n members into at most parts runs of nearly equal
// length, each a multiple of eight but the last: [from, to) pairs.
func Slices(n, parts int) [][2]int {
	var out [][2]int
	words := (n + 7) / 8
	parts = max(1, min(parts, words))
	for i := range parts {
		out = append(out, [2]int{words * i / parts * 8, min(words*(i+1)/parts*8, n)})
	}
	return out
}

// Slice is the part [from, to) of s; its counts and loss are s's in the first
// slice and zero in the others, so that Join can add.
func (s *Sums) Slice(from, to int) *Sums {
	o := &Sums{Vec: s.Vec[from:to]}
	if from == 0 {
		o.Rows, o.Weight, o.Loss = s.Rows, s.Weight, s.Loss
	}
	return o
}

// Join puts slices together again.
func Join(parts []*Sums) *Sums {
	o := &Sums{}
	for i, p := range parts {
		if i == 0 {
			o.Rows, o.Weight, o.Loss = p.Rows, p.Weight, p.Loss
		}
		o.Vec = append(o.Vec, p.Vec...)
	}
	return o
}
