package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/groups"
	"github.com/tributarydb/tributary/ml/search"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TuningScope is the option that says whether each group has its own best trial.
const TuningScope = "hparam_tuning_scope"

// SharedSearch chooses one trial for all groups of rows. Each batch of trials is trained on
// each group, which says what it measured; the objective of a trial is the mean over the groups
// that it could be trained on, weighted by the weight of the rows that it was measured on.
//
//	Next ──▶ a job ──▶ (a groups.Group for each key, in any order) ──▶ Add by key ──▶ Tell ──▶ Next …
//
// A trial that goes on to another rung is trained from its beginning: groups keep nothing of it.
type SharedSearch struct {
	job    *Job
	spec   *Search
	alg    search.Search
	batch  []search.Trial
	sums   []trialSum     // of the batch
	points []search.Point // by the trials' numbers
	sharedState
}

// sharedState is what a checkpoint has of a shared search.
type sharedState struct {
	Objective string
	Told      [][]float64 // the losses of each batch that was told
	Trials    []Trial     // by number
}

// scored is what the trials of a batch have made of a group.
type scored struct {
	Objective string // "" if all failed
	Trials    []scoredTrial
}

type scoredTrial struct {
	Trial
	Weight float64 // of the rows that it was measured on
}

// trialSum is a sum over groups, weighted.
type trialSum struct {
	weight, value  float64
	folds          []float64
	metrics        []family.Metric
	weights        []float64 // of the metrics
	iterations     int
	seconds        float64
	groups, failed int
	first          *pgerr.Error // of the first group that failed
}

// NewSharedSearch begins the search of one trial for all groups; nil for a job that has none.
func NewSharedSearch(j *Job) *SharedSearch {
	if j.search == nil || !j.search.shared {
		return nil
	}
	return &SharedSearch{job: j, spec: j.search, alg: search.New(j.search.config)}
}

// Next returns the job that measures the next trials on a group; nil when the search is over.
func (s *SharedSearch) Next() *Job {
	last := s.batch
	s.batch = s.alg.Next()
	for _, b := range last {
		if t := &s.Trials[b.Number-1]; t.State == TrialRunning && !slices.ContainsFunc(s.batch, func(n search.Trial) bool { return n.Number == b.Number }) {
			t.State = TrialStopped
		}
	}
	if len(s.batch) == 0 {
		return nil
	}
	s.sums = make([]trialSum, len(s.batch))
	for _, b := range s.batch {
		if b.Number > len(s.points) {
			s.points = append(s.points, b.Point)
		}
		if b.Number > len(s.Trials) {
			s.Trials = append(s.Trials, Trial{Number: b.Number, Args: s.spec.texts(b.Point), State: TrialRunning, Objective: math.NaN()})
		}
	}
	job, spec := *s.job, *s.spec
	spec.only, job.search = s.batch, &spec
	return &job
}

// Add adds what became of a group. Groups come in the order of their keys, as sums depend on it.
func (s *SharedSearch) Add(group []byte) error {
	g, err := groups.Decode(group)
	if err != nil {
		return err
	}
	var of scored
	if g.Failed() {
		of.Trials = slices.Repeat([]scoredTrial{{Trial: Trial{Code: g.Code, Error: g.Error}}}, len(s.batch))
	} else if of, err = codec.Unmarshal[scored](g.Search); err != nil {
		return err
	}
	switch {
	case len(of.Trials) != len(s.batch):
		return pgerr.New(pgerr.DataCorrupted, "a group of a search has other trials")
	case s.Objective == "":
		s.Objective = of.Objective
	case of.Objective != "" && of.Objective != s.Objective:
		return badObjective(s.job, "groups are measured by different metrics: %s and %s", s.Objective, of.Objective).WithHint("Name one: hparam_tuning_objective = '%s'.", lossObjective)
	}
	for i := range of.Trials {
		s.sums[i].add(&of.Trials[i])
	}
	return nil
}

func (s *trialSum) add(t *scoredTrial) {
	s.groups++
	s.iterations, s.seconds = s.iterations+t.Iterations, s.seconds+t.Seconds
	if t.Code != "" {
		if s.failed++; s.first == nil {
			s.first = pgerr.New(pgerr.Code(t.Code), "%s", t.Error)
		}
		return
	}
	s.weight, s.value = s.weight+t.Weight, s.value+float64(t.Weight*t.Objective)
	if s.folds == nil {
		s.folds = make([]float64, len(t.Folds))
	}
	for i, v := range t.Folds[:min(len(t.Folds), len(s.folds))] {
		s.folds[i] += float64(t.Weight * v)
	}
	for _, m := range t.Metrics {
		at := slices.IndexFunc(s.metrics, func(x family.Metric) bool { return x.Name == m.Name })
		if at < 0 {
			at = len(s.metrics)
			s.metrics, s.weights = append(s.metrics, family.Metric{Name: m.Name}), append(s.weights, 0)
		}
		if !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) {
			s.metrics[at].Value, s.weights[at] = s.metrics[at].Value+float64(t.Weight*m.Value), s.weights[at]+t.Weight
		}
	}
}

