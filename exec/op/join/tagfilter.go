package join

import (
	"math/bits"

	"github.com/tributarydb/tributary/exec/kernel"
)

// tagFilter is a blocked Bloom filter that rules out most hashes that a table does not have: the
// upper bits of the tag choose a word, the lower ones two bits in it, of six or more a row. It is a
// sixteenth of the slots, so it stays in a nearer cache, and it has no branches: where most rows
// find nothing, a look at the slots is a mispredicted branch each.
//
// Most tables need none, so the first thread makes it that has missed a quarter as
// often as there are slots. What it takes is within tableBytes.
type tagFilter struct {
	bits  []uint64
	shift uint
}

const (
	// filterSlots is how many slots share a word.
	filterSlots = 16
	// minFiltered is the smallest table that is worth a filter, maxFiltered the largest of which it
	// fits a cache, and whose words leave bits of the tag to choose within them.
	minFiltered = 1 << 10
	maxFiltered = 1 << 24
)

// filtered returns the filter where it pays to ask it first: if no more than half of a
// thread's rows have found anything so far.
func (t *hashTable) filtered(f *found) *tagFilter {
	if 2*f.had > f.asked {
		return nil
	}
	if x := t.filter.Load(); x != nil {
		return x
	}
	n := int64(len(t.slots))
	if 4*(f.asked-f.had) < n || n < minFiltered || n > maxFiltered || !t.filtering.CompareAndSwap(false, true) {
		return nil
	}
	x := newTagFilter(t.slots)
	t.filter.Store(x)
	return x
}

func newTagFilter(slots []uint64) *tagFilter {
	words := len(slots) / filterSlots
	x := &tagFilter{bits: make([]uint64, words), shift: uint(32 - bits.Len(uint(words-1)))}
	for _, s := range slots {
		if s != 0 {
			tag := s >> 32
			x.bits[tag>>x.shift] |= 1<<(tag&63) | 1<<(tag>>6&63)
		}
	}
	return x
}

// among writes the numbers of the hashes that the table may have.
func (x *tagFilter) among(hashes []uint64, out []int32) (n int) {
	bits, shift := x.bits, x.shift&63
	for i, h := range hashes {
		tag := h >> 32
		w := bits[tag>>shift]
		out[n] = int32(i)
		n += int(w >> (tag & 63) & (w >> (tag >> 6 & 63)) & 1)
	}
	return n
}

// findAmong is findHashes for the rows that the filter leaves.
func (t *hashTable) findAmong(x *tagFilter, f *found) (n int) {
	slots, mask := t.slots, t.mask
	for _, i := range f.rows[:x.among(f.hashes, f.rows)] {
		head := lookUp(slots, mask, f.hashes[i])
		f.rows[n], f.heads[n] = i, head
		n += kernel.NonZero(head)
	}
	return n
}
