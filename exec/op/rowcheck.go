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

// Rows checks the new rows; src is what the constraints read, row for row.
func (c *RowCheck) Rows(ctx context.Context, src, rows *batch.Batch) error {
	for i, col := range c.Cols {
		if !col.NotNull {
			continue
		}
		arr := rows.Cols[i]
		if arr.NullN() == 0 {
			continue
		}
		for k := range rows.Rows() {
			if arr.IsNull(storedRow(rows, k)) {
				return pgerr.New(pgerr.NotNullViolation, "null value in column %q of relation %q violates not-null constraint", col.Name, c.Table.Name).
					WithDetail("Failing row contains %s.", c.text(rows, k)).OnTable(c.Schema, c.Table.Name).OnColumn(col.Name)
			}
		}
	}
	return c.each(ctx, c.Checks, src, rows, func(name string) *pgerr.Error {
		return pgerr.New(pgerr.CheckViolation, "new row for relation %q violates check constraint %q", c.Table.Name, name).
			OnTable(c.Schema, c.Table.Name).OnConstraint(name)
	})
}

// Shown checks that the new rows are rows of the views that they are written through.
func (c *RowCheck) Shown(ctx context.Context, src, rows *batch.Batch) error {
	return c.each(ctx, c.Views, src, rows, func(name string) *pgerr.Error {
		return pgerr.New(pgerr.WithCheckOptionViolation, "new row violates check option for view %q", name)
	})
}

// each fails at the first check that is false for a row.
func (c *RowCheck) each(ctx context.Context, checks []NamedCheck, src, rows *batch.Batch, violates func(name string) *pgerr.Error) error {
	for _, k := range checks {
		at := 0
		err := InHalves(src, func(src *batch.Batch) error {
			arr, err := k.Program.EvalScratch(ctx, src)
			if err != nil {
				return err
			}
			row := firstFalse(arr)
			if row < 0 {
				at += src.Rows()
				return nil
			}
			return violates(k.Name).WithDetail("Failing row contains %s.", c.text(rows, row+at))
		})
		if err != nil {
			return err
		}
	}
	return nil
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
