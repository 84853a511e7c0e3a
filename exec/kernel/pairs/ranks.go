package pairs

import "slices"

// ranks is a sorted list of keys, divided into blocks. Inserting a key, removing one and counting those
// below a key take about the logarithm of the number of keys:
//
//	blocks   [2 5 5] [7 9] [12 40 41]
//	sizes    a Fenwick tree over the blocks' lengths 3, 2, 3
type ranks struct {
	blocks [][]uint64
	sizes  fenwick[uint64]
	n      int
}

// rankBlock is the most keys of a block.
const rankBlock = 512

// at returns the first block whose last key is k or greater, or the last block.
func (s *ranks) at(k uint64) int {
	if len(s.blocks) < 2 {
		return 0
	}
	b, _ := slices.BinarySearchFunc(s.blocks[:len(s.blocks)-1], k, func(b []uint64, k uint64) int {
		if b[len(b)-1] < k {
			return -1
		}
		return 1
	})
	return b
}

// below returns the number of keys less than k.
func (s *ranks) below(k uint64) uint64 {
	if s.n == 0 {
		return 0
	}
	b := s.at(k)
	i, _ := slices.BinarySearch(s.blocks[b], k)
	return s.sizes.below(b) + uint64(i)
}

// upTo returns the number of keys less than or equal to k.
func (s *ranks) upTo(k uint64) uint64 {
	if k == 1<<64-1 {
		return uint64(s.n)
	}
	return s.below(k + 1)
}

func (s *ranks) insert(k uint64) {
	if len(s.blocks) == 0 {
		s.blocks = [][]uint64{make([]uint64, 0, 8)}
		s.count()
	}
	b := s.at(k)
	if len(s.blocks[b]) == rankBlock {
		half := s.blocks[b][rankBlock/2:]
		s.blocks = slices.Insert(s.blocks, b+1, append(make([]uint64, 0, rankBlock), half...))
		s.blocks[b] = s.blocks[b][:rankBlock/2]
		s.count()
		b = s.at(k)
	}
	i, _ := slices.BinarySearch(s.blocks[b], k)
	s.blocks[b] = slices.Insert(s.blocks[b], i, k)
	s.sizes.add(b, 1)
	s.n++
}

// remove removes one key k, which must be there.
func (s *ranks) remove(k uint64) {
	b := s.at(k)
	i, _ := slices.BinarySearch(s.blocks[b], k)
	s.blocks[b] = slices.Delete(s.blocks[b], i, i+1)
	s.n--
	if len(s.blocks[b]) > 0 || s.n == 0 {
		s.sizes.add(b, ^uint64(0))
		return
	}
	s.blocks = slices.Delete(s.blocks, b, b+1)
	s.count()
}

// count computes sizes from the blocks.
func (s *ranks) count() {
	s.sizes = append(s.sizes[:0], make([]uint64, len(s.blocks)+1)...)
	for b, keys := range s.blocks {
		s.sizes.add(b, uint64(len(keys)))
	}
}

// held returns the memory in bytes.
func (s *ranks) held() (n int64) {
	if len(s.blocks) == 1 {
		n = 8 * int64(cap(s.blocks[0]))
	} else {
		n = 8 * rankBlock * int64(len(s.blocks))
	}
	return n + 24*int64(cap(s.blocks)) + 8*int64(cap(s.sizes))
}
