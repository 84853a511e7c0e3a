package window

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// partitions numbers the partitions that a thread has seen.
//
//	slots[hash & mask] = number + 1, linear probing
//
// Those of one integer key whose values lie close together have their numbers in an array:
//
//	near[key - lo] = number + 1
type partitions struct {
	pack   *kernel.Packer
	width  int
	n      int
	slots  []uint32
	words  []uint64 // the keys, packed
	hashes []uint64

	close  bool // no hashes: near
	lo     int64
	near   []uint32
	nextLo int64 // of the array that holds the next rows too
	next   int   // its length; 0: near does

	rows, hbuf []uint64
	of         []uint32
}

// nearSpread is how many values there may be in the array for each partition.
const nearSpread = 16

// newPartitions makes partitions that are found by an array, where near allows it, or by hashes.
func newPartitions(ts []types.Type, near bool) *partitions {
	if near && len(ts) == 1 && ts[0].IsIntegral() {
		return &partitions{close: true}
	}
	p := &partitions{pack: kernel.NewPacker(ts), slots: make([]uint32, 1024)}
	p.width = p.pack.Words()
	return p
}

// holds reports whether n more rows can be found; it comes before bytes and find.
func (p *partitions) holds(cols []arrow.Array, n int) bool {
	if !p.close {
		return true
	}
	lo, hi, ok := kernel.IntRange(cols[0])
	if !ok || cols[0].NullN() > 0 {
		return false
	}
	p.next = 0
	if len(p.near) > 0 {
		end := p.lo + int64(len(p.near)) - 1
		if lo >= p.lo && hi <= end {
			return true
		}
		// Half as much again where it grows, for keys may ascend.
		if hi > end && hi+int64(len(p.near)/2) > hi {
			hi += int64(len(p.near) / 2)
		}
		if lo < p.lo && lo-int64(len(p.near)/2) < lo {
			lo -= int64(len(p.near) / 2)
		}
		lo, hi = min(lo, p.lo), max(hi, end)
	}
	if uint64(hi-lo) >= uint64(nearSpread*(p.n+n)) {
		return false
	}
	p.nextLo, p.next = lo, int(hi-lo)+1
	return true
}

// bytes returns the memory held and what n more rows may add to it, if each is a new partition with
// numbered values of size bytes.
func (p *partitions) bytes(n int, size int64) int64 {
	if p.close {
		return 4 * int64(len(p.near)+p.next+n)
	}
	held := p.pack.Bytes() + 4*int64(len(p.slots)) + 8*int64(cap(p.words)+cap(p.hashes))
	row := int64(p.width + 1)
	held += 8*row*int64(p.n+n) + (8*row+64)*int64(n) + 2*size // twice the room where it grows, and scratch
	if 2*(p.n+n) > len(p.slots) {
		held += 16 * int64(p.n+n)
	}
	return held
}

// find returns the partitions of n rows, valid until the next call.
func (p *partitions) find(cols []arrow.Array, n int) []uint32 {
	if cap(p.of) < n {
		p.of = make([]uint32, n)
	}
	of := p.of[:n]
	switch {
	case len(cols) == 0:
		clear(of)
		p.n = 1
	case p.close:
		p.findNear(cols[0], of)
	default:
		p.findHashed(cols, of)
	}
	return of
}

func (p *partitions) findNear(col arrow.Array, of []uint32) {
	if p.next > 0 {
		near := kernel.Fresh[uint32](p.next, p.next)
		if len(p.near) > 0 { // else lo is no key
			copy(near[p.lo-p.nextLo:], p.near)
		}
		p.lo, p.near = p.nextLo, near
	}
	switch a := col.(type) {
	case *array.Int64:
		nearNumbers(p, a.Int64Values(), of)
	case *array.Int32:
		nearNumbers(p, a.Int32Values(), of)
	case *array.Int16:
		nearNumbers(p, a.Int16Values(), of)
	case *array.Date32:
		nearNumbers(p, a.Date32Values(), of)
	}
}

func nearNumbers[T kernel.Integer](p *partitions, vals []T, of []uint32) {
	near, lo, n := p.near, p.lo, uint32(p.n)
	of = of[:len(vals)]
	for i, v := range vals {
		s := &near[int64(v)-lo]
		if *s == 0 {
			n++
			*s = n
		}
		of[i] = *s - 1
	}
	p.n = int(n)
}

func (p *partitions) findHashed(cols []arrow.Array, of []uint32) {
	n := len(of)
	for 2*(p.n+n) > len(p.slots) {
		p.grow()
	}
	p.rows, p.hbuf = p.pack.Pack(cols, n, p.rows, p.hbuf)
	w, mask := p.width, uint64(len(p.slots)-1)
	for i, h := range p.hbuf {
		row := p.rows[i*w:][:w]
		at := h & mask
		for ; ; at = (at + 1) & mask {
			s := p.slots[at]
			if s == 0 {
				p.words, p.hashes = append(p.words, row...), append(p.hashes, h)
				p.n++
				s = uint32(p.n)
				p.slots[at] = s
			} else if !slices.Equal(p.words[int(s-1)*w:][:w], row) {
				continue
			}
			of[i] = s - 1
			break
		}
	}
}

func (p *partitions) grow() {
	p.slots = make([]uint32, 2*len(p.slots))
	mask := uint64(len(p.slots) - 1)
	for i, h := range p.hashes {
		at := h & mask
		for p.slots[at] != 0 {
			at = (at + 1) & mask
		}
		p.slots[at] = uint32(i + 1)
	}
}
