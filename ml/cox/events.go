package cox

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// event is a time at which something happened in a stratum: how often, and the weight of those rows.
type event struct{ Stratum, Time, Count, Weight float64 }

func (e event) compare(o event) int {
	return cmp.Or(cmp.Compare(e.Stratum, o.Stratum), cmp.Compare(e.Time, o.Time))
}

// events are the distinct ones, in order.
type events struct{ List []event }

// Encode implements family.Message.
func (e *events) Encode(c *canon.E) { canon.Put(c, e) }

// mostSums bounds what a step sums by event.
const mostSums = 1 << 23

func errTooMany() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "the events of the training rows have too many distinct times for so many features").
		WithDetail("Distinct times, in each stratum, times weights are at most %d.", mostSums).WithHint("Round the durations in the query.")
}

func (e *events) merge(o *events) (*events, error) {
	e.List = append(e.List, o.List...)
	e.compact()
	if len(e.List) > mostSums {
		return nil, errTooMany()
	}
	return e, nil
}

// compact sorts the events and adds up those of the same time. The sort is stable: sums are in the
// order of leaves.
func (e *events) compact() {
	slices.SortStableFunc(e.List, event.compare)
	out := e.List[:0]
	for _, x := range e.List {
		if n := len(out) - 1; n >= 0 && out[n].compare(x) == 0 {
			out[n].Count += x.Count
			out[n].Weight += x.Weight
			continue
		}
		out = append(out, x)
	}
	e.List = out
}

// strata returns where the events of each stratum begin, and the number of events at the end.
func strata(list []event) (from []int) {
	for i := range list {
		if i == 0 || list[i].Stratum != list[i-1].Stratum {
			from = append(from, i)
		}
	}
	return append(from, len(list))
}

// timeline finds events.
type timeline struct {
	list []event
	from []int
}

func newTimeline(list []event) *timeline { return &timeline{list, strata(list)} }

// of returns the numbers [from, to) of a stratum's events, none where it has none.
func (t *timeline) of(stratum float64) (from, to int) {
	k, ok := slices.BinarySearchFunc(t.from[:len(t.from)-1], stratum, func(i int, s float64) int { return cmp.Compare(t.list[i].Stratum, s) })
	if !ok {
		return 0, 0
	}
	return t.from[k], t.from[k+1]
}

// last returns the number of the last event of [from, to) that is not after a time; from-1 for none.
func (t *timeline) last(from, to int, time float64) int {
	k, found := slices.BinarySearchFunc(t.list[from:to], time, func(e event, x float64) int { return cmp.Compare(e.Time, x) })
	if !found {
		k--
	}
	return from + k
}
