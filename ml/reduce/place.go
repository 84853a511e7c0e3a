package reduce

// Ranges gives each of the workers a run of leaves, as equal as can be but for an
// eighth: a run begins where a large subtree does, for every subtree that a
// boundary cuts is one more partial between workers.
func Ranges(leaves int, workers []int) []int {
	grain := 1
	for 16*grain*len(workers) <= leaves {
		grain *= 2
	}
	owners := make([]int, leaves)
	from := 0
	for k, w := range workers {
		to := leaves
		if k+1 < len(workers) {
			equal := (leaves*(k+1) + len(workers) - 1) / len(workers)
			to = (equal + grain/2) / grain * grain
		}
		for ; from < to; from++ {
			owners[from] = w
		}
	}
	return owners
}
