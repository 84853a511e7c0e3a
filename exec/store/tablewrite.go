package store

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
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
	out := &tableWriter{of: t, name: w.Table.Name, seq: -1,
		o: WriterOptions{Columns: make([]WriterColumn, len(w.Cols)), Compress: w.Table.Options["compression"] == "zstd", Done: t.Replicate, SegmentRows: w.SegmentRows}}
	for i, num := range w.Cols {
		c := w.Table.ColumnNum(num)
		if c == nil {
			return nil, pgerr.Internal("store: table %d has no column %d", w.Table.OID, num)
		}
		out.o.Columns[i] = WriterColumn{Num: num, Type: c.Type}
	}
	parts, err := newDivider(w.Table, w.Cols)
	if parts != nil {
		out.parts = &divided{divider: parts, open: func(part int) *Writer {
			o := out.o
			o.Part, o.Of = part, parts.of
			return out.open(o)
		}}
	}
	return out, err
}

// tableWriter makes a Writer where there are more than a few rows: a few, as small statements write, are
// an inline segment at once.
type tableWriter struct {
	of       *TableWriters
	name     string // the table's
	o        WriterOptions
	accounts []*mem.Account
	first    *catalog.Segment // of few rows; nil: none, or a writer has it
	w        *Writer          // nil until it is needed
	parts    *divided         // of a table with a distribution key; nil: w writes
	begun    bool
	seq      int64 // of the first row
}

// Write implements op.Writer.
func (w *tableWriter) Write(ctx context.Context, b *batch.Batch) error {
	if b.Rows() == 0 {
		return nil
	}
	if !w.begun {
		w.begun, w.seq = true, b.Seq
		if seg, ok := w.few(b); ok {
			w.first = seg
			return nil
		}
	}
	if first := w.first; first != nil {
		w.first = nil
		seg, err := openInline(first)
		if err != nil {
			return err
		}
		held := batch.New(seg.rows, int(first.Rows))
		if both := w.joined(held, b); both != nil {
			if seg, ok := w.few(both); ok {
				w.first = seg
				return nil
			}
		}
		if err := w.put(ctx, held); err != nil {
			return err
		}
	}
	return w.put(ctx, b)
}

// joined returns few rows and few more, such as those that ON CONFLICT inserts and those that it replaces, as one batch; nil where they
// are too many, or stored in another form than they have.
func (w *tableWriter) joined(held, b *batch.Batch) *batch.Batch {
	if w.parts != nil || held.N+b.Rows() > fewInline {
		return nil
	}
	b = plainTexts(b)
	cols := make([]arrow.Array, len(held.Cols))
	for i := range cols {
		t := held.Cols[i].DataType()
		if !arrow.TypeEqual(t, b.Cols[i].DataType()) {
			return nil
		}
		cols[i] = kernel.Concat(t, []arrow.Array{held.Cols[i], b.Cols[i]})
	}
	return batch.New(cols, held.N+b.N)
}

func (w *tableWriter) open(o WriterOptions) *Writer {
	if w.of.Pool != nil {
		o.Account = w.of.Pool.Account("write of "+w.name, true)
		w.accounts = append(w.accounts, o.Account)
	}
	return w.of.Store.NewWriter(o)
}

func (w *tableWriter) put(ctx context.Context, b *batch.Batch) error {
	if w.parts != nil {
		return w.parts.write(ctx, b)
	}
	if w.w == nil {
		w.w = w.open(w.o)
	}
	return w.w.Write(ctx, b)
}

// few makes a segment of few rows, of one part, where their columns are as they are stored.
func (w *tableWriter) few(b *batch.Batch) (*catalog.Segment, bool) {
	if b.Rows() > 1 && (w.parts != nil || w.o.SegmentRows > 0) || b.Rows() > fewInline {
		return nil, false
	}
	b = plainTexts(b)
	for i, c := range w.o.Columns {
		if b.Cols[i].DataType().ID() != c.Type.Arrow().ID() {
			return nil, false
		}
	}
	seg, ok := InlineOf(w.o.Columns, b)
	if ok && w.parts != nil {
		for p, rows := range w.parts.divide(b) {
			if len(rows) > 0 {
				seg.Part, seg.Of = p, w.parts.of
			}
		}
	}
	return seg, ok
}

// plainTexts is a batch of few rows without a selection and without dictionaries, which are those of the segments that its rows
// are from; texts that are too long for an inline segment stay in theirs.
func plainTexts(b *batch.Batch) *batch.Batch {
	b = kernel.Compact(b)
	var cols []arrow.Array
	size := 0
	for i, c := range b.Cols {
		d, ok := c.(*array.Dictionary)
		if !ok {
			continue
		}
		texts := batch.StringsOf(d)
		for k := range b.N {
			if d.IsValid(k) {
				size += len(texts.Value(k))
			}
		}
		if size > InlineBytes {
			return b
		}
		if cols == nil {
			cols = slices.Clone(b.Cols)
		}
		cols[i] = kernel.Flatten(c)
	}
	if cols == nil {
		return b
	}
	return batch.New(cols, b.N)
}

// writers returns those that have rows, in the order of their parts.
func (w *tableWriter) writers() (out []*Writer) {
	if w.w != nil {
		out = append(out, w.w)
	}
	if w.parts != nil {
		for _, p := range w.parts.ws {
			if p != nil {
				out = append(out, p)
			}
		}
	}
	return out
}

// Flush implements op.Writer.
func (w *tableWriter) Flush(ctx context.Context) ([]catalog.Written, error) {
	var segs []*catalog.Segment
	if w.first != nil {
		segs = append(segs, w.first)
	}
	for _, x := range w.writers() {
		more, err := x.Finish(ctx)
		if err != nil {
			return nil, err
		}
		segs = append(segs, more...)
	}
	w.close()
	out := make([]catalog.Written, 0, len(segs))
	rows := int64(0)
	for _, s := range segs {
		x := catalog.Written{Segment: s, Seq: -1, Rows: s.Rows}
		if w.seq >= 0 {
			x.Seq = w.seq + rows
		}
		if rows += s.Rows; w.parts != nil {
			rows = 0 // all parts may have rows from the beginning on
		}
		out = append(out, x)
	}
	return out, nil
}

func (w *tableWriter) close() {
	for _, a := range w.accounts {
		a.Close()
	}
}

// Abort implements op.Writer.
func (w *tableWriter) Abort() error {
	defer w.close()
	var errs []error
	for _, x := range w.writers() {
		errs = append(errs, x.Abort())
	}
	return errors.Join(errs...)
}
