package order

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/tributarydb/tributary/exec/kernel"
)

// cuts divide keys into bins. Bin i has the keys from keys[i-1] on, below keys[i]. Which bin a key may be of is looked up by
// its first bytes, which the table divides evenly:
//
//	first   0 0 1 3 3 4 …   the bin of the first key of each of equal parts from low on
type cuts struct {
	keys     [][]byte
	prefixes []uint64 // their first eight bytes
	low      uint64
	shift    int
	first    []uint16
}

// newCuts finds cuts between about so many bins from a sample of keys.
func newCuts(sample *kernel.Keys, bins int) *cuts {
	c := &cuts{}
	order := kernel.Order(sample, nil)
	for j := 1; j < bins; j++ {
		key := sample.At(int(order[len(order)*j/bins]))
		if n := len(c.keys); n == 0 || !bytes.Equal(c.keys[n-1], key) {
			c.keys, c.prefixes = append(c.keys, bytes.Clone(key)), append(c.prefixes, prefixOf(key))
		}
	}
	if len(c.keys) == 0 {
		return c
	}
	c.low = c.prefixes[0]
	span := c.prefixes[len(c.keys)-1] - c.low
	c.shift = max(0, bits.Len64(span)-bits.Len(uint(len(c.keys)))-2)
	parts := int(span>>c.shift) + 1
	c.first = make([]uint16, parts+1)
	bin := 0
	for part := range parts {
		for bin < len(c.keys) && (c.prefixes[bin]-c.low)>>c.shift < uint64(part) {
			bin++
		}
		c.first[part] = uint16(bin)
	}
	c.first[parts] = uint16(len(c.keys))
	return c
}

// n returns the number of bins.
func (c *cuts) n() int { return len(c.keys) + 1 }

// find returns the bins of keys, in room.
func (c *cuts) find(k *kernel.Keys, room []uint16) []uint16 {
	if cap(room) < k.N {
		room = make([]uint16, k.N)
	}
	out := room[:k.N]
	if len(c.keys) == 0 {
		clear(out)
		return out
	}
	if w := k.Width; w > 0 {
		// Keys that are shorter than eight bytes have the next key's bytes after them, which do not count.
		k.Data = append(k.Data, make([]byte, 8)...)
		mask := ^uint64(0)
		if w < 8 {
			mask <<= 8 * (8 - w)
		}
		for i := range out {
			key := k.Data[i*w:]
			out[i] = c.bin(binary.BigEndian.Uint64(key)&mask, key[:w])
		}
		return out
	}
	for i := range out {
		key := k.At(i)
		out[i] = c.bin(prefixOf(key), key)
	}
	return out
}

// bin returns the bin of a key, whose first bytes are prefix.
func (c *cuts) bin(prefix uint64, key []byte) uint16 {
	if prefix < c.low {
		return 0
	}
	part := min((prefix-c.low)>>c.shift, uint64(len(c.first)-2))
	lo, hi := int(c.first[part]), int(c.first[part+1])
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if p := c.prefixes[mid]; p < prefix || p == prefix && bytes.Compare(c.keys[mid], key) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return uint16(lo)
}
