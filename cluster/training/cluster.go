package training

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Trainer opens trainings on the nodes that are alive. Its methods may be called
// from any goroutine.
type Trainer interface {
	// Open makes the parts of a training on the nodes, under a name that was never used; this node is
	// the driver. rescan allows reading the query a second time if not all nodes can hold the rows.
	// What it uses is its role's.
	Open(ctx context.Context, name string, job *train.Job, rescan bool, role types.OID) (Training, error)
	// OpenCached is Open for a training on the cached dataset of an earlier one with the same source, so that
	// no rows are read or distributed. It also returns what is known of the rows. The training is nil
	// if not all nodes still have their part of the dataset.
	OpenCached(ctx context.Context, name string, job *train.Job, src *train.Source, role types.OID) (Training, *train.Encoded, error)
	// Prune drops the cached datasets on this node of which same is false for a table: their rows have
	// changed.
	Prune(same func(train.Table) bool)
}

// Training is the driver's handle of a training's parts on the nodes. It is for one goroutine and must
// be closed. The error of a lost node has a code of class 08 or 57P0x; the training can then be opened
// again.
type Training interface {
	// Distribute ends the dataset stage, when the plan.Collect with the training's name has read all
	// rows: it assigns them to nodes and, if they were kept, sends them there. It returns how many
	// there are.
	Distribute(ctx context.Context) (rows int64, err error)
	// DistributeFrom is Distribute with the rows of each node at the one that is first after it.
	DistributeFrom(ctx context.Context, first int) (rows int64, err error)
	// Rescan reports, after Distribute, whether the query must be read a second time.
	Rescan() bool
	// DistributeRescan is Distribute after the second reading.
	DistributeRescan(ctx context.Context) error
	train.Laned
	// Keep has the nodes cache their parts of the dataset when the training has ended.
	Keep(ctx context.Context, src *train.Source, s *train.Encoded) error
	// Members returns the nodes of the training's workers, in the order of the workers.
	Members() []uint64
	Close()
}

// Blobs stores models and checkpoints.
type Blobs interface {
	// Put stores what write writes: a little in the segment that it returns, and more in a file, which
	// a majority of its replicas then have.
	Put(ctx context.Context, write func(io.Writer) error) (*catalog.Segment, error)
	// Hold protects files that are put from now on from the sweep until release is called, which should
	// be after the commit that refers to them.
	Hold() (release func())
	// Discard removes a file to which no commit refers or will refer.
	Discard(ref *catalog.Segment)
	// Prove fails unless a majority of the replicas of each file have it, and keep it while it is held.
	Prove(ctx context.Context, files []*catalog.Segment) error
	// Read calls use with the bytes, which use must not keep or change.
	Read(ctx context.Context, ref *catalog.Segment, use func([]byte) error) error
}

// Members are the cluster's nodes. Its methods may be called from any
// goroutine.
type Members interface {
	Alive(node uint64) bool
	// Changed returns a channel that is closed when Alive next changes.
	Changed() <-chan struct{}
	// Leads reports whether this node is the leader, which reassigns the jobs of nodes that are dead or
	// drained.
	Leads() bool
}
