package agg

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/spare"
)

// keyList is an unordered collection of numbers in lists of growing size. Numbers are never moved,
// and merging shares full lists instead of copying them.
type keyList struct {
	last []uint64
	full [][]uint64
}

const (
	firstKeys = 4
	mostKeys  = 1 << 14
)

func (p *keyList) n() int {
	n := len(p.last)
	for _, l := range p.full {
		n += len(l)
	}
	return n
}

// next begins another list, twice as large as the last one or as large as asked, and returns the
// bytes allocated besides the slab.
func (p *keyList) next(s *slab, numbers int) int64 {
	size := max(2*cap(p.last), firstKeys)
	for size < numbers {
		size *= 2
	}
	var list int64
	if cap(p.last) > 0 {
		p.full = append(p.full, p.last)
		list = 48
	}
	p.last = s.list(min(size, mostKeys))
	return list
}

// freeLists are lists that nothing uses any more, by the logarithm of their size.
type freeLists [15][][]uint64

func (f *freeLists) put(l []uint64) {
	if k := bits.Len(uint(cap(l))) - 1; k >= 0 {
		f[k] = append(f[k], l[:0])
	}
}

// extend begins another list of p, as next does, if there is one.
func (f *freeLists) extend(p *keyList) bool {
	k := bits.Len(uint(min(max(2*cap(p.last), firstKeys), mostKeys))) - 1
	n := len(f[k]) - 1
	if n < 0 {
		return false
	}
	if cap(p.last) > 0 {
		p.full = append(p.full, p.last)
	}
	p.last, f[k] = f[k][n], f[k][:n]
	return true
}

// take adds the lists of another collection, which is not used any more, and returns the bytes that it had.
func (p *keyList) take(from *keyList) (bytes int64) {
	if cap(p.last) > 0 {
		p.full = append(slices.Grow(p.full, len(from.full)+1), p.last)
	}
	p.full = append(slices.Grow(p.full, len(from.full)), from.full...)
	p.last = slices.Clip(from.last)
	from.lists(func(l []uint64) { bytes += 48 + 8*int64(len(l)) })
	return bytes
}

// lists calls f with the numbers, one list at a time.
func (p *keyList) lists(f func([]uint64)) {
	for _, l := range p.full {
		f(l)
	}
	f(p.last)
}

// appendTo appends all numbers to dst.
func (p *keyList) appendTo(dst []uint64) []uint64 {
	p.lists(func(l []uint64) { dst = append(dst, l...) })
	return dst
}

// slab is memory from which short lists are allocated together: the garbage collector would have to
// mark each of thousands of small arrays.
type slab struct {
	rest  []uint64
	bytes int64 // of all
}

const (
	firstSlab = 16
	mostSlab  = 1 << 15
)

// list returns an empty list with room for n numbers, a power of two.
func (s *slab) list(n int) []uint64 {
	if len(s.rest) < n {
		size := max(firstSlab, n)
		for size < mostSlab && 64*int64(size) < s.bytes { // the rest takes an eighth at most
			size *= 2
		}
		s.rest = spare.Zeros[uint64](size)
		s.bytes += 8 * int64(size)
	}
	out := s.rest[:0:n]
	s.rest = s.rest[n:]
	return out
}

// keyBuffer buffers keys that are not in the lists of their groups yet. With more groups than the
// cache has lines for the ends of their lists, it is faster to append keys to one buffer, and to
// sort the buffer by group when it has several keys for each group.
type keyBuffer struct {
	sync.Mutex
	groups   []uint32
	keys     []uint64
	fraction float64 // of all

	starts []uint32
	sorted []uint64
}

const (
	bufferedMost        = 1 << 16
	bufferedGroupsLeast = 256
	bufferedGroupsMost  = bufferedMost / 4
)

// bytes is the size of the buffer and of the lists that its keys go to.
func (l *keyBuffer) bytes() int64 {
	return 4*int64(cap(l.groups)+cap(l.starts)) + 8*int64(cap(l.keys)+cap(l.sorted)+2*len(l.keys))
}

func (l *keyBuffer) full() bool { return len(l.groups) >= bufferedMost }

// take adds keys of n groups, all with the same percentile fraction. It returns false where
// fractions differ, or where adding the keys to their lists directly is faster.
func (l *keyBuffer) take(n int, groups []uint32, vals []float64, fractions arrow.Array) bool {
	f, ok := fractions.(*array.Float64)
	if !ok || n < bufferedGroupsLeast || n > bufferedGroupsMost || f.NullN() > 0 || len(vals) == 0 {
		return false
	}
	first := f.Value(0)
	if len(l.groups) > 0 {
		first = l.fraction
	}
	for _, x := range f.Float64Values() {
		if x != first {
			return false
		}
	}
	l.fraction = first
	l.groups = append(l.groups, groups...)
	for _, v := range vals {
		l.keys = append(l.keys, floatOrder(v))
	}
	return true
}

// each calls f with the keys of each of n groups that has any, and empties the buffer.
func (l *keyBuffer) each(n int, f func(g int, keys []uint64)) {
	if cap(l.starts) < n+1 {
		l.starts = make([]uint32, n+1)
	}
	if cap(l.sorted) < len(l.keys) {
		l.sorted = make([]uint64, cap(l.keys))
	}
	ends, sorted := l.starts[:n], l.sorted[:len(l.keys)]
	clear(ends)
	for _, g := range l.groups {
		ends[g]++
	}
	at := uint32(0)
	for g, k := range ends {
		ends[g] = at
		at += k
	}
	for i, g := range l.groups {
		sorted[ends[g]] = l.keys[i]
		ends[g]++
	}
	at = 0
	for g, end := range ends {
		if end > at {
			f(g, sorted[at:end])
		}
		at = end
	}
	l.groups, l.keys = l.groups[:0], l.keys[:0]
}
