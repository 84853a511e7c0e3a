package train

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/profile"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/calibration"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/rows"
)

// Reducer runs a task on every leaf of the job and returns the partials merged in the
// tree's order. An error of a task ends the job.
type Reducer interface {
	Reduce(ctx context.Context, t Task) (family.Message, error)
	// Home returns the driver's node, which is the first worker's.
	Home() *family.Node
}

// Checkpointer stores what is needed to resume a job after its coordinator has failed.
type Checkpointer interface {
	// Save stores what write writes; it may skip a checkpoint.
	Save(ctx context.Context, iteration int, write func(io.Writer) error) error
}

// Iteration is a finished iteration. Losses are means over rows without the
// penalty; a regression's is the mean squared error. ValidationLoss is NaN
// where no rows are held out.
type Iteration struct {
	Number         int
	TrainLoss      float64
	ValidationLoss float64
	Seconds        float64 // duration
}

// Event is what a job is doing, for an observer.
type Event struct {
	Phase     string // "fit", "encode", "iterate", "evaluate"
	Iteration *Iteration
	Trial     *Trial // as it is now
}

// Group is the workers that hold the rows of trials, and how to reach them.
type Group struct {
	Reducer
	Rows   int64                           // of the query
	Rescan func(ctx context.Context) error // see Input
	Close  func()
}

// Input is the input of Run, besides the reducer.
type Input struct {
	Job  *Job
	Rows int64 // of the query, over all nodes
	// Part says that the rows are a group's: they need not have all classes that options name.
	Part bool
	// Cached is what an earlier training knows of the rows, where the workers have taken
	// over its blocks (Worker.Take); Rows is their number then. nil where they have rows.
	Cached *Encoded
	// Rescan reads the query once more and distributes its rows, for workers that do not
	// hold them (see Distribution); nil where they do.
	Rescan func(ctx context.Context) error
	Resume []byte       // a checkpoint, or nil
	Start  *model.Model // the model to continue from, or nil
	// Given are the rows of the relation that the plan names, the features in their
	// order; a training that is resumed needs none.
	Given []*batch.Batch
	// Open reads the query for another job of the same rows, whose trials want them encoded
	// in another way, or on other workers: the leaves of worker i go to worker i + first. It is nil where
	// the job has no search.
	Open func(ctx context.Context, job *Job, first int) (*Group, error)
	// Workers is their number, where Open gives the same rows each time; else 0.
	Workers int
	// Hold charges bytes that a search keeps of its trials, or releases them if negative; may
	// be nil.
	Hold func(bytes int64) error
	// Cancelled reports whether a trial was cancelled alone; may be nil. It is asked between
	// steps, by Run's goroutine.
	Cancelled func(trial int) bool
	Save      Checkpointer // may be nil
	Progress  func(Event)  // may be nil; called by Run's goroutine
	Now       func() time.Time
	// Profile asks for a description of the training rows beside the model.
	Profile bool
	// SliceElements is the length of the slices of long partials; 0: the default.
	SliceElements int
}

// Result is a trained model with the statistics of its training.
type Result struct {
	Model      *model.Model
	Rows       int64 // trained on
	Held       int64 // held out
	Iterations int
	Evals      int
	TrainLoss  float64
	Metrics    []family.Metric // of the held out rows, or of the training rows if there are none
	History    []Iteration
	Stopped    string // why
	Converged  bool   // it did not merely run out of iterations
	Warnings   []Warning
	Usage      []Usage // by worker
	Elapsed    time.Duration
	Folds      []Fold      // of a cross-validation
	Trials     []Trial     // of a search, by number
	Objective  string      // of a search
	Best       int         // the number of its best trial
	Kept       []KeptTrial // the models of its other trials, where they are kept
	scored     *scored     // of a group, in a shared search: there is nothing else
	Encoded    *Encoded    // what is known of the rows, for a later training
	Profile    *profile.Profile
}

// KeptTrial is the training of a trial whose model is kept.
type KeptTrial struct {
	Number int
	*Result
}

type runner struct {
	in      Input
	red     Reducer
	job     *Job
	start   time.Time
	fitted  *feature.Fitted // of all columns
	learns  *feature.Fitted // of the features
	stats   *feature.Stats
	ranges  *feature.Ranges // nil where statistics do not have them
	holdout *holdout.Holdout
	short   []block.RowHash // see fitTask
	// profiled is what describe has made of the rows, for all trainings over the same blocks.
	profiled *atomic.Pointer[profile.Profile]
	cw       []float64
	by       *targetWeights // of several targets
	*rows.Encoded
	seen        int64   // rows, including those held out
	measured    float64 // the weight of the rows that were measured
	driver      family.Driver
	hist        []Iteration
	plan        [32]byte
	fold, folds int                                // the current fold of a cross-validation, from 1; folds is one more, for the final model
	tallied     *calibration.Tally                 // of all folds, for the final model; nil for none
	trial       string                             // its name, of a search
	most        int                                // iterations to make now, 0 for all
	follow      func(family.Driver) error          // has a new driver begin where another ended; may be nil
	cancelled   func() bool                        // of a trial: it shall end; may be nil
	tick        func(now time.Time, iteration int) // of a trial: it has made so many; may be nil
	aside       func(func() error) error           // runs what needs nothing of a search, whose other trials go on meanwhile; may be nil
	head        func(*canon.E)                     // writes what a checkpoint begins with, besides the driver's state
}

func (r *runner) phase(p string) {
	if r.in.Progress != nil {
		if r.trial != "" {
			p = r.trial + ", " + p
		}
		if r.fold < r.folds {
			p = fmt.Sprintf("%s, fold %d of %d", p, r.fold, r.folds-1)
		}
		r.in.Progress(Event{Phase: p})
	}
}

func (r *runner) reduce(ctx context.Context, b body) (family.Message, error) {
	return r.red.Reduce(ctx, Task{body: b})
}

// reduceTo runs a task whose partials are Ts.
func reduceTo[T any](ctx context.Context, red Reducer, b body) (out T, err error) {
	m, err := red.Reduce(ctx, Task{body: b})
	if err != nil {
		return out, err
	}
	return as[T](m)
}
