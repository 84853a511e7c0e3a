package write

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// fewProposedValues returns the VALUES of an INSERT … ON CONFLICT whose rows are looked up one by one; nil
// if plans find what they conflict with: for many rows, for constraints over expressions or with equal
// NULLs, and where an earlier part of the statement wrote.
func (w *upsert) fewProposedValues() *plan.Values {
	v, ok := w.d.Source.(*plan.Values)
	if !ok || len(v.Rows) > fewValues || w.later || w.r.Analyze {
		return nil
	}
	for _, a := range w.arbiters {
		if a.Kind == 'e' || a.NullsNotDistinct {
			return nil
		}
		for _, c := range a.scan.Cols {
			if slices.Contains(a.Columns, c.Num) && equals(c, nil) == nil {
				return nil
			}
		}
	}
	return v
}

// values joins the rows of a VALUES with the table's rows that have one of their keys, as the plans of
// onConflict do. Indexes of keys tell of most new rows that there is none; a row that may be there is read
// by its key.
func (w *upsert) values(v *plan.Values) error {
	var b *batch.Batch
	err := op.Guard("values", func() (err error) {
		if b, err = build.Values(w.r.x.Ctx, v, 0, len(v.Rows), w.r.x.Env); err == nil {
			b, err = w.propose(w.r.x.Ctx, b)
		}
		return err
	})
	if err != nil || b.Rows() == 0 {
		return err
	}
	if err := w.see(); err != nil {
		return err
	}
	cols := b.Cols
	for _, a := range w.arbiters {
		builders := make([]array.Builder, len(a.found.Cols))
		for i, c := range a.found.Cols {
			builders[i] = array.NewBuilder(memory.DefaultAllocator, c.Type.Arrow())
		}
		for k := range b.N {
			there, err := w.lookUpOne(a, b, k)
			if err != nil {
				return err
			}
			for i, c := range a.found.Cols {
				if there == nil {
					builders[i].AppendNull()
				} else if err := types.AppendDatum(builders[i], c.Type, there[i]); err != nil {
					return err
				}
			}
		}
		for _, bld := range builders {
			cols = append(cols, bld.NewArray())
		}
	}
	return w.batch(batch.New(cols, b.N))
}

// watchLookedUp notes the constraints by which the rows were looked up: those that are new have keys that the table lacks and
// differ from each other (duplicate), and those that are there keep their keys. What is left to do is to claim the new ones.
func (w *upsert) watchLookedUp() {
	k, oc := w.r.x.Txn.foreign.keys, w.d.OnConflict
	if k == nil {
		return
	}
	k.fresh = w.fresh
	for _, a := range w.arbiters {
		if !oc.Update || !slices.ContainsFunc(a.Columns, func(n int16) bool { return !oc.Keeps(k.column(n)) }) {
			k.lookedUp = append(k.lookedUp, a.OID)
		}
	}
}

// lookUpOne reads the table's row that has the key of a proposed row; nil if there is none.
func (w *upsert) lookUpOne(a *conflictArbiter, b *batch.Batch, row int) ([]types.Datum, error) {
	m := w.r.st.Manifest(w.rel.OID)
	if m == nil {
		return nil, nil
	}
	key := make([]types.Datum, len(a.keys))
	for i, c := range a.keys {
		if key[i] = types.DatumAt(c.Type, b.Cols[w.at[c.ID]], row); key[i] == nil {
			return nil, nil // it is equal to nothing
		}
	}
	if w.r.ProvenAbsent(w.r.x.Ctx, m, w.rel, a.Constraint, key) {
		return nil, nil
	}
	look := &plan.Scan{Table: a.scan.Table, Name: a.scan.Name, RowID: a.scan.RowID}
	for i, c := range a.scan.Cols {
		k := slices.Index(a.Columns, c.Num)
		if k >= 0 {
			look.Filter = append(look.Filter, equals(c, key[k]))
		}
		if k >= 0 || slices.ContainsFunc(a.found.Cols, func(f plan.Column) bool { return f.ID == c.ID }) {
			look.Cols, look.Missing = append(look.Cols, c), append(look.Missing, a.scan.Missing[i])
		}
	}
	rows, err := w.r.few(look, a.found.Cols, map[*plan.Scan]*catalog.Manifest{look: m})
	if err != nil {
		return nil, err
	}
	return First(w.r.x.Ctx, rows, a.found.Cols)
}
