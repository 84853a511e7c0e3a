package write

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// onConflict executes INSERT … ON CONFLICT: for many rows on the nodes that produce them
// (conflictInThreads) if possible, otherwise here. The proposed rows go into a buffer, with their
// numbers. The table's rows that have one of their keys go into another; the scan gets the keys as a
// runtime filter. A left join of the two finds which proposed rows are there already:
//
//	there    ← scan(table, rowid) ⋉ proposed   on the arbiter's columns
//	proposed ⟕ there
//	   rowid NULL  → insert (the first of equal ones)
//	   rowid set   → DO NOTHING: drop; DO UPDATE: delete the row, write the new
//
// Which of the proposed rows have equal keys is found by a set of keys in memory if they are few, and
// otherwise by choose.
func (w *ModifyTable) onConflict() error {
	oc, r := w.d.OnConflict, w.r
	if f, ok := w.idle.Take(oc).(*conflictForm); ok {
		cw := &upsert{ModifyTable: w, conflictForm: f}
		w.src, w.at = f.read, f.places
		if err := cw.prepare(); err != nil {
			return err
		}
		return cw.few(w.d.Source.(*plan.Values))
	}
	arbiters, err := w.arbiterKeys()
	if err != nil {
		return err
	}
	if !w.later && w.conflictsInThreads(arbiters) {
		if again, err := w.conflictInThreads(arbiters[0]); !again {
			return err
		}
	}
	cw := &upsert{ModifyTable: w, conflictForm: &conflictForm{newColumns: newColumns{w.d.NextCol + 1000}}}
	src := w.d.Source.Schema()
	cw.seq = cw.column("seq", types.Int8)
	cw.cols = append(slices.Clone(src), cw.seq)
	for _, k := range arbiters {
		cw.add(w.arbiter(k, &cw.newColumns))
	}
	into := cw.existing(cw.keyed(), plan.Left) // the rows to write, as they are read
	w.over(into.Schema())
	if err := cw.prepare(); err != nil {
		return err
	}
	if v := cw.fewProposedValues(); v != nil {
		return cw.few(v)
	}
	rows, err := r.start(w.d.Source, src, w.reads)
	if err != nil {
		return err
	}
	if err := r.Fill(r.x.Ctx, proposedBuffer, cw.cols, &proposedReader{BatchReader: rows, of: cw}); err != nil {
		return err
	}
	for _, a := range cw.arbiters {
		rows, err := r.start(a.lookUp(cw.keyed()), a.found.Cols, map[*plan.Scan]*catalog.Manifest{a.scan: w.there})
		if err != nil {
			return err
		}
		if err := r.Fill(r.x.Ctx, a.found.ID, a.found.Cols, rows); err != nil {
			return err
		}
	}
	if cw.areFew() {
		err = cw.see()
	} else if err = cw.choose(); err == nil && !oc.Update {
		into = cw.keyed() // its columns are the first of those of the join before
	}
	if err != nil {
		return err
	}
	out, err := r.start(into, into.Schema(), nil)
	if err != nil {
		return err
	}
	defer out.Close()
	for {
		b, err := out.Next(r.x.Ctx)
		if err == io.EOF {
			r.Note(w.d)
			return cw.end()
		}
		if err == nil && b.Rows() > 0 {
			err = cw.batch(b)
		}
		if err != nil {
			return err
		}
	}
}

// end makes the statement's changes when all rows are written.
func (w *upsert) end() error {
	if w.refused != nil {
		return w.refused
	}
	if err := w.flush(); err != nil {
		return err
	}
	oc := w.d.OnConflict
	if k := w.r.x.Txn.foreign.keys; oc.Update && w.fresh == 0 && k != nil {
		k.updatedOnly(oc.Keeps)
	}
	err := w.finish()
	var e *pgerr.Error
	if w.later && oc.Update && errors.As(err, &e) && e.Code == pgerr.UniqueViolation && e.Constraint == w.arbiters[0].Name {
		return op.ErrConflictTwice() // an earlier part of the statement wrote a row with the key
	}
	return err
}

