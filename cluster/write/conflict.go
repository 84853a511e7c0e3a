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
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// onConflict carries out INSERT … ON CONFLICT, of many rows where they lie
// (conflictInThreads), of few here. The proposed rows go into a buffer, and the table's rows that have one of their keys into another, the scan
// being told the keys; a left join of the two finds which are there already:
//
//	there    ← scan(table, rowid) ⋉ proposed   on the arbiter's columns
//	proposed ⟕ there
//	   rowid NULL  → insert (the first of equal ones)
//	   rowid set   → DO NOTHING: drop; DO UPDATE: delete the row, write the new
//
// Which of the proposed rows have equal keys is kept in memory; where they are too
// many for that, a window that numbers the rows of each key tells, by way of the disk.
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
	src := w.d.Source.Schema()
	const buf = 1 << 20 // which the binder and the optimiser, who count from 0, do not reach
	rows, err := r.start(w.d.Source, src, nil)
	if err != nil {
		return err
	}
	counted := &countedRows{BatchReader: rows}
	if err := r.Fill(r.x.Ctx, buf, src, counted); err != nil {
		return err
	}
	next := w.d.NextCol + 1000
	var ids []expr.ColID
	// Keys that are expressions become columns of the proposed rows.
	keys := make([][]plan.Column, len(arbiters))
	var items []plan.Item
	for _, c := range src {
		items = append(items, plan.Item{Col: c, Expr: colRef(c)})
	}
	for i, c := range arbiters {
		for j, e := range c.ofRow(w.d.Values) {
			col := plan.Column{Name: c.names[j], Type: e.Type()}
			if x, ok := e.(*expr.Col); ok {
				col.ID = x.ID
			} else {
				col.ID = next
				next++
				items = append(items, plan.Item{Col: col, Expr: e})
			}
			keys[i] = append(keys[i], col)
		}
	}
	proposed := func() plan.Node { // anew for each plan: to run one changes its tree
		in := &plan.Buffer{ID: buf, Name: "proposed", Cols: slices.Clone(src)}
		if len(items) == len(src) {
			return in
		}
		return &plan.Project{Input: in, Items: slices.Clone(items)}
	}
	input := proposed()
	for a, c := range arbiters {
		sc := &plan.Scan{Table: w.rel.OID, Name: w.rel.Name, RowID: next}
		next++
		ids = append(ids, sc.RowID)
		for i, live := range w.live {
			id := next
			next++
			if oc.Update && i < len(oc.Existing) {
				id = oc.Existing[i]
			}
			sc.Cols = append(sc.Cols, plan.Column{ID: id, Name: live.Name, Type: live.Type, Table: w.rel.OID, Num: live.Num})
			sc.Missing = append(sc.Missing, live.Missing)
		}
		there := func(i int) expr.ColID { return sc.Cols[i].ID }
		if c.where != nil {
			sc.Filter = append(sc.Filter, c.over(c.where, there))
		}
		look := &plan.Join{Kind: plan.Semi, L: sc, R: proposed(), Broadcast: true}
		found := &plan.Buffer{ID: buf + 1 + a, Name: "there"} // rows that are there already
		j := &plan.Join{Kind: plan.Left, L: input, R: found}
		read := map[expr.ColID]bool{sc.RowID: true}
		for i, e := range c.keys {
			mine, theirs := colRef(keys[a][i]), c.over(e, there)
			expr.Columns(theirs, read)
			look.LKeys, look.RKeys = append(look.LKeys, theirs), append(look.RKeys, mine)
			j.LKeys, j.RKeys = append(j.LKeys, mine), append(j.RKeys, theirs)
			j.NullSafe = append(j.NullSafe, c.NullsNotDistinct && c.where == nil)
		}
		look.NullSafe = j.NullSafe
		for _, col := range sc.Schema() {
			if oc.Update || read[col.ID] {
				found.Cols = append(found.Cols, col)
			}
		}
		rows, err := r.start(look, found.Cols, nil)
		if err != nil {
			return err
		}
		if err := r.Fill(r.x.Ctx, found.ID, found.Cols, rows); err != nil {
			return err
		}
		input = j
	}
	var nth expr.ColID
	if len(arbiters) == 1 && counted.n*seenBytes > r.x.Pool.Limit()/4 {
		nth = next
		input = numbered(input, keys[0], nth)
	}
	if err := w.prepare(input.Schema()); err != nil {
		return err
	}
	cw := &conflictWriting{ModifyTable: w, ids: ids, arbiters: arbiters, keys: keys, nth: nth, seen: make([]map[string]bool, len(arbiters))}
	for i := range cw.seen {
		cw.seen[i] = map[string]bool{}
	}
	if err := cw.compile(); err != nil {
		return err
	}
	out, err := r.start(input, w.src, nil)
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
		if err != nil {
			return err
		}
		if b.Rows() > 0 {
			if err := cw.batch(b); err != nil {
				return err
			}
		}
	}
}

