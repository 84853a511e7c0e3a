package op

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// RowCheck refuses rows that their table's NOT NULL columns and CHECK
// constraints do not allow. It is for one thread.
type RowCheck struct {
	Table  *catalog.Relation
	Schema string            // the name of the table's schema, for errors
	Cols   []*catalog.Column // of the rows that are checked, in order
	Checks []NamedCheck      // over the rows' source
	Views  []NamedCheck      // the same, by the names of the views whose CHECK OPTION they are
	Env    *types.Env        // how error details print values
}

// NamedCheck is a compiled CHECK constraint: true or NULL passes.
type NamedCheck struct {
	Name    string
	Program Program
}

// Rows checks the new rows; src is what the constraints read, row for row. Rows are refused in
// their order, as if each were written before the next is looked at: it returns how many rows
// are before the refused one, and what is wrong with that.
func (c *RowCheck) Rows(ctx context.Context, src, rows *batch.Batch) (int, error) {
	before, bad := rows.Rows(), (*catalog.Column)(nil)
	for i, col := range c.Cols {
		arr := rows.Cols[i]
		if !col.NotNull || arr.NullN() == 0 {
			continue
		}
		for k := range before {
			if arr.IsNull(storedRow(rows, k)) {
				before, bad = k, col
				break
			}
		}
	}
	if bad == nil {
		return c.first(ctx, c.Checks, src, rows, c.violates)
	}
	if n, err := c.first(ctx, c.Checks, src.Slice(0, before), rows, c.violates); err != nil {
		return n, err
	}
	return before, pgerr.New(pgerr.NotNullViolation, "null value in column %q of relation %q violates not-null constraint", bad.Name, c.Table.Name).
		WithDetail("Failing row contains %s.", c.text(rows, before)).OnTable(c.Schema, c.Table.Name).OnColumn(bad.Name)
}

func (c *RowCheck) violates(name string) *pgerr.Error {
	return pgerr.New(pgerr.CheckViolation, "new row for relation %q violates check constraint %q", c.Table.Name, name).
		OnTable(c.Schema, c.Table.Name).OnConstraint(name)
}

// Shown checks that the new rows are rows of the views that they are written through.
func (c *RowCheck) Shown(ctx context.Context, src, rows *batch.Batch) error {
	_, err := c.first(ctx, c.Views, src, rows, func(name string) *pgerr.Error {
		return pgerr.New(pgerr.WithCheckOptionViolation, "new row violates check option for view %q", name)
	})
	return err
}

// first returns the first row for which a check is false, as Rows does, and of several such checks
// the first. A check that cannot be evaluated refuses all rows.
func (c *RowCheck) first(ctx context.Context, checks []NamedCheck, src, rows *batch.Batch, violates func(name string) *pgerr.Error) (int, error) {
	before, bad := src.Rows(), (*NamedCheck)(nil)
	for i := range checks {
		k := &checks[i]
		if bad != nil {
			src = src.Slice(0, before)
		}
		at := 0
		err := InHalves(src, func(src *batch.Batch) error {
			if at >= before {
				return nil
			}
			arr, err := k.Program.EvalScratch(ctx, src)
			if err != nil {
				return err
			}
			if row := firstFalse(arr); row >= 0 && at+row < before {
				before, bad = at+row, k
			}
			at += src.Rows()
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	if bad == nil {
		return before, nil
	}
	return before, violates(bad.Name).WithDetail("Failing row contains %s.", c.text(rows, before))
}

// text prints counted row k as error details do.
func (c *RowCheck) text(b *batch.Batch, k int) string {
	row := storedRow(b, k)
	out := []byte{'('}
	for i, col := range c.Cols {
		if i > 0 {
			out = append(out, ", "...)
		}
		if d := types.DatumAt(col.Type, b.Cols[i], row); d == nil {
			out = append(out, "null"...)
		} else {
			out = types.AppendText(out, col.Type, d, c.Env)
		}
	}
	return string(append(out, ')'))
}

// storedRow returns the stored row of counted row k.
func storedRow(b *batch.Batch, k int) int {
	if b.Sel != nil {
		return int(b.Sel[k])
	}
	return k
}

// firstFalse returns the first row that is false (not NULL), -1 for none.
func firstFalse(arr arrow.Array) int {
	a, ok := arr.(interface{ Value(int) bool })
	if !ok {
		return -1
	}
	for i := range arr.Len() {
		if !arr.IsNull(i) && !a.Value(i) {
			return i
		}
	}
	return -1
}
