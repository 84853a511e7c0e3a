package family

import (
	"context"
	"encoding"
	"math"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/optim"
)

// Set is the set of rows that a step covers.
type Set uint8

// The sets; they are or-ed.
const (
	Train Set = 1 << iota
	Held
)

// Step is an operation on all blocks. Op is the family's own number for it, which
// selects the decoders.
type Step struct {
	Op    uint8
	Set   Set
	Batch *optim.MiniBatch // a part of the rows of Train, with Set = Train; nil for all of them
	Body  Message          // may be nil; immutable once it is sent
	Kept  bool             // only workers' state per row is needed: passes get no blocks
	// Elements is the length of the vector in partials that are Sliced, the same on all
	// nodes; 0: partials are not sliced.
	Elements int
}

// Driver controls a training: a pure state machine for one goroutine.
//
//	for !d.State().Done { d.Tell(merged(d.Next())) }
type Driver interface {
	// Next returns the step wanted now, the same again until Tell.
	Next() *Step
	// Tell passes the merged partial of Next's step, which the driver may keep. An error,
	// such as 22003, ends the training without a model.
	Tell(p Message) error
	// State returns the progress of the training.
	State() State
	// Predictor returns what was learnt, that of the best iteration where one is tracked.
	// It is called once the training is done.
	Predictor() (Predictor, error)
	// The state between a Tell and the following Next, from which a driver made from the
	// same Setup continues to the same model. Workers are new then.
	Encode(e *canon.E) error
	encoding.BinaryUnmarshaler
}

// FromRanges is a Driver some of whose steps can be answered from the ranges of the
// columns, without reading rows.
type FromRanges interface {
	// FromRanges returns the partial of Next's step for training rows with these ranges
	// and weights of 1; nil where the step needs more.
	FromRanges(r *feature.Ranges) Message
}

// State is the progress of a training. Losses are means over rows without penalties,
// NaN where there is none.
type State struct {
	Iteration      int // finished ones
	TrainLoss      float64
	ValidationLoss float64
	Done           bool
	Converged      bool
	Stopped        string   // why it is done, e.g. "converged", "max_iterations"
	Evals          int      // steps over all rows so far
	Metrics        []Metric // of a model without a target; others are measured by their task
}

// Encode writes a state, except its metrics, for a driver's Encode.
func (s *State) Encode(e *canon.E) {
	e.Int(s.Iteration)
	e.F64(s.TrainLoss)
	e.F64(s.ValidationLoss)
	e.Bool(s.Done)
	e.Bool(s.Converged)
	e.Str(s.Stopped)
	e.Int(s.Evals)
}

// DecodeState reads what Encode wrote.
func DecodeState(d *canon.D) State {
	return State{Iteration: d.Int(), TrainLoss: d.F64(), ValidationLoss: d.F64(), Done: d.Bool(), Converged: d.Bool(), Stopped: d.Str(), Evals: d.Int()}
}

// Metric is a metric's name and value.
type Metric struct {
	Name  string
	Value float64
}

// NoLoss returns the loss of a set without rows: NaN.
func NoLoss() float64 { return math.NaN() }

// Node is the environment of a Worker or a Driver.
type Node struct {
	Threads int // also for a driver with much to compute
	// Root says that the driver is here too: a worker charges what it holds.
	Root bool
	// Grow charges bytes of the worker's own state, such as state per row, or of the
	// driver's; a negative number releases. It may be called from any goroutine. What a
	// driver still has charged at its end is released for it.
	Grow func(bytes int64) error
	// Space returns zeroed memory, aligned to 8 bytes, for a worker's state per row:
	// charged memory, or where that is scarce a mapped file. It is valid until the worker
	// is closed. It may be called from any goroutine.
	Space func(bytes int) ([]byte, error)
	// Memory is the training's memory limit on this node in bytes, 0 for none: for
	// families that can use more memory to do more at once.
	Memory int64
}

// Reused is a partial whose memory its family reuses.
type Reused interface {
	Message
	// Free returns the memory for reuse: the partial and its slices must not be used any
	// more. Calling it is optional.
	Free()
}

// Free frees a partial that is Reused.
func Free(m Message) {
	if r, ok := m.(Reused); ok {
		r.Free()
	}
}

// Worker is a node's part of a training. Its methods may be called from any goroutine;
// steps follow each other. Steps of mini-batches that have no rows on the node do not
// reach it.
type Worker interface {
	// PassBytes returns bounds of the memory of one Pass of a step, and in addition of a
	// partial.
	PassBytes(s *Step) (pass, partial int64)
	// NewPass returns a Pass of a step for one goroutine.
	NewPass(s *Step) (Pass, error)
	// Close frees everything. No pass may be running.
	Close()
}

// Pass is for one goroutine.
type Pass interface {
	// Add processes rows [r.From, r.To) of a block, which must not be changed, or of the
	// worker's state where the step is Kept; the block is nil then. With ByNode scope each
	// block of the step's set comes once, in any order, to any of the step's passes; with
	// ByLeaf those of one leaf, or of one part of it.
	Add(ctx context.Context, r Rows, b *block.Block) error
	// Partial returns, and drops, what was added since the last Partial. It is called even
	// where nothing was.
	Partial() Message
}

// Rows identifies rows or windows of a training that a pass processes.
type Rows struct {
	Leaf int  // the number of the leaf, the same on any number of nodes
	Held bool // of the rows that are held out
	// From and To are rows of the block, multiples of f64.Lanes but for the
	// block's end; To is at most Padded. Where Plan.Windows is set they are
	// windows instead, Block.Windows[From:To].
	From, To int
}

// Whole reports whether the rows are all of the block.
func (r Rows) Whole(b *block.Block) bool { return r.From == 0 && r.To >= b.End() }