// arbiterKeys returns the unique constraints that decide: the one that the binder found for the conflict
// target, or all.
func (w *ModifyTable) arbiterKeys() ([]*uniqueKey, error) {
	var out []*uniqueKey
	for i := range w.rel.Constraints {
		c := &w.rel.Constraints[i]
		if !isUnique(c) || w.d.OnConflict.Arbiter != 0 && c.OID != w.d.OnConflict.Arbiter {
			continue
		}
		k, err := w.r.uniqueKey(w.rel, c)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	if w.d.OnConflict.Arbiter != 0 && len(out) == 0 {
		return nil, pgerr.New(pgerr.InvalidColumnReference, "there is no unique or exclusion constraint matching the ON CONFLICT specification")
	}
	return out, nil
}

// prepare compiles what the gateway does with the rows.
func (w *upsert) prepare() error {
	if err := w.ModifyTable.prepare(); err != nil {
		return err
	}
	oc := w.d.OnConflict
	if !oc.Update {
		return nil
	}
	if len(w.ret) > 0 { // rows that are there are written after those that are not
		n, err := eval.CompileColumns([]expr.Expr{colRef(w.seq)}, w.src, w.r.x.Env)
		if err != nil {
			return err
		}
		w.number, w.ret = w.seq, append(w.ret, n...)
	}
	var err error
	if len(w.sets) > 0 {
		eval.Rebind(w.sets, w.r.x.Env)
	} else {
		sets := make([]expr.Expr, len(oc.Set))
		for i := range sets {
			sets[i] = w.set(i)
		}
		if w.sets, err = eval.CompileColumnsAgain(sets, w.src, w.r.x.Env); err != nil {
			return err
		}
	}
	if oc.Where != nil {
		p, err := eval.Compile(w.proposed(oc.Where), w.src, w.r.x.Env)
		if err != nil {
			return err
		}
		w.where = p
	}
	return nil
}

// batch writes a batch of proposed rows. Each is next to the table's row with its key, if there is one,
// except for DO NOTHING of many rows, where w.inserted has the decision.
func (w *upsert) batch(b *batch.Batch) error {
	var fresh, there []int32
	update := w.d.OnConflict.Update
	seq := b.Cols[w.at[w.seq.ID]].(*array.Int64)
	keys := make([]kernel.Keys, len(w.arbiters))
	for i, a := range w.arbiters {
		if a.seen != nil {
			at := make([]int, len(a.keys))
			for k, c := range a.keys {
				at[k] = w.at[c.ID]
			}
			cols := kernel.Compact(b.Columns(at))
			a.enc.Append(&keys[i], cols.Cols, cols.N)
		}
	}
	for k := range b.Rows() {
		row := k
		if b.Sel != nil {
			row = int(b.Sel[k])
		}
		switch {
		case w.inserted != nil:
			if batch.Bit(w.inserted, int(seq.Value(row))) {
				fresh = append(fresh, int32(row))
			}
		case slices.ContainsFunc(w.arbiters, func(a *conflictArbiter) bool { return b.Cols[w.at[a.scan.RowID]].IsValid(row) }):
			there = append(there, int32(row))
		case w.duplicate(b, keys, k, row):
			if update {
				return op.ErrConflictTwice()
			}
		default:
			fresh = append(fresh, int32(row))
		}
	}
	sub := func(sel []int32) *batch.Batch {
		if len(sel) == b.N {
			return batch.New(b.Cols, b.N)
		}
		return &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1}
	}
	if len(fresh) > 0 {
		w.fresh += len(fresh)
		if err := w.rows.PutChecked(w.r.x.Ctx, sub(fresh), false); err != nil {
			return err
		}
	}
	if len(there) > 0 && update {
		return w.update(sub(there))
	}
	return nil
}

// update replaces existing rows: the old ones are deleted, and the new ones written and checked.
func (w *upsert) update(b *batch.Batch) error {
	ctx := w.r.x.Ctx
	if w.where != nil {
		keep := make([]int32, 0, b.Rows())
		before := 0 // rows of the parts before this one
		err := op.InHalves(b, func(b *batch.Batch) error {
			arr, err := w.where.EvalScratch(ctx, b)
			if err != nil {
				return err
			}
			for k := 0; k < b.Rows(); k++ {
				if !arr.IsNull(k) && arr.(*array.Boolean).Value(k) {
					row := before + k
					if b.Sel != nil {
						row = int(b.Sel[k])
					}
					keep = append(keep, int32(row))
				}
			}
			before += b.Rows()
			return nil
		})
		if err != nil {
			return err
		}
		b = &batch.Batch{Cols: b.Cols, N: b.N, Sel: keep, Seq: -1}
		if len(keep) == 0 {
			return nil
		}
	}
	n := b.Rows()
	b, err := w.rows.Old.Add(ctx, w.acct, b, w.at[w.arbiters[0].scan.RowID])
	if err != nil {
		return err
	}
	if b.Rows() < n {
		return op.ErrConflictTwice()
	}
	var failed error // of rows that had their new values
	err = op.InHalves(b, func(b *batch.Batch) error {
		if failed != nil {
			return nil
		}
		news, err := computed(ctx, w.sets, b)
		if err != nil {
			return err
		}
		failed = w.replace(b, news)
		return nil
	})
	return cmp.Or(failed, err)
}

// replace writes the new values of rows whose old ones are deleted.
func (w *upsert) replace(b *batch.Batch, news []arrow.Array) error {
	ctx, n := w.r.x.Ctx, b.Rows()
	if k := w.r.x.Txn.foreign.keys; k != nil && k.pairs {
		olds := make([]arrow.Array, len(w.live))
		dense := kernel.Compact(b)
		for i, id := range w.d.OnConflict.Existing {
			olds[i] = dense.Cols[w.at[id]]
		}
		if err := k.note(ctx, batch.New(olds, b.Rows()), olds, news); err != nil {
			return err
		}
	}
	// Checks and RETURNING read the source's value columns, so the new values go there, beside what
	// the source has computed for RETURNING. The batch is dense from here on.
	cols := slices.Clone(kernel.Compact(b).Cols)
	for i, id := range w.d.Values {
		cols[w.at[id]] = news[i]
	}
	return w.rows.Put(ctx, batch.New(cols, n), false)
}
