package write

import (
	"context"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Files makes and discards segments on this node and its replicas.
type Files interface {
	// Writer makes segments of a table out of batches whose columns are the
	// table's live columns, in order; segmentRows as in plan.TableWrite.
	Writer(pool *mem.Pool, rel *catalog.Relation, segmentRows int64) (SegmentWriter, error)
	// Discard removes the files of segments that no commit mentions nor will, here
	// and on their replicas, as far as those can be reached. Unknown ones are
	// ignored.
	Discard(segs []*catalog.Segment)
	// Prove fails unless a majority of the replicas of each file have it, and
	// will keep it while the transaction is open.
	Prove(ctx context.Context, segs []*catalog.Segment) error
	// Delete adds rows to a segment's bitmap of deleted rows and gives the change.
	Delete(table types.OID, seg *catalog.Segment, rows []uint32) (catalog.Change, error)
}

// SegmentWriter is for one goroutine. After Finish or Abort it is of no use.
type SegmentWriter interface {
	Write(ctx context.Context, b *batch.Batch) error
	// Finish makes the segments durable on a majority of their replicas.
	Finish(ctx context.Context) ([]*catalog.Segment, error)
	Abort()
}
