package training

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Trainer opens trainings on the nodes that are alive. Its methods may be called
// from any goroutine.
type Trainer interface {
	// Open makes the nodes' parts of a training under a name that was never
	// used. This node drives it. rescan says that its query may be read a second
	// time, where not all nodes can hold the rows.
	Open(ctx context.Context, name string, job *train.Job, rescan bool) (Training, error)
	// Over is Open over the dataset that a training before has left of a source, and
	// says what is known of it: there is nothing to distribute. It is nil where not all
	// nodes have their part.
	Over(ctx context.Context, name string, job *train.Job, src *train.Source) (Training, *train.Encoded, error)
	// Prune lets go of what was left of tables on this node that are not as they
	// were.
	Prune(same func(train.Table) bool)
}

// Training is a training's parts on the nodes. It is for one goroutine and must
// be closed. Errors of a lost node have a code of class 08 or 57P0x; the
// training can then be opened again.
type Training interface {
	// Distribute ends the reading of rows, which a plan.Collect of the name gave, and
	// says how many they are.
	Distribute(ctx context.Context) (rows int64, err error)
	// Rescan tells, after Distribute, that the query must be read a second time.
	Rescan() bool
	// DistributeRescan ends the dataset stage when it has been.
	DistributeRescan(ctx context.Context) error
	train.Reducer
	// Keep leaves the dataset with the nodes, once the training is over.
	Keep(ctx context.Context, src *train.Source, s *train.Encoded) error
	// Members are the nodes of the training's workers, in their order.
	Members() []uint64
	Close()
}

// Blobs keeps models and checkpoints.
type Blobs interface {
	// Put keeps what write writes: a little in what it gives itself, more in a file
	// on a majority of its replicas.
	Put(ctx context.Context, write func(io.Writer) error) (*catalog.Segment, error)
	// Hold keeps what is put from now on until the function it gives is called,
	// after the commit that names it.
	Hold() (release func())
	// Discard removes a file that no commit names nor will.
	Discard(ref *catalog.Segment)
	// Prove fails unless a majority of the replicas of each file have it, and keep it
	// while it is held.
	Prove(ctx context.Context, files []*catalog.Segment) error
	// Read calls use with the bytes, which are not use's to keep or change.
	Read(ctx context.Context, ref *catalog.Segment, use func([]byte) error) error
}

// Members are the cluster's nodes. Its methods may be called from any
// goroutine.
type Members interface {
	Alive(node uint64) bool
	// Changed returns a channel that is closed when Alive next changes.
	Changed() <-chan struct{}
	// Leads reports whether this node is the one that looks after the others' jobs.
	Leads() bool
}
