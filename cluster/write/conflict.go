package write

import (
	"context"
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
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// proposedBuffer is the buffer of an INSERT … ON CONFLICT's rows, which the binder and the
// optimiser, who count from 0, do not reach; those after it are of the table's rows that
// have one of their keys.
const proposedBuffer = 1 << 20

// onConflict carries out INSERT … ON CONFLICT, of many rows where they lie
// (conflictInThreads), of few here. The proposed rows go into a buffer, with their numbers,
// and the table's rows that have one of their keys into another, the scan being told the
// keys; a left join of the two finds which are there already:
//
//	there    ← scan(table, rowid) ⋉ proposed   on the arbiter's columns
//	proposed ⟕ there
//	   rowid NULL  → insert (the first of equal ones)
//	   rowid set   → DO NOTHING: drop; DO UPDATE: delete the row, write the new
//
// Which of the proposed rows have equal keys is kept in memory where they are few; of many
// choose tells which are inserted.
func (w *ModifyTable) onConflict() error {
	oc, r := w.d.OnConflict, w.r
	arbiters, err := w.arbiters()
	if err != nil {
		return err
	}
	if w.conflictsInThreads(arbiters) {
		if again, err := w.conflictInThreads(arbiters[0]); !again {
			return err
		}
	}
	cw := &conflictWriting{ModifyTable: w, next: w.d.NextCol + 1000}
	src := w.d.Source.Schema()
	cw.seq = cw.column("seq", types.Int8)
	cw.cols = append(slices.Clone(src), cw.seq)
	for _, k := range arbiters {
		cw.arbiter(k)
	}
	into := cw.existing(cw.keyed()) // what the rows are written from
	if err := w.prepare(into.Schema()); err != nil {
		return err
	}
	if err := cw.compile(); err != nil {
		return err
	}
	rows, err := r.start(w.d.Source, src, nil)
	if err != nil {
		return err
	}
	if err := r.Fill(r.x.Ctx, proposedBuffer, cw.cols, &proposedReader{BatchReader: rows, of: cw}); err != nil {
		return err
	}
	for _, a := range cw.arbiters {
		rows, err := r.start(a.look(cw.keyed()), a.found.Cols, nil)
		if err != nil {
			return err
		}
		if err := r.Fill(r.x.Ctx, a.found.ID, a.found.Cols, rows); err != nil {
			return err
		}
	}
	if cw.few() {
		err = cw.see()
	} else if err = cw.choose(); err == nil && !oc.Update {
		into = cw.keyed() // whose columns are the first of what there was
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
			if err := w.flush(); err != nil {
				return err
			}
			return w.finish()
		}
		if err == nil && b.Rows() > 0 {
			err = cw.batch(b)
		}
		if err != nil {
			return err
		}
	}
}

// proposedReader numbers the rows that are proposed, from 0. Each must be one of the
// table's, whatever becomes of it.
type proposedReader struct {
	op.BatchReader
	of *conflictWriting
}

func (p *proposedReader) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := p.BatchReader.Next(ctx)
	if err != nil || b.Rows() == 0 {
		return b, err
	}
	b = kernel.Compact(b)
	if err := p.of.rows.CheckRows(ctx, b); err != nil {
		return nil, err
	}
	seq := make([]int64, b.N)
	for i := range seq {
		seq[i] = p.of.n + int64(i)
	}
	p.of.n, p.of.size = p.of.n+int64(b.N), p.of.size+b.Bytes()
	return batch.New(append(slices.Clip(b.Cols), batch.FromSlice(arrow.PrimitiveTypes.Int64, seq, nil)), b.N), nil
}

// conflictArbiter is a unique constraint that decides about proposed rows.
type conflictArbiter struct {
	*uniqueKey
	scan     *plan.Scan
	keys     []plan.Column // of the proposed rows
	theirs   []expr.Expr   // the same of the table's
	nullSafe []bool        // which of them are equal where both are NULL
	found    *plan.Buffer  // the table's rows that have a proposed row's key
	enc      *kernel.KeyEncoder
	seen     map[string]bool // keys of rows inserted so far, where the proposed are few
}

