package write

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// ModifyTable is one DML statement in progress. A plan.TableWrite does the work, on
// the nodes that hold the source's rows, or the gateway does the same over rows
// that it reads (op.RowWriter).
type ModifyTable struct {
	r           *Executor
	d           *plan.DML
	rel         *catalog.Relation
	live        []catalog.Column
	src         []plan.Column
	at          map[expr.ColID]int
	rows        *op.RowWriter // the gateway's; nil before prepare
	ret         []*eval.Program
	returned    *op.Buffer  // what RETURNING gives; nil before there is some
	number      plan.Column // the last of returned's columns, by which its rows are ordered; ID 0: there is none
	acct        *mem.Account
	count       int64 // of rows inserted, updated or deleted
	written     []catalog.Written
	old         op.RowIDs                        // rows deleted or replaced
	segmentRows int64                            // as in plan.TableWrite
	later       bool                             // earlier parts of the statement wrote
	before      *catalog.Manifest                // what earlier parts of the statement left of the table; nil where they changed no row
	there       *catalog.Manifest                // what is there now, with what they wrote; nil where nothing changed
	reads       map[*plan.Scan]*catalog.Manifest // in place of the view's
	found       *foundKeys                       // by which the source joined the table's rows; nil: none
	idle        *planner.Idle                    // what earlier runs of the statement have compiled; nil where it is run once
	conflict    *proposedRows                    // of an ON CONFLICT that is carried out as a MERGE; or nil
}

// proposedRows are an INSERT's rows before ON CONFLICT decided about them.
type proposedRows struct {
	values []expr.ColID
	checks []plan.Check
}

func (r *Executor) modifying(d *plan.DML) *ModifyTable {
	return &ModifyTable{r: r, d: d, rel: d.Table, live: d.Table.Live(), acct: r.x.Pool.Account("changed rows", false)}
}

// watchKeys begins to follow the keys of the table.
func (w *ModifyTable) watchKeys() {
	w.r.x.Txn.foreign.keys = watch(w.r.x.Run, w.r.st, w.d)
}

// node is the statement's plan.TableWrite over an input.
func (w *ModifyTable) node(input plan.Node) *plan.TableWrite {
	n := &plan.TableWrite{Input: input, Kind: w.d.Kind, Table: w.rel, Values: w.d.Values, RowID: w.d.RowID, Action: w.d.Action,
		Checks: w.d.Checks, SegmentRows: w.segmentRows}
	if sc := w.r.st.Schema(w.rel.Schema); sc != nil {
		n.Namespace = sc.Name
	}
	if w.conflict != nil {
		n.Proposed, n.ProposedChecks = w.conflict.values, w.conflict.checks
	}
	if w.d.Kind != plan.DeleteRows {
		n.Cols = make([]int16, len(w.live))
		for i := range w.live {
			n.Cols[i] = w.live[i].Num
		}
		n.Hidden, n.Partial = w.r.hidden(w.rel, w.d.Tables)
	}
	return n
}

// over notes the columns of the source's rows.
func (w *ModifyTable) over(src []plan.Column) {
	w.src, w.at = src, make(map[expr.ColID]int, len(src))
	for i, c := range src {
		w.at[c.ID] = i
	}
}

// prepare compiles what the gateway does with the source's rows.
func (w *ModifyTable) prepare() (err error) {
	n := w.node(nil)
	if w.rows, err = build.RowWriter(n, w.src, w.r.x.Env); err != nil {
		return err
	}
	w.rows.Acct = w.acct
	w.rows.Open = func(ctx context.Context) (op.Writer, error) { return w.r.x.Files.Writer(ctx, w.r.x.Pool, n) }
	w.rows.Done = w.changed
	ret := make([]expr.Expr, len(w.d.Returning))
	for i, it := range w.d.Returning {
		ret[i] = it.Expr
	}
	if len(ret) > 0 {
		w.ret, err = eval.CompileColumns(ret, w.src, w.r.x.Env)
	}
	return err
}

// changed notes rows of the source that were carried out.
func (w *ModifyTable) changed(ctx context.Context, b *batch.Batch, updated bool) error {
	if k := w.r.x.Txn.foreign.keys; k != nil {
		if len(w.rows.Values) > 0 && b.Bytes() <= fewProposedBytes { // they are not charged
			k.add(w.count, b.Rows(), func(i int) []types.Datum { return w.keysOf(b, i) })
		}
		if updated && k.pairs {
			olds, news := make([]arrow.Array, len(w.live)), make([]arrow.Array, len(w.live))
			for _, num := range k.nums { // the source may lack other old columns
				i := k.column(num)
				olds[i], news[i] = b.Cols[w.at[w.d.Old[i]]], b.Cols[w.at[w.d.Values[i]]]
			}
			if err := k.note(ctx, b, olds, news); err != nil {
				return err
			}
		}
	}
	w.count += int64(b.Rows())
	if len(w.ret) == 0 {
		return nil
	}
	return op.InHalves(b, func(b *batch.Batch) error {
		cols, err := computed(ctx, w.ret, b)
		if err != nil {
			return err
		}
		return w.keep(batch.New(cols, b.Rows()))
	})
}

