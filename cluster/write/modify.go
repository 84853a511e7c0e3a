package write

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Verb is the command of a kind of statement.
func Verb(k plan.DMLKind) string {
	return [...]string{"INSERT", "UPDATE", "DELETE", "MERGE"}[k]
}

// returning runs a data-modifying CTE and gives its RETURNING rows. The statement's
// other parts keep reading the state from before.
func (r *Run) returning(d *plan.DML) (op.BatchReader, error) {
	w, err := r.modify(d, nil)
	if err != nil {
		return nil, err
	}
	return w.Returned(), nil
}

// list gives batches of a list.
type list struct {
	left []*batch.Batch
	done func()
}

func (l *list) Next(context.Context) (*batch.Batch, error) {
	if len(l.left) == 0 {
		return nil, io.EOF
	}
	b := l.left[0]
	l.left = l.left[1:]
	return b, nil
}

func (l *list) Close() error {
	if l.done != nil {
		l.done()
		l.done = nil
	}
	return nil
}

// ModifyTable is one DML statement in progress at the gateway: its source's rows
// come as batches; new rows go to a segment writer, old ones into bitmaps.
type ModifyTable struct {
	r           *Run
	d           *plan.DML
	rel         *catalog.Relation
	live        []catalog.Column
	src         []plan.Column
	at          map[expr.ColID]int
	writer      SegmentWriter
	deleted     *deletions
	check       *op.RowCheck
	ret         []*eval.Program
	returned    []*batch.Batch
	acct        *mem.Account
	rows        int64
	segmentRows int64 // as in plan.TableWrite
}

// Modify carries out a bound statement. What it returns must be closed.
func (r *Run) Modify(d *plan.DML) (*ModifyTable, error) {
	d, err := r.PlanDML(d)
	if err != nil {
		return nil, err
	}
	return r.modify(d, nil)
}

// ModifyBound is Modify for a statement that may come again.
func (r *Run) ModifyBound(b *query.Bound) (*ModifyTable, error) {
	r.writes(b.DML.Table, b.DML.Buffers)
	d, staged, err := r.Keyed(r.x.Ctx, b)
	if err != nil {
		return nil, err
	}
	return r.modify(d, staged)
}

// modify runs an optimised statement; staged is the plan of its source, nil where
// that is to be made.
func (r *Run) modify(d *plan.DML, staged *plan.Staged) (w *ModifyTable, err error) {
	if err := r.buffers(d.Buffers); err != nil {
		return nil, err
	}
	w = &ModifyTable{r: r, d: d, rel: d.Table, live: d.Table.Live(), acct: r.x.Pool.Account("returning", false)}
	defer func() {
		if err != nil {
			w.abort()
			w.acct.Close()
		}
	}()
	r.watchKeys(d)
	source := d.Source
	if d.OnConflict != nil {
		return w, w.onConflict()
	}
	if staged == nil && d.Kind == plan.InsertRows && len(d.Returning) == 0 {
		segs, err := w.segments(source)
		if err != nil {
			return w, err
		}
		return w, r.apply(w.rel, nil, segs)
	}
	if err := w.prepare(source.Schema()); err != nil {
		return w, err
	}
	var rows op.BatchReader
	if staged != nil {
		rows, err = r.Staged(r.x.Ctx, staged)
	} else {
		rows, err = r.start(source, w.src, nil)
	}
	if err == nil {
		err = w.consume(rows)
	}
	if err != nil {
		return w, err
	}
	return w, w.finish()
}

// prepare compiles what is computed over the source's rows.
func (w *ModifyTable) prepare(src []plan.Column) error {
	w.src = src
	w.at = map[expr.ColID]int{}
	for i, c := range src {
		w.at[c.ID] = i
	}
	w.deleted = newDeletions(w.r.st.Manifest(w.rel.OID))
	w.check = w.r.rowCheck(w.rel)
	for _, c := range w.d.Checks {
		p, err := eval.Compile(c.Expr, src, w.r.x.Env)
		if err != nil {
			return err
		}
		w.check.Checks = append(w.check.Checks, op.NamedCheck{Name: c.Name, Program: p})
	}
	for _, it := range w.d.Returning {
		p, err := eval.Compile(it.Expr, src, w.r.x.Env)
		if err != nil {
			return err
		}
		w.ret = append(w.ret, p)
	}
	return nil
}

