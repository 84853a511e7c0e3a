package net

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The partial likelihood (Cox 1972) compares each event with the rows at risk then: a
// sum over rows whose time is no less. So only sums by the number of event times that a
// row survives to are sent:
//
//	leaves:  times of events ─────────────▶ timeline
//	leaves:  Σ e^score by place in it ────▶ R, log likelihood, cumulative hazard
//	leaves:  gradient by the hazards ◀──── down
//
// so no row is compared with another: the gradient by the score of a row is
// w·(e^score·H - event), where H is the cumulative hazard until its time.

// timeline is the distinct times of events, ascending, and the number and the
// weight of those at each. Beside it are sums over all rows of weights, and of the dense columns and
// their squares times these, where the optimiser needs them.
type timeline struct{ Times, Count, Weight, Sums []float64 }

// Encode implements family.Message.
func (t *timeline) Encode(e *canon.E) { canon.Put(e, t) }

func decodeTimeline(d *canon.D) *timeline {
	t := canon.Get[timeline](d)
	if len(t.Count) != len(t.Times) || len(t.Weight) != len(t.Times) || !slices.IsSorted(t.Times) {
		d.Fail()
		return &timeline{}
	}
	return t
}

// add adds events, in any order.
func (t *timeline) add(times, weights []float64) {
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case times[a] < times[b]:
			return -1
		case times[a] > times[b]:
			return 1
		}
		return 0
	})
	for _, i := range order {
		t.push(times[i], 1, weights[i])
	}
}

func (t *timeline) push(time, count, weight float64) {
	if n := len(t.Times) - 1; n >= 0 && t.Times[n] == time {
		t.Count[n] += count
		t.Weight[n] += weight
		return
	}
	t.Times, t.Count, t.Weight = append(t.Times, time), append(t.Count, count), append(t.Weight, weight)
}

func (t *timeline) merge(o *timeline) (*timeline, error) {
	out := &timeline{Sums: t.Sums}
	if len(o.Sums) == len(t.Sums) {
		f64.Add(out.Sums, o.Sums)
	}
	for i, k := 0, 0; i < len(t.Times) || k < len(o.Times); {
		if k == len(o.Times) || i < len(t.Times) && t.Times[i] <= o.Times[k] {
			out.push(t.Times[i], t.Count[i], t.Weight[i])
			i++
		} else {
			out.push(o.Times[k], o.Count[k], o.Weight[k])
			k++
		}
	}
	if len(out.Times) > maxTimes {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "the events of the training rows have more than %d distinct times", maxTimes).
			WithHint("Round the durations in the query.")
	}
	return out, nil
}

// seen is how many of the event times a row survives to: those that are not
// after its own.
func seen(times []float64, time float64) int {
	n, found := slices.BinarySearch(times, time)
	if found {
		n++
	}
	return n
}

// quantiles are the ends of at most n intervals with as many events each.
func (t *timeline) quantiles(n int) (ends []float64) {
	total, sum := 0.0, 0.0
	for _, w := range t.Weight {
		total += w
	}
	for i, w := range t.Weight {
		sum += w
		if k := float64(len(ends) + 1); t.Times[i] > 0 && (i == len(t.Weight)-1 || len(ends) < n-1 && sum*float64(n) >= k*total) {
			ends = append(ends, t.Times[i])
		}
	}
	return ends
}

// risks are sums of a partial likelihood over rows: by the number of times that
// rows see, at, ascending, the weighted e^score of all of them and of those whose
// event that is; the events' scores; and the weight of all.
type risks struct {
	Weight, Scores float64
	At             []int64
	All, Events    scaledSums
}

// Encode implements family.Message.
func (r *risks) Encode(e *canon.E) { canon.Put(e, r) }

func decodeRisks(d *canon.D) *risks {
	r := canon.Get[risks](d)
	if !r.All.fits(len(r.At)) || !r.Events.fits(len(r.At)) {
		d.Fail()
		return &risks{}
	}
	return r
}

