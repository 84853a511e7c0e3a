package op

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

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
	// Hidden and Partial are plan.TableWrite's.
	Hidden  []int16
	Partial bool
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
	err := pgerr.New(pgerr.NotNullViolation, "null value in column %q of relation %q violates not-null constraint", bad.Name, c.Table.Name)
	return before, c.withRow(err, rows, before).OnTable(c.Schema, c.Table.Name).OnColumn(bad.Name)
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
	return before, c.withRow(violates(bad.Name), rows, before)
}

// shownBytes is how much of a value an error's detail shows.
const shownBytes = 64

// withRow adds counted row k to an error, as far as its reader may see it (PostgreSQL's
// ExecBuildSlotValueDescription).
func (c *RowCheck) withRow(err *pgerr.Error, b *batch.Batch, k int) *pgerr.Error {
	row := storedRow(b, k)
	var names, values []string
	for i, col := range c.Cols {
		if slices.Contains(c.Hidden, col.Num) {
			continue
		}
		text := "null"
		if d := types.DatumAt(col.Type, b.Cols[i], row); d != nil {
			text = string(types.AppendText(nil, col.Type, d, c.Env))
		}
		if n := shownBytes; len(text) > n {
			for !utf8.RuneStart(text[n]) {
				n--
			}
			text = text[:n] + "..."
		}
		names, values = append(names, col.Name), append(values, text)
	}
	list := "(" + strings.Join(values, ", ") + ")"
	switch {
	case c.Partial && len(names) == 0:
		return err
	case c.Partial:
		list = "(" + strings.Join(names, ", ") + ") = " + list
	}
	return err.WithDetail("Failing row contains %s.", list)
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
