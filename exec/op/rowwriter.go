package op

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// RowWriter carries out INSERT, UPDATE, DELETE and MERGE over the rows of a source:
// new rows go to a writer, the ids of old ones into bitmaps. It is for one thread;
// what its threads wrote comes together in Finish's lists.
type RowWriter struct {
	Kind   plan.DMLKind
	Values []int // the source's columns of a new row, in the writer's order
	// RowID and Action are columns of the source as in plan.DML, for the kinds
	// that have them.
	RowID, Action int
	Check         *RowCheck // may be nil
	// Proposed, if not nil, checks the rows of an INSERT … ON CONFLICT, whose columns are
	// ProposedCols, whatever action they lead to.
	Proposed     *RowCheck
	ProposedCols []int
	Open         func(ctx context.Context) (Writer, error)
	// Done, if not nil, is called with the source's rows for which a row was inserted, updated or
	// deleted, and whether they were updated.
	Done func(ctx context.Context, src *batch.Batch, updated bool) error
	// Old are the rows that were deleted or replaced. Where a row may occur twice, and in several
	// threads, these share Seen, and only the first occurrence is applied; else it is nil.
	Old, Seen *RowIDs
	Acct      *mem.Account // is charged for both; may be nil

	deleted int64 // without being replaced
	w       Writer
}

// Rows handles a batch of the source's rows.
func (w *RowWriter) Rows(ctx context.Context, b *batch.Batch) error {
	switch w.Kind {
	case plan.InsertRows:
		return w.Put(ctx, b, false)
	case plan.MergeRows:
		return w.merge(ctx, b)
	}
	var err error
	if w.Seen != nil {
		if b, err = w.Seen.Add(ctx, w.Acct, b, w.RowID); err != nil || b.Rows() == 0 {
			return err
		}
	}
	if b, err = w.Old.Add(ctx, w.Acct, b, w.RowID); err != nil || b.Rows() == 0 {
		return err
	}
	if w.Kind == plan.UpdateRows {
		return w.Put(ctx, b, true)
	}
	return w.gone(ctx, b)
}

// gone records rows as deleted.
func (w *RowWriter) gone(ctx context.Context, b *batch.Batch) error {
	w.deleted += int64(b.Rows())
	return w.done(ctx, b, false)
}

func (w *RowWriter) done(ctx context.Context, b *batch.Batch, updated bool) error {
	if w.Done == nil {
		return nil
	}
	return w.Done(ctx, b, updated)
}

// ErrMergedTwice returns MERGE's error for a row that would be changed twice.
func ErrMergedTwice() error {
	return pgerr.New(pgerr.CardinalityViolation, "MERGE command cannot affect row a second time").
		WithHint("Ensure that not more than one source row matches any one target row.")
}

// ErrConflictTwice returns that of ON CONFLICT.
func ErrConflictTwice() error {
	return pgerr.New(pgerr.CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time").
		WithHint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
}

// merge distributes the rows of a MERGE, or of ON CONFLICT, to their actions.
func (w *RowWriter) merge(ctx context.Context, b *batch.Batch) error {
	if w.Proposed != nil { // in the order of a join: what is wrong with any of them comes first
		if _, err := w.Proposed.Rows(ctx, b, columnsAt(b, w.ProposedCols)); err != nil {
			return err
		}
	}
	act, ok := b.Cols[w.Action].(*array.Int32)
	if !ok {
		return pgerr.Internal("MERGE's action column is not int4")
	}
	var parts [4][]int32
	for k := range b.Rows() {
		row := storedRow(b, k)
		if act.IsNull(row) {
			continue
		}
		if a := act.Value(row); a > 0 && a < 4 {
			parts[a] = append(parts[a], int32(row))
		}
	}
	for a, sel := range parts {
		if len(sel) == 0 {
			continue
		}
		x := &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1}
		if a > 1 {
			var err error
			if x, err = w.Old.Add(ctx, w.Acct, x, w.RowID); err != nil {
				return err
			}
			switch {
			case x.Rows() == len(sel):
			case w.Proposed != nil:
				return ErrConflictTwice()
			default:
				return ErrMergedTwice()
			}
		}
		var err error
		if a == 3 {
			err = w.gone(ctx, x)
		} else {
			err = w.Put(ctx, x, a == 2)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Put checks new rows and writes them.
func (w *RowWriter) Put(ctx context.Context, src *batch.Batch, updated bool) error {
	n, refused := w.CheckRows(ctx, src)
	if refused == nil {
		return w.PutChecked(ctx, src, updated)
	}
	if err := w.shown(ctx, src.Slice(0, n)); err != nil {
		return err
	}
	return refused
}

// CheckRows checks new rows against the table's NOT NULL and CHECK constraints, and returns how
// many are before the first that these refuse.
func (w *RowWriter) CheckRows(ctx context.Context, src *batch.Batch) (int, error) {
	if w.Check == nil {
		return src.Rows(), nil
	}
	return w.Check.Rows(ctx, src, w.New(src))
}

// shown checks new rows against the views that they are written through.
func (w *RowWriter) shown(ctx context.Context, src *batch.Batch) error {
	if w.Check == nil || len(w.Check.Views) == 0 || src.Rows() == 0 {
		return nil
	}
	return w.Check.Shown(ctx, src, w.New(src))
}

// New returns the source's rows as rows of the table.
func (w *RowWriter) New(src *batch.Batch) *batch.Batch { return columnsAt(src, w.Values) }

func columnsAt(src *batch.Batch, at []int) *batch.Batch {
	cols := make([]arrow.Array, len(at))
	for i, c := range at {
		cols[i] = src.Cols[c]
	}
	return src.With(cols)
}

// PutChecked is Put for rows that were checked against constraints. Views are asked only now, about
// rows that are written: one that ON CONFLICT turns away need not be a row of theirs.
func (w *RowWriter) PutChecked(ctx context.Context, src *batch.Batch, updated bool) error {
	if err := w.shown(ctx, src); err != nil {
		return err
	}
	if w.w == nil {
		var err error
		if w.w, err = w.Open(ctx); err != nil {
			return err
		}
	}
	if err := w.w.Write(ctx, w.New(src)); err != nil {
		return err
	}
	return w.done(ctx, src, updated)
}

// Finish ends the writing and returns what was written.
func (w *RowWriter) Finish(ctx context.Context) ([]catalog.Written, error) {
	var out []catalog.Written
	if w.w != nil {
		var err error
		if out, err = w.w.Flush(ctx); err != nil {
			return nil, err
		}
		w.w = nil
	}
	gone := w.deleted
	for _, o := range w.Old.Ordinals() {
		enc, err := w.Old.Encoded(o)
		if err != nil {
			return nil, err
		}
		out = append(out, catalog.Written{Ordinal: o, Deleted: enc, Rows: gone, Seq: -1})
		gone = 0
	}
	w.Old, w.deleted = &RowIDs{}, 0
	return out, nil
}

// Abort discards what was put and is not finished; its files are swept in any case.
func (w *RowWriter) Abort() {
	if w.w != nil {
		w.w.Abort()
		w.w = nil
	}
}
