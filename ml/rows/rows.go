package rows

import (
	"context"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/record"
)

// Rows are a node's rows of a training until they are blocks. Whoever makes them closes
// them. Add may be called from any goroutine, and so may the functions of Work; the other
// methods follow each other.
type Rows interface {
	// Add takes rows of the query, with the training's columns in order.
	Add(ctx context.Context, b *batch.Batch) error
	// Finish is called when the query has been read. It returns how many rows came, by the
	// buckets of their hashes, or in one number where hashes mean nothing; and whether there is no memory to
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
	// OverLeaves is the work of a function over the leaves.
	OverLeaves(leaf func(ctx context.Context, leaf int) (family.Message, error)) Work
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
	// Put takes rows that another node's Send sent.
	Put(rows []byte) error
	// Frequent returns the rows of this node that are so frequent among total rows that
	// their copies are shared by all leaves. All rows must have been put.
	Frequent(total int64) ([]record.Frequent, error)
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
