package family

import (
	"context"
	"encoding"
	"math"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/optim"
)

// Set names the rows that a step is about.
type Set uint8

// The sets; they are or-ed.
const (
	Train Set = 1 << iota
	Held
)

// Step is what all blocks are to do. Op is the family's own number for it; it
// chooses the decoders.
type Step struct {
	Op    uint8
	Set   Set
	Batch *optim.MiniBatch // a part of the rows of Train, which is the set then; nil for all of them
	Body  Message          // may be nil; nobody changes it once it is sent
	Kept  bool             // of rows only what workers keep is needed: passes are given no blocks
	// Elements is the length of the vector in partials that are Sliced, the same
	// on all nodes; 0: partials travel whole.
	Elements int
}

// Driver is the root of a training: a pure step machine for one goroutine.
//
//	for !d.State().Done { d.Tell(merged(d.Next())) }
type Driver interface {
	// Next returns the step wanted now, the same again until Tell.
	Next() *Step
	// Tell gives the merged partial of Next's step, which the driver may keep.
	// Errors are 22003 and the like: there is no model.
	Tell(p Message) error
	// State returns where the training stands.
	State() State
	// Predictor is what was learnt, of the best iteration where there is a
	// best. It is asked for once the training is done.
	Predictor() (Predictor, error)
	// The state between a Tell and the Next after it, which a driver made from
	// the same Setup goes on from to the same model. Workers are new then.
	Encode(e *canon.E) error
	encoding.BinaryUnmarshaler
}

// FromRanges is a Driver some of whose steps the ranges of the columns answer, so that no row is read.
type FromRanges interface {
	// FromRanges returns the partial of Next's step where the rows to train on have these
	// ranges and weigh 1 each; nil where the step asks for more.
	FromRanges(r *feature.Ranges) Message
}

// State is where a training stands. Losses are means over rows without
// penalties, NaN where there is none.
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

// Encode writes a state, but for its metrics, for a driver's Encode.
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

// Metric is a measure's name and value.
type Metric struct {
	Name  string
	Value float64
}

// NoLoss is the loss of a set that has no rows.
func NoLoss() float64 { return math.NaN() }

// Node is where a Worker or a Driver works.
type Node struct {
	Threads int // of a driver too, where it computes much at once
	// Root says that the driver is here too: a worker charges what it holds.
	Root bool
	// Grow charges bytes of the worker's own state, such as that of rows, or of
	// the driver's; a negative number gives them back. It may be called from any
	// goroutine. What a driver has charged at its end is given back for it.
	Grow func(bytes int64) error
	// Space gives a worker zeros, aligned to eight, for what it keeps of rows: in
	// memory that is charged, or where there is little in pages of a file. They are
	// good until the worker is closed. It may be called from any goroutine.
	Space func(bytes int) ([]byte, error)
	// Memory is how much the training may have here in all, 0 for any: for those who
	// can do more at once where there is more.
	Memory int64
}

// Reused is a partial whose memory its family uses again.
type Reused interface {
	Message
	// Free takes the memory back: nobody may look at the partial any more, or at slices
	// of it. It need not be called.
	Free()
}

// Free frees a partial that can be.
func Free(m Message) {
	if r, ok := m.(Reused); ok {
		r.Free()
	}
}

// Worker is a node's part in a training. Its methods may be called from any
// goroutine; steps follow each other. Steps of mini-batches that have no rows on
// the node do not reach it.
type Worker interface {
	// PassBytes bounds the memory of one Pass of a step, and of a partial, which is
	// beside it.
	PassBytes(s *Step) (pass, partial int64)
	// NewPass returns what one goroutine works a step with.
	NewPass(s *Step) (Pass, error)
	// Close frees everything. No pass is at work.
	Close()
}

// Pass is for one goroutine.
type Pass interface {
	// Add works rows [r.From, r.To) of a block, which must not be changed, or of
	// what is kept of it, where the step says so; the block is nil then. With
	// ByNode scope each block of the step's set comes once, in any order, to any
	// of the step's passes; with ByLeaf those of one leaf, or of one part of it.
	Add(ctx context.Context, r Rows, b *dataset.Block) error
	// Partial gives up what was added since the last Partial. It is called also
	// where nothing was.
	Partial() Message
}

// Rows says which rows or windows of a training a pass is given.
type Rows struct {
	Leaf int  // the number of the leaf, the same on any number of nodes
	Held bool // of the rows that are held out
	// From and To are rows of the block, multiples of f64.Lanes but for the
	// block's end; To is at most Padded. Where Plan.Windows is set they are
	// windows instead, Block.Windows[From:To].
	From, To int
}

// Whole reports whether the rows are all of the block.
func (r Rows) Whole(b *dataset.Block) bool { return r.From == 0 && r.To >= b.End() }
