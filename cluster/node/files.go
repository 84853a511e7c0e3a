package node

import (
	"context"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// files writes segments for the gateway: it implements write.Files.
type files struct {
	store   *store.Store
	threads func() int
	// replicate makes a segment durable on a majority of its replicas; nil on
	// a cluster of one.
	replicate func(ctx context.Context, s *catalog.Segment) error
	// discard removes segments here and from their replicas.
	discard func(ctx context.Context, segs []*catalog.Segment)
	// prove checks that a majority of their replicas have them.
	prove func(ctx context.Context, segs []*catalog.Segment) error
}

// Writer implements write.Files.
func (f *files) Writer(ctx context.Context, pool *mem.Pool, w *plan.TableWrite) (op.Writer, error) {
	return (&store.TableWriters{Store: f.store, Pool: pool, Replicate: f.replicate}).Writer(ctx, w)
}

// Threads implements write.Files.
func (f *files) Threads() int { return f.threads() }

// Discard implements write.Files.
func (f *files) Discard(segs []*catalog.Segment) {
	if len(segs) > 0 {
		f.discard(context.Background(), segs)
	}
}

// Prove implements write.Files.
func (f *files) Prove(ctx context.Context, segs []*catalog.Segment) error {
	if len(segs) == 0 {
		return nil
	}
	return f.prove(ctx, segs)
}
