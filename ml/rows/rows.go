package rows

import (
	"context"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Rows are a node's rows of a training until they are blocks. Whoever makes them closes
// them. Add may be called from any goroutine, and so may the functions of Work; the other
// methods follow each other.
type Rows interface {
	// Add takes rows of the query, with the training's columns in order.
	Add(ctx context.Context, b *batch.Batch) error
	// Finish is called when the query has been read. It returns how many rows came, by the
	// buckets of their hashes, which mean nothing in place; and whether there is no memory to
	// hold them: if one node is short, no node holds its rows.
	Finish() (buckets []int64, short bool)
	// Assign ends the distribution of rows: owners names the node of each leaf, nil in place.
	// The copies of frequent rows are shared by all leaves. It returns the owners: in place
	// the node cuts its rows into leaves of its own.
	Assign(owners []int, frequent []record.Frequent) ([]int, error)
	// ReadAgain makes of rows that were read, instead of Assign, those of a query that will
	// be read once more. The rows are not to be used any more.
	ReadAgain(owners []int) (*Reread, error)
	// Copies counts the copies of these rows; of those that were frequent as they came if nil.
	Copies(of []block.RowHash) (Work, error)
	// Stats returns the statistics of the rows that h does not hold out. short are the
	// partitions that have no window, where rows are read again.
	Stats(h *holdout.Holdout, short []block.RowHash) (Work, error)
	// Encode makes blocks; those of a leaf have the numbers of BlockOf. Its partials are
	// *Encoded. Owners may have changed then.
	Encode(e *Encoding) (Work, error)
	Owners() []int
	// NextFold drops what is known of the rows, for other ones to be held out. Blocks are
	// dropped by the caller.
	NextFold() error
	Usage() Usage
	// Close frees everything. It may be called twice.
	Close() error
}

// Distributed is implemented by rows that are sent to the owners of their leaves.
type Distributed interface {
	// Send sends what other nodes own, where owners names the node of each leaf; in a second
	// reading what has not been sent yet. Once it has returned on all nodes, Assign follows.
	Send(ctx context.Context, owners []int) error
	// Put takes rows that another node sent, of a bucket, or encoded ones if bucket is
	// block.Buckets.
	Put(bucket int, rows []byte) error
	// Frequent returns the rows of this node that are so frequent among total rows that
	// their copies are shared by all leaves. All rows must have been put.
	Frequent(total int64) ([]record.Frequent, error)
}

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
	Workers int // nodes of the training
	Self    int // this one
	Blocks  *block.Blocks
	// Rescan says that the query may be read a second time: rows that do not fit
	// in memory are not written then.
	Rescan bool
	// Send passes what each puts to another node's Put, and returns when it is there. It is
	// required where there are several nodes and rows are distributed. A put may use
	// the bytes during the call only.
	Send func(ctx context.Context, to int, each func(put func(bucket int, rows []byte) error) error) error
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
	Node func(ctx context.Context) (family.Message, error)
}

// ofNode is the work that returns a partial of the node.
func ofNode(m family.Message) Work {
	return Work{Node: func(context.Context) (family.Message, error) { return m, nil }}
}

// New makes the rows of a training on one node.
func New(t *Training, c Config) (Rows, error) {
	layout, err := record.NewLayout(t.Columns)
	if err != nil {
		return nil, err
	}
	b := &base{Training: t, cfg: c, layout: layout, blocks: c.Blocks, reads: 1,
		store: record.Config{Pool: c.Pool, Temp: c.Temp, Seed: t.Seed, InPlace: t.InPlace, Windows: t.Windows}}
	again := c.Rescan && t.readAgain(layout)
	b.store.Copies = t.Counts || again && !t.InPlace && t.Windows == nil
	if again {
		b.tally = newTally(b)
		b.store.Flow = b.tally.view
		if t.Windows != nil {
			b.tally.lengths = record.NewLengths(t.Windows, c.Pool.Limit()/lengthsShare, b.tally.charge)
			b.store.Worth, b.store.Lengths = b.worth, b.tally.lengths
			b.store.Flow = func(v *record.View) error { return b.tally.lengths.Sift(v, b.tally.view) }
		}
	}
	return b.reader(), nil
}

// readAgain reports whether rows of this layout may be read again.
func (t *Training) readAgain(l *record.Layout) bool {
	if w := t.Windows; w != nil {
		return w.Counts() && !t.Holds && w.Ranks(l)
	}
	return t.Folds <= mostFolds
}

// reader takes the rows of one reading of the query.
type reader interface {
	Rows
	// drop has rows pass by that are read from now on, to take their statistics.
	drop()
	// drain has those pass that are still held.
	drain() error
	// copies counts the copies of all rows that came.
	copies() *holdout.Copies
	// free frees what the reading needed.
	free() error
}

// reader makes what takes the rows: in place where it can, else records.
func (b *base) reader() reader {
	if b.InPlace && b.Spec.TakesIn() && b.Folds == 0 && !b.cfg.Records { // folds need the rows again
		return &inPlace{base: b}
	}
	return &held{base: b, store: record.NewStore(b.layout, b.store), leaves: map[int]*record.Leaf{}}
}

// ErrOtherRows is the error of a query that returns other rows when it is read again:
// the training must hold its rows, with Config.Rescan false. The error may come
// from another node: compare its code.
var ErrOtherRows = pgerr.New(pgerr.RowsNotHeld, "the training query gave other rows when it was read again")

// ErrDraw is the error when it is still unknown, after two readings, which rows are
// trained on: they must be held likewise.
var ErrDraw = pgerr.New(pgerr.RowsNotHeld, "which rows a training learns from is not known before all of them are held")