// seenBytes is about what a key takes in a map.
const seenBytes = 96

// countedRows counts the rows that it gives.
type countedRows struct {
	op.BatchReader
	n int64
}

func (c *countedRows) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := c.BatchReader.Next(ctx)
	if b != nil {
		c.n += int64(b.Rows())
	}
	return b, err
}

// numbered adds the column nth, which numbers the rows of each key from 1.
func numbered(in plan.Node, key []plan.Column, nth expr.ColID) plan.Node {
	w := &plan.Window{Input: in, Items: []plan.WindowItem{{
		Col:   plan.Column{ID: nth, Name: "nth", Type: types.Int8},
		Call:  expr.AggCall{Fn: rewrite.Function("row_number"), Typ: types.Int8},
		Frame: plan.Frame{Mode: 'v', Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}},
	}}}
	for _, c := range key {
		w.PartitionBy = append(w.PartitionBy, colRef(c))
	}
	return w
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

// conflictWriting distributes joined rows to insert, update or nothing.
type conflictWriting struct {
	*ModifyTable
	ids      []expr.ColID // rowid column of each arbiter's scan
	arbiters []*uniqueKey
	keys     [][]plan.Column   // of the proposed row, per arbiter
	seen     []map[string]bool // keys proposed so far, per arbiter
	nth      expr.ColID        // not 0: numbers the rows of a key, and nothing is kept in seen
	sets     []*eval.Program
	where    *eval.Program
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

func (w *conflictWriting) batch(b *batch.Batch) error {
	// A proposed row must be one of the table's, whatever becomes of it.
	if err := w.rows.CheckRows(w.r.x.Ctx, b); err != nil {
		return err
	}
	var fresh, there []int32
	own := make([]string, len(w.ids)) // the row's keys, "" for those of a NULL
	for k := 0; k < b.Rows(); k++ {
		row := k
		if b.Sel != nil {
			row = int(b.Sel[k])
		}
		exists, again := false, false
		for i, id := range w.ids {
			if !b.Cols[w.at[id]].IsNull(row) {
				exists = true
			}
			key, null := w.key(b, i, row)
			if null {
				key = ""
			}
			if w.nth != 0 {
				again = key != "" && b.Cols[w.at[w.nth]].(*array.Int64).Value(row) > 1
				continue
			}
			again = again || w.seen[i][key]
			own[i] = key
		}
		// A row that comes to nothing stands in no other's way.
		if w.nth == 0 && !again && !exists {
			for i, key := range own {
				if key == "" {
					continue
				}
				if err := w.acct.Grow(int64(len(key)) + 48); err != nil {
					return err
				}
				w.seen[i][key] = true
			}
		}
		switch {
		case exists:
			there = append(there, int32(row))
		case again && w.d.OnConflict.Update:
			return op.ErrConflictTwice()
		case again:
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
	if len(there) > 0 && w.d.OnConflict.Update {
		return w.update(sub(there))
	}
	return nil
}

func (w *conflictWriting) key(b *batch.Batch, arbiter, row int) (key string, null bool) {
	var out []byte
	for _, c := range w.keys[arbiter] {
		d := types.DatumAt(c.Type, b.Cols[w.at[c.ID]], row)
		if d == nil && !w.arbiters[arbiter].NullsNotDistinct {
			return "", true
		}
		if d == nil {
			out = append(out, 0)
			continue
		}
		at := len(out)
		out = append(out, 1, 0, 0, 0, 0)
		out = types.AppendBinary(out, c.Type, d)
		n := len(out) - at - 5
		out[at+1], out[at+2], out[at+3], out[at+4] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
	}
	return string(out), false
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
	b, err := w.rows.Old.Add(ctx, w.acct, b, w.at[w.ids[0]])
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
