package agg

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel"
)

// textTable numbers different texts in the order in which they come.
//
//	slots[h & mask] = upper half of h | number + 1, linear probing
//
// The texts lie one after the other in blocks, and the table holds no pointers to each: the garbage collector has
// nothing to do with millions of them. The slots of a batch's texts are read in one loop before the texts are looked
// up, so that these reads overlap.
//
// A table into which others are merged has their blocks instead of copies of the texts, and may have all numbers
// of one of them, its base, which it and the tables of other threads only read.
type textTable struct {
	slots  []uint64
	hashes []uint64    // by number, without the base's
	places []textPlace // likewise
	blocks [][]byte
	held   int64 // bytes of blocks, or of a part of them where others have the rest
	length int64 // of all texts, the base's too

	base    *textTable // of the numbers from 0 to first; nil: none
	first   int
	readers *atomic.Int32        // how many tables have this one for their base
	parts   map[*textKeys]uint32 // where the blocks of other tables begin

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

func (t *textTable) n() int { return t.first + len(t.places) }

func (t *textTable) text(k uint64) string {
	if k < uint64(t.first) {
		return t.base.text(k)
	}
	p := t.places[k-uint64(t.first)]
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

func (t *textTable) hash(k uint64) uint64 {
	if k < uint64(t.first) {
		return t.base.hash(k)
	}
	return t.hashes[k-uint64(t.first)]
}

// rest makes an empty table continue the numbers of another, which must not change any more.
func (t *textTable) rest(o *textTable) {
	base := *o // without what is about its owner
	t.base, t.first, t.length = &base, len(o.places), o.length
	o.readers.Add(1)
}

// reserve makes room for as many more texts as there are hashes, and reads their slots.
func (t *textTable) reserve(hashes []uint64) {
	if need := 2 * (len(t.places) + len(hashes)); need > len(t.slots) {
		t.grow(need)
	}
	t.hashes, t.places = room(t.hashes, len(hashes)), room(t.places, len(hashes))
	for of := t; of != nil && len(of.slots) > 0; of = of.base {
		slots, mask := of.slots, uint64(len(of.slots)-1)
		for _, h := range hashes {
			t.touched += slots[h&mask]
		}
	}
}

// room grows s by doubling for n more. Append alone would grow a long one by a quarter, and copy it four times.
func room[T any](s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	return slices.Grow(s, max(len(s), n))
}

func (t *textTable) grow(need int) {
	size := max(len(t.slots), 64)
	for size < need {
		size *= 2
	}
	t.slots = kernel.Fresh[uint64](size, size)
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
	k, at, ok := t.find(s, h)
	if !ok {
		t.add(at, h, t.keep(s))
	}
	return k
}

// find returns the number of a text or, where it is new, the one that is next, and its slot.
func (t *textTable) find(s string, h uint64) (k uint32, at uint64, ok bool) {
	if t.base != nil && len(t.base.slots) > 0 {
		if k, _, ok := t.base.find(s, h); ok {
			return k, 0, true
		}
	}
	mask := uint64(len(t.slots) - 1)
	at = h & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		if x := t.slots[at]; x>>32 == h>>32 {
			if k := uint32(t.first) + uint32(x) - 1; t.text(uint64(k)) == s {
				return k, at, true
			}
		}
	}
	return uint32(t.n()), at, false
}

// add numbers a text that is new.
func (t *textTable) add(at, h uint64, p textPlace) {
	t.slots[at] = h>>32<<32 | uint64(len(t.places)+1)
	t.hashes, t.places, t.length = append(t.hashes, h), append(t.places, p), t.length+int64(p.n)
}

// adopt is id for the text k of another table, which must not change any more. It is not copied.
func (t *textTable) adopt(o *textKeys, k, h uint64) uint32 {
	id, at, ok := t.find(o.text(k), h)
	t.held += o.held / int64(max(len(o.places), 1)) // what is there twice is held too
	if ok {
		return id
	}
	if k < uint64(o.first) {
		t.add(at, h, t.keep(o.text(k)))
		return id
	}
	first, ok := t.parts[o]
	if !ok {
		if first = uint32(len(t.blocks)); t.parts == nil {
			t.parts = map[*textKeys]uint32{}
		}
		t.parts[o] = first
		for _, b := range o.blocks {
			t.blocks = append(t.blocks, slices.Clip(b))
		}
	}
	p := o.places[k-uint64(o.first)]
	t.add(at, h, textPlace{first + p.block, p.from, p.n})
	return id
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
	var base int64
	if t.base != nil {
		base = t.base.bytes() / int64(max(t.base.readers.Load(), 1))
	}
	return base + t.held + 8*int64(len(t.slots)+cap(t.hashes)+cap(t.room)) + int64(cap(t.places))*int64(unsafe.Sizeof(textPlace{}))
}
