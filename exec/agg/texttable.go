package agg

import (
	"hash/maphash"
	"unsafe"
)

// textTable numbers different texts in the order in which they come.
//
//	slots[h & mask] = upper half of h | number + 1, linear probing
//
// The texts lie one after the other in blocks, and the table holds no pointers to each: the garbage collector has
// nothing to do with millions of them. The slots of a batch's texts are read in one loop before the texts are looked
// up, so that these reads overlap.
type textTable struct {
	slots  []uint64
	hashes []uint64    // by number
	places []textPlace // by number
	blocks [][]byte
	held   int64 // bytes of blocks

	room    []uint64 // scratch: hashes of a batch
	touched uint64   // so that the loop that reads slots is not left out
}

// textPlace is where a text lies: its block, where it begins there, and its bytes.
type textPlace struct{ block, from, n uint32 }

const (
	leastBlock = 1 << 10
	mostBlock  = 1 << 20
)

// textSeed is the same for all tables, so that a hash is computed once for all.
var textSeed = maphash.MakeSeed()

func (t *textTable) n() int { return len(t.places) }

func (t *textTable) text(k uint64) string {
	p := t.places[k]
	b := t.blocks[p.block][p.from : p.from+p.n]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// number calls put with the number of each of the texts, in order.
func (t *textTable) number(texts []string, put func(i int, k uint32)) {
	t.room = t.room[:0]
	for _, s := range texts {
		t.room = append(t.room, maphash.String(textSeed, s))
	}
	t.reserve(t.room)
	for i, s := range texts {
		put(i, t.id(s, t.room[i]))
	}
}

// reserve makes room for as many more texts as there are hashes, and reads their slots.
func (t *textTable) reserve(hashes []uint64) {
	if need := 2 * (len(t.places) + len(hashes)); need > len(t.slots) {
		t.grow(need)
	}
	mask := uint64(len(t.slots) - 1)
	for _, h := range hashes {
		t.touched += t.slots[h&mask]
	}
}

func (t *textTable) grow(need int) {
	size := max(len(t.slots), 64)
	for size < need {
		size *= 2
	}
	t.slots = make([]uint64, size)
	mask := uint64(size - 1)
	for k, h := range t.hashes {
		at := h & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = h>>32<<32 | uint64(k+1)
	}
}

// id returns the number of a text, for which there is room.
func (t *textTable) id(s string, h uint64) uint32 {
	mask := uint64(len(t.slots) - 1)
	at := h & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		if x := t.slots[at]; x>>32 == h>>32 {
			if k := uint32(x) - 1; t.text(uint64(k)) == s {
				return k
			}
		}
	}
	k := uint32(len(t.places))
	t.slots[at] = h>>32<<32 | uint64(k+1)
	t.hashes = append(t.hashes, h)
	t.places = append(t.places, t.keep(s))
	return k
}

// keep copies a text to the last block, or to another.
func (t *textTable) keep(s string) textPlace {
	last := len(t.blocks) - 1
	if last < 0 || len(t.blocks[last])+len(s) > cap(t.blocks[last]) {
		size := max(leastBlock, min(int(t.held), mostBlock), len(s))
		t.blocks, t.held, last = append(t.blocks, make([]byte, 0, size)), t.held+int64(size), last+1
	}
	b := t.blocks[last]
	t.blocks[last] = append(b, s...)
	return textPlace{uint32(last), uint32(len(b)), uint32(len(s))}
}

func (t *textTable) bytes() int64 {
	return t.held + 8*int64(len(t.slots)+cap(t.hashes)+cap(t.room)) + int64(cap(t.places))*int64(unsafe.Sizeof(textPlace{}))
}
