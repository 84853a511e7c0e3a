package exact

import "math/bits"

// limbBits are the bits of a limb. Sums of products of many groups are numbers in limbs, the lowest first:
// processors with AVX-512 multiply eight integers of 52 bits at once, and adding needs no carry from limb to limb.
// A limb is signed, has some bits of room, and is brought back to 52 bits after fullRows rows.
const (
	limbBits = 52
	limbMask = 1<<limbBits - 1

	// lastExponent is the greatest exponent above its base of a value that fits: its bits are two limbs less
	// one bit, so that twice a limb fits one.
	lastExponent = 2*limbBits - 54

	// fullRows is how many values a group may have from one carry to the next: a product adds less than
	// 3·2^52 to a limb.
	fullRows = 512
)

// limbs2 holds sums of values, limbs4 those of products.
type (
	limbs2 [2]int64
	limbs4 [4]int64
)

// add adds m·2^e, less than 2^103, or its negative where sign is −1.
func (l *limbs2) add(m uint64, e uint, sign int64) {
	l[0] += (int64(m<<(e&63)&limbMask) ^ sign) - sign
	l[1] += (int64(m>>((limbBits-e)&63)) ^ sign) - sign
}

// add adds a·b·2^e, factors being less than 2^53 and e at most twice lastExponent, or its negative where sign is −1.
func (l *limbs4) add(a, b uint64, e uint, sign int64) {
	high, low := bits.Mul64(a, b)
	high, low = high<<12|low>>limbBits, low&limbMask
	p := l[:3]
	if e >= limbBits {
		p, e = l[1:], e-limbBits
	}
	_, down := p[2], (limbBits-e)&63
	e &= 63
	p[0] += (int64(low<<e&limbMask) ^ sign) - sign
	p[1] += (int64(low>>down+high<<e&limbMask) ^ sign) - sign
	p[2] += (int64(high>>down) ^ sign) - sign
}

// carry brings all limbs but the last to 52 bits, and reports whether that has room for fullRows more, and for
// another such.
func (l *limbs2) carry() bool {
	l[1] += l[0] >> limbBits
	l[0] &= limbMask
	return l[1]>>61 == l[1]>>63
}

func (l *limbs4) carry() bool {
	l[1] += l[0] >> limbBits
	l[2] += l[1] >> limbBits
	l[3] += l[2] >> limbBits
	l[0] &= limbMask
	l[1] &= limbMask
	l[2] &= limbMask
	return l[3]>>61 == l[3]>>63
}

// words returns the number in two's complement.
func (l limbs2) words() [2]uint64 {
	l.carry()
	return [2]uint64{uint64(l[0] | l[1]<<52), uint64(l[1] >> 12)}
}

func (l limbs4) words() [4]uint64 {
	l.carry()
	return [4]uint64{uint64(l[0] | l[1]<<52), uint64(l[1]>>12 | l[2]<<40), uint64(l[2]>>24 | l[3]<<28), uint64(l[3] >> 36)}
}

// set has the number that words are; false, and what it was, where it has no room for it.
func (l *limbs2) set(w []uint64) bool {
	if s := int64(w[1]) >> 49; s != s>>63 {
		return false
	}
	*l = limbs2{int64(w[0] & limbMask), int64(w[0]>>52 | w[1]<<12)}
	return true
}

func (l *limbs4) set(w []uint64) bool {
	if s := int64(w[3]) >> 25; s != s>>63 {
		return false
	}
	*l = limbs4{int64(w[0] & limbMask), int64((w[0]>>52 | w[1]<<12) & limbMask), int64((w[1]>>40 | w[2]<<24) & limbMask), int64(w[2]>>28 | w[3]<<36)}
	return true
}

// moved returns words times 2^by; false where they have no room for that.
func moved(w []uint64, by int) bool {
	var f fixed
	f.fill(w...)
	if by > 64*len(w) || f.len()+by > 64*len(w)-2 {
		return false
	}
	f.shift(uint(by))
	copy(w, f[:])
	return true
}
