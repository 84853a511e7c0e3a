package pairs

import (
	"math/bits"

	"github.com/tributarydb/tributary/exec/spare"
)

// Keys are the scores of one class, positive or negative, converted to integers of the same order
// (f64.ScoreKey), unsorted.
type Keys struct {
	Chunks      [][]uint64
	N           int
	Least, Most uint64 // bounds of the keys
}

// Area computes the area under the ROC curve as the Mann-Whitney statistic over the number of pairs
// (Mann and Whitney 1947): the probability that a score of the first class is greater than one of
// the second, with ties counting half. It partitions the keys by range instead of sorting them.
// Counts are integers, so the result does not depend on the number of threads.
//
//	step 0   count the keys in each partition of their range
//	step 1   move the keys to their partitions: in each, first those of the first class
//	step 2   count the pairs of each partition
//
// A worker does the first two steps for its share of the chunks, and the last for its share of the
// partitions.
type Area struct {
	sides   [2]*Keys
	n       [2]int // of them
	to      []uint64
	workers []areaWorker
}

type areaWorker struct {
	n     [2][]int // keys of each class in each partition
	next  [2][]int // where the next key goes; after step 1, where the partition ends
	pairs Counter
}

const (
	AreaSteps = 3  // how often each worker calls Step
	partBits  = 11 // the most key bits to partition by in one pass, so that the counts stay in the cache
	partKeys  = 1 << 12
)

// NewArea makes an Area for so many workers, each of which must call Step for 0 to AreaSteps-1.
func NewArea(first, second *Keys, workers int) *Area {
	return &Area{sides: [2]*Keys{first, second}, n: [2]int{first.N, second.N}, to: spare.Dirty[uint64](first.N + second.N), workers: make([]areaWorker, workers)}
}

// RankSum computes the area in one thread, with the same steps as so many workers.
func RankSum(first, second *Keys, workers int) float64 {
	a := NewArea(first, second, workers)
	for step := range AreaSteps {
		for worker := range workers {
			a.Step(step, worker)
		}
	}
	return a.Value()
}

// Step does the share of one worker in a step. All workers must end a step before any begins the
// next.
func (a *Area) Step(step, worker int) {
	w := &a.workers[worker]
	switch step {
	case 0:
		shift, low, parts := a.parts()
		w.n = [2][]int{make([]int, parts), make([]int, parts)}
		a.chunks(worker, func(side int, keys []uint64) {
			n := w.n[side]
			for _, k := range keys {
				n[k>>(shift&63)-low]++
			}
		})
	case 1:
		shift, low, parts := a.parts()
		a.place(worker, parts)
		a.chunks(worker, func(side int, keys []uint64) {
			next := w.next[side]
			for _, k := range keys {
				e := &next[k>>(shift&63)-low]
				a.to[*e] = k
				*e++
			}
		})
	case 2:
		a.count(worker)
	}
}

// chunks calls f for a worker's share of the chunks.
func (a *Area) chunks(worker int, f func(side int, keys []uint64)) {
	i := 0
	for side, s := range a.sides {
		for _, keys := range s.Chunks {
			if i%len(a.workers) == worker {
				f(side, keys)
			}
			i++
		}
	}
}

func span(keys []uint64, least, most uint64) (uint64, uint64) {
	for _, k := range keys {
		least, most = min(least, k), max(most, k)
	}
	return least, most
}

// parts returns how keys are partitioned, key k belonging to partition k>>shift − low, and the
// number of partitions.
func (a *Area) parts() (shift int, low uint64, parts int) {
	least, most := min(a.sides[0].Least, a.sides[1].Least), max(a.sides[0].Most, a.sides[1].Most)
	return divide(least, most, min(bits.Len(uint(len(a.to)/partKeys)), partBits))
}

// divide partitions a range by at most `by` of the highest bits in which its bounds differ.
func divide(least, most uint64, by int) (shift int, low uint64, parts int) {
	// The bits above these are equal in all keys.
	shift = max(bits.Len64(least^most)-max(by, 1), 0)
	low = least >> (shift & 63)
	return shift, low, int(most>>(shift&63)-low) + 1
}

// place computes where a worker moves its keys to: behind those of lower workers.
func (a *Area) place(worker, parts int) {
	next := [2][]int{make([]int, parts), make([]int, parts)}
	sum := 0
	for p := range parts {
		for side := range a.sides {
			for w := range a.workers {
				if w == worker {
					next[side][p] = sum
				}
				sum += a.workers[w].n[side][p]
			}
		}
	}
	a.workers[worker].next = next
}

// count counts the pairs of the partitions of one worker.
func (a *Area) count(worker int) {
	c := &a.workers[worker].pairs
	below, from := 0, 0 // of the second
	last := &a.workers[len(a.workers)-1]
	shift, low, _ := a.parts()
	for p := range last.next[0] {
		middle, end := last.next[0][p], last.next[1][p]
		if p%len(a.workers) == worker {
			if len(c.room) < end-from {
				c.room = make([]uint64, end-from)
			}
			c.Add(2*(middle-from), below)
			least := (low + uint64(p)) << (shift & 63)
			c.count(a.to[from:end], middle-from, c.room, least, least|(1<<(shift&63)-1))
		}
		below += end - middle
		from = end
	}
}

// Free returns the memory for reuse, when all steps are done.
func (a *Area) Free() {
	spare.Reuse(a.to)
	a.to = nil
}

// Value returns the area, once all steps are done.
func (a *Area) Value() float64 {
	var c Counter
	for i := range a.workers {
		c.Merge(&a.workers[i].pairs)
	}
	return c.Float() / (2 * (float64(a.n[0]) * float64(a.n[1])))
}
