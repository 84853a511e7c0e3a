package gram

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// Sums are integers that may be too large for 64 bits, in units of f64.FixedUnit.
// Sum i is High[i]·2^40 + Low[i]. Most sums never need High, which is nil until one
// does: what is half as long is added, kept and sent in half the time.
type Sums struct {
	Low  []int64
	High []int64
	most int64 // that a member of Low can be in size
}

const (
	spill = 40 // the bits that Low keeps when it hands on the rest
	// full is the size up to which members of Low are added to. Those who add late, as
	// accumulators of some rows do, may exceed it by the same again.
	full = 1 << 62
	// Factor is the greatest size of a row's factor (f64.FixAll) in units.
	Factor = 1 << 45
)

// NewSums makes n zeros.
func NewSums(n int) Sums { return Sums{Low: make([]int64, n)} }

// Room makes room in Low for additions that come to at most so much, which is at most
// a half of full.
func (s *Sums) Room(most int64) {
	if s.most > full-most {
		s.tighten()
	}
	if s.most > full-most {
		s.spill()
	}
	s.most += most
}

// tighten finds how large members of Low are: it was said what they could be.
func (s *Sums) tighten() {
	var any uint64
	for _, v := range s.Low {
		any |= uint64(v ^ v>>63)
	}
	s.most = 1 << min(bits.Len64(any), 62)
}

// spill makes room in Low.
func (s *Sums) spill() {
	if s.High == nil {
		s.High = make([]int64, len(s.Low))
	}
	high := s.High[:len(s.Low)]
	for i, v := range s.Low {
		high[i] += v >> spill
		s.Low[i] = v & (1<<spill - 1)
	}
	s.most = 1 << spill
}

// Merge adds other sums, whose slices it may keep.
func (s *Sums) Merge(o Sums) {
	switch {
	case len(s.Low) == 0:
		*s = o
		return
	case s.most > full-o.most:
		if s.tighten(); s.most > full-o.most {
			o.tighten()
		}
		if s.most > full-o.most {
			s.spill()
			o.spill()
		}
	}
	s.most += o.most
	add(s.Low, o.Low)
	if s.High == nil {
		s.High = o.High
	} else if o.High != nil {
		add(s.High, o.High)
	}
}

func add(to, v []int64) {
	to = to[:len(v)]
	for i, x := range v {
		to[i] += x
	}
}

// at gives sum i in two: what it has below 2^40, and above.
func (s *Sums) at(i int) (low, high int64) {
	low = s.Low[i]
	if high = low >> spill; s.High != nil {
		high += s.High[i]
	}
	return low & (1<<spill - 1), high
}

// At is sum i over scale, the product of what its factors were multiplied by.
func (s *Sums) At(i int, scale float64) float64 {
	low, high := s.at(i)
	v := float64(float64(high)*(1<<spill)) + float64(low)
	return v * f64.FixedUnit / scale
}

// lowBytes is what is sent of the part below 2^40, maxBytes the most of a sum.
const (
	lowBytes = spill / 8
	maxBytes = lowBytes + binary.MaxVarintLen64
)

// Encode gives the canonical bytes: of each sum that is not zero the part below 2^40 in
// five bytes, and what is above in as few as it takes.
func (s *Sums) Encode(e *canon.E) {
	run := func(from int) (int, int) { return canon.Run(s.Low, from) }
	if s.High != nil {
		either := make([]int64, len(s.Low))
		for i, v := range s.Low {
			either[i] = v | s.High[i]
		}
		run = func(from int) (int, int) { return canon.Run(either, from) }
	}
	e.Sparse(len(s.Low), run, func(from, to int) {
		at := len(e.B)
		b := e.Room((to-from)*(lowBytes+1) + maxBytes)
		n := 0
		for i := from; i < to; i++ {
			if len(b)-n < maxBytes {
				e.B = e.B[:at+n]
				e.Room((to-i)*(lowBytes+1) + maxBytes)
				b = e.B[at:]
			}
			low, high := s.at(i)
			zigzag := uint64(high)<<1 ^ uint64(high>>63)
			if zigzag < 0x80 { // nearly all
				binary.LittleEndian.PutUint64(b[n:n+8], uint64(low)|zigzag<<spill)
				n += lowBytes + 1
				continue
			}
			binary.LittleEndian.PutUint64(b[n:n+8], uint64(low))
			n += lowBytes + binary.PutUvarint(b[n+lowBytes:], zigzag)
		}
		e.B = e.B[:at+n]
	})
}

