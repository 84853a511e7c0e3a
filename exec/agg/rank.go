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
	c.count(pos.chunks, neg.chunks, make([]uint64, pos.n+neg.n), nil)
	wins := math.Ldexp(float64(c.high), 64) + float64(c.low)
	return wins / (2 * (float64(pos.n) * float64(neg.n)))
}

// pairCounter counts two for each pair in which the first is the greater one, and
// one for each tie.
type pairCounter struct {
	high, low uint64   // of 128 bits
	ends      []int    // of all levels that are at work
	room      []uint64 // of the second level
}

func (c *pairCounter) add(a, b int) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	var carry uint64
	c.low, carry = bits.Add64(c.low, low, 0)
	c.high += high + carry
}

const (
	fewPairs  = 64
	rankBits  = 12 // that a level tells apart, so that its counts stay in a cache
	partScore = 4  // scores of a part, about
)

// count counts the pairs of keys, which come in chunks. It puts them into parts of
// the range that they span, in to, which has room for all: the first ones of a
// part, then the second ones. A part that has keys of one side only is done with,
// the others are counted in the same way, in the places of spare; without it
// there is room for one part at a time.
func (c *pairCounter) count(first, second [][]uint64, to, spare []uint64) {
	least, most := ^uint64(0), uint64(0)
	for _, side := range [2][][]uint64{first, second} {
		for _, keys := range side {
			for _, k := range keys {
				least, most = min(least, k), max(most, k)
			}
		}
	}
	// The bits above those that differ are those of all.
	shift := max(bits.Len64(least^most)-min(bits.Len(uint(len(to)/partScore)), rankBits), 0)
	low := least >> (shift & 63)
	used := int(most>>(shift&63)-low) + 1
	at := len(c.ends)
	c.ends = append(c.ends, make([]int, 2*used)...)
	ends, firsts := c.ends[at:][:used], c.ends[at+used:][:used]
	for _, keys := range first {
		for _, k := range keys {
			firsts[k>>(shift&63)-low]++
		}
	}
	copy(ends, firsts)
	for _, keys := range second {
		for _, k := range keys {
			ends[k>>(shift&63)-low]++
		}
	}
	sum := 0
	for i, m := range ends {
		ends[i] = sum
		sum += m
	}
	for _, side := range [2][][]uint64{first, second} {
		for _, keys := range side {
			for _, k := range keys {
				e := &ends[k>>(shift&63)-low]
				to[*e] = k
				*e++
			}
		}
	}
	below, from := 0, 0 // of the second
	for i := range used {
		end, n := c.ends[at+i], c.ends[at+used+i]
		a, b := to[from:from+n], to[from+n:end]
		if len(a) > 0 {
			c.add(2*len(a), below)
		}
		switch {
		case len(a) == 0 || len(b) == 0:
		case shift == 0:
			c.add(len(a), len(b))
		case len(a)*len(b) <= fewPairs:
			c.add(wins(a, b), 1)
		case spare != nil:
			c.count([][]uint64{a}, [][]uint64{b}, spare[from:end], to[from:end])
		default:
			if len(c.room) < end-from {
				c.room = make([]uint64, end-from)
			}
			c.count([][]uint64{a}, [][]uint64{b}, c.room[:end-from], to[from:end])
		}
		below += len(b)
		from = end
	}
	c.ends = c.ends[:at]
}

func wins(first, second []uint64) (n int) {
	for _, a := range first {
		for _, b := range second {
			if a > b {
				n += 2
			}
			if a == b {
				n++
			}
		}
	}
	return n
}

// scoreKey orders as the numbers do, NaNs first; 0 and −0 tie.
func scoreKey(x float64) uint64 {
	if x != x {
		return 0
	}
	b := math.Float64bits(x + 0)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}
