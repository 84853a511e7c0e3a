package kernel

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// byteRun is a run of bytes of keys: those of a word at a place of the key, shifted right, which are
// shifted left to their place among the bytes that are loaded.
type byteRun struct {
	at          int // where the word begins
	right, left uint
	mask        uint64
}

// loadVarying loads the first 12 of the bytes in which keys of one width differ, from byte depth on, and
// returns where they end: depth if there are none.
func loadVarying(k *Keys, items []item, depth int) (end int) {
	runs, end := varying(k, items, depth)
	data, w := k.Data, k.Width
	if w < 8 { // short keys
		if end > depth {
			load(k, items, depth)
			end = w
		}
		return end
	}
	for i := range items {
		key := data[int(items[i].row)*w:][:w]
		var hi, lo uint64
		for j := range runs {
			r := &runs[j]
			v := binary.BigEndian.Uint64(key[r.at:]) >> r.right & r.mask
			lo |= v << r.left
			hi |= v<<(r.left-64) | v>>(64-r.left)
		}
		items[i].hi, items[i].lo = hi<<32|lo>>32, uint32(lo)
	}
	return end
}

// varying finds the first bytes in which keys differ.
func varying(k *Keys, items []item, depth int) (runs []byteRun, end int) {
	w := k.Width
	first := k.At(int(items[0].row))
	differ := make([]byte, w)
	words := make([]uint64, w/8)
	for i := range items {
		key := k.Data[int(items[i].row)*w:][:w]
		for j := range words {
			words[j] |= binary.LittleEndian.Uint64(key[8*j:]) ^ binary.LittleEndian.Uint64(first[8*j:])
		}
		for j := w &^ 7; j < w; j++ {
			differ[j] |= key[j] ^ first[j]
		}
	}
	for j, d := range words {
		binary.LittleEndian.PutUint64(differ[8*j:], d)
	}
	end = depth
	for at, n := depth, 0; at < w && n < prefixBytes; at++ {
		if differ[at] == 0 {
			continue
		}
		from := at
		for at < w && differ[at] != 0 && at-from < 8 && n < prefixBytes {
			at, n = at+1, n+1
		}
		size := at - from
		if start := min(from, max(w-8, 0)); w >= 8 {
			runs = append(runs, byteRun{at: start, right: uint(8 * (8 - (from - start) - size)), left: uint(8 * (prefixBytes - n)), mask: 1<<(8*size) - 1})
		}
		end = at
		at--
	}
	if end > depth && !slices.ContainsFunc(differ[end:], func(d byte) bool { return d != 0 }) {
		end = w
	}
	return runs, end
}

// radix sorts by the prefixes, stably, least significant byte first, of those bytes that tell most items
// apart, and then the items that are equal in these. It returns the one of both that has them in order, and the other.
func radix(items, tmp []item) (sorted, other []item) {
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
	from := prefixBytes // the last byte that is counted
	for known, enough := 0, bits.Len(uint(len(items)))+1; from > 0 && known < enough; {
		from--
		values := 0
		for _, n := range counts[from] {
			values += int((n | -n) >> 31)
		}
		known += bits.Len(uint(values - 1))
	}
	items, tmp = countingPasses(items, tmp, &counts, from)
	if from == 0 {
		return items, tmp
	}
	mask := item{hi: ^uint64(0)} // of the bytes that are counted
	if from < 4 {
		mask.lo = ^uint32(0) << (8 * from)
	} else {
		mask.hi <<= 8 * (from - 4)
	}
	for i := 0; i < len(items); {
		j, hi, lo := i+1, items[i].hi&mask.hi, items[i].lo&mask.lo
		for j < len(items) && items[j].hi&mask.hi == hi && items[j].lo&mask.lo == lo {
			j++
		}
		switch {
		case j-i == 1:
		case j-i <= insertMost:
			insertItems(items[i:j])
		case j-i < radixMin:
			compareItems(nil, items[i:j], 0)
		default:
			some, _ := radix(items[i:j], tmp[i:j]) // the bytes before cost nothing: they are equal
			settle(items[i:j], some)
		}
		i = j
	}
	return items, tmp
}

// insertItems sorts few items by their prefixes, stably.
func insertItems(items []item) {
	for i := 1; i < len(items); i++ {
		it, j := items[i], i
		for ; j > 0 && it.before(&items[j-1]); j-- {
			items[j] = items[j-1]
		}
		items[j] = it
	}
}

// countingPasses sorts by the bytes from one on, by counts of each of their values. Bytes that are equal in all
// items cost nothing. It returns the one of both that has them in order, and the other.
func countingPasses(items, tmp []item, counts *[prefixBytes][256]uint32, least int) (from, to []item) {
	from, to = items, tmp
	first := items[0]
	for pass := least; pass < prefixBytes; pass++ {
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
	return from, to
}
