package exact

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Sums are sums of float64s, one a group, each the true sum rounded once, whatever the
// order. A group has 24 bytes: the sum in 128 bits, in units of 2^(base-1075), which
// hold values of 64 successive exponents whole, and how many values there are.
//
//	exponent     base−53 … base        … base+63   … base+72
//	             bits of the least     of the      room for what
//	             value's mantissa      greatest    sums carry
//
// Values that do not fit, by size, by bits or as infinities, are in a Long of the group, which
// columns of similar numbers do not need. The zero value has no groups.
type Sums struct {
	s    []shortSum
	base int32 // 0: not chosen, there are no values but zeros
	long map[uint32]*Long
	list *listScratch // nil: AddList had no long list yet
}

type shortSum struct {
	lo uint64
	hi int64
	n  int64
}

const (
	shortBytes = 24
	longBytes  = (longChunks+2)*8 + 64 // with its place in the map

	mantissa = 1<<52 - 1

	// usualBase holds values from 2^-30 to 2^34. It is the base if the greatest of the first values
	// has room on both sides, so that most sums have the same base.
	usualBase = 1023 - 30
	usualRoom = 24 // exponents above usualBase that the greatest value has at least
	usualMost = 56 // and at most
	otherRoom = 40 // those that it has above another base
	lastBase  = 2046 - 64

	noBase = 1 << 12 // no exponent is at or above it
)

// Resize makes room for groups; new ones are empty.
func (t *Sums) Resize(groups int) {
	t.s = resized(t.s, groups)
}

// Held returns the memory of the sums.
func (t *Sums) Held() int64 {
	n := shortBytes*int64(cap(t.s)) + longBytes*int64(len(t.long))
	if t.list != nil {
		n += listBytes
	}
	return n
}

// N returns how many values group g has.
func (t *Sums) N(g int) int64 { return t.s[g].n }

// baseOf determines the base by the first values; 0 if these are nothing but zeros, or next to nothing.
func baseOf[T float32 | float64](vals []T) int32 {
	most := greatest(vals)
	switch {
	case most == 0:
		return 0
	case most >= usualBase+usualRoom && most <= usualBase+usualMost:
		return usualBase
	}
	return int32(min(max((most-otherRoom)&^15, 1), lastBase))
}

// greatest returns the exponent of the greatest of the values that are finite; 0 if there are none but zeros.
func greatest[T float32 | float64](vals []T) int {
	most := 0
	for _, v := range vals {
		if e := int(math.Float64bits(float64(v))>>52) & 0x7ff; e != 0x7ff {
			most = max(most, e)
		}
	}
	return most
}

// AddFloats adds vals[i] to group groups[i].
func AddFloats[T float32 | float64](t *Sums, groups []uint32, vals []T) {
	if t.base == 0 {
		t.base = baseOf(vals)
	}
	s, base := t.s, int(t.base)
	if base == 0 {
		base = noBase
	}
	vals = vals[:len(groups)]
	for i, g := range groups {
		b := math.Float64bits(float64(vals[i]))
		e := uint(int(b>>52)&0x7ff - base)
		if e > 63 {
			t.odd(g, b)
			continue
		}
		// The mantissa with its sign, shifted in 128 bits.
		sign := int64(b) >> 63
		m := int64(b&mantissa|1<<52) ^ sign - sign
		p := &s[g]
		lo, c := bits.Add64(p.lo, uint64(m)<<(e&63), 0)
		hi, _ := bits.Add64(uint64(p.hi), uint64(m>>1>>(63-e&63)), c)
		p.lo, p.hi = lo, int64(hi)
		p.n++
		if int64(hi^hi<<1) < 0 {
			t.flush(g)
		}
	}
}

// odd adds a value whose exponent is outside the base's range.
func (t *Sums) odd(g uint32, b uint64) {
	p := &t.s[g]
	p.n++
	if b<<1 == 0 {
		return
	}
	// One below may have no bits that are too low.
	exp := int(b>>52) & 0x7ff
	if low := int(t.base) - exp; exp > 0 && low > 0 && low <= 52 {
		if m := b&mantissa | 1<<52; m&(1<<low-1) == 0 {
			t.add(g, m>>low, int64(b)>>63)
			return
		}
	}
	t.beyond(g).put(math.Float64frombits(b))
}

// add adds m, or −m where sign is −1, in the sums' unit.
func (t *Sums) add(g uint32, m uint64, sign int64) {
	p := &t.s[g]
	lo, c := bits.Add64(p.lo, m^uint64(sign), uint64(sign)&1)
	p.lo = lo
	p.hi += sign + int64(c)
	if p.hi^p.hi<<1 < 0 {
		t.flush(g)
	}
}

// beyond returns the Long of a group.
func (t *Sums) beyond(g uint32) *Long {
	if t.long == nil {
		t.long = map[uint32]*Long{}
	}
	l := t.long[g]
	if l == nil {
		l = &Long{}
		t.long[g] = l
	}
	return l
}

// flush moves the 128 bits of a group, which are nearly full, to its Long.
func (t *Sums) flush(g uint32) {
	p := &t.s[g]
	t.beyond(g).addShort(p.lo, p.hi, t.base)
	p.lo, p.hi = 0, 0
}

