package pairs

import (
	"math/bits"
	"unsafe"
)

// queue has the rows of a frame in order: the first added is the first removed.
type queue[T any] struct {
	all  []T
	gone int // how many of them were removed
}

func (q *queue[T]) rows() []T { return q.all[q.gone:] }

func (q *queue[T]) push(row T) {
	if len(q.all) == cap(q.all) && 2*q.gone >= len(q.all) {
		q.all, q.gone = q.all[:copy(q.all, q.rows())], 0
	}
	q.all = append(q.all, row)
}

func (q *queue[T]) pop() T {
	q.gone++
	return q.all[q.gone-1]
}

func (q *queue[T]) held() int64 {
	var row T
	return int64(cap(q.all)) * int64(unsafe.Sizeof(row))
}

// SlidingArea is the Area of the rows of a frame that moves: adding or removing a row takes about the
// logarithm of their number. The value is defined if exactly two labels occur; labels are small
// numbers.
type SlidingArea struct {
	queue         queue[labelled]
	labels        []*ranks // by label: the keys of its rows; nil: never used
	some          int      // number of labels that have rows
	first, second *ranks   // the labels whose pairs are counted, while they are the only two that have rows; else nil
	pairs         uint64   // each pair that is in order counts two, a tie one
	bytes         int64    // of labels
}

type labelled struct {
	key   uint64
	label uint32
	skip  bool
}

// Push adds a row.
func (a *SlidingArea) Push(label uint32, key uint64) {
	a.queue.push(labelled{key: key, label: label})
	for int(label) >= len(a.labels) {
		a.labels = append(a.labels, nil)
	}
	s := a.labels[label]
	if s == nil {
		s = &ranks{}
		a.labels[label] = s
		a.some++
		a.first, a.second = nil, nil
	}
	a.bytes -= s.held()
	s.insert(key)
	a.bytes += s.held()
	a.count(s, key, 1)
}

// Skip adds a row that is not counted, such as one with a NULL.
func (a *SlidingArea) Skip() { a.queue.push(labelled{skip: true}) }

// Pop removes the oldest row.
func (a *SlidingArea) Pop() {
	r := a.queue.pop()
	if r.skip {
		return
	}
	s := a.labels[r.label]
	a.count(s, r.key, ^uint64(0))
	a.bytes -= s.held()
	if s.remove(r.key); s.n > 0 {
		a.bytes += s.held()
		return
	}
	a.labels[r.label] = nil
	a.some--
	a.first, a.second = nil, nil
}

// count adds the pairs that a row of s has with the rows of the other label, multiplied by times. The
// sum is modulo 1<<64, so that -1 subtracts them.
func (a *SlidingArea) count(s *ranks, key, times uint64) {
	switch s {
	case nil:
	case a.first:
		a.pairs += times * (a.second.below(key) + a.second.upTo(key))
	case a.second:
		a.pairs += times * (2*uint64(a.first.n) - a.first.below(key) - a.first.upTo(key))
	}
}

// Value returns the probability that a row of the greater label has a greater key than one of the
// other label; ok is false if not exactly two labels occur.
func (a *SlidingArea) Value(less func(a, b uint32) bool) (v float64, ok bool) {
	if a.some != 2 {
		return 0, false
	}
	if a.first == nil {
		var two []uint32
		for label, s := range a.labels {
			if s != nil {
				two = append(two, uint32(label))
			}
		}
		if less(two[0], two[1]) {
			two[0], two[1] = two[1], two[0]
		}
		a.first, a.second, a.pairs = a.labels[two[0]], a.labels[two[1]], 0
		for _, keys := range a.first.blocks {
			for _, k := range keys {
				a.count(a.first, k, 1)
			}
		}
	}
	return float64(a.pairs) / (2 * (float64(a.first.n) * float64(a.second.n))), true
}

