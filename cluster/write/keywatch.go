package write

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// keyWatch follows a DML's keys while it runs.
type keyWatch struct {
	kind plan.DMLKind
	live []catalog.Column
	kept map[int16]bool // columns that an UPDATE leaves alone
	// conflict: of an INSERT with ON CONFLICT
	conflict bool
	// old and new values of the columns nums of updated rows, old ones first;
	// only where some action needs to know what became of a key.
	nums  []int16
	rows  *op.Buffer // nil where nobody needs to, or closed
	pairs bool
	moved bool // some row's old and new values may differ
	// few are the keys of the new rows, by live column, as long as there are few.
	few [][]types.Datum
	// lookedUp are constraints by which ON CONFLICT has found that the first fresh of the few are new, and that the others
	// are there.
	lookedUp []types.OID
	fresh    int
}

// maxFewKeys is how many new rows have their keys looked up one by one.
const maxFewKeys = 64

// add notes n new rows after count others; row gives their keys.
func (k *keyWatch) add(count int64, n int, row func(i int) []types.Datum) {
	if count == 0 {
		k.few = nil
	}
	if int64(len(k.few)) != count || count+int64(n) > maxFewKeys {
		k.few = nil
		return
	}
	for i := range n {
		k.few = append(k.few, row(i))
	}
}

func (k *keyWatch) close() {
	if k != nil && k.rows != nil {
		k.rows.Close()
		k.rows = nil
	}
}

// columns are those of the rows kept.
func (k *keyWatch) columns(rel *catalog.Relation) (cols []plan.Column) {
	for range 2 {
		for _, n := range k.nums {
			cols = append(cols, plan.Column{ID: expr.ColID(1 + len(cols)), Name: "k", Type: rel.ColumnNum(n).Type})
		}
	}
	return cols
}

// note keeps the keys of updated rows: olds and news are columns of b by live
// column.
func (k *keyWatch) note(ctx context.Context, b *batch.Batch, olds, news []arrow.Array) error {
	if b.Rows() == 0 {
		return nil
	}
	var cols []arrow.Array
	for _, list := range [][]arrow.Array{olds, news} {
		for _, n := range k.nums {
			cols = append(cols, list[k.column(n)])
		}
	}
	return k.keep(ctx, &batch.Batch{Cols: cols, N: b.N, Sel: b.Sel, Seq: -1})
}

// keep keeps keys of updated rows, the columns nums of the old rows and those of the new.
func (k *keyWatch) keep(ctx context.Context, b *batch.Batch) error {
	for i := range k.nums {
		k.moved = k.moved || !array.Equal(b.Cols[i], b.Cols[len(k.nums)+i])
	}
	return k.rows.Append(ctx, b)
}

// column is the place of a watched column among the table's live ones.
func (k *keyWatch) column(num int16) int {
	return slices.IndexFunc(k.live, func(c catalog.Column) bool { return c.Num == num })
}

// updatedOnly says of an INSERT … ON CONFLICT that it turned out to be an UPDATE, which leaves the live
// columns alone for which kept holds.
func (k *keyWatch) updatedOnly(kept func(i int) bool) {
	k.kind, k.kept = plan.UpdateRows, make(map[int16]bool, len(k.live))
	for i, c := range k.live {
		k.kept[c.Num] = kept(i)
	}
}

// leaves reports whether the statement left columns of all its rows alone.
func (k *keyWatch) leaves(nums []int16) bool {
	return k != nil && k.kind == plan.UpdateRows && !slices.ContainsFunc(nums, func(n int16) bool { return !k.kept[n] })
}

// claims reports whether a constraint forbids keys that the statement may have made.
func (k *keyWatch) claims(c *catalog.Constraint) bool {
	return isUnique(c) && (c.Kind == 'e' || !k.leaves(c.Columns))
}

// looks reports whether somebody has yet to look whether the keys that the statement made are there.
func (k *keyWatch) looks(c *catalog.Constraint) bool {
	return k.claims(c) && (k == nil || len(k.few) < k.fresh || !slices.Contains(k.lookedUp, c.OID))
}

// isUnique reports whether it is one of the constraints that forbid equal keys.
func isUnique(c *catalog.Constraint) bool {
	return c.Kind == 'p' || c.Kind == 'u' || c.Kind == 'i' || c.Kind == 'e'
}

type fkey struct{ *catalog.Constraint }

// moved reports whether the columns referred to may have got other values.
func (k fkey) moved(w *keyWatch) bool {
	return w == nil || slices.ContainsFunc(k.RefCols, func(n int16) bool { return !w.kept[n] })
}

// foreignKey is a foreign key with the table it belongs to.
type foreignKey struct {
	child *catalog.Relation
	key   fkey
}

// references lists the foreign keys that refer to a table.
func references(st *catalog.State, rel *catalog.Relation) []foreignKey {
	now := st.RelationByOID(rel.OID)
	if now == nil {
		return nil
	}
	var out []foreignKey
	for _, oid := range now.ReferencedBy {
		child := st.RelationByOID(oid)
		if child == nil {
			continue
		}
		for i := range child.Constraints {
			if k := &child.Constraints[i]; k.Kind == 'f' && k.RefTable == rel.OID {
				out = append(out, foreignKey{child, fkey{k}})
			}
		}
	}
	return out
}

// watch begins to follow a DML over a view.
func watch(x *query.Run, st *catalog.State, d *plan.DML) *keyWatch {
	k := &keyWatch{kind: d.Kind, live: d.Table.Live(), conflict: d.OnConflict != nil}
	if d.Kind == plan.UpdateRows && len(d.Old) == len(k.live) {
		k.kept = make(map[int16]bool, len(k.live))
		for i, c := range k.live {
			k.kept[c.Num] = d.Values[i] == d.Old[i]
		}
	}
	updates := d.Kind == plan.UpdateRows || d.Kind == plan.MergeRows || d.OnConflict != nil && d.OnConflict.Update
	if !updates {
		return k
	}
	acts := func(a byte) bool { return a == 'c' || a == 'n' || a == 'd' }
	for _, ref := range references(st, d.Table) {
		if ref.key.moved(k) && (acts(ref.key.OnUpdate) || d.Kind == plan.MergeRows && acts(ref.key.OnDelete)) {
			for _, n := range ref.key.RefCols {
				if !slices.Contains(k.nums, n) {
					k.nums = append(k.nums, n)
				}
			}
		}
	}
	if len(k.nums) > 0 {
		k.pairs, k.rows = true, x.Buffer(k.columns(d.Table))
	}
	return k
}
