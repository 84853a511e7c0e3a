package store

import (
	"context"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TableWriters makes the writers of a statement's TableWrite nodes: op.Writers.
// Each thread has its own.
type TableWriters struct {
	Store *Store
	Pool  *mem.Pool // the statement's; may be nil
	// Replicate, if not nil, is called with each finished file; it returns when
	// enough replicas hold it, and has set its Nodes.
	Replicate func(ctx context.Context, s *catalog.Segment) error
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
	return &tableWriter{store: t.Store, o: o, seq: -1}, nil
}

// tableWriter makes a Writer for the second batch: a first of one row, as small
// statements write, is an inline segment at once.
type tableWriter struct {
	store *Store
	o     WriterOptions
	first *catalog.Segment // of one row; nil: none, or w has it
	w     *Writer          // nil until it is needed
	seq   int64            // of the first row
}

// Write implements op.Writer.
func (w *tableWriter) Write(ctx context.Context, b *batch.Batch) error {
	if b.Rows() == 0 {
		return nil
	}
	if w.first == nil && w.w == nil {
		w.seq = b.Seq
		if seg, ok := w.one(b); ok {
			w.first = seg
			return nil
		}
	}
	if w.w == nil {
		w.w = w.store.NewWriter(w.o)
	}
	if first := w.first; first != nil {
		w.first = nil
		seg, err := openInline(first)
		if err != nil {
			return err
		}
		if err := w.w.Write(ctx, batch.New(seg.rows, 1)); err != nil {
			return err
		}
	}
	return w.w.Write(ctx, b)
}

// one makes a segment of one row, where its columns are as they are stored.
func (w *tableWriter) one(b *batch.Batch) (*catalog.Segment, bool) {
	if b.Rows() != 1 {
		return nil, false
	}
	for i, c := range w.o.Columns {
		if b.Cols[i].DataType().ID() != c.Type.Arrow().ID() {
			return nil, false
		}
	}
	return InlineOf(w.o.Columns, b)
}

// Flush implements op.Writer.
func (w *tableWriter) Flush(ctx context.Context) ([]catalog.Written, error) {
	var segs []*catalog.Segment
	if w.first != nil {
		segs = append(segs, w.first)
	} else if w.w != nil {
		var err error
		if segs, err = w.w.Finish(ctx); err != nil {
			return nil, err
		}
	}
	w.close()
	out := make([]catalog.Written, 0, len(segs))
	rows := int64(0)
	for _, s := range segs {
		x := catalog.Written{Segment: s, Seq: -1, Rows: s.Rows}
		if w.seq >= 0 {
			x.Seq = w.seq + rows
		}
		rows += s.Rows
		out = append(out, x)
	}
	return out, nil
}

func (w *tableWriter) close() {
	if w.o.Account != nil {
		w.o.Account.Close()
	}
}

// Abort implements op.Writer.
func (w *tableWriter) Abort() error {
	defer w.close()
	if w.w == nil {
		return nil
	}
	return w.w.Abort()
}