func (r *risks) merge(o *risks) *risks {
	out := &risks{Weight: r.Weight + o.Weight, Scores: r.Scores + o.Scores}
	for i, k := 0, 0; i < len(r.At) || k < len(o.At); {
		switch {
		case k == len(o.At) || i < len(r.At) && r.At[i] < o.At[k]:
			out.push(r.At[i], r.All.get(i), r.Events.get(i))
			i++
		case i == len(r.At) || o.At[k] < r.At[i]:
			out.push(o.At[k], o.All.get(k), o.Events.get(k))
			k++
		default:
			out.push(r.At[i], r.All.get(i).plus(o.All.get(k)), r.Events.get(i).plus(o.Events.get(k)))
			i, k = i+1, k+1
		}
	}
	return out
}

func (r *risks) push(at int64, all, events scaled) {
	r.At = append(r.At, at)
	r.All.push(all)
	r.Events.push(events)
}

// likelihood returns the negative log partial likelihood, and by the number of
// times seen the cumulative hazard of a row of score 0, and what is subtracted
// from it for a row with an event there. For each of n tied events Breslow (1974)
// takes the whole risk set, Efron (1977) subtracts l/n of the tied events' hazard
// for the l-th of them. The loss is infinite where it is no number, or below 0, which no
// likelihood is. It fails where r is not of t's times.
func (t *timeline) likelihood(r *risks, efron bool) (loss float64, cumulative, own scaledSums, err error) {
	m := len(t.Times)
	cumulative.V, own.V = make([]float64, m+1), make([]float64, m+1)
	loss = -r.Scores
	most := math.Abs(r.Scores) // of the terms, for their rounding errors
	risk, last := scaled{}, len(r.At)-1
	for k := m; k >= 1; k-- {
		events := scaled{}
		for ; last >= 0 && r.At[last] >= int64(k); last-- {
			if r.At[last] > int64(m) {
				return 0, cumulative, own, pgerr.New(pgerr.DataCorrupted, "sums over rows at risk are of other times")
			}
			risk = risk.plus(r.All.get(last))
			events = r.Events.get(last)
		}
		n, w := t.Count[k-1], t.Weight[k-1]
		add := func(w, left float64) float64 {
			term := float64(w * scaled{left, risk.e}.log())
			loss += term
			most += math.Abs(term)
			return w / left
		}
		if !efron {
			cumulative.set(k, scaled{add(w, risk.v), -risk.e})
			continue
		}
		tied, total, less := events.at(risk.e), 0.0, 0.0
		for l := 0.0; l < n; l++ {
			hazard := add(w/n, risk.v-float64(l/n*tied))
			total += hazard
			less += float64(l / n * hazard)
		}
		cumulative.set(k, scaled{total, -risk.e})
		own.set(k, scaled{less, -risk.e})
	}
	for k := range m {
		cumulative.set(k+1, cumulative.get(k+1).plus(cumulative.get(k)))
	}
	if !(loss >= float64(-1e-9*most)) {
		loss = math.Inf(1)
	}
	return loss, cumulative, own, nil
}

// spans of a duration, negative where the event did not happen, over intervals
// with these ends: how many it certainly outlived, and the one in which the event
// happened, or -1. A censored row has outlived an interval if it survives at
// least half of it (Gensheimer and Narasimhan).
func spans(ends []float64, y float64) (outlived, event int) {
	t := math.Abs(y)
	j, _ := slices.BinarySearch(ends, t)
	if j == len(ends) {
		return j, -1
	}
	if !math.Signbit(y) {
		return j, j
	}
	from := 0.0
	if j > 0 {
		from = ends[j-1]
	}
	if t >= from+float64(0.5*(ends[j]-from)) {
		j++
	}
	return j, -1
}

// hazardLoss is the negative log likelihood of a row by its log-odds, and, where d
// is not nil, its derivatives times w.
func hazardLoss(z []float32, ends []float64, y, w float64, d []float32) (loss float64) {
	outlived, event := spans(ends, y)
	clear(d)
	for k := range outlived {
		loss += f64.LogLoss1(-float64(z[k]))
		if d != nil {
			d[k] = float32(w * f64.Sigmoid1(float64(z[k])))
		}
	}
	if event >= 0 {
		loss += f64.LogLoss1(float64(z[event]))
		if d != nil {
			d[event] = float32(-w * f64.Sigmoid1(-float64(z[event])))
		}
	}
	return float64(w * loss)
}
