package training

import (
	"context"

	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Trainer opens trainings on the nodes that are alive. Its methods may be called
// from any goroutine.
type Trainer interface {
	// Open makes the nodes' parts of a training under a name that was never
	// used. This node drives it. again tells that its query may be read a second
	// time, where not all nodes can hold the rows.
	Open(ctx context.Context, name string, job *train.Job, again bool) (Training, error)
}

// Training is a training's parts on the nodes. It is for one goroutine and must
// be closed. Errors of a lost node have a code of class 08 or 57P0x; the
// training can then be opened again.
type Training interface {
	// Deal ends the reading of rows, which a plan.Collect of the name gave, and
	// says how many they are.
	Deal(ctx context.Context) (rows int64, err error)
	// Again tells, after Deal, that the query must be read a second time.
	Again() bool
	train.Reducer
	// Members are the nodes of the training's workers, in their order.
	Members() []uint64
	Close()
}

// Blobs keeps bytes that are too large for the catalog, on a majority of their
// replicas.
type Blobs interface {
	Put(ctx context.Context, data []byte) (*catalog.Segment, error)
	// Hold keeps what is put from now on until the function it gives is called,
	// after the commit that names it.
	Hold() (release func())
	Get(ctx context.Context, ref *catalog.Segment) ([]byte, error)
}

// Members tells of the cluster's nodes. Its methods may be called from any
// goroutine.
type Members interface {
	Alive(node uint64) bool
	// Changed gives a channel that is closed when Alive next changes.
	Changed() <-chan struct{}
	// Leads tells whether this node is the one that looks after the others' jobs.
	Leads() bool
}
