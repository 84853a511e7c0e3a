package cox

import (
	"context"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The steps.
const (
	opTimes     uint8 = iota + 1 // events; no body
	opRisks                      // sums over rows at risk
	opCurvature                  // the part of the Hessian that is a sum over rows
	opPairs                      // durations beside risks
)

// request is the body of all steps but opTimes.
type request struct {
	Theta  []float64
	Events []event
	Hazard []float64 // opCurvature: by event, the hazards up to it in its stratum
	Own    []float64 // and what is less of them for a row whose event it is
}

// Encode implements family.Message.
func (r *request) Encode(e *canon.E) { canon.Put(e, r) }

// sums are, of opRisks, by event all rows' and then the events' Σ w·e^xβ and Σ w·e^xβ·x, and at the
// end Σ w·xβ and Σ w·x of events; of opCurvature an n×n matrix.
type sums struct{ V []float64 }

// Encode implements family.Message.
func (s *sums) Encode(e *canon.E) { canon.Put(e, s) }

// durations are a partial of opPairs.
type durations struct{ Rows []pairs.WeightedSurvival }

// Encode implements family.Message.
func (p *durations) Encode(e *canon.E) { canon.Put(e, p) }

// sumsLen is the length of opRisks' sums.
func (p *problem) sumsLen(events int) int { return (2*events + 1) * (p.n + 1) }

// worker implements family.Worker; it has no state.
type worker struct {
	p    *problem
	rows int64
}

// Close implements family.Worker.
func (w *worker) Close() {}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	r, _ := s.Body.(*request)
	switch s.Op {
	case opTimes:
		return 0, 64 * min(w.rows, mostSums)
	case opRisks:
		return 0, 8 * int64(w.p.sumsLen(len(r.Events)))
	case opCurvature:
		return 0, 8 * int64(w.p.n*w.p.n)
	}
	return 0, 48 * min(w.rows, mostPairs)
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	p := &pass{p: w.p, op: s.Op}
	if s.Op == opTimes {
		return p, nil
	}
	r, ok := s.Body.(*request)
	if !ok || len(r.Theta) != w.p.n || s.Op == opCurvature && (len(r.Hazard) != len(r.Events) || len(r.Own) != len(r.Events)) {
		return nil, pgerr.Internal("a step of a Cox model has no body that fits")
	}
	p.r, p.line = r, newTimeline(r.Events)
	return p, nil
}

// pass implements family.Pass.
type pass struct {
	p      *problem
	op     uint8
	r      *request
	line   *timeline
	events events
	sums   []float64
	pairs  durations
	x      []entry // of a row
}

type entry struct {
	j int
	x float64
}

// Add implements family.Pass.
func (a *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	a.room()
	for i := r.From; i < min(r.To, b.Rows); i++ {
		w, y := b.W[i], b.Y[i]
		if !(w > 0) {
			continue
		}
		time, happened := math.Abs(y), !math.Signbit(y)
		begin, late := a.p.begin(b, i)
		if late && !(begin < time) {
			return pgerr.New(pgerr.InvalidParameterValue, "a row ends before it is at risk").
				WithDetail("The entry of each row must be before its duration ends.")
		}
		switch a.op {
		case opTimes:
			if happened {
				a.events.List = append(a.events.List, event{a.p.key(b, i), time, 1, w})
			}
		case opPairs:
			a.pairs.Rows = append(a.pairs.Rows, pairs.WeightedSurvival{Time: time, Event: happened, Risk: a.p.score(b, i, a.r.Theta), Weight: w})
		default:
			from, to := a.line.of(a.p.key(b, i))
			if from == to {
				continue
			}
			last, before := a.line.last(from, to, time), from-1
			if late {
				before = a.line.last(from, to, begin)
			}
			a.row(b, i, w, last, before, from, happened)
		}
	}
	return nil
}

// row adds a row that is at risk at the events after number before, up to number last, of those
// from from on.
func (a *pass) row(b *block.Block, i int, w float64, last, before, from int, happened bool) {
	z := 0.0
	a.x = a.x[:0]
	a.p.columns(b, i, func(j int, x float64) {
		a.x = append(a.x, entry{j, x})
		z += float64(a.r.Theta[j] * x)
	})
	e, n := float64(w*f64.Exp1(risk(z))), a.p.n
	if a.op == opCurvature {
		h := 0.0
		if last >= from {
			h += a.r.Hazard[last]
		}
		if before >= from {
			h -= a.r.Hazard[before]
		}
		if happened {
			h -= a.r.Own[last]
		}
		e = float64(e * h)
		for _, p := range a.x {
			v := float64(e * p.x)
			for _, q := range a.x {
				a.sums[p.j*n+q.j] += float64(v * q.x)
			}
		}
		return
	}
	add := func(k int, by float64) {
		s := a.sums[k*(n+1):][:n+1]
		s[n] += by
		for _, p := range a.x {
			s[p.j] += float64(by * p.x)
		}
	}
	m := len(a.r.Events)
	if last >= from {
		add(last, e)
	}
	if before >= from {
		add(before, -e)
	}
	if happened {
		add(m+last, e)
		s := a.sums[2*m*(n+1):][:n+1]
		s[n] += float64(w * risk(z))
		for _, p := range a.x {
			s[p.j] += float64(w * p.x)
		}
	}
}

// room makes room for the sums.
func (a *pass) room() {
	if a.sums == nil {
		switch a.op {
		case opRisks:
			a.sums = make([]float64, a.p.sumsLen(len(a.r.Events)))
		case opCurvature:
			a.sums = make([]float64, a.p.n*a.p.n)
		}
	}
}

// Partial implements family.Pass.
func (a *pass) Partial() family.Message {
	switch a.op {
	case opTimes:
		e := a.events
		e.compact()
		a.events = events{}
		return &e
	case opPairs:
		d := a.pairs
		a.pairs = durations{}
		return &d
	}
	a.room()
	s := &sums{a.sums}
	a.sums = nil
	return s
}
