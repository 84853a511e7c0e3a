package pairs

import "math/bits"

// rankWord is a 64-bit bitmap of cells, which are equal intervals of the range of keys: a bit is
// set if the cell has a key of the second class. It also has the number of keys below these cells,
// and how many more keys the cells have than bits are set.
type rankWord struct {
	bits  uint64
	below uint32
	more  uint32
}

const (
	spareBits = 5       // extra bits, so that there are more cells than keys and only one key in 32 to 64 shares a cell
	mostCells = 1 << 20 // so many that the words stay in the cache
	inRoom    = 1 << 31 // in more: where the word's keys are
)

// byBits counts the pairs with a bitmap of the keys of the second class. A key of the first class
// is greater than the keys of all lower words, and those of lower bits of its word, which is a
// prefix sum and a popcount. Only where the bit of its cell is set, or cells of its word are
// shared, is it compared with the keys of that word. It returns false, with all keys unchanged, if
// that would be too many comparisons.
func (c *Counter) byBits(first, second []uint64, least, most uint64, room []uint64) bool {
	by := bits.Len(uint(len(second))) + spareBits
	if 1<<by > mostCells {
		return false
	}
	shift, low, cells := divide(least, most, by)
	shift &= 63
	words := cells/64 + 2
	if len(c.words) < words {
		c.words = make([]rankWord, max(words, 1<<by/64+2))
	}
	in := c.words[:words]
	clear(in)
	for _, k := range second {
		cell := k>>shift - low
		w := &in[cell/64]
		w.bits |= 1 << (cell & 63)
		w.more++
	}
	sum := uint32(0)
	for i := range in {
		w := &in[i]
		w.below = sum
		sum += w.more
		w.more -= uint32(bits.OnesCount64(w.bits))
	}
	n, open := uint64(0), 0
	for _, k := range first {
		cell := k>>shift - low
		w := &in[cell/64]
		room[open] = k
		_, told := bits.Sub64(w.bits>>(cell&63)&1|uint64(w.more), 1, 0)
		n += (uint64(w.below) + uint64(bits.OnesCount64(w.bits&(1<<(cell&63)-1)))) & -told
		open += int(1 - told)
	}
	wins, ok := inWords(in, room[:open], second, room[open:], shift, low)
	if ok {
		c.Merge(&Counter{low: 2*n + wins})
	}
	return ok
}

// inWords counts the pairs that the bitmap does not decide.
func inWords(in []rankWord, open, second, room []uint64, shift int, low uint64) (n uint64, ok bool) {
	held, work := uint32(0), 0
	for _, k := range open {
		at := (k>>shift - low) / 64
		w, has := &in[at], in[at+1].below-in[at].below
		if w.more < inRoom {
			w.more = inRoom | held
			held += has
		}
		work += int(has)
	}
	if work > 4*(len(open)+len(second)) {
		return 0, false
	}
	kept := 0
	for _, k := range second { // without a branch, which could not be predicted
		second[kept] = k
		kept += int(in[(k>>shift-low)/64].more / inRoom)
	}
	for _, k := range second[:kept] {
		w := &in[(k>>shift-low)/64]
		room[w.more&^inRoom] = k
		w.more++
	}
	for _, k := range open {
		at := (k>>shift - low) / 64
		w, has := &in[at], in[at+1].below-in[at].below
		end := w.more &^ inRoom
		n += 2*uint64(w.below) + uint64(wins(k, room[end-has:end]))
	}
	return n, true
}