// consume handles the source's batches.
func (w *ModifyTable) consume(rows op.BatchReader) error {
	defer rows.Close()
	for {
		b, err := rows.Next(w.r.x.Ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if b.Rows() == 0 {
			continue
		}
		if err := w.batch(b); err != nil {
			return err
		}
	}
}

// batch handles one batch of source rows.
func (w *ModifyTable) batch(b *batch.Batch) error {
	switch w.d.Kind {
	case plan.InsertRows:
		return w.put(b)
	case plan.DeleteRows:
		b = w.deleted.take(b, w.at[w.d.RowID], false)
		if b.Rows() == 0 {
			return nil
		}
		w.rows += int64(b.Rows())
		return w.returning(b)
	case plan.UpdateRows:
		b = w.deleted.take(b, w.at[w.d.RowID], false)
		if b.Rows() == 0 {
			return nil
		}
		if err := w.noteUpdated(b); err != nil {
			return err
		}
		return w.put(b)
	}
	return w.merge(b)
}

// merge distributes the rows of a MERGE to their actions.
func (w *ModifyTable) merge(b *batch.Batch) error {
	act, ok := b.Cols[w.at[w.d.Action]].(interface{ Value(int) int32 })
	if !ok {
		return pgerr.Internal("MERGE's action column is not int4")
	}
	col := b.Cols[w.at[w.d.Action]]
	var parts [4][]int32
	for k := 0; k < b.Rows(); k++ {
		row := int32(k)
		if b.Sel != nil {
			row = b.Sel[k]
		}
		if a := 0; !col.IsNull(int(row)) {
			if a = int(act.Value(int(row))); a > 0 && a < 4 {
				parts[a] = append(parts[a], row)
			}
		}
	}
	sub := func(sel []int32) *batch.Batch { return &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1} }
	if len(parts[1]) > 0 {
		if err := w.put(sub(parts[1])); err != nil {
			return err
		}
	}
	for a := 2; a <= 3; a++ {
		if len(parts[a]) == 0 {
			continue
		}
		x := sub(parts[a])
		n := x.Rows()
		x = w.deleted.take(x, w.at[w.d.RowID], true)
		if x.Rows() < n {
			return pgerr.New(pgerr.CardinalityViolation, "MERGE command cannot affect row a second time").
				WithHint("Ensure that not more than one source row matches any one target row.")
		}
		if a == 2 {
			if err := w.noteUpdated(x); err != nil {
				return err
			}
			if err := w.put(x); err != nil {
				return err
			}
		} else {
			w.rows += int64(x.Rows())
			if err := w.returning(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// put checks new rows and writes them.
func (w *ModifyTable) put(b *batch.Batch) error {
	if err := w.checkRows(b); err != nil {
		return err
	}
	return w.putChecked(b)
}

// checkRows holds new rows against the table's constraints of single rows.
func (w *ModifyTable) checkRows(b *batch.Batch) error {
	nb, err := w.tableRows(b)
	if err != nil {
		return err
	}
	return w.check.Rows(w.r.x.Ctx, b, nb)
}

// tableRows gives the source's rows as rows of the table.
func (w *ModifyTable) tableRows(b *batch.Batch) (*batch.Batch, error) {
	cols := make([]arrow.Array, len(w.live))
	for i, id := range w.d.Values {
		j, ok := w.at[id]
		if !ok {
			return nil, pgerr.Internal("DML source lacks column %d", id)
		}
		cols[i] = b.Cols[j]
	}
	return b.With(cols), nil
}

func (w *ModifyTable) putChecked(b *batch.Batch) error {
	nb, err := w.tableRows(b)
	if err != nil {
		return err
	}
	if w.writer == nil {
		if w.writer, err = w.r.x.Files.Writer(w.r.x.Pool, w.rel, w.segmentRows); err != nil {
			return err
		}
	}
	if err := w.writer.Write(w.r.x.Ctx, nb); err != nil {
		return err
	}
	if k := w.r.x.Txn.foreign.keys; k != nil {
		if k.only = nil; w.rows == 0 && nb.Rows() == 1 {
			k.only = rowAt(nb, w.newCols(), 0)
		}
	}
	w.rows += int64(b.Rows())
	return w.returning(b)
}

// newCols are the columns of the table's rows.
func (w *ModifyTable) newCols() []plan.Column {
	cols := make([]plan.Column, len(w.live))
	for i, c := range w.live {
		cols[i] = plan.Column{Name: c.Name, Type: c.Type, Num: c.Num}
	}
	return cols
}

// returning computes RETURNING over a batch and keeps the rows until the
// statement's end: nothing is shown that may still fail.
func (w *ModifyTable) returning(b *batch.Batch) error {
	if len(w.ret) == 0 {
		return nil
	}
	cols := make([]arrow.Array, len(w.ret))
	for i, p := range w.ret {
		arr, err := p.Eval(w.r.x.Ctx, b)
		if err != nil {
			return err
		}
		cols[i] = arr
	}
	out := batch.New(cols, b.Rows())
	if err := w.acct.Grow(out.Bytes()); err != nil {
		return err
	}
	w.returned = append(w.returned, out)
	return nil
}

// finish makes the changes of the statement and checks unique constraints.
func (w *ModifyTable) finish() error {
	changes, err := w.deleted.changes(w.r.x.Files, w.rel)
	if err != nil {
		return err
	}
	segs, err := w.flush()
	if err != nil {
		return err
	}
	return w.r.apply(w.rel, changes, segs)
}

// flush gives the segments of the rows that were put.
func (w *ModifyTable) flush() ([]*catalog.Segment, error) {
	if w.writer == nil {
		return nil, nil
	}
	segs, err := w.writer.Finish(w.r.x.Ctx)
	w.writer = nil
	w.r.x.Txn.Wrote(segs...)
	return segs, err
}

// abort gives up what was put.
func (w *ModifyTable) abort() {
	if w.writer != nil {
		w.writer.Abort()
		w.writer = nil
	}
}

// write adds a statement's deletions and new segments to the transaction,
// after checking unique constraints against both.
func (r *Run) write(rel *catalog.Relation, changes []catalog.Change, segs []*catalog.Segment, watched *keyWatch) error {
	st := r.st
	var err error
	if len(changes) > 0 {
		if st, err = r.x.Txn.Add(changes...); err != nil {
			return err
		}
	}
	if len(segs) == 0 {
		return nil
	}
	keys, err := r.checkUnique(st, rel, segs, watched)
	if err != nil {
		return err
	}
	_, err = r.x.Txn.Add(append(Append(st, rel, segs), keys...)...)
	return err
}

// Append gives the changes that distribute new segments to the partitions of a table, the
// one with the fewest rows first.
func Append(st *catalog.State, rel *catalog.Relation, segs []*catalog.Segment) []catalog.Change {
	n := max(rel.Partitions, 1)
	if n == 1 {
		return []catalog.Change{&catalog.AppendSegments{Table: rel.OID, Segments: segs, ExpectVersion: rel.Version}}
	}
	rows := make([]int64, n)
	if m := st.Manifest(rel.OID); m != nil {
		for i, p := range m.Partitions {
			if i < n {
				for _, g := range p {
					rows[i] += g.Live()
				}
			}
		}
	}
	byPart := make([][]*catalog.Segment, n)
	for _, g := range segs {
		best := 0
		for i := range rows {
			if rows[i] < rows[best] {
				best = i
			}
		}
		rows[best] += g.Rows
		byPart[best] = append(byPart[best], g)
	}
	var out []catalog.Change
	for i, list := range byPart {
		if len(list) > 0 {
			out = append(out, &catalog.AppendSegments{Table: rel.OID, Part: i, Segments: list, ExpectVersion: rel.Version})
		}
	}
	return out
}

// Tag is the command tag.
func (w *ModifyTable) Tag() string {
	if w.d.Kind == plan.InsertRows {
		return fmt.Sprintf("INSERT 0 %d", w.rows)
	}
	return fmt.Sprintf("%s %d", Verb(w.d.Kind), w.rows)
}

// Returned gives the rows of RETURNING.
func (w *ModifyTable) Returned() op.BatchReader { return &list{left: w.returned, done: w.acct.Close} }

// Close forgets them.
func (w *ModifyTable) Close() { w.acct.Close() }
