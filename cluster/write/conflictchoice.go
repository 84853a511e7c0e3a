package write

import (
	"io"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

const (
	fewProposed      = 8 << 10 // for up to so many rows a set of keys in memory is faster than a plan
	fewProposedBytes = 1 << 20
	seenBytes        = 64 // approximate memory of a map's entry besides the key's bytes
)

// few reports whether the keys of the proposed rows are kept in memory.
func (w *upsert) areFew() bool { return w.n <= fewProposed && w.size <= fewProposedBytes }

// see prepares the sets of keys for few rows.
func (w *upsert) see() error {
	if err := w.acct.Insist(w.r.x.Ctx, int64(len(w.arbiters))*(2*w.size+w.n*seenBytes)); err != nil {
		return err
	}
	for _, a := range w.arbiters {
		a.seen = map[string]bool{}
		specs := make([]kernel.KeySpec, len(a.keys))
		for i, c := range a.keys {
			specs[i].Type = c.Type
		}
		a.enc = kernel.NewKeyEncoder(specs)
	}
	return nil
}

// duplicate reports whether a row, of few, that is not in the table has a key of a row inserted before;
// if not, it notes the row's keys as inserted. Entry k of keys belongs to row of the batch.
func (w *upsert) duplicate(b *batch.Batch, keys []kernel.Keys, k, row int) bool {
	keyed := func(a *conflictArbiter) bool { // a key with NULL equals no other, unless NULLS NOT DISTINCT
		for i, c := range a.keys {
			if !a.nullSafe[i] && b.Cols[w.at[c.ID]].IsNull(row) {
				return false
			}
		}
		return a.seen != nil
	}
	for i, a := range w.arbiters {
		if keyed(a) && a.seen[string(keys[i].At(k))] {
			return true
		}
	}
	for i, a := range w.arbiters {
		if keyed(a) {
			a.seen[string(keys[i].At(k))] = true
		}
	}
	return false
}

// choose decides which of many proposed rows DO NOTHING inserts, and fails if DO UPDATE would insert two
// rows with one key.
//
// A row is inserted unless the table, or a row inserted before it, has one of its keys. A row that is
// not inserted does not occupy its other keys: with unique a and unique b, of (1, 1), (1, 2), (2, 2)
// the second conflicts with the first, so the third is inserted. Whether a row is inserted thus
// depends on the decisions about earlier rows. They are made without a set of keys: a window finds
// for each row and constraint the previous row with the same key, and the rows are read in their
// order:
//
//	proposed ▷ there
//	   → previous := lag(seq) OVER (PARTITION BY key ORDER BY seq)   for each constraint
//	   → seq, previous …   ORDER BY seq
//
//	taken(row, c) = after the row, has an inserted row its key of constraint c?
//	              = taken(previous(row, c), c), or the row is inserted
//
// The plan spills if it is large. In memory are only a bit for each row and constraint, and one for
// each row that is inserted.
func (w *upsert) choose() error {
	in := w.choices()
	cols := in.Schema()
	rows, err := w.r.start(in, cols, nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	c := choice{update: w.d.OnConflict.Update}
	if !c.update {
		if c.inserted, err = w.bits(w.n); err != nil {
			return err
		}
		w.inserted = c.inserted
		c.taken = make([][]byte, len(w.arbiters))
		for i := range c.taken {
			if c.taken[i], err = w.bits(w.n); err != nil {
				return err
			}
		}
	}
	for {
		b, err := rows.Next(w.r.x.Ctx)
		if err == io.EOF {
			w.r.Note(w.d)
			return nil
		}
		if err == nil {
			err = c.batch(b)
		}
		if err != nil {
			return err
		}
	}
}

// bits allocates a bit for each of n rows.
func (w *upsert) bits(n int64) ([]byte, error) {
	size := (n + 7) / 8
	if err := w.acct.Insist(w.r.x.Ctx, size); err != nil {
		return nil, err
	}
	return make([]byte, size), nil
}

// choices returns a plan for the numbers of the proposed rows of which the table has no key, and for
// each constraint the number of the previous row with the same key; for DO NOTHING in their order.
func (w *upsert) choices() plan.Node {
	narrow := &plan.Project{Input: w.keyed(), Items: []plan.Item{{Col: w.seq, Expr: colRef(w.seq)}}}
	has := map[expr.ColID]bool{}
	for _, a := range w.arbiters {
		for _, c := range a.keys {
			if !has[c.ID] {
				has[c.ID] = true
				narrow.Items = append(narrow.Items, plan.Item{Col: c, Expr: colRef(c)})
			}
		}
	}
	in := w.existing(narrow, plan.Anti)
	out := &plan.Project{Items: []plan.Item{{Col: w.seq, Expr: colRef(w.seq)}}}
	for _, a := range w.arbiters {
		previous := w.column("previous", types.Int8)
		win := &plan.Window{Input: in, OrderBy: []expr.Order{{Expr: colRef(w.seq)}}, Items: []plan.WindowItem{{
			Col:   previous,
			Call:  expr.AggCall{Fn: rewrite.Function("lag", types.Int8OID), Args: []expr.Expr{colRef(w.seq)}, Typ: types.Int8},
			Frame: plan.Frame{Mode: 'r', Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}},
		}}}
		keyed := &expr.And{} // a key with NULL equals no other, unless NULLS NOT DISTINCT
		for i, c := range a.keys {
			win.PartitionBy = append(win.PartitionBy, colRef(c))
			if !a.nullSafe[i] {
				keyed.Args = append(keyed.Args, &expr.IsNull{Arg: colRef(c), Not: true})
			}
		}
		e := expr.Expr(colRef(previous))
		if len(keyed.Args) > 0 {
			e = &expr.Case{Typ: types.Int8, Whens: []expr.When{{Cond: keyed, Then: e}}}
		}
		out.Items = append(out.Items, plan.Item{Col: w.column("previous", types.Int8), Expr: e})
		in = win
	}
	out.Input = in
	if w.d.OnConflict.Update {
		return out
	}
	return &plan.Sort{Input: out, Keys: []plan.SortKey{{Expr: colRef(w.seq)}}, Limit: -1}
}

// choice decides about the rows that the plan of choices returns.
type choice struct {
	update   bool
	inserted []byte   // a bit for each row
	taken    [][]byte // the same for each constraint
}

func (c *choice) batch(b *batch.Batch) error {
	seqs := b.Cols[0].(*array.Int64)
	previous := make([]*array.Int64, len(b.Cols)-1)
	for i := range previous {
		previous[i] = b.Cols[1+i].(*array.Int64)
	}
	for k := range b.Rows() {
		row := k
		if b.Sel != nil {
			row = int(b.Sel[k])
		}
		if c.update {
			if previous[0].IsValid(row) {
				return op.ErrConflictTwice()
			}
			continue
		}
		seq, free := int(seqs.Value(row)), true
		for i, p := range previous {
			if p.IsValid(row) && batch.Bit(c.taken[i], int(p.Value(row))) {
				batch.SetBit(c.taken[i], seq)
				free = false
			}
		}
		if !free {
			continue
		}
		batch.SetBit(c.inserted, seq)
		for i := range c.taken {
			batch.SetBit(c.taken[i], seq)
		}
	}
	return nil
}
