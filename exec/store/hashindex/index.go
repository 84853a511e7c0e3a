package hashindex

import (
	"math/bits"
	"slices"
)

// Index is immutable.
type Index struct {
	shift  uint
	starts []uint32
	tags   []uint32
	rows   []uint32
	filter Filter
}

// New returns the index of rows by their hashes.
func New(hashes []uint64) *Index {
	n := max(bits.Len(uint(len(hashes)/8)), 1)
	x := &Index{shift: uint(64 - n), starts: make([]uint32, 1<<n+1), tags: make([]uint32, len(hashes)), rows: make([]uint32, len(hashes)), filter: newFilter(hashes)}
	for _, h := range hashes {
		x.starts[h>>x.shift+1]++
	}
	for i := 1; i < len(x.starts); i++ {
		x.starts[i] += x.starts[i-1]
	}
	next := slices.Clone(x.starts)
	for r, h := range hashes {
		at := next[h>>x.shift]
		next[h>>x.shift]++
		x.tags[at], x.rows[at] = uint32(h), uint32(r)
	}
	return x
}

// Bytes returns what an index of so many rows takes, while it is made too.
func Bytes(rows int64) int64 { return 11*rows + 64 }

// Find appends the rows with a hash, and perhaps others, in order.
func (x *Index) Find(h uint64, out []uint32) []uint32 {
	b := h >> x.shift
	for i := x.starts[b]; i < x.starts[b+1]; i++ {
		if x.tags[i] == uint32(h) {
			out = append(out, x.rows[i])
		}
	}
	return out
}

// Most returns how many rows Find looks at for a hash, without looking.
func (x *Index) Most(h uint64) int {
	b := h >> x.shift
	return int(x.starts[b+1] - x.starts[b])
}

// Filter returns the filter of the index's hashes.
func (x *Index) Filter() Filter { return x.filter }

// Filter is a blocked Bloom filter that rules out most keys that a segment does not have
// without its index: three bits for each hash in one word, with eight bits or more a row.
// Where those of many segments lie side by side, a segment that lacks the key costs one
// read of memory, which depends on no other. (F. Putze, P. Sanders, J. Singler: Cache-,
// Hash- and Space-Efficient Bloom Filters, WEA 2007, with blocks of one word.)
type Filter []uint64

// filterRows is how many rows of a segment share a word of its filter, at the most.
const filterRows = 8

func newFilter(hashes []uint64) Filter {
	f := make(Filter, 1<<bits.Len(uint(len(hashes)/filterRows)))
	for _, h := range hashes {
		f[h/64&uint64(len(f)-1)] |= filterBits(h)
	}
	return f
}

// filterBits returns the bits of a hash in its word of a filter. With three, there is a
// false positive in one segment of fifty; with one, in one of twelve, each of which costs
// two reads of its index.
func filterBits(h uint64) uint64 { return 1<<(h%64) | 1<<(h>>58) | 1<<(h>>52%64) }

// Lacks reports whether no key has a hash; false also where there is no filter.
func (f Filter) Lacks(h uint64) bool {
	bits := filterBits(h)
	return len(f) > 0 && f[h/64&uint64(len(f)-1)]&bits != bits
}
