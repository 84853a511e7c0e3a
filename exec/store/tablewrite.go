package store

import (
	"context"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TableWriters makes the writers of a statement's TableWrite nodes: op.Writers.
// Each lane has its own. Files go to the table's partitions in turn, inline
// segments to the first, so that few rows stay in the order they came.
type TableWriters struct {
	Store *Store
	Pool  *mem.Pool // the statement's; may be nil
	// Replicate, if not nil, is called with each finished file; it returns when
	// enough replicas hold it, and has set its Nodes.
	Replicate func(ctx context.Context, s *catalog.Segment) error

	next atomic.Int64
}

// Writer implements op.Writers.
func (t *TableWriters) Writer(_ context.Context, w *plan.TableWrite) (op.Writer, error) {
	o := WriterOptions{Compress: w.Table.Options["compression"] == "zstd", Done: t.Replicate, SegmentRows: w.SegmentRows}
	for _, num := range w.Cols {
		c := w.Table.ColumnNum(num)
		if c == nil {
			return nil, pgerr.Internal("store: table %d has no column %d", w.Table.OID, num)
		}
		o.Columns = append(o.Columns, WriterColumn{Num: num, Type: c.Type})
	}
	if t.Pool != nil {
		o.Account = t.Pool.Account("write of "+w.Table.Name, false)
	}
	return &tableWriter{t: t, w: t.Store.NewWriter(o), acct: o.Account, parts: max(w.Table.Partitions, 1), seq: -1}, nil
}

type tableWriter struct {
	t     *TableWriters
	w     *Writer
	acct  *mem.Account
	parts int
	seq   int64 // of the first row
}

// Write implements op.Writer.
func (w *tableWriter) Write(ctx context.Context, b *batch.Batch) error {
	if w.seq < 0 && w.w.Rows() == 0 && b.Rows() > 0 {
		w.seq = b.Seq
	}
	return w.w.Write(ctx, b)
}

// Flush implements op.Writer.
func (w *tableWriter) Flush(ctx context.Context) ([][]byte, error) {
	segs, err := w.w.Finish(ctx)
	if err != nil {
		return nil, err
	}
	w.close()
	out := make([][]byte, 0, len(segs))
	rows := int64(0)
	for _, s := range segs {
		x := catalog.Written{Segment: s, Seq: -1}
		if w.seq >= 0 {
			x.Seq = w.seq + rows
		}
		rows += s.Rows
		if s.Inline == nil {
			x.Part = int((w.t.next.Add(1) - 1) % int64(w.parts))
		}
		out = append(out, x.Marshal())
	}
	return out, nil
}

func (w *tableWriter) close() {
	if w.acct != nil {
		w.acct.Close()
	}
}

// Abort implements op.Writer.
func (w *tableWriter) Abort() error {
	err := w.w.Abort()
	w.close()
	return err
}