// small bounds the zigzag numbers above 2^40 that Low has room for.
const small = 1 << 21

// pieceSums is the length of sums whose memory is used again: that of the slices in which
// long vectors travel.
const pieceSums = 1 << 15

// spare is memory for pieceSums sums (*[pieceSums]int64), of any values.
var spare sync.Pool

// Free gives back what DecodeSums took: nobody may look at the sums any more. It need not
// be called.
func (s *Sums) Free() {
	if cap(s.Low) == pieceSums {
		spare.Put((*[pieceSums]int64)(s.Low[:pieceSums]))
	}
	*s = Sums{}
}

// DecodeSums reads what Encode wrote.
func DecodeSums(d *canon.D) (s Sums) {
	var greatest uint64
	zeroed := 0 // up to where sums are written
	room := func(n int) {
		if v, ok := spare.Get().(*[pieceSums]int64); ok && n <= pieceSums && n > pieceSums/2 {
			s = Sums{Low: v[:n]}
			return
		}
		if s, zeroed = NewSums(n), n; n <= pieceSums && n > pieceSums/2 {
			s.Low = make([]int64, pieceSums)[:n]
		}
	}
	d.Sparse(16, room, func(from, to int) {
		clear(s.Low[min(zeroed, from):from])
		zeroed = max(zeroed, to)
		b, at := d.Ahead(), 0
		low := s.Low[from:to]
		for i := range low {
			if len(b)-at >= 8 {
				v := binary.LittleEndian.Uint64(b[at : at+8])
				if zigzag := v >> spill & 0xff; zigzag < 0x80 {
					low[i] = (int64(zigzag>>1)^-int64(zigzag&1))<<spill | int64(v&(1<<spill-1))
					greatest = max(greatest, zigzag)
					at += lowBytes + 1
					continue
				}
			}
			if len(b)-at <= lowBytes {
				d.Fail()
				return
			}
			part := int64(binary.LittleEndian.Uint32(b[at:])) | int64(b[at+4])<<32
			zigzag, n := binary.Uvarint(b[at+lowBytes:])
			if n <= 0 || n > 1 && b[at+lowBytes+n-1] == 0 {
				d.Fail()
				return
			}
			at += lowBytes + n
			high := int64(zigzag>>1) ^ -int64(zigzag&1)
			if zigzag < small {
				low[i] = high<<spill | part
				greatest = max(greatest, zigzag)
				continue
			}
			if s.High == nil {
				s.High = make([]int64, len(s.Low))
			}
			low[i], s.High[from+i] = part, high
		}
		d.Take(at)
	})
	clear(s.Low[min(zeroed, len(s.Low)):])
	s.most = int64(greatest/2+1) << spill
	return s
}

// Slice gives the sums [from, to), as far as there are any, in the same memory.
func (s *Sums) Slice(from, to int) Sums {
	return Sums{family.Cut(s.Low, from, to), family.Cut(s.High, from, to), s.most}
}

// Join gives the sums of which these are slices, in their order.
func Join(list []Sums) (s Sums) {
	n, high := 0, false
	for _, x := range list {
		n += len(x.Low)
		high = high || x.High != nil
		s.most = max(s.most, x.most)
	}
	s.Low = make([]int64, 0, n)
	if high {
		s.High = make([]int64, n)
	}
	for _, x := range list {
		if high {
			copy(s.High[len(s.Low):], x.High)
		}
		s.Low = append(s.Low, x.Low...)
	}
	return s
}
