package write

import (
	"context"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Files makes and discards segments on this node and its replicas.
type Files interface {
	// Writer makes segments of the gateway's rows, durable on a majority of their
	// replicas once it is flushed.
	Writer(ctx context.Context, pool *mem.Pool, w *plan.TableWrite) (op.Writer, error)
	// Threads is how many threads of this node may make the gateway's rows.
	Threads() int
	// Discard removes the files of segments that no commit mentions nor will, here
	// and on their replicas, as far as those can be reached. Unknown ones are
	// ignored.
	Discard(segs []*catalog.Segment)
	// Prove fails unless a majority of the replicas of each file have it, and
	// will keep it while the transaction is open.
	Prove(ctx context.Context, segs []*catalog.Segment) error
}
