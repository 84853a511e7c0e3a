package search

import (
	"math"
	"slices"
)

// keep is the share of trials that a rung promotes: one of so many, which then make so
// many times as many iterations.
const keep = 3

// halving trains all trials for a small share of their iterations, and goes on with the
// best third of them, rung by rung, until one rung is trained to the end. That a rung is
// decided when all of its trials have arrived is what makes the decisions independent of
// speed; asynchronous halving promotes whoever comes first.
type halving struct {
	rung  []Trial // to train now, or under way
	rungs int     // after this one
}

// Rungs returns how many shares there are before the whole one, for so many trials of so
// many iterations. A trial is measured after 1/27 of its iterations at the earliest:
// earlier ones say which start fast rather than which end well.
func Rungs(trials, iterations int) (n int) {
	for n < 3 && trials >= keep && iterations >= keep {
		n, trials, iterations = n+1, trials/keep, iterations/keep
	}
	return n
}

func newHalving(c Config) Search {
	h := &halving{rungs: Rungs(c.Trials, c.Iterations)}
	for i, p := range drawn(c) {
		h.rung = append(h.rung, Trial{Number: i + 1, Point: p, Share: h.share()})
	}
	return h
}

// share returns the share of iterations of the present rung.
func (h *halving) share() float64 { return 1 / math.Pow(keep, float64(h.rungs)) }

func (h *halving) Next() []Trial { return slices.Clone(h.rung) }

func (h *halving) Tell(losses []float64) {
	if h.rungs == 0 {
		h.rung = nil
		return
	}
	h.rungs--
	order := make([]int, len(h.rung))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { // the lower number of equals
		switch {
		case better(losses[a], losses[b]):
			return -1
		case better(losses[b], losses[a]):
			return 1
		}
		return 0
	})
	order = slices.DeleteFunc(order[:max(1, len(order)/keep)], func(i int) bool { return losses[i] != losses[i] })
	slices.Sort(order)
	var next []Trial
	for _, i := range order {
		t := h.rung[i]
		t.Rung, t.Share = t.Rung+1, h.share()
		next = append(next, t)
	}
	h.rung = next
}
