package train

import (
	"context"
	"errors"
	"math"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TrialState says how far a trial is.
type TrialState string

// The states of a trial.
const (
	TrialRunning   TrialState = "running" // or waits for the others of its rung
	TrialSucceeded TrialState = "succeeded"
	TrialStopped   TrialState = "stopped" // others of its rung were better
	TrialFailed    TrialState = "failed"
	TrialCancelled TrialState = "cancelled"
)

// errTrialCancelled ends a trial that was cancelled alone (Input.Cancelled).
var errTrialCancelled = pgerr.New(pgerr.QueryCanceled, "the trial was cancelled")

// Trial is a trial of a search, as users see it.
type Trial struct {
	Number     int
	Args       []NamedText // the options that are searched
	State      TrialState
	Objective  float64 // NaN where there is none; of several folds the mean
	Folds      []float64
	Metrics    []family.Metric
	Rung       int
	Iterations int // of all folds
	Seconds    float64
	Code       string // of the error
	Error      string
}

// Record is the trial as the catalog has it.
func (t Trial) Record() catalog.ModelTrial {
	out := catalog.ModelTrial{Number: t.Number, State: string(t.State), Objective: t.Objective, Folds: t.Folds,
		Rung: t.Rung, Iterations: t.Iterations, Seconds: t.Seconds, ErrorCode: t.Code, Error: t.Error}
	for _, m := range t.Metrics {
		out.Metrics = append(out.Metrics, catalog.NamedValue(m))
	}
	for _, a := range t.Args {
		out.Args = append(out.Args, catalog.NamedText(a))
	}
	return out
}

// trial is a trial as it is run.
type trial struct {
	Trial
	job  *Job // nil if it cannot be made
	runs []trialRun
	err  error // why it failed
}

// trialRun is the training of a trial without one of the folds, or its only one.
type trialRun struct {
	Fold
	rungs  int // how many are done
	value  float64
	loss   float64
	done   bool    // trained to its end
	paused []byte  // the checkpoint from which the next rung goes on
	weight float64 // of the rows that it was measured on, of a shared search
}

// fail makes an error the trial's end.
func (t *trial) fail(err error) {
	t.err = err
	t.failed(err)
}

func (t *Trial) failed(err error) {
	e := pgerr.From(err)
	t.State, t.Code, t.Error = TrialFailed, string(e.Code), e.Message
	if e.Code == pgerr.QueryCanceled {
		t.State = TrialCancelled
	}
	t.Objective = math.NaN()
}

// ofTrial reports whether an error is of a trial's settings, so that others may succeed.
func ofTrial(err error) bool {
	switch code := pgerr.CodeOf(err); {
	case errors.Is(err, errTrialCancelled):
		return true
	case len(code) != 5:
		return false
	case code[:2] == "22", code[:2] == "0A":
		return true
	}
	return false
}

// settle sums up the runs that have come to a rung, and returns the loss.
func (t *trial) settle(rung int, share float64) (loss float64) {
	if t.err != nil {
		return math.NaN()
	}
	t.Folds, t.Iterations, t.Seconds, t.Rung = nil, 0, 0, rung
	var value float64
	done, n := true, float64(len(t.runs))
	var folds []Fold
	for _, r := range t.runs {
		t.Iterations, t.Seconds = t.Iterations+r.Iterations, t.Seconds+r.Seconds
		if r.rungs <= rung {
			return math.NaN()
		}
		value, loss, done = value+r.value, loss+r.loss, done && (r.done || share == 1)
		t.Folds, folds = append(t.Folds, r.value), append(folds, r.Fold)
	}
	if t.Objective, loss = value/n, loss/n; len(folds) == 1 {
		t.Folds, t.Metrics = nil, folds[0].Metrics
	} else {
		t.Metrics = summary(folds)
	}
	if done {
		t.State = TrialSucceeded
	}
	return loss
}

// encodeTrials writes what is known of the trials.
func encodeTrials(e *canon.E, trials []*trial) {
	e.U32(uint32(len(trials)))
	for _, t := range trials {
		e.Str(t.Code)
		e.Str(t.Error)
		e.U32(uint32(len(t.runs)))
		for _, r := range t.runs {
			e.I64(r.Rows)
			e.I64(r.Held)
			e.Int(r.Iterations)
			e.F64(r.Seconds)
			encodeMetrics(e, r.Metrics)
			e.Int(r.rungs)
			e.F64(r.value)
			e.F64(r.loss)
			e.Bool(r.done)
			e.Bytes(r.paused)
		}
	}
}

// decodeTrials reads what encodeTrials wrote; the trials have nothing else.
func decodeTrials(d *canon.D) (out []*trial) {
	for range d.Count(12) {
		t := &trial{Trial: Trial{Code: d.Str(), Error: d.Str()}}
		for range d.Count(65) {
			t.runs = append(t.runs, trialRun{Fold{d.I64(), d.I64(), d.Int(), d.F64(), decodeMetrics(d)}, d.Int(), d.F64(), d.F64(), d.Bool(), d.Bytes(), 0})
		}
		out = append(out, t)
	}
	return out
}

// encodeResult writes a trial's model and what is told of it.
func encodeResult(e *canon.E, res *Result) {
	e.Bytes(res.Model.Encode())
	e.I64(res.Rows)
	e.I64(res.Held)
	e.Int(res.Iterations)
	e.Int(res.Evals)
	e.F64(res.TrainLoss)
	encodeMetrics(e, res.Metrics)
	encodeHistory(e, res.History)
	e.Str(res.Stopped)
	e.Bool(res.Converged)
	e.U32(uint32(len(res.Warnings)))
	for _, w := range res.Warnings {
		e.Str(w.Message)
		e.Str(w.Hint)
	}
}

func decodeResult(d *canon.D) *Result {
	m, err := model.Decode(d.Bytes())
	if err != nil {
		d.Fail()
		return nil
	}
	res := &Result{Model: m, Rows: d.I64(), Held: d.I64(), Iterations: d.Int(), Evals: d.Int(), TrainLoss: d.F64(), Metrics: decodeMetrics(d),
		History: decodeHistory(d), Stopped: d.Str(), Converged: d.Bool()}
	for range d.Count(8) {
		res.Warnings = append(res.Warnings, Warning{d.Str(), d.Str()})
	}
	return res
}

// trialTask has the workers go on with another trial, over the blocks that they have.
type trialTask struct{ job *Job }

func (t *trialTask) kind() uint8 { return kindTrial }

func (t *trialTask) Encode(e *canon.E) { e.Bytes(t.job.Encode()) }

func (t *trialTask) begin(w *Worker, p *Part) error {
	p.ofNode(func(context.Context) (family.Message, error) { return done{}, nil })
	return w.nextTrial(t.job)
}

func (t *trialTask) decode(*Job, *canon.D) family.Message { return done{} }

func (t *trialTask) merge(_ *Job, left, _ family.Message) (family.Message, error) { return left, nil }
