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
type timeline struct{ times, count, weight, sums []float64 }

// Encode implements family.Message.
func (t *timeline) Encode(e *canon.E) {
	e.F64s(t.times)
	e.F64s(t.count)
	e.F64s(t.weight)
	e.F64s(t.sums)
}

func decodeTimeline(d *canon.D) *timeline {
	t := &timeline{d.F64s(), d.F64s(), d.F64s(), d.F64s()}
	if len(t.count) != len(t.times) || len(t.weight) != len(t.times) || !slices.IsSorted(t.times) {
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
	if n := len(t.times) - 1; n >= 0 && t.times[n] == time {
		t.count[n] += count
		t.weight[n] += weight
		return
	}
	t.times, t.count, t.weight = append(t.times, time), append(t.count, count), append(t.weight, weight)
}

func (t *timeline) merge(o *timeline) (*timeline, error) {
	out := &timeline{sums: t.sums}
	if len(o.sums) == len(t.sums) {
		f64.Add(out.sums, o.sums)
	}
	for i, k := 0, 0; i < len(t.times) || k < len(o.times); {
		if k == len(o.times) || i < len(t.times) && t.times[i] <= o.times[k] {
			out.push(t.times[i], t.count[i], t.weight[i])
			i++
		} else {
			out.push(o.times[k], o.count[k], o.weight[k])
			k++
		}
	}
	if len(out.times) > maxTimes {
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
	for _, w := range t.weight {
		total += w
	}
	for i, w := range t.weight {
		sum += w
		if k := float64(len(ends) + 1); t.times[i] > 0 && (i == len(t.weight)-1 || len(ends) < n-1 && sum*float64(n) >= k*total) {
			ends = append(ends, t.times[i])
		}
	}
	return ends
}

// risks are sums of a partial likelihood over rows: by the number of times that
// rows see, at, ascending, the weighted e^score of all of them and of those whose
// event that is; the events' scores; and the weight of all.
type risks struct {
	weight, scores float64
	at             []int64
	all, events    scaledSums
}

// Encode implements family.Message.
func (r *risks) Encode(e *canon.E) {
	e.F64(r.weight)
	e.F64(r.scores)
	e.I64s(r.at)
	r.all.encode(e)
	r.events.encode(e)
}

func decodeRisks(d *canon.D) *risks {
	r := &risks{d.F64(), d.F64(), d.I64s(), decodeScaled(d), decodeScaled(d)}
	if !r.all.fits(len(r.at)) || !r.events.fits(len(r.at)) {
		d.Fail()
		return &risks{}
	}
	return r
}

func (r *risks) merge(o *risks) *risks {
	out := &risks{weight: r.weight + o.weight, scores: r.scores + o.scores}
	for i, k := 0, 0; i < len(r.at) || k < len(o.at); {
		switch {
		case k == len(o.at) || i < len(r.at) && r.at[i] < o.at[k]:
			out.push(r.at[i], r.all.get(i), r.events.get(i))
			i++
		case i == len(r.at) || o.at[k] < r.at[i]:
			out.push(o.at[k], o.all.get(k), o.events.get(k))
			k++
		default:
			out.push(r.at[i], r.all.get(i).plus(o.all.get(k)), r.events.get(i).plus(o.events.get(k)))
			i, k = i+1, k+1
		}
	}
	return out
}

func (r *risks) push(at int64, all, events scaled) {
	r.at = append(r.at, at)
	r.all.push(all)
	r.events.push(events)
}

// likelihood returns the negative log partial likelihood, and by the number of
// times seen the cumulative hazard of a row of score 0, and what is subtracted
// from it for a row with an event there. For each of n tied events Breslow (1974)
// takes the whole risk set, Efron (1977) subtracts l/n of the tied events' hazard
// for the l-th of them. The loss is infinite where it is no number, or below 0, which no
// likelihood is. It fails where r is not of t's times.
func (t *timeline) likelihood(r *risks, efron bool) (loss float64, cumulative, own scaledSums, err error) {
	m := len(t.times)
	cumulative.v, own.v = make([]float64, m+1), make([]float64, m+1)
	loss = -r.scores
	most := math.Abs(r.scores) // of the terms, for their rounding errors
	risk, last := scaled{}, len(r.at)-1
	for k := m; k >= 1; k-- {
		events := scaled{}
		for ; last >= 0 && r.at[last] >= int64(k); last-- {
			if r.at[last] > int64(m) {
				return 0, cumulative, own, pgerr.New(pgerr.DataCorrupted, "sums over rows at risk are of other times")
			}
			risk = risk.plus(r.all.get(last))
			events = r.events.get(last)
		}
		n, w := t.count[k-1], t.weight[k-1]
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
