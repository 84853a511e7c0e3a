package gram

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// Sums are integers that may be too large for 64 bits, in units of f64.FixedUnit. Sum i
// is High[i]·2^40 + Low[i]. Most sums never need High, which is nil until one does:
// half the length is added, stored and sent in half the time.
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

// Fits reports whether adding so much cannot overflow, by the bound alone.
func (s *Sums) Fits(most int64) bool { return s.most <= full-most }

// tighten computes the actual maximum of Low; before only a bound was known.
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

// at returns sum i in two parts: below 2^40, and above.
func (s *Sums) at(i int) (low, high int64) {
	low = s.Low[i]
	if high = low >> spill; s.High != nil {
		high += s.High[i]
	}
	return low & (1<<spill - 1), high
}

// Values sets v to the sums from one on, each At.
func (s *Sums) Values(v []float64, from int, scale float64) {
	by := 1 / scale
	if f, _ := math.Frexp(scale); f != 0.5 || math.IsInf(by, 0) || s.High != nil {
		for i := range v {
			v[i] = s.At(from+i, scale)
		}
		return
	}
	for i, low := range s.Low[from : from+len(v)] { // a division by a power of two is slower, and no other number
		v[i] = float64(float64(float64(float64(low>>spill)*(1<<spill))+float64(low&(1<<spill-1)))*f64.FixedUnit) * by
	}
}

// At is sum i over scale, the product of what its factors were multiplied by.
func (s *Sums) At(i int, scale float64) float64 {
	low, high := s.at(i)
	v := float64(float64(high)*(1<<spill)) + float64(low)
	return v * f64.FixedUnit / scale
}

// Encode writes the canonical bytes. A run of non-zero sums takes as many bits per sum
// as the greatest needs (pack), where those are few enough; otherwise each takes five
// bytes for the part below 2^40, and as few as needed for the part above.
func (s *Sums) Encode(e *canon.E) {
	v, width, run := s.whole()
	e.U8(width)
	e.Sparse(len(v), run, func(from, to int) {
		if width == long {
			s.long(e, from, to)
		} else {
			pack(e, v[from:to], width)
		}
	})
}

// lowBytes is what the long form has of the part below 2^40, maxBytes the most of a sum.
const (
	lowBytes = spill / 8
	maxBytes = lowBytes + binary.MaxVarintLen64
)

// long appends sums of any size.
func (s *Sums) long(e *canon.E, from, to int) {
	at := len(e.B)
	b := e.Room((to-from)*(lowBytes+3) + maxBytes)
	n := 0
	for i := from; i < to; i++ {
		if len(b)-n < maxBytes {
			e.B = e.B[:at+n]
			e.Room((to-i)*(lowBytes+3) + maxBytes)
			b = e.B[at:]
		}
		low, high := s.at(i)
		binary.LittleEndian.PutUint64(b[n:n+8], uint64(low))
		n += lowBytes + binary.PutVarint(b[n+lowBytes:], high)
	}
	e.B = e.B[:at+n]
}

// small bounds what sums have above 2^40 that Low has room for.
const small = 1 << 20

// chunkSums is the length of sums whose memory is used again: that of the slices in which
// long vectors travel.
const chunkSums = 1 << 15

// spare is memory for chunkSums sums (*[chunkSums]int64), of any values, and spareLong for
// those of many slices (*[]int64).
var spare, spareLong sync.Pool

// Free returns the memory that DecodeSums or Join took for reuse: the sums must not be
// used any more. Calling it is optional.
func (s *Sums) Free() {
	switch n := cap(s.Low); {
	case n == chunkSums:
		spare.Put((*[chunkSums]int64)(s.Low[:chunkSums]))
	case n > chunkSums:
		v := s.Low[:0]
		spareLong.Put(&v)
	}
	*s = Sums{}
}

// DecodeSums reads what Encode wrote.
func DecodeSums(d *canon.D) (s Sums) {
	width := d.U8()
	if width > maxWidth {
		d.Fail()
	}
	var any uint64 // of the bits that sums have, negative ones inverted; of the long form those above 2^40
	zeroed := 0    // up to where sums are written
	room := func(n int) {
		if n > chunkSums || n <= chunkSums/2 {
			s, zeroed = NewSums(n), n
		} else if v, ok := spare.Get().(*[chunkSums]int64); ok {
			s = Sums{Low: v[:n]}
		} else {
			s, zeroed = Sums{Low: make([]int64, chunkSums)[:n]}, n
		}
	}
	d.Sparse(16, room, func(from, to int) {
		clear(s.Low[min(zeroed, from):from])
		zeroed = max(zeroed, to)
		if width == long {
			any |= s.readLong(d, from, to)
		} else {
			any |= unpack(d, s.Low[from:to], width)
		}
	})
	clear(s.Low[min(zeroed, len(s.Low)):])
	used := bits.Len64(any)
	switch {
	case width == long && used+spill+1 <= maxWidth, width != long && used+1 != int(width): // there is a shorter form
		d.Fail()
	case width == long:
		s.most = int64(min(any, small)+1) << spill
	default:
		s.most = 1 << used
	}
	return s
}

// readLong reads what long wrote, and returns the bits that sums have above 2^40.
func (s *Sums) readLong(d *canon.D, from, to int) (any uint64) {
	b, at := d.Ahead(), 0
	for i := from; i < to; i++ {
		if len(b)-at <= lowBytes {
			d.Fail()
			return 0
		}
		part := int64(binary.LittleEndian.Uint32(b[at:])) | int64(b[at+4])<<32
		high, n := binary.Varint(b[at+lowBytes:])
		if n <= 0 || n > 1 && b[at+lowBytes+n-1] == 0 {
			d.Fail()
			return 0
		}
		at += lowBytes + n
		size := uint64(high ^ high>>63)
		if any |= size; size < small {
			s.Low[i] = high<<spill | part
			continue
		}
		if s.High == nil {
			s.High = make([]int64, len(s.Low))
		}
		s.Low[i], s.High[i] = part, high
	}
	d.Take(at)
	return any
}

// Slice returns the sums [from, to), as far as there are any, in the same memory.
func (s *Sums) Slice(from, to int) Sums {
	return Sums{family.Cut(s.Low, from, to), family.Cut(s.High, from, to), s.most}
}

// Join returns the sums of which these are slices, in their order.
func Join(list []Sums) (s Sums) {
	n, high := 0, false
	for _, x := range list {
		n += len(x.Low)
		high = high || x.High != nil
		s.most = max(s.most, x.most)
	}
	if v, ok := spareLong.Get().(*[]int64); ok && cap(*v) == n {
		s.Low = *v
	} else {
		s.Low = make([]int64, 0, n)
	}
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
