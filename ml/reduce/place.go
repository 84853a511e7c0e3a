package reduce

import "math/bits"

// Place gives each of so many leaves, a power of two, an owner among the workers. A
// subtree's sum is all that its owner ships, so everyone gets at most two, as large as may
// be: one of the largest of which there is one for each, and of those that are left over a
// part, as large as leaves nobody more than an eighth above its share. Where there are more
// such parts than workers some are given two, which are one subtree too: these have at most
// a third above their share. A share may be rounded up.
//
// Workers and subtrees are in one order all the time: who meet in the tree first are
// neighbours.
func Place(leaves int, workers []int) []int {
	n := len(workers)
	owners := make([]int, leaves)
	give := func(from, size, k int) {
		for i := from; i < from+size; i++ {
			owners[i] = workers[k]
		}
	}
	size := floor2(leaves / n)
	have := leaves / size
	given := min(n, have)
	var left []int // where the subtrees begin that are left over
	for i, k := 0, 0; i < have; i++ {
		if k < given && i == evenly(k, given, have) {
			give(i*size, size, k*n/given)
			k++
		} else {
			left = append(left, i*size)
		}
	}
	part := floor2(max((leaves+n-1)/n, leaves*9/(8*n)) - size)
	parts := len(left) * size / part
	two := max(parts-n, 0) // are given two, which are of one subtree
	to := parts - two
	for i, k, pairs := 0, 0, 0; i < parts; k++ {
		from := left[i*part/size] + i*part%size
		if pairs < two && i%2 == 0 && i/2 == evenly(pairs, two, parts/2) {
			give(from, 2*part, k)
			pairs++
			i += 2
			continue
		}
		give(from, part, k*n/to)
		i++
	}
	return owners
}

// floor2 is the greatest power of two that is at most v, 1 where there is none.
func floor2(v int) int { return 1 << (bits.Len(uint(max(v, 1))) - 1) }

// evenly is the k-th of some of all places, which lie evenly among them.
func evenly(k, some, all int) int { return (2*k + 1) * all / (2 * some) }
