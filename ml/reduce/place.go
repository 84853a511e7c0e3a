package reduce

import "math/bits"

// Place assigns each of so many leaves, a power of two, to one of the workers. An owner
// ships only the sums of its subtrees, so each worker gets at most two subtrees, as
// large as possible: one of the largest size of which there is one for each, and a part
// of those left over, as large as leaves no worker more than an eighth above its share.
// Where there are more such parts than workers some get two, which form one subtree:
// these have at most a third above their share. A share may be rounded up.
//
// Workers and subtrees are in the same order throughout: neighbours are merged first.
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
	var left []int // starts of the subtrees that are left over
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
	two := max(parts-n, 0) // workers that get two parts, which form one subtree
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

// floor2 returns the greatest power of two that is at most v, 1 where there is none.
func floor2(v int) int { return 1 << (bits.Len(uint(max(v, 1))) - 1) }

// evenly returns the k-th of some places that are spread evenly over all.
func evenly(k, some, all int) int { return (2*k + 1) * all / (2 * some) }
