package rows

import (
	"context"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Sizes of the blocks that rows are taken into, in bytes.
const (
	leastTaken = 256 << 10 // for the first ones, and where memory is scarce
	mostTaken  = 8 << 20
	takenRows  = block.UnitRows
	passShare  = 64 // blocks that are not kept take at most the memory divided by this
)

// mostFolds is the maximum number of folds with separate statistics.
const mostFolds = 20

// Training is what of a training matters to its rows.
type Training struct {
	Columns []record.Column
	Spec    *feature.Spec
	More    []string        // the targets after the first
	Windows *record.Windows // nil: rows
	InPlace bool            // rows stay where the query produced them
	Counts  bool            // what is held out depends on how often rows occur
	Holds   bool            // some rows are held out
	Folds   int             // of a cross-validation
	Bands   holdout.Bands   // of the draws
	Seed    uint64
}

// Config is a node's configuration of its part.
type Config struct {
	// Context ends when the training ends on this node. It is for work without a caller's
	// context: rows that are not kept.
	Context context.Context
	Pool    *mem.Pool // of the training on this node
	Temp    string    // directory of temporary files
	Threads int
	// GiveWay makes, for a thread that computes partials, what it calls between two leaves, which may take its time; nil
	// for nothing.
	GiveWay func() func(ctx context.Context)
	Workers int // nodes of the training
	Self    int // this one
	Blocks  *block.Blocks
	// Rescan says that the query may be read a second time: rows that do not fit
	// in memory are not written then.
	Rescan bool
	// Send passes what each puts to another node's Put, and returns when it is there. It is
	// required where there are several nodes and rows are distributed. A put may use
	// the bytes during the call only.
	Send func(ctx context.Context, to int, each func(put func(rows []byte) error) error) error
	// Records keeps records where rows could go straight into tiles too, for tests.
	Records bool
}

// Usage is what rows have cost, in bytes.
type Usage struct {
	Reads   int64 // how often the query was read
	Moved   int64 // of rows that were sent to other nodes
	Encoded int64 // of the blocks
}

// Work computes partials of a node's rows: one of each leaf, or one of all.
type Work struct {
	Leaf func(ctx context.Context, leaf int) (family.Message, error)
	Sum  bool // the leaves' partials are added up: other nodes know nothing of leaves in place
	Node func(ctx context.Context) (family.Message, error)
}

// ofNode is the work that returns a partial of the node.
func ofNode(m family.Message) Work {
	return Work{Node: func(context.Context) (family.Message, error) { return m, nil }}
}

// ErrOtherRows is the error of a query that returns other rows when it is read again:
// the training must hold its rows, with Config.Rescan false. The error may come
// from another node: compare its code.
var ErrOtherRows = pgerr.New(pgerr.RowsNotHeld, "the training query gave other rows when it was read again")

// ErrDraw is the error when it is still unknown, after two readings, which rows are
// trained on: they must be held likewise.
var ErrDraw = pgerr.New(pgerr.RowsNotHeld, "which rows a training learns from is not known before all of them are held")
