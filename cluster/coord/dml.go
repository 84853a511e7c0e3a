package coord

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
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// dml handles INSERT, UPDATE, DELETE and MERGE.
func (s *Session) dml(ctx context.Context, stmt *parse.Statement, params []types.Type) (*handler, error) {
	s.ensureTxn()
	st, err := s.tx.begin(ctx, s.engine.cfg.Meta)
	if err != nil {
		return nil, err
	}
	b, err := s.engine.queries.BindDML(s.context().With(nil, params), st, stmt, query.Poll(ctx))
	if err != nil {
		return nil, err
	}
	d := b.DML
	var cols []plan.Column
	for _, it := range d.Returning {
		cols = append(cols, it.Col)
	}
	return &handler{cols: cols, params: d.Params, again: cols == nil, open: func(ctx context.Context, x *execution) (*result, error) {
		if err := s.writable(dmlVerb(d.Kind)); err != nil {
			return nil, err
		}
		st, err := x.view()
		if err != nil {
			return nil, err
		}
		b, err := s.engine.queries.BindDML(x.Context, st, stmt, query.Poll(x.ctx))
		if err != nil {
			return nil, err
		}
		r := s.newRun(x, st)
		defer r.close()
		d, staged, err := r.planDML(b)
		if err != nil {
			return nil, err
		}
		w, err := s.runDML(r, d, staged)
		if err != nil {
			return nil, err
		}
		return w.result(cols), nil
	}}, nil
}

func dmlVerb(k plan.DMLKind) string {
	return [...]string{"INSERT", "UPDATE", "DELETE", "MERGE"}[k]
}

// dmlRows runs a data-modifying CTE and gives its RETURNING rows.
func (s *Session) dmlRows(r *run, d *plan.DML) (op.BatchReader, error) {
	// The statement's other parts keep reading the state from before.
	w, err := s.runDML(r, d, nil)
	if err != nil {
		return nil, err
	}
	return &listReader{list: w.returned, done: w.acct.Close}, nil
}

// listReader gives batches of a list.
type listReader struct {
	list []*batch.Batch
	done func()
}

func (l *listReader) Next(context.Context) (*batch.Batch, error) {
	if len(l.list) == 0 {
		return nil, io.EOF
	}
	b := l.list[0]
	l.list = l.list[1:]
	return b, nil
}

func (l *listReader) Close() error {
	if l.done != nil {
		l.done()
		l.done = nil
	}
	return nil
}

// writing is one DML statement in progress at the gateway: its source's rows
// come as batches; new rows go to a segment writer, old ones into bitmaps.
type writing struct {
	s        *Session
	r        *run
	d        *plan.DML
	rel      *catalog.Relation
	live     []catalog.Column
	src      []plan.Column
	at       map[expr.ColID]int
	writer   SegmentWriter
	deleted  *deletions
	check    *op.RowCheck
	ret      []*eval.Program
	returned []*batch.Batch
	acct     *mem.Account
	rows     int64
	inserted int64
}