// Relabel changes the numbers of the labels that have rows.
func (a *SlidingArea) Relabel(number func(label uint32) uint32) {
	to := make([]uint32, len(a.labels))
	var labels []*ranks
	for label, s := range a.labels {
		if s == nil {
			continue
		}
		to[label] = number(uint32(label))
		for int(to[label]) >= len(labels) {
			labels = append(labels, nil)
		}
		labels[to[label]] = s
	}
	a.labels = labels
	rows := a.queue.rows()
	for i := range rows {
		if !rows[i].skip {
			rows[i].label = to[rows[i].label]
		}
	}
}

// Rows returns the number of rows.
func (a *SlidingArea) Rows() int { return len(a.queue.rows()) }

// Held returns the memory in bytes.
func (a *SlidingArea) Held() int64 { return a.queue.held() + a.bytes + 8*int64(cap(a.labels)) }

// SlidingConcordance is Harrell's concordance index of the rows of a frame that moves. A row that is
// added or removed is compared with all others; if many are at once, it is cheaper to count all pairs
// anew at the next Value.
type SlidingConcordance struct {
	queue       queue[survival]
	stale       bool // pairs and wins must be counted anew
	pairs, wins uint64
}

type survival struct {
	Survival
	skip bool
}

// Move is called before n rows are pushed or popped.
func (c *SlidingConcordance) Move(n int) {
	c.stale = c.stale || n > 4*bits.Len(uint(len(c.queue.rows())))
}

// Push adds a row.
func (c *SlidingConcordance) Push(r Survival) {
	if !c.stale {
		pairs, wins := against(r, c.queue.rows())
		c.pairs, c.wins = c.pairs+pairs, c.wins+wins
	}
	c.queue.push(survival{Survival: r})
}

// Skip adds a row that is not counted.
func (c *SlidingConcordance) Skip() { c.queue.push(survival{skip: true}) }

// Pop removes the oldest row.
func (c *SlidingConcordance) Pop() {
	if r := c.queue.pop(); !c.stale && !r.skip {
		pairs, wins := against(r.Survival, c.queue.rows())
		c.pairs, c.wins = c.pairs-pairs, c.wins-wins
	}
}

// against returns the number of comparable pairs of a row with others, and twice its wins. It has no
// branches that depend on values, which the processor could not predict.
func against(r Survival, rows []survival) (pairs, wins uint64) {
	event, not := flags(r.Event)
	for i := range rows {
		o := &rows[i]
		if o.skip {
			continue
		}
		oEvent, oNot := flags(o.Event)
		// At equal times, a row without an event is taken to have survived longer.
		_, less := bits.Sub64(not, oNot, 0)
		_, less = bits.Sub64(r.Time, o.Time, less)
		_, more := bits.Sub64(oNot, not, 0)
		_, more = bits.Sub64(o.Time, r.Time, more)
		first, second := less&event, more&oEvent
		_, above := bits.Sub64(o.Risk, r.Risk, 0)
		_, below := bits.Sub64(r.Risk, o.Risk, 0)
		pairs += first + second
		wins += first*(1+above-below) + second*(1+below-above)
	}
	return pairs, wins
}

func flags(event bool) (is, not uint64) {
	if event {
		is = 1
	}
	return is, 1 - is
}

// Value returns the index; ok is false if no pair is comparable.
func (c *SlidingConcordance) Value() (v float64, ok bool) {
	if c.stale {
		rows := make([]Survival, 0, len(c.queue.rows()))
		for _, r := range c.queue.rows() {
			if !r.skip {
				rows = append(rows, r.Survival)
			}
		}
		s := Survived(rows, false)
		c.pairs, c.wins, c.stale = s.pairs.low, s.wins.low, false
	}
	if c.pairs == 0 {
		return 0, false
	}
	return float64(c.wins) / (2 * float64(c.pairs)), true
}

// Held returns the memory in bytes, including what counting all pairs takes.
func (c *SlidingConcordance) Held() int64 {
	return c.queue.held() + int64(len(c.queue.rows()))*int64(unsafe.Sizeof(Survival{})+3*unsafe.Sizeof(uint64(0)))
}
