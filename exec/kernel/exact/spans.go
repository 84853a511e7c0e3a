package exact

import (
	"math"
	"math/bits"
)

// AddSpans adds the values of rows [spans[k][0], spans[k][1]) to group k, which is empty, for all groups. vals are those
// of rows lo and on; counts, if not nil, are how many of them count before each row, and at the end. It does nothing and
// returns false if a value, or a sum of all of them, is beyond the 128 bits that groups have.
func AddSpans[T float32 | float64](t *Sums, spans [][2]int32, lo int32, vals []T, counts []int32) bool {
	if t.base == 0 {
		t.base = baseOf(vals)
	}
	base := int(t.base)
	if base == 0 {
		base = noBase
	}
	sums := make([]shortSum, len(vals)+1)
	var sum shortSum
	for i, v := range vals {
		if counts == nil || counts[i+1] > counts[i] {
			b := math.Float64bits(float64(v))
			e := uint(int(b>>52)&0x7ff - base)
			switch {
			case e <= 63:
				sign := int64(b) >> 63
				m := int64(b&mantissa|1<<52) ^ sign - sign
				low, c := bits.Add64(sum.lo, uint64(m)<<e, 0)
				high, _ := bits.Add64(uint64(sum.hi), uint64(m>>1>>(63-e)), c)
				if sum.lo, sum.hi = low, int64(high); int64(high^high<<1) < 0 {
					return false
				}
			case b<<1 != 0:
				// One below may have no bits that are too low.
				low := base - int(b>>52)&0x7ff
				if m := b&mantissa | 1<<52; low < 1 || low > 52 || b>>52&0x7ff == 0 || m&(1<<low-1) != 0 {
					return false
				} else {
					sign := uint64(int64(b) >> 63)
					word, c := bits.Add64(sum.lo, m>>low^sign, sign&1)
					sum.lo, sum.hi = word, sum.hi+int64(sign)+int64(c)
					if sum.hi^sum.hi<<1 < 0 {
						return false
					}
				}
			}
		}
		sums[i+1] = sum
	}
	for k, s := range spans {
		a, b := sums[s[0]-lo], sums[s[1]-lo]
		x := shortSum{n: int64(s[1] - s[0])}
		if counts != nil {
			x.n = int64(counts[s[1]-lo] - counts[s[0]-lo])
		}
		low, c := bits.Sub64(b.lo, a.lo, 0)
		high, _ := bits.Sub64(uint64(b.hi), uint64(a.hi), c)
		if x.lo, x.hi = low, int64(high); int64(high^high<<1) < 0 {
			clear(t.s[:k])
			return false
		}
		t.s[k] = x
	}
	return true
}

// AddSquareSpans is AddSpans of sums of values and of their squares.
func AddSquareSpans[T float32 | float64](t *Squares, spans [][2]int32, lo int32, vals []T, counts []int32) bool {
	if t.base == 0 {
		t.base = squareBase(vals)
	}
	base := int(t.base)
	sums := make([]shortSquares, len(vals)+1)
	var sum shortSquares
	for i, v := range vals {
		if counts == nil || counts[i+1] > counts[i] {
			if !sum.add(float64(v), base) || sum.n%fullRows == 0 && !sum.carry() {
				return false
			}
		}
		sums[i+1] = sum
	}
	for k, s := range spans {
		a, b, x := &sums[s[0]-lo], &sums[s[1]-lo], &t.s[k]
		x.n = b.n - a.n
		x.x = limbs2{b.x[0] - a.x[0], b.x[1] - a.x[1]}
		for j := range x.xx {
			x.xx[j] = b.xx[j] - a.xx[j]
		}
		if !x.carry() {
			clear(t.s[:k+1])
			return false
		}
	}
	return true
}