// Tell ends a batch, all of whose groups were added. cancelled reports whether a trial was cancelled alone.
func (s *SharedSearch) Tell(cancelled func(trial int) bool) error {
	losses := make([]float64, len(s.batch))
	for i, b := range s.batch {
		t, sum := &s.Trials[b.Number-1], &s.sums[i]
		t.Rung, t.Iterations, t.Seconds = b.Rung, t.Iterations+sum.iterations, t.Seconds+sum.seconds
		losses[i] = math.NaN()
		var err error
		switch {
		case cancelled(b.Number):
			err = errTrialCancelled
		case sum.failed == sum.groups && sum.first != nil:
			err = sum.first
		case !(sum.weight > 0) || sum.value != sum.value:
			err = badObjective(s.job, "the objective %s was not measured", s.Objective)
		}
		if err != nil {
			t.failed(err)
			continue
		}
		if t.Error = ""; sum.failed > 0 {
			t.Error = fmt.Sprintf("%d of %d groups could not be trained", sum.failed, sum.groups)
		}
		if b.Share == 1 {
			t.State = TrialSucceeded
		}
		t.Objective, t.Folds, t.Metrics = sum.value/sum.weight, nil, nil
		for _, f := range sum.folds {
			t.Folds = append(t.Folds, f/sum.weight)
		}
		for k, m := range sum.metrics {
			t.Metrics = append(t.Metrics, family.Metric{Name: m.Name, Value: m.Value / sum.weights[k]})
		}
		a, err := aimOf(s.job, s.Objective)
		if err != nil {
			return pgerr.Wrap(pgerr.DataCorrupted, err, "a group of a search has another objective")
		}
		if losses[i] = t.Objective; !a.lower {
			losses[i] = -losses[i]
		}
	}
	s.alg.Tell(losses)
	s.Told = append(s.Told, losses)
	return nil
}

// Best returns the number of the best trial when the search is over, and the job of its settings.
func (s *SharedSearch) Best() (int, *Job, error) {
	best, loss := 0, math.Inf(1)
	for i := range s.Trials {
		t := &s.Trials[i]
		of := t.Objective
		if a, err := aimOf(s.job, s.Objective); err == nil && a != nil && !a.lower {
			of = -of
		}
		if t.State == TrialSucceeded && (of < loss || best == 0) {
			best, loss = t.Number, of
		}
	}
	if best == 0 {
		for _, t := range s.Trials {
			if t.Code != "" {
				return 0, nil, pgerr.New(pgerr.Code(t.Code), "%s", t.Error).WithDetail("No trial of %d has a model; this is the error of trial %d.", len(s.Trials), t.Number)
			}
		}
		return 0, nil, pgerr.Internal("a search ended without a model")
	}
	job, err := s.spec.job(s.points[best-1])
	return best, job, err
}

// Encode returns what Restore reads: all but what was added since the last batch was told.
func (s *SharedSearch) Encode() []byte { return codec.Marshal(s.sharedState) }

// Restore goes on from where another search of the same job was.
func (s *SharedSearch) Restore(b []byte) (err error) {
	if s.sharedState, err = codec.Unmarshal[sharedState](b); err != nil {
		return err
	}
	for _, losses := range s.Told {
		if s.Next() == nil || len(losses) != len(s.batch) {
			return pgerr.New(pgerr.DataCorrupted, "the checkpoint belongs to another training")
		}
		s.alg.Tell(losses)
	}
	return nil
}

// scores returns what a batch's trials have made of a group.
func (s *searcher) scores() (*Result, error) {
	of := &scored{}
	if s.aim != nil {
		of.Objective = s.aim.name
	}
	for _, b := range s.spec.only {
		t := s.trials[b.Number-1]
		x := scoredTrial{Trial: t.Trial}
		x.Args = nil // the driver knows them
		for _, r := range t.runs {
			x.Weight += r.weight
		}
		of.Trials = append(of.Trials, x)
	}
	return &Result{scored: of}, nil
}

// encodeBatch writes trials that are chosen.
func encodeBatch(e *canon.E, list []search.Trial) {
	e.U32(uint32(len(list)))
	for _, t := range list {
		e.Int(t.Number)
		e.F64s(t.Point)
		e.Int(t.Rung)
		e.F64(t.Share)
	}
}

// decodeBatch reads what encodeBatch wrote; nil where there is nothing.
func decodeBatch(d *canon.D) (list []search.Trial) {
	if d.Left() == 0 {
		return nil
	}
	for range d.Count(28) {
		t := search.Trial{Number: d.Int(), Point: d.F64s(), Rung: d.Int(), Share: d.F64()}
		if t.Number < 1 || t.Number > family.MaxTrials {
			d.Fail()
		}
		list = append(list, t)
	}
	return list
}
