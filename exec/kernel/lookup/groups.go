package lookup

import "github.com/tributarydb/tributary/exec/kernel"

// Groups are the keys of groups, a row of words each, in a table by their hashes. Group 0 is there.
//
//	Slots[h & (len(Slots)-1)] = group + 1, 0 none
type Groups struct {
	Slots []uint32 // a power of two
	Words []uint64
	Width int // words of a row
}

// First writes the groups of those rows that are in their first slots, and returns the numbers of the
// others, whose groups are any that there are. misses has room for Slack more than the rows.
func (t Groups) First(rows, hashes []uint64, groups []uint32, misses []int32) []int32 {
	return t.find(rows, hashes, groups, misses, false)
}

// Known is First but for the groups of the others, which are left out: it writes as many fewer.
func (t Groups) Known(rows, hashes []uint64, groups []uint32, misses []int32) []int32 {
	return t.find(rows, hashes, groups, misses, true)
}

func (t Groups) find(rows, hashes []uint64, groups []uint32, misses []int32, known bool) []int32 {
	n := len(hashes)
	rows, groups, misses = rows[:n*t.Width], groups[:n], misses[:n+Slack]
	if n == 0 {
		return misses[:0]
	}
	done, k := first(t, rows, hashes, groups, misses, known)
	return misses[:firstFrom(done, k, t, rows, hashes, groups, misses, known)]
}

// firstFrom is find from row i on, of those before k having been missed. There is no branch that a read
// decides, so that reads do not wait for each other.
func firstFrom(i, k int, t Groups, rows, hashes []uint64, groups []uint32, misses []int32, known bool) int {
	less := 0 // of misses
	if known {
		less = 1
	}
	slots, words, w := t.Slots, t.Words, t.Width
	mask := uint64(len(slots) - 1)
	for ; i < len(hashes); i++ {
		s := slots[hashes[i]&mask]
		there := kernel.NonZero(s)
		g := s - uint32(there)
		differ := uint64(1 - there)
		switch w {
		case 1:
			differ |= words[g] ^ rows[i]
		case 2:
			differ |= (words[2*int(g)] ^ rows[2*i]) | (words[2*int(g)+1] ^ rows[2*i+1])
		default:
			row, key := rows[i*w:][:w], words[int(g)*w:][:w]
			for j, x := range row {
				differ |= x ^ key[j]
			}
		}
		groups[i-less*k], misses[k] = g, int32(i)
		k += int((differ | -differ) >> 63)
	}
	return k
}
