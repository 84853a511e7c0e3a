package agg

import (
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/spare"
)

// area is the Mann-Whitney statistic over the number of pairs: the probability that one of the
// first scores is above one of the second, ties counting half. The pairs are counted, for which the
// scores of one side need no order; the counts are integers, so that they do not depend on the
// number of threads.
//
//	step 0   how many there are in each part of the range of the keys
//	step 1   the keys in their parts: the first ones of a part, then the second ones
//	step 2   the pairs of each part
//
// A worker does its chunks' share of the first two, and its parts' of the last.
type area struct {
	sides   [2]*scores
	n       [2]int // of them
	to      []uint64
	workers []areaWorker
}

type areaWorker struct {
	n     [2][]int // of each side in each part
	next  [2][]int // where the next one goes, and in the end where the last worker's end
	pairs pairCounter
}

const (
	areaSteps = 3
	partBits  = 11 // bits of a key that one pass partitions by at most, so that the counts stay in a cache
	partKeys  = 1 << 12
)

func newArea(first, second *scores, workers int) *area {
	return &area{sides: [2]*scores{first, second}, n: [2]int{first.n, second.n}, to: spare.Dirty[uint64](first.n + second.n), workers: make([]areaWorker, workers)}
}

func rankSum(first, second *scores, workers int) float64 {
	a := newArea(first, second, workers)
	for step := range areaSteps {
		for worker := range workers {
			a.step(step, worker)
		}
	}
	return a.value()
}

// step does a worker's share of a step, which all end before the next begins.
func (a *area) step(step, worker int) {
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
func (a *area) chunks(worker int, f func(side int, keys []uint64)) {
	i := 0
	for side, s := range a.sides {
		for _, keys := range s.chunks {
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

// parts returns which part a key k is of, k>>shift − low, and how many there are.
func (a *area) parts() (shift int, low uint64, parts int) {
	least, most := min(a.sides[0].least, a.sides[1].least), max(a.sides[0].most, a.sides[1].most)
	return divide(least, most, min(bits.Len(uint(len(a.to)/partKeys)), partBits))
}

// divide divides a range by so many bits of those that differ.
func divide(least, most uint64, by int) (shift int, low uint64, parts int) {
	// The bits above those that differ are those of all.
	shift = max(bits.Len64(least^most)-max(by, 1), 0)
	low = least >> (shift & 63)
	return shift, low, int(most>>(shift&63)-low) + 1
}

// place finds where a worker puts its keys: behind those of the workers before it.
func (a *area) place(worker, parts int) {
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

// count counts the pairs of which the first is in the worker's share of the parts.
func (a *area) count(worker int) {
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
			c.add(2*(middle-from), below)
			least := (low + uint64(p)) << (shift & 63)
			c.count(a.to[from:end], middle-from, c.room, least, least|(1<<(shift&63)-1))
		}
		below += end - middle
		from = end
	}
}

func (a *area) value() float64 {
	var c pairCounter
	for i := range a.workers {
		c.merge(&a.workers[i].pairs)
	}
	return c.float() / (2 * (float64(a.n[0]) * float64(a.n[1])))
}

// pairCounter counts two for each pair in which the first is the greater one, and
// one for each tie.
type pairCounter struct {
	high, low uint64 // of 128 bits
	words     []rankWord
	ends      []uint32
	room      []uint64
}

func (c *pairCounter) add(a, b int) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	c.merge(&pairCounter{high: high, low: low})
}

func (c *pairCounter) float() float64 { return math.Ldexp(float64(c.high), 64) + float64(c.low) }

func (c *pairCounter) merge(o *pairCounter) {
	var carry uint64
	c.low, carry = bits.Add64(c.low, o.low, 0)
	c.high += o.high + carry
}

const (
	keyBits = 15 // of a range whose counts stay in a cache
	fewKeys = 1 << 20
)

// count counts the pairs of keys, of which the first n are the first ones, and all from least to
// most. spare has room for all, and keys may be overwritten.
func (c *pairCounter) count(keys []uint64, n int, spare []uint64, least, most uint64) {
	first, second := keys[:n], keys[n:]
	if len(first) == 0 || len(second) == 0 {
		return
	}
	if len(first) == 1 {
		c.add(wins(first[0], second), 1)
		return
	}
	if len(keys) < fewKeys {
		if c.near(first, second, least, most, spare) {
			return
		}
		least, most = span(keys, ^uint64(0), 0)
		if c.near(first, second, least, most, spare) {
			return
		}
	}
	shift, low, parts := divide(least, most, partBits)
	ends := make([]int, 2*parts)
	ends, firsts := ends[:parts], ends[parts:]
	for _, k := range first {
		firsts[k>>(shift&63)-low]++
	}
	copy(ends, firsts)
	for _, k := range second {
		ends[k>>(shift&63)-low]++
	}
	sum := 0
	for i, m := range ends {
		ends[i] = sum
		sum += m
	}
	for _, k := range keys {
		e := &ends[k>>(shift&63)-low]
		spare[*e] = k
		*e++
	}
	below, from := 0, 0 // of the second
	for i, end := range ends {
		a, b := firsts[i], end-from-firsts[i]
		c.add(2*a, below)
		if shift == 0 {
			c.add(a, b)
		} else {
			least := (low + uint64(i)) << (shift & 63)
			c.count(spare[from:end], a, keys[from:end], least, least|(1<<(shift&63)-1))
		}
		below += b
		from = end
	}
}

// wins returns two for each of the keys that is below k, and one for each that equals k.
func wins(k uint64, keys []uint64) (n int) {
	for _, s := range keys {
		_, above := bits.Sub64(s, k, 0)
		_, below := bits.Sub64(k, s, 0)
		n += int(1 + above - below)
	}
	return n
}

// near counts the pairs without partitioning the keys; false where there are too many equal ones.
func (c *pairCounter) near(first, second []uint64, least, most uint64, room []uint64) bool {
	if most-least < 1<<keyBits {
		c.byKey(first, second, least, most)
		return true
	}
	return c.byBits(first, second, least, most, room)
}

// byKey counts how many of the second ones are below each key that there may be.
func (c *pairCounter) byKey(first, second []uint64, least, most uint64) {
	keys := int(most-least) + 1
	if len(c.ends) <= keys {
		c.ends = make([]uint32, 2*keys+1)
	}
	ends := c.ends[:keys+1]
	clear(ends)
	in := ends[1:]
	for _, k := range second {
		in[k-least]++
	}
	sum := uint32(0)
	for i, m := range in {
		sum += m
		in[i] = sum
	}
	n := uint64(0)
	for _, k := range first {
		n += uint64(ends[k-least]) + uint64(ends[k-least+1])
	}
	c.merge(&pairCounter{low: n})
}
