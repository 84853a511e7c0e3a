package reduce

import "math/bits"

// Ranges gives each of the workers a run of leaves, none more than an eighth above
// its share, or none more than the share that is rounded up: as far as that allows, runs
// begin where large subtrees do, for what a boundary cuts is so many more partials
// between workers.
func Ranges(leaves int, workers []int) []int {
	n := len(workers)
	most := max((leaves+n-1)/n, leaves*9/(8*n))
	least := max(leaves*3/(4*n), min(leaves/n, 1))
	// best[k][i] is of the first k runs when they end at leaf i.
	type run struct{ cost, from int }
	best := make([][]run, n+1)
	for k := range best {
		best[k] = make([]run, leaves+1)
		for i := range best[k] {
			best[k][i].cost = -1
		}
	}
	best[0][0].cost = 0
	for k := range workers {
		for from := max(0, leaves-most*(n-k)); from <= min(leaves, most*k); from++ {
			was := best[k][from]
			for to := from + least; to <= min(from+most, leaves) && was.cost >= 0; to++ {
				cost := was.cost + 1<<(2*(cuts(from, leaves, n)+cuts(to, leaves, n)))
				if b := &best[k+1][to]; b.cost < 0 || cost < b.cost {
					*b = run{cost, from}
				}
			}
		}
	}
	owners := make([]int, leaves)
	for k, to := n, leaves; k > 0; k-- {
		from := best[k][to].from
		for i := from; i < to; i++ {
			owners[i] = workers[k-1]
		}
		to = from
	}
	return owners
}

// cuts is how many levels a boundary before a leaf cuts of subtrees that one worker
// could have.
func cuts(leaf, leaves, workers int) int {
	if leaf == leaves || leaf == 0 {
		return 0
	}
	return max(bits.Len(uint(leaves/workers))-1-bits.TrailingZeros(uint(leaf)), 0)
}
