package pairs

import (
	"math"
	"math/bits"
)

// Counter counts two for each pair in which the first key is greater, and one for each tie.
type Counter struct {
	high, low uint64 // of 128 bits
	words     []rankWord
	ends      []uint32
	room      []uint64
}

// Add counts a·b.
func (c *Counter) Add(a, b int) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	c.Merge(&Counter{high: high, low: low})
}

// Float returns the count.
func (c *Counter) Float() float64 { return math.Ldexp(float64(c.high), 64) + float64(c.low) }

// Merge adds what another has counted.
func (c *Counter) Merge(o *Counter) {
	var carry uint64
	c.low, carry = bits.Add64(c.low, o.low, 0)
	c.high += o.high + carry
}

const (
	keyBits = 15 // of a range whose counts stay in a cache
	fewKeys = 1 << 20
)

// count counts the pairs between keys[:n] and keys[n:], all of which are from least to most. spare
// must be as long as keys; keys may be overwritten.
func (c *Counter) count(keys []uint64, n int, spare []uint64, least, most uint64) {
	first, second := keys[:n], keys[n:]
	if len(first) == 0 || len(second) == 0 {
		return
	}
	if len(first) == 1 {
		c.Add(wins(first[0], second), 1)
		return
	}
	if len(keys) < fewKeys {
		if c.near(first, second, least, most, spare) {
			return
		}
		least, most = span(keys, ^uint64(0), 0)
		if c.near(first, second, least, most, spare) {
			return
		}
	}
	shift, low, parts := divide(least, most, partBits)
	ends := make([]int, 2*parts)
	ends, firsts := ends[:parts], ends[parts:]
	for _, k := range first {
		firsts[k>>(shift&63)-low]++
	}
	copy(ends, firsts)
	for _, k := range second {
		ends[k>>(shift&63)-low]++
	}
	sum := 0
	for i, m := range ends {
		ends[i] = sum
		sum += m
	}
	for _, k := range keys {
		e := &ends[k>>(shift&63)-low]
		spare[*e] = k
		*e++
	}
	below, from := 0, 0 // of the second
	for i, end := range ends {
		a, b := firsts[i], end-from-firsts[i]
		c.Add(2*a, below)
		if shift == 0 {
			c.Add(a, b)
		} else {
			least := (low + uint64(i)) << (shift & 63)
			c.count(spare[from:end], a, keys[from:end], least, least|(1<<(shift&63)-1))
		}
		below += b
		from = end
	}
}

// wins returns two for each of the keys that is less than k, and one for each that equals k.
func wins(k uint64, keys []uint64) (n int) {
	for _, s := range keys {
		_, above := bits.Sub64(s, k, 0)
		_, below := bits.Sub64(k, s, 0)
		n += int(1 + above - below)
	}
	return n
}

// near counts the pairs without partitioning the keys; false if too many keys are equal.
func (c *Counter) near(first, second []uint64, least, most uint64, room []uint64) bool {
	if most-least < 1<<keyBits {
		c.byKey(first, second, least, most)
		return true
	}
	return c.byBits(first, second, least, most, room)
}

// byKey counts the keys of the second class below each possible key, for a narrow range of keys.
func (c *Counter) byKey(first, second []uint64, least, most uint64) {
	keys := int(most-least) + 1
	if len(c.ends) <= keys {
		c.ends = make([]uint32, 2*keys+1)
	}
	ends := c.ends[:keys+1]
	clear(ends)
	in := ends[1:]
	for _, k := range second {
		in[k-least]++
	}
	sum := uint32(0)
	for i, m := range in {
		sum += m
		in[i] = sum
	}
	n := uint64(0)
	for _, k := range first {
		n += uint64(ends[k-least]) + uint64(ends[k-least+1])
	}
	c.Merge(&Counter{low: n})
}
