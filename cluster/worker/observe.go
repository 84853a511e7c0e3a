package worker

import (
	"time"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/stage"
)

// nodeActuals are the counters of a plan on one node.
type nodeActuals struct {
	node uint64
	act  stage.Actuals
}

// afterwards is how long a statement has run when it is worth to keep what a plan did that ends then:
// the statement may become a slow one.
const afterwards = observe.Slow / 10

// maxOperators bounds those that are kept of a statement, and operatorsApart is the distance between the
// numbers of the operators of its plans.
const (
	maxOperators   = 500
	operatorsApart = 1000
)

// KeepOperators implements query.Statement.
func (s *Statement) KeepOperators() {
	s.mu.Lock()
	s.keep = true
	s.mu.Unlock()
}

// Observed implements query.Statement.
func (s *Statement) Observed() ([]observe.Operator, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observe()
	s.last = nil
	if !s.keep && time.Since(s.began) < observe.Slow {
		return nil, s.sent
	}
	return s.past, s.sent
}

// observe keeps what the last plan did, before another is it; the lock is held.
func (s *Statement) observe() {
	if s.last == nil {
		return
	}
	if q, ok := s.last.(*query); ok {
		for _, n := range q.actuals() {
			s.sent += n.Sent
		}
	}
	if s.keep || time.Since(s.began) >= afterwards {
		s.past = append(s.past, s.operators()...)
		s.past = s.past[:min(len(s.past), maxOperators)]
	}
}

// operators are those of the last plan, as of now; the lock is held.
func (s *Statement) operators() (out []observe.Operator) {
	p, nodes, _, _ := s.last.observed()
	if p == nil || len(p.Stages) == 0 {
		return nil
	}
	base := (s.runs - 1) * operatorsApart
	for i, o := range stage.Operators(p, props.RowsFunc(props.FromState(s.st), nil)) {
		row := observe.Operator{Stage: int(o.Stage), Number: base + i, Parent: o.Parent, Kind: o.Kind, Name: o.Title, Detail: o.Detail, Estimated: o.Rows}
		if row.Parent >= 0 {
			row.Parent += base
		}
		before := len(out)
		for _, n := range nodes {
			a, ok := n.act[o.Key]
			if !ok {
				continue
			}
			r := row
			r.Node, r.Rows, r.Took, r.Memory, r.Spilled = n.node, a.Rows, a.Time, a.Memory, a.Spilled
			if o.Sends {
				r.Sent = n.act[stage.Key{Stage: o.Stage}].Sent
			}
			out = append(out, r)
		}
		if len(out) == before {
			out = append(out, row)
		}
	}
	return out
}

// Operators returns the operators of the plans of a statement of this node that runs.
func (w *Worker) Operators(id string) (out []observe.Operator) {
	w.each(id, func(s *Statement) {
		out = append(out, s.past...)
		if s.last != nil {
			out = append(out, s.operators()...)
		}
	})
	return out
}

// Progress returns how much of what a statement of this node reads it has read, from 0 to 1; -1
// where that is not known.
func (w *Worker) Progress(id string) float64 {
	share := -1.0
	w.each(id, func(s *Statement) {
		if s.last != nil {
			if _, _, done, total := s.last.observed(); total > 0 {
				share = float64(done) / float64(total)
			}
		}
	})
	return share
}

// each calls f with what runs of a statement, whose lock is held.
func (w *Worker) each(id string, f func(*Statement)) {
	w.mu.Lock()
	var list []*Statement
	for s := range w.statements {
		if s.id == id {
			list = append(list, s)
		}
	}
	w.mu.Unlock()
	for _, s := range list {
		s.mu.Lock()
		f(s)
		s.mu.Unlock()
	}
}

func (r *singleStage) observed() (*plan.Staged, []nodeActuals, int, int) {
	t, q := r.now()
	if t == nil {
		return nil, nil, 0, 0
	}
	act := stage.Actuals{}
	addStats(act, statsOf(r.root.ID, t.Stats()))
	return &plan.Staged{Stages: []plan.Stage{*r.root}}, []nodeActuals{{r.s.g.w.cfg.Self, act}}, r.splits - q.left(), r.splits
}

func (q *query) observed() (*plan.Staged, []nodeActuals, int, int) {
	q.mu.Lock()
	a := q.cur
	q.mu.Unlock()
	if a == nil {
		return q.plan, nil, 0, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []nodeActuals
	add := func(node uint64, list []nodeStats) {
		act := stage.Actuals{}
		addStats(act, list)
		out = append(out, nodeActuals{node, act})
	}
	if a.part != nil {
		add(a.nodes[0], a.part.stats())
	}
	for _, n := range a.nodes[1:] {
		add(n, a.remote[n])
	}
	total := 0
	for _, l := range a.leaves {
		total += len(l.splits)
	}
	return q.plan, out, a.splitsRead, total
}