// computed returns the results of programs over a batch.
func computed(ctx context.Context, ps []*eval.Program, b *batch.Batch) ([]arrow.Array, error) {
	out := make([]arrow.Array, len(ps))
	for i, p := range ps {
		var err error
		if out[i], err = p.Eval(ctx, b); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// keysOf reads the live columns of a new row of the source that a unique constraint compares.
func (w *ModifyTable) keysOf(b *batch.Batch, i int) []types.Datum {
	if b.Sel != nil {
		i = int(b.Sel[i])
	}
	out := make([]types.Datum, len(w.live))
	for c, live := range w.live {
		if slices.ContainsFunc(w.rel.Constraints, func(k catalog.Constraint) bool { return isUnique(&k) && slices.Contains(k.Columns, live.Num) }) {
			out[c] = types.DatumAt(live.Type, b.Cols[w.rows.Values[c]], i)
		}
	}
	return out
}

// keep keeps rows of RETURNING until the statement's end: nothing is shown that may
// still fail.
func (w *ModifyTable) keep(b *batch.Batch) error {
	if w.returned == nil {
		w.returned = w.r.x.Buffer(w.returnedColumns())
	}
	return w.returned.Append(w.r.x.Ctx, b)
}

func (w *ModifyTable) returnedColumns() []plan.Column {
	cols := w.d.ReturningColumns()
	if w.number.ID != 0 {
		cols = append(cols[:len(cols):len(cols)], w.number)
	}
	return cols
}

// flush ends what the gateway writes.
func (w *ModifyTable) flush() error {
	w.count = 0
	list, err := w.rows.Finish(w.r.x.Ctx)
	if err != nil {
		return err
	}
	for _, x := range list {
		if err := w.addWritten(x); err != nil {
			return err
		}
	}
	return nil
}

// addWritten notes what a thread wrote.
func (w *ModifyTable) addWritten(x catalog.Written) error {
	w.count += x.Rows
	if x.Segment != nil {
		w.r.x.Txn.Wrote(x.Segment)
		w.written = append(w.written, x)
		return nil
	}
	again, err := w.old.Merge(w.r.x.Ctx, w.acct, x.Ordinal, x.Deleted)
	if again {
		switch {
		case w.conflict != nil:
			return op.ErrConflictTwice()
		case w.d.Kind == plan.MergeRows:
			return op.ErrMergedTwice()
		}
		return pgerr.Internal("a row of %s is changed twice", w.rel.Name)
	}
	return err
}

// segments are the new ones, in the order of their rows as far as there is one.
func (w *ModifyTable) segments() []*catalog.Segment {
	slices.SortStableFunc(w.written, func(a, b catalog.Written) int { return cmp.Compare(a.Seq, b.Seq) })
	segs := make([]*catalog.Segment, len(w.written))
	for i, x := range w.written {
		segs[i] = x.Segment
	}
	return segs
}

// finish makes the changes of the statement and checks unique constraints.
func (w *ModifyTable) finish() error {
	var changes []catalog.Change
	m := w.r.st.Manifest(w.rel.OID)
	for _, o := range w.old.Ordinals() {
		// By row: writers of other rows of the segment, and compaction, do not
		// conflict with it.
		rows, err := w.old.Encoded(o)
		if err != nil {
			return err
		}
		if err := w.changedEarlier(o, rows); err != nil {
			return err
		}
		_, seg := store.At(m, o)
		changes = append(changes, &catalog.DeleteRows{Table: w.rel.OID, Segment: seg.ID, Rows: rows, ExpectVersion: w.rel.Version})
	}
	segs := w.segments()
	w.watchFound(segs)
	return w.r.apply(w.rel, changes, segs)
}

// abort gives up what was put.
func (w *ModifyTable) abort() {
	if w.rows != nil {
		w.rows.Abort()
	}
}

// Verb is the command of a kind of statement.
func Verb(k plan.DMLKind) string {
	return strings.ToUpper(k.String())
}

// Tag is the command tag.
func (w *ModifyTable) Tag() string {
	if w.d.Kind == plan.InsertRows {
		return fmt.Sprintf("INSERT 0 %d", w.count)
	}
	return fmt.Sprintf("%s %d", Verb(w.d.Kind), w.count)
}

// Returned returns the rows of RETURNING; closing them is closing the statement.
func (w *ModifyTable) Returned() (op.BatchReader, error) {
	out := &returned{of: w}
	if w.returned == nil {
		return out, nil
	}
	err := w.returned.Finish(w.r.x.Ctx)
	if err == nil {
		out.rows, err = w.returned.Open(nil)
	}
	if err == nil && w.number.ID != 0 {
		out.rows, err = w.ordered(out.rows)
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return out, nil
}

// ordered gives the rows of RETURNING by their numbers.
func (w *ModifyTable) ordered(rows op.BatchReader) (op.BatchReader, error) {
	w.r.Stream(proposedBuffer, rows)
	cols := w.returnedColumns()
	in := &plan.Sort{Input: &plan.Buffer{ID: proposedBuffer, Name: "returned", Cols: cols}, Keys: []plan.SortKey{{Expr: colRef(w.number)}}, Limit: -1}
	p := &plan.Project{Input: in}
	for _, c := range cols[:len(cols)-1] {
		p.Items = append(p.Items, plan.Item{Col: c, Expr: colRef(c)})
	}
	return w.r.few(p, p.Schema(), nil)
}

// returned reads the rows of a statement's RETURNING.
type returned struct {
	of   *ModifyTable
	rows op.BatchReader // nil where there are none
}

func (r *returned) Next(ctx context.Context) (*batch.Batch, error) {
	if r.rows == nil {
		return nil, io.EOF
	}
	return r.rows.Next(ctx)
}

func (r *returned) Close() (err error) {
	if r.rows != nil {
		err = r.rows.Close()
		r.rows = nil
	}
	r.of.Close()
	return err
}

// Close forgets them.
func (w *ModifyTable) Close() {
	w.dropReturned()
	w.acct.Close()
}

// dropReturned gives up what was kept for RETURNING.
func (w *ModifyTable) dropReturned() {
	if w.returned != nil {
		w.returned.Close()
		w.returned = nil
	}
}
