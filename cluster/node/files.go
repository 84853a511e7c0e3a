package node

import (
	"context"

	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// files makes segments for the gateway: it implements write.Files.
type files struct {
	store *store.Store
	// replicate makes a segment durable on a majority of its replicas; nil on
	// a cluster of one.
	replicate func(ctx context.Context, s *catalog.Segment) error
	// discard removes segments from their replicas.
	discard func(ctx context.Context, segs []*catalog.Segment)
	// prove makes sure that a majority of their replicas have them.
	prove func(ctx context.Context, segs []*catalog.Segment) error
}

// Writer implements write.Files.
func (f *files) Writer(pool *mem.Pool, rel *catalog.Relation, segmentRows int64) (write.SegmentWriter, error) {
	o := store.WriterOptions{Compress: rel.Options["compression"] == "zstd", Done: f.replicate, Account: pool.Account("write of "+rel.Name, false), SegmentRows: segmentRows}
	for _, c := range rel.Live() {
		o.Columns = append(o.Columns, store.WriterColumn{Num: c.Num, Type: c.Type})
	}
	return &segmentWriter{w: f.store.NewWriter(o), acct: o.Account}, nil
}

type segmentWriter struct {
	w    *store.Writer
	acct *mem.Account
}

func (w *segmentWriter) Write(ctx context.Context, b *batch.Batch) error { return w.w.Write(ctx, b) }

func (w *segmentWriter) Finish(ctx context.Context) ([]*catalog.Segment, error) {
	defer w.acct.Close()
	segs, err := w.w.Finish(ctx)
	if err != nil {
		_ = w.w.Abort()
	}
	return segs, err
}

func (w *segmentWriter) Abort() {
	_ = w.w.Abort()
	w.acct.Close()
}

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

// Delete implements write.Files.
func (f *files) Delete(table types.OID, seg *catalog.Segment, rows []uint32) (catalog.Change, error) {
	// By row: writers of other rows of the segment, and compaction, do not
	// conflict with it.
	bitmap, err := store.RowsBitmap(rows)
	if err != nil {
		return nil, err
	}
	return &catalog.DeleteRows{Table: table, Segment: seg.ID, Rows: bitmap}, nil
}