// addShort adds 128 bits in units of 2^(base-1075).
func (e *Long) addShort(lo uint64, hi int64, base int32) {
	e.addWords(uint(base-1), []uint64{lo, uint64(hi)})
}

// addWords adds a number of some words in two's complement, the lowest first, of which the last bit is bit at, from
// 2^-1074 on.
func (e *Long) addWords(at uint, words []uint64) {
	sign := int64(words[len(words)-1]) >> 63
	shift, c, borrow := at&31, e.c[at>>5:], uint64(sign)&1
	for i, w := range words {
		w, borrow = bits.Add64(w^uint64(sign), 0, borrow) // its absolute value
		low, high := w<<shift, w>>1>>(63-shift)
		for k, v := range [3]uint64{low & math.MaxUint32, low >> 32, high} {
			if v != 0 {
				c[2*i+k] += (int64(v) ^ sign) - sign
			}
		}
	}
	if e.adds += 2; e.adds >= 1<<30 {
		e.carry()
	}
}

// Value returns the sum of group g as a float64, rounded to the nearest, ties to even; beyond the
// greatest it is infinite. special reports whether there is an infinity or a NaN among the values.
func (t *Sums) Value(g int) (v float64, special bool) {
	p := &t.s[g]
	if l := t.long[uint32(g)]; l != nil {
		c := *l
		if t.base > 0 {
			c.addShort(p.lo, p.hi, t.base)
		}
		return c.Value(), c.flag != 0
	}
	return p.value(t.base), false
}

// value returns a sum in units of 2^(base-1075), rounded.
func (p shortSum) value(base int32) float64 {
	lo, hi := p.lo, uint64(p.hi)
	if p.hi < 0 {
		var c uint64
		lo, c = bits.Add64(^lo, 1, 0)
		return -roundBits(^hi+c, lo, int(base)-1075)
	}
	return roundBits(hi, lo, int(base)-1075)
}

// Merge adds sum ids[i] of o to group groups[i].
func (t *Sums) Merge(groups []uint32, o *Sums, ids []uint32) {
	if t.base == 0 {
		t.base = o.base
	}
	for i, g := range groups {
		k := ids[i]
		t.merge(g, o.s[k], o.base)
		if l := o.long[k]; l != nil {
			t.beyond(g).Merge(l)
		}
	}
}

func (t *Sums) merge(g uint32, o shortSum, base int32) {
	p := &t.s[g]
	p.n += o.n
	if d := uint(t.base - base); t.base > base && d < 64 && o.lo&(1<<d-1) == 0 {
		o.lo, o.hi = o.lo>>d|uint64(o.hi)<<1<<(63-d), o.hi>>d
	} else if d := uint(base - t.base); base > t.base && d < 64 && o.hi<<d>>d == o.hi && (o.hi<<d)^(o.hi<<d<<1) >= 0 {
		o.hi, o.lo = o.hi<<d|int64(o.lo>>1>>(63-d)), o.lo<<d
	} else if base != t.base {
		if o.lo|uint64(o.hi) != 0 {
			t.beyond(g).addShort(o.lo, o.hi, base)
		}
		return
	}
	lo, c := bits.Add64(p.lo, o.lo, 0)
	p.lo = lo
	p.hi += o.hi + int64(c)
	if p.hi^p.hi<<1 < 0 {
		t.flush(g)
	}
}

// sumHead is what every encoded sum has.
const sumHead = shortBytes + 2

// Append appends the bytes of sum g.
func (t *Sums) Append(dst []byte, g int) []byte {
	dst = t.s[g].append(dst, t.base)
	if l := t.long[uint32(g)]; l != nil {
		c := *l // others may read it
		dst = c.Append(dst)
	}
	return dst
}

// append appends the head of a sum of a base.
func (p shortSum) append(dst []byte, base int32) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(le.AppendUint64(le.AppendUint64(dst, p.lo), uint64(p.hi)), uint64(p.n))
	return le.AppendUint16(dst, uint16(base))
}

// decodeShort reads what Append wrote, and what is in a Long into l; false where it is malformed.
func decodeShort(b []byte, l *Long) (p shortSum, base int32, ok bool) {
	if len(b) < sumHead {
		return p, 0, false
	}
	le := binary.LittleEndian
	p, base = shortSum{le.Uint64(b), int64(le.Uint64(b[8:])), int64(le.Uint64(b[16:]))}, int32(le.Uint16(b[24:]))
	if base > lastBase || p.n < 0 || p.hi^p.hi<<1 < 0 || base == 0 && p.lo|uint64(p.hi) != 0 {
		return p, base, false
	}
	return p, base, len(b) == sumHead || l.Decode(b[sumHead:])
}

// MergeBytes adds what Append wrote to group g, and reports whether b is well-formed.
func (t *Sums) MergeBytes(g uint32, b []byte) bool {
	var l Long
	o, base, ok := decodeShort(b, &l)
	if !ok {
		return false
	}
	if t.base == 0 {
		t.base = base
	}
	if len(b) > sumHead {
		t.beyond(g).Merge(&l)
	}
	t.merge(g, o, base)
	return true
}
