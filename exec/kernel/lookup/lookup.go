package lookup

import (
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/selection"
)

// Slack is how many more elements than keys rows and heads have room for: 16 are stored whatever is
// found, and the next store overwrites those that do not count.
const Slack = 16

// Table has a place for each integer from Lo on, all of which are of the keys' type; 0 is none.
type Table struct {
	Heads []uint32
	Lo    int64
}

// Find writes the numbers of the keys that are in the table, and the table's value for each minus
// less, and returns how many they are. If sel is not nil, the keys are keys[sel[0]], keys[sel[1]]
// and so on, and a number is a place in sel.
func Find[T selection.Integer](t Table, keys []T, sel []int32, less uint32, rows []int32, heads []uint32) int {
	n := len(keys)
	if sel != nil {
		n = len(sel)
	}
	rows, heads = rows[:n+Slack], heads[:n+Slack]
	if len(t.Heads) == 0 || n == 0 {
		return 0
	}
	done, k := find(t, keys, sel, n, less, rows, heads)
	return findFrom(done, k, t, keys, sel, less, rows, heads)
}

// findFrom is Find from key i on, of those before k having been found.
func findFrom[T selection.Integer](i, k int, t Table, keys []T, sel []int32, less uint32, rows []int32, heads []uint32) int {
	table, lo := t.Heads, t.Lo
	if sel != nil {
		for ; i < len(sel); i++ {
			if at := uint64(int64(keys[sel[i]]) - lo); at < uint64(len(table)) {
				head := table[at]
				rows[k], heads[k] = int32(i), head-less
				k += kernel.NonZero(head)
			}
		}
		return k
	}
	for ; i < len(keys); i++ {
		if at := uint64(int64(keys[i]) - lo); at < uint64(len(table)) {
			head := table[at]
			rows[k], heads[k] = int32(i), head-less
			k += kernel.NonZero(head)
		}
	}
	return k
}