// arbiter adds one. Keys that are expressions become columns of the proposed rows.
func (w *conflictWriting) arbiter(k *uniqueKey) {
	oc := w.d.OnConflict
	rowid := w.column("rowid", types.Int8)
	a := &conflictArbiter{uniqueKey: k, scan: &plan.Scan{Table: w.rel.OID, Name: w.rel.Name, RowID: rowid.ID}}
	for i, live := range w.live {
		c := w.column(live.Name, live.Type)
		if c.Table, c.Num = w.rel.OID, live.Num; oc.Update && i < len(oc.Existing) {
			c.ID = oc.Existing[i]
		}
		a.scan.Cols, a.scan.Missing = append(a.scan.Cols, c), append(a.scan.Missing, live.Missing)
	}
	there := func(i int) expr.ColID { return a.scan.Cols[i].ID }
	if k.where != nil {
		a.scan.Filter = []expr.Expr{k.over(k.where, there)}
	}
	add := func(name string, mine, theirs expr.Expr, nullSafe bool) {
		c := plan.Column{Name: name, Type: mine.Type()}
		if x, ok := mine.(*expr.Col); ok {
			c.ID = x.ID
		} else {
			c = w.column(name, c.Type)
			w.computed = append(w.computed, plan.Item{Col: c, Expr: mine})
		}
		a.keys, a.theirs, a.nullSafe = append(a.keys, c), append(a.theirs, theirs), append(a.nullSafe, nullSafe)
	}
	for i, e := range k.ofRow(w.d.Values) {
		add(k.names[i], e, k.over(k.keys[i], there), k.NullsNotDistinct)
	}
	if k.NullsNotDistinct && k.where != nil {
		// A row that the predicate leaves out has NULLs for keys, and is equal to none.
		id := func(i int) expr.ColID { return w.d.Values[i] }
		covered := &expr.Const{Val: true, Typ: types.Bool}
		add("covered", &expr.Case{Whens: []expr.When{{Cond: k.over(k.where, id), Then: covered}}, Typ: types.Bool}, k.over(k.where, there), false)
	}
	read := map[expr.ColID]bool{rowid.ID: true}
	for _, e := range a.theirs {
		expr.Columns(e, read)
	}
	a.found = &plan.Buffer{ID: proposedBuffer + 1 + len(w.arbiters), Name: "there"}
	for _, c := range a.scan.Schema() {
		if oc.Update || read[c.ID] {
			a.found.Cols = append(a.found.Cols, c)
		}
	}
	w.arbiters = append(w.arbiters, a)
}

// look finds the table's rows that have a proposed row's key.
func (a *conflictArbiter) look(proposed plan.Node) plan.Node {
	j := &plan.Join{Kind: plan.Semi, L: a.scan, R: proposed, Broadcast: true, LKeys: a.theirs, NullSafe: a.nullSafe}
	for _, c := range a.keys {
		j.RKeys = append(j.RKeys, colRef(c))
	}
	return j
}

// keyed gives the proposed rows and their keys; anew for each plan, for to run one
// changes its tree.
func (w *conflictWriting) keyed() plan.Node {
	in := &plan.Buffer{ID: proposedBuffer, Name: "proposed", Cols: slices.Clone(w.cols)}
	if len(w.computed) == 0 {
		return in
	}
	return &plan.Project{Input: in, Items: append(kept(in), w.computed...)}
}

// existing adds to the proposed rows those of the table that have their keys.
func (w *conflictWriting) existing(in plan.Node) plan.Node {
	for _, a := range w.arbiters {
		there := *a.found
		j := &plan.Join{Kind: plan.Left, L: in, R: &there, RKeys: a.theirs, NullSafe: a.nullSafe}
		for _, c := range a.keys {
			j.LKeys = append(j.LKeys, colRef(c))
		}
		in = j
	}
	return in
}

