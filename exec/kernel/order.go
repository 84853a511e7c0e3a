package kernel

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// item is a row with 12 bytes of its key, as numbers.
type item struct {
	hi  uint64
	lo  uint32
	row uint32
}

// itemBytes is the memory Order takes for a row: two items.
const itemBytes = 32

// OrderBytes returns the memory that Order of n rows needs beside its keys.
func OrderBytes(n int) int64 { return int64(n) * itemBytes }

const (
	prefixBytes = 12
	radixMin    = 192 // below it comparing is faster than counting
)

// Order returns the row numbers of k sorted by key, equal keys in order of row. ids, if not nil,
// holds what to return instead of a row's number.
func Order(k *Keys, ids []uint32) []uint32 {
	items := make([]item, k.N)
	for i := range items {
		items[i].row = uint32(i)
	}
	load(k, items, 0)
	sortItems(k, items, make([]item, len(items)), 0)
	out := make([]uint32, k.N)
	for i, it := range items {
		if ids != nil {
			out[i] = ids[it.row]
		} else {
			out[i] = it.row
		}
	}
	return out
}

// load fills the prefixes from byte depth of the keys on. Bytes past a key's end read as 0, which
// is correct since no key is another's prefix.
func load(k *Keys, items []item, depth int) {
	if w := k.Width; w > 0 && w-depth >= prefixBytes {
		for i := range items {
			b := k.Data[int(items[i].row)*w+depth:]
			items[i].hi = binary.BigEndian.Uint64(b)
			items[i].lo = binary.BigEndian.Uint32(b[8:12])
		}
		return
	}
	var pad [prefixBytes]byte
	for i := range items {
		b := k.At(int(items[i].row))
		if len(b) > depth {
			b = b[depth:]
		} else {
			b = nil
		}
		if len(b) < prefixBytes {
			clear(pad[copy(pad[:], b):])
			b = pad[:]
		}
		items[i].hi = binary.BigEndian.Uint64(b)
		items[i].lo = binary.BigEndian.Uint32(b[8:])
	}
}

// sortItems sorts items, whose prefixes are loaded from depth; tmp is as long.
func sortItems(k *Keys, items, tmp []item, depth int) {
	if len(items) < radixMin {
		slices.SortFunc(items, func(a, b item) int {
			switch {
			case a.hi != b.hi:
				if a.hi < b.hi {
					return -1
				}
				return 1
			case a.lo != b.lo:
				if a.lo < b.lo {
					return -1
				}
				return 1
			}
			if k.Width == 0 || k.Width > depth+prefixBytes {
				if c := bytes.Compare(rest(k, a, depth), rest(k, b, depth)); c != 0 {
					return c
				}
			}
			return int(a.row) - int(b.row)
		})
		return
	}
	radix(items, tmp)
	if k.Width > 0 && k.Width <= depth+prefixBytes {
		return
	}
	for i := 0; i < len(items); {
		j := i + 1
		for j < len(items) && items[j].hi == items[i].hi && items[j].lo == items[i].lo {
			j++
		}
		// Equal so far. They are equal to the end if the first of them ends here.
		if j-i > 1 && len(k.At(int(items[i].row))) > depth+prefixBytes {
			load(k, items[i:j], depth+prefixBytes)
			sortItems(k, items[i:j], tmp[i:j], depth+prefixBytes)
		}
		i = j
	}
}

func rest(k *Keys, it item, depth int) []byte {
	b := k.At(int(it.row))
	return b[min(len(b), depth+prefixBytes):]
}

// radix sorts by the prefixes, least significant byte first, stably. Bytes that are equal in all
// items cost nothing.
func radix(items, tmp []item) {
	var counts [prefixBytes][256]uint32
	for i := range items {
		h, l := items[i].hi, items[i].lo
		counts[0][byte(l)]++
		counts[1][byte(l>>8)]++
		counts[2][byte(l>>16)]++
		counts[3][byte(l>>24)]++
		counts[4][byte(h)]++
		counts[5][byte(h>>8)]++
		counts[6][byte(h>>16)]++
		counts[7][byte(h>>24)]++
		counts[8][byte(h>>32)]++
		counts[9][byte(h>>40)]++
		counts[10][byte(h>>48)]++
		counts[11][byte(h>>56)]++
	}
	from, to := items, tmp
	first := items[0]
	for pass := range counts {
		c := &counts[pass]
		var at byte
		if pass < 4 {
			at = byte(first.lo >> (8 * pass))
		} else {
			at = byte(first.hi >> (8 * (pass - 4)))
		}
		if int(c[at]) == len(items) {
			continue
		}
		sum := uint32(0)
		for b := range c {
			c[b], sum = sum, sum+c[b]
		}
		if pass < 4 {
			shift := 8 * pass
			for _, it := range from {
				b := byte(it.lo >> shift)
				to[c[b]] = it
				c[b]++
			}
		} else {
			shift := 8 * (pass - 4)
			for _, it := range from {
				b := byte(it.hi >> shift)
				to[c[b]] = it
				c[b]++
			}
		}
		from, to = to, from
	}
	if &from[0] != &items[0] {
		copy(items, from)
	}
}
