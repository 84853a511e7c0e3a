package agg

import (
	"math"
	"math/bits"
)

// rankSum is the Mann-Whitney statistic over the number of pairs: the chance that
// one of pos is above one of neg, ties counting half. The pairs are counted, which
// needs no order of scores that are of one side.
func rankSum(pos, neg *scores) float64 {
	var c pairCounter
	keys := make([]uint64, 0, pos.n+neg.n)
	for _, s := range []*scores{pos, neg} {
		for _, chunk := range s.chunks {
			for _, v := range chunk {
				keys = append(keys, scoreKey(v))
			}
		}
	}
	c.count(keys, pos.n, make([]uint64, len(keys)))
	wins := math.Ldexp(float64(c.high), 64) + float64(c.low)
	return wins / (2 * (float64(pos.n) * float64(neg.n)))
}

// pairCounter counts two for each pair in which the first is the greater one, and
// one for each tie.
type pairCounter struct {
	high, low uint64 // of 128 bits
	ends      []int  // of all levels that are at work
}

func (c *pairCounter) add(a, b int) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	var carry uint64
	c.low, carry = bits.Add64(c.low, low, 0)
	c.high += high + carry
}

const (
	fewPairs  = 64
	rankBits  = 10 // that a level tells apart, so that its counts stay in a cache
	partScore = 2  // scores of a part, about
)

// count counts the pairs of keys[:n] with keys[n:]. Parts of their range that have
// keys of one side only are done with; the others are counted in the same way.
// scratch is as long as keys; both lose their order.
func (c *pairCounter) count(keys []uint64, n int, scratch []uint64) {
	first, second := keys[:n], keys[n:]
	if len(first) == 0 || len(second) == 0 {
		return
	}
	if len(first)*len(second) <= fewPairs {
		wins := 0
		for _, a := range first {
			for _, b := range second {
				if a > b {
					wins += 2
				}
				if a == b {
					wins++
				}
			}
		}
		c.add(wins, 1)
		return
	}
	least, most := keys[0], keys[0]
	for _, k := range keys {
		least, most = min(least, k), max(most, k)
	}
	if least == most {
		c.add(len(first), len(second))
		return
	}
	// The bits above those that differ are those of all.
	shift := max(bits.Len64(least^most)-min(bits.Len(uint(len(keys)/partScore)), rankBits), 0)
	low := least >> shift
	used := int(most>>shift-low) + 1
	at := len(c.ends)
	c.ends = append(c.ends, make([]int, 2*used)...)
	ends, firsts := c.ends[at:][:used], c.ends[at+used:][:used]
	for _, k := range first {
		firsts[k>>shift-low]++
	}
	copy(ends, firsts)
	for _, k := range second {
		ends[k>>shift-low]++
	}
	sum := 0
	for i, m := range ends {
		ends[i] = sum
		sum += m
	}
	for _, k := range keys { // the first of each part before its second
		to := &ends[k>>shift-low]
		scratch[*to] = k
		*to++
	}
	below, from := 0, 0 // of the second
	for i := range used {
		to, m := c.ends[at+i], c.ends[at+used+i]
		if m > 0 {
			c.add(2*m, below)
			if rest := to - from - m; shift == 0 {
				c.add(m, rest)
			} else if rest > 0 {
				c.count(scratch[from:to], m, keys[from:to])
			}
		}
		below += to - from - m
		from = to
	}
	c.ends = c.ends[:at]
}

// scoreKey orders as the numbers do, NaNs first.
func scoreKey(x float64) uint64 {
	if x != x {
		return 0
	}
	b := math.Float64bits(x)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}