// runDML runs an optimised statement; staged is the plan of its source, nil where
// that is to be made.
func (s *Session) runDML(r *run, d *plan.DML, staged *plan.Staged) (w *writing, err error) {
	if err := r.buffers(d.Buffers); err != nil {
		return nil, err
	}
	w = &writing{s: s, r: r, d: d, rel: d.Table, live: d.Table.Live(), acct: r.x.Pool.Account("returning", false)}
	defer func() {
		if err != nil {
			if w.writer != nil {
				w.writer.Abort()
			}
			w.acct.Close()
		}
	}()
	s.watchKeys(r, d)
	source := d.Source
	if d.OnConflict != nil {
		return w, s.runConflict(w)
	}
	if staged == nil && d.Kind == plan.InsertRows && len(d.Returning) == 0 && r.inLanes(source) {
		return w, w.bulk(source)
	}
	if err := w.prepare(source.Schema()); err != nil {
		return w, err
	}
	var rows op.BatchReader
	if staged != nil {
		rows, err = r.Staged(r.x.ctx, staged)
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
func (w *writing) prepare(src []plan.Column) error {
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
func (w *writing) consume(rows op.BatchReader) error {
	defer rows.Close()
	for {
		b, err := rows.Next(w.r.x.ctx)
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
func (w *writing) batch(b *batch.Batch) error {
	switch w.d.Kind {
	case plan.InsertRows:
		return w.put(b, true)
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
		return w.put(b, false)
	}
	return w.merge(b)
}

// merge deals the rows of a MERGE to their actions.
func (w *writing) merge(b *batch.Batch) error {
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
		if err := w.put(sub(parts[1]), true); err != nil {
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
			if err := w.put(x, false); err != nil {
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
func (w *writing) put(b *batch.Batch, insert bool) error {
	if err := w.checkRows(b); err != nil {
		return err
	}
	return w.putChecked(b, insert)
}

// checkRows holds new rows against the table's constraints of single rows.
func (w *writing) checkRows(b *batch.Batch) error {
	nb, err := w.tableRows(b)
	if err != nil {
		return err
	}
	return w.check.Rows(w.r.x.ctx, b, nb)
}

// tableRows gives the source's rows as rows of the table.
func (w *writing) tableRows(b *batch.Batch) (*batch.Batch, error) {
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

func (w *writing) putChecked(b *batch.Batch, insert bool) error {
	nb, err := w.tableRows(b)
	if err != nil {
		return err
	}
	if w.writer == nil {
		if w.writer, err = w.s.engine.cfg.Files.Writer(w.r.x.Pool, w.rel, 0); err != nil {
			return err
		}
	}
	if err := w.writer.Write(w.r.x.ctx, nb); err != nil {
		return err
	}
	if k := w.s.tx.foreign.keys; k != nil {
		if k.only = nil; w.rows == 0 && nb.Rows() == 1 {
			k.only = rowAt(nb, w.newCols(), 0)
		}
	}
	w.rows += int64(b.Rows())
	if insert {
		w.inserted += int64(b.Rows())
	}
	return w.returning(b)
}

// newCols are the columns of the table's rows.
func (w *writing) newCols() []plan.Column {
	cols := make([]plan.Column, len(w.live))
	for i, c := range w.live {
		cols[i] = plan.Column{Name: c.Name, Type: c.Type, Num: c.Num}
	}
	return cols
}

// returning computes RETURNING over a batch and keeps the rows until the
// statement's end: nothing is shown that may still fail.
func (w *writing) returning(b *batch.Batch) error {
	if len(w.ret) == 0 {
		return nil
	}
	cols := make([]arrow.Array, len(w.ret))
	for i, p := range w.ret {
		arr, err := p.Eval(w.r.x.ctx, b)
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
func (w *writing) finish() error {
	changes, err := w.deleted.changes(w.s.engine.cfg.Files, w.rel)
	if err != nil {
		return err
	}
	var segs []*catalog.Segment
	if w.writer != nil {
		segs, err = w.writer.Finish(w.r.x.ctx)
		w.writer = nil
		if err != nil {
			return err
		}
	}
	return w.s.apply(w.r, w.rel, changes, segs)
}

// write adds a statement's deletions and new segments to the transaction,
// after checking unique constraints against both.
func (s *Session) write(r *run, rel *catalog.Relation, changes []catalog.Change, segs []*catalog.Segment, watched *keyWatch) error {
	for _, g := range segs {
		if g.Inline == nil {
			s.tx.created = append(s.tx.created, g)
		}
	}
	st := r.st
	var err error
	if len(changes) > 0 {
		if st, err = s.tx.add(changes...); err != nil {
			return err
		}
	}
	if len(segs) == 0 {
		return nil
	}
	keys, err := s.checkUnique(r, st, rel, segs, watched)
	if err != nil {
		return err
	}
	_, err = s.tx.add(append(place(st, rel, segs), keys...)...)
	return err
}

// place deals new segments to the partitions, the one with the fewest rows
// first.
func place(st *catalog.State, rel *catalog.Relation, segs []*catalog.Segment) []catalog.Change {
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

// result is what the client gets.
func (w *writing) result(cols []plan.Column) *result {
	tag := fmt.Sprintf("%s %d", dmlVerb(w.d.Kind), w.rows)
	if w.d.Kind == plan.InsertRows {
		tag = fmt.Sprintf("INSERT 0 %d", w.rows)
	}
	res := &result{cols: cols, tag: func() string { return tag }, close: func() error { w.acct.Close(); return nil }}
	if cols != nil {
		res.next = (&listReader{list: w.returned}).Next
	}
	return res
}
