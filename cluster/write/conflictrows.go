package write

import (
	"context"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// proposedBuffer is the buffer of an INSERT … ON CONFLICT's rows, which the binder and the
// optimiser, who count from 0, do not reach; those after it are of the table's rows that
// have one of their keys.
const proposedBuffer = 1 << 20

// upsert distributes proposed rows to insert, update or nothing.
type upsert struct {
	*ModifyTable
	*conflictForm
	n, size  int64  // how many proposed rows there are, and their bytes
	refused  error  // of the row after them, if it is none of the table's
	inserted []byte // by DO NOTHING of many rows, a bit a row, by number
	where    *eval.Program
	fresh    int // how many rows were inserted
}

// conflictForm is what an ON CONFLICT makes of its statement alone. One of few rows leaves it to the next run of its
// generic plan.
type conflictForm struct {
	newColumns
	cols     []plan.Column // of the proposed rows, seq the last
	seq      plan.Column   // their number
	computed []plan.Item   // their keys that are expressions
	arbiters []*conflictArbiter
	read     []plan.Column // of the rows to write, as they are read
	places   map[expr.ColID]int
	sets     []*eval.Program // none before they are compiled
}

// newColumns gives columns their ids.
type newColumns struct{ next expr.ColID }

func (n *newColumns) column(name string, t types.Type) plan.Column {
	n.next++
	return plan.Column{ID: n.next - 1, Name: name, Type: t}
}

// proposedReader numbers the rows that are proposed, from 0. Each must be one of the
// table's, whatever becomes of it: those before the first that is not are written first, for what
// is wrong with them is the error then.
type proposedReader struct {
	op.BatchReader
	of *upsert
}

func (p *proposedReader) Next(ctx context.Context) (*batch.Batch, error) {
	if p.of.refused != nil {
		return nil, io.EOF
	}
	b, err := p.BatchReader.Next(ctx)
	if err != nil || b.Rows() == 0 {
		return b, err
	}
	return p.of.propose(ctx, b)
}

// propose checks rows and numbers them.
func (w *upsert) propose(ctx context.Context, b *batch.Batch) (*batch.Batch, error) {
	b = kernel.Compact(b)
	if n, err := w.rows.CheckRows(ctx, b); err != nil {
		w.refused, b = err, b.Slice(0, n)
	}
	seq := make([]int64, b.N)
	for i := range seq {
		seq[i] = w.n + int64(i)
	}
	w.n, w.size = w.n+int64(b.N), w.size+b.Bytes()
	return batch.New(append(slices.Clip(b.Cols), batch.FromSlice(arrow.PrimitiveTypes.Int64, seq, nil)), b.N), nil
}

// conflictArbiter is a unique constraint that decides about proposed rows.
type conflictArbiter struct {
	*uniqueKey
	scan     *plan.Scan
	keys     []plan.Column       // of the proposed rows
	computed []plan.Item         // those of them that are expressions
	theirs   []expr.Expr         // the same of the table's
	read     map[expr.ColID]bool // columns of scan that these read
	nullSafe []bool              // which of them are equal where both are NULL
	found    *plan.Buffer        // the table's rows that have a proposed row's key
	enc      *kernel.KeyEncoder
	seen     map[string]bool // keys of rows inserted so far, where the proposed are few
}

// arbiter makes one of a constraint.
func (w *ModifyTable) arbiter(k *uniqueKey, made *newColumns) *conflictArbiter {
	oc := w.d.OnConflict
	rowid := made.column("rowid", types.Int8)
	a := &conflictArbiter{uniqueKey: k, scan: &plan.Scan{Table: w.rel.OID, Name: w.rel.Name, RowID: rowid.ID}, read: map[expr.ColID]bool{}}
	for i, live := range w.live {
		c := made.column(live.Name, live.Type)
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
			c = made.column(name, c.Type)
			a.computed = append(a.computed, plan.Item{Col: c, Expr: mine})
		}
		expr.Columns(theirs, a.read)
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
	return a
}

// mine are the keys of the proposed rows.
func (a *conflictArbiter) mine() (keys []expr.Expr) {
	for _, c := range a.keys {
		keys = append(keys, colRef(c))
	}
	return keys
}

// add adds an arbiter, and the buffer of the table's rows that it finds.
func (w *upsert) add(a *conflictArbiter) {
	a.found = &plan.Buffer{ID: proposedBuffer + 1 + len(w.arbiters), Name: "there"}
	for _, c := range a.scan.Schema() {
		if w.d.OnConflict.Update || a.read[c.ID] || c.ID == a.scan.RowID {
			a.found.Cols = append(a.found.Cols, c)
		}
	}
	w.computed = append(w.computed, a.computed...)
	w.arbiters = append(w.arbiters, a)
}

// lookUp finds the table's rows that have a proposed row's key.
func (a *conflictArbiter) lookUp(proposed plan.Node) plan.Node {
	return &plan.Join{Kind: plan.Semi, L: a.scan, R: proposed, Broadcast: true, LKeys: a.theirs, RKeys: a.mine(), NullSafe: a.nullSafe}
}

// keyed gives the proposed rows and their keys; anew for each plan, for to run one
// changes its tree.
func (w *upsert) keyed() plan.Node {
	in := &plan.Buffer{ID: proposedBuffer, Name: "proposed", Cols: slices.Clone(w.cols)}
	if len(w.computed) == 0 {
		return in
	}
	return &plan.Project{Input: in, Items: append(kept(in), w.computed...)}
}

// existing adds to the proposed rows those of the table that have their keys (plan.Left), or
// leaves out those that have some (plan.Anti).
func (w *upsert) existing(in plan.Node, kind plan.JoinKind) plan.Node {
	for _, a := range w.arbiters {
		there := *a.found
		in = &plan.Join{Kind: kind, L: in, R: &there, LKeys: a.mine(), RKeys: a.theirs, NullSafe: a.nullSafe}
	}
	return in
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
