package write

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
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

// few carries out a statement of few rows.
func (w *upsert) few(v *plan.Values) error {
	if err := w.values(v); err != nil {
		return err
	}
	w.watchLookedUp()
	if err := w.end(); err != nil {
		return err
	}
	if w.idle != nil && len(w.src) <= mostKept && (len(w.sets) == 0 || eval.Rest(w.sets)) {
		for _, a := range w.arbiters {
			a.seen, a.enc = nil, nil
		}
		w.conflictForm.read, w.places = w.src, w.at
		w.idle.Put(w.d.OnConflict, w.conflictForm)
	}
	return nil
}

// values joins the rows of a VALUES with the table's rows that have one of their keys, as the plans of
// onConflict do. Indexes of keys tell of most new rows that there is none; a row that may be there is read
// by its key.
func (w *upsert) values(v *plan.Values) error {
	var b *batch.Batch
	err := op.Guard("values", func() (err error) {
		if b, err = valuesAgain(w.r, w.idle, v); err == nil {
			b, err = w.propose(w.r.x.Ctx, b)
		}
		return err
	})
	if err != nil || b.Rows() == 0 {
		return err
	}
	if b.N > 1 {
		if err := w.see(); err != nil {
			return err
		}
	}
	cols := b.Cols
	for _, a := range w.arbiters {
		there := make([]*batch.Batch, b.N)
		for k := range there {
			if there[k], err = w.lookUpOne(a, b, k); err != nil {
				return err
			}
		}
		found, err := beside(there, a.found.Cols)
		if err != nil {
			return err
		}
		cols = append(cols, found...)
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

// lookUpOne reads the table's row that has the key of a proposed row: a batch of its own, nil if there is none.
func (w *upsert) lookUpOne(a *conflictArbiter, b *batch.Batch, row int) (*batch.Batch, error) {
	m := w.r.st.Manifest(w.rel.OID)
	key := make([]types.Datum, len(a.keys))
	for i, c := range a.keys {
		key[i] = types.DatumAt(c.Type, b.Cols[w.at[c.ID]], row)
	}
	look := a.look()
	there, known, err := rowByKey(w.r, m, look, a.Constraint, key)
	if known || err != nil {
		return there, err
	}
	for _, c := range look.Cols {
		if k := slices.Index(a.Columns, c.Num); k >= 0 {
			look.Filter = append(look.Filter, equals(c, key[k]))
		}
	}
	rows, err := w.r.few(look, a.found.Cols, map[*plan.Scan]*catalog.Manifest{look: m})
	if err != nil {
		return nil, err
	}
	vals, err := First(w.r.x.Ctx, rows, a.found.Cols)
	if vals == nil || err != nil {
		return nil, err
	}
	cols := make([]arrow.Array, len(vals))
	for i, c := range a.found.Cols {
		if cols[i], err = gathered(c.Type, 1, func(int) types.Datum { return vals[i] }); err != nil {
			return nil, err
		}
	}
	return batch.New(cols, 1), nil
}

// look is a scan with the columns of found, those of the key among them.
func (a *conflictArbiter) look() *plan.Scan {
	s := &plan.Scan{Table: a.scan.Table, Name: a.scan.Name, RowID: a.scan.RowID}
	for i, c := range a.scan.Cols {
		if slices.ContainsFunc(a.found.Cols, func(f plan.Column) bool { return f.ID == c.ID }) {
			s.Cols, s.Missing = append(s.Cols, c), append(s.Missing, a.scan.Missing[i])
		}
	}
	return s
}