// arbiters returns the unique constraints to look at: the one the binder found,
// or all.
func (w *ModifyTable) arbiters() ([]*uniqueKey, error) {
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

// conflictWriting distributes proposed rows to insert, update or nothing.
type conflictWriting struct {
	*ModifyTable
	next     expr.ColID    // the first that is free
	cols     []plan.Column // of the proposed rows, seq the last
	seq      plan.Column   // their number
	n, size  int64         // how many there are, and their bytes
	computed []plan.Item   // their keys that are expressions
	arbiters []*conflictArbiter
	inserted []byte // by DO NOTHING of many rows, a bit a row, by number
	sets     []*eval.Program
	where    *eval.Program
}

func (w *conflictWriting) column(name string, t types.Type) plan.Column {
	w.next++
	return plan.Column{ID: w.next - 1, Name: name, Type: t}
}

func (w *conflictWriting) compile() error {
	oc := w.d.OnConflict
	if !oc.Update {
		return nil
	}
	for i := range oc.Set {
		p, err := eval.Compile(w.set(i), w.src, w.r.x.Env)
		if err != nil {
			return err
		}
		w.sets = append(w.sets, p)
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

// set is what DO UPDATE gives a live column.
func (w *ModifyTable) set(i int) expr.Expr {
	if e := w.d.OnConflict.Set[i]; e != nil {
		return w.proposed(e)
	}
	return &expr.Col{ID: w.d.OnConflict.Existing[i], Typ: w.live[i].Type, Name: w.live[i].Name}
}

// proposed makes the columns of EXCLUDED the proposed row's own.
func (w *ModifyTable) proposed(e expr.Expr) expr.Expr {
	oc := w.d.OnConflict
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok {
			for i, id := range oc.Excluded {
				if id == c.ID {
					return &expr.Col{ID: w.d.Values[i], Typ: c.Typ, Name: c.Name}
				}
			}
		}
		return x
	})
}

// batch writes rows: of few, and of DO UPDATE, with those that are there beside them.
func (w *conflictWriting) batch(b *batch.Batch) error {
	var fresh, there []int32
	update := w.d.OnConflict.Update
	seq := b.Cols[w.at[w.seq.ID]].(*array.Int64)
	keys := make([]kernel.Keys, len(w.arbiters))
	for i, a := range w.arbiters {
		if a.seen != nil {
			cols := kernel.Compact(columnsOf(b, a.keys, w.at))
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
		case w.again(b, keys, k, row):
			if update {
				return op.ErrConflictTwice()
			}
		default:
			fresh = append(fresh, int32(row))
		}
	}
	sub := func(sel []int32) *batch.Batch { return &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1} }
	if len(fresh) > 0 {
		if err := w.rows.PutChecked(w.r.x.Ctx, sub(fresh), false); err != nil {
			return err
		}
	}
	if len(there) > 0 && update {
		return w.update(sub(there))
	}
	return nil
}

// update replaces existing rows: the old are deleted, the new written with
// checks over the new values.
func (w *conflictWriting) update(b *batch.Batch) error {
	ctx := w.r.x.Ctx
	if w.where != nil {
		arr, err := w.where.Eval(ctx, b)
		if err != nil {
			return err
		}
		keep := make([]int32, 0, b.Rows())
		for k := 0; k < b.Rows(); k++ {
			if !arr.IsNull(k) && arr.(*array.Boolean).Value(k) {
				keep = append(keep, b.Sel[k])
			}
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
	news := make([]arrow.Array, len(w.sets))
	for i, p := range w.sets {
		arr, err := p.Eval(ctx, b)
		if err != nil {
			return err
		}
		news[i] = arr
	}
	if k := w.r.x.Txn.foreign.keys; k != nil && k.pairs {
		olds := make([]arrow.Array, len(w.live))
		dense := kernel.Compact(b)
		for i, id := range w.d.OnConflict.Existing {
			olds[i] = dense.Cols[w.at[id]]
		}
		if err := k.note(w.ModifyTable, batch.New(olds, b.Rows()), olds, news); err != nil {
			return err
		}
	}
	// Checks and RETURNING read the source's value columns: give them the new
	// values there. The batch is dense from here on.
	cols := make([]arrow.Array, len(b.Cols))
	for i := range cols {
		cols[i] = batch.Nulls(w.src[i].Type.Arrow(), n)
	}
	for i, id := range w.d.Values {
		cols[w.at[id]] = news[i]
	}
	return w.rows.Put(ctx, batch.New(cols, n), false)
}
