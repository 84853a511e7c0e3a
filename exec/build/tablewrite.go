package build

import (
	"context"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func (b *builder) tableWrite(ctx context.Context, n *plan.TableWrite) (rel, error) {
	if b.Writers == nil {
		return rel{}, pgerr.Internal("the task cannot write tables")
	}
	src := n.Input.Schema()
	in, err := b.exactly(ctx, n.Input, src)
	if err != nil {
		return rel{}, err
	}
	returning, err := b.items(itemExprs(n.Returning), src)
	if err != nil {
		return rel{}, err
	}
	updated, err := b.items(itemExprs(n.Updated), src)
	if err != nil {
		return rel{}, err
	}
	writers := make([]*op.RowWriter, len(in))
	var emits []*op.Emit
	var seen *op.RowIDs
	if n.Again {
		seen = &op.RowIDs{}
	}
	for thread := range writers {
		if writers[thread], err = RowWriter(n, src, b.Env); err != nil {
			return rel{}, err
		}
		writers[thread].Seen = seen
		writers[thread].Open = func(ctx context.Context) (op.Writer, error) { return b.Writers.Writer(ctx, n) }
		if len(n.Returning)+len(n.Updated) > 0 {
			emits = append(emits, &op.Emit{Returning: returning[thread], Updated: updated[thread], Types: typesOf(n.Schema()[1:])})
		}
	}
	return rel{op.NewTableWrite(b.rt, in, writers, emits), n.Schema()}, nil
}

func itemExprs(list []plan.Item) []expr.Expr {
	out := make([]expr.Expr, len(list))
	for i, it := range list {
		out[i] = it.Expr
	}
	return out
}

// RowWriter compiles a thread's op.RowWriter of n over rows of the columns src, without its writer.
func RowWriter(n *plan.TableWrite, src []plan.Column, env *function.Env) (*op.RowWriter, error) {
	w := &op.RowWriter{Kind: n.Kind, Old: &op.RowIDs{}, RowID: find(src, n.RowID), Action: find(src, n.Action), Values: make([]int, len(n.Cols))}
	for i := range w.Values {
		w.Values[i] = i
		if n.Values != nil {
			w.Values[i] = find(src, n.Values[i])
		}
		if w.Values[i] < 0 || w.Values[i] >= len(src) {
			return nil, pgerr.Internal("the rows to write lack column %d", n.Cols[i])
		}
	}
	if n.Kind != plan.InsertRows && w.RowID < 0 || n.Kind == plan.MergeRows && w.Action < 0 {
		return nil, pgerr.Internal("the rows to write do not say which they are")
	}
	var err error
	if w.Check, err = rowCheck(n, n.Checks, src, env); err != nil || n.Proposed == nil {
		return w, err
	}
	for _, id := range n.Proposed {
		i := find(src, id)
		if i < 0 || i >= len(src) {
			return nil, pgerr.Internal("the rows to write lack proposed column %d", id)
		}
		w.ProposedCols = append(w.ProposedCols, i)
	}
	w.Proposed, err = rowCheck(n, n.ProposedChecks, src, env)
	return w, err
}

// rowCheck compiles the constraints of a thread.
func rowCheck(n *plan.TableWrite, checks []plan.Check, src []plan.Column, env *function.Env) (*op.RowCheck, error) {
	c := &op.RowCheck{Table: n.Table, Schema: n.Namespace, Hidden: n.Hidden, Partial: n.Partial, Cols: make([]*catalog.Column, 0, len(n.Cols))}
	if env != nil {
		c.Env = env.Types
	}
	for _, num := range n.Cols {
		col := n.Table.ColumnNum(num)
		if col == nil {
			return nil, pgerr.Internal("table %d has no column %d", n.Table.OID, num)
		}
		c.Cols = append(c.Cols, col)
	}
	es := make([]expr.Expr, len(checks))
	for i, k := range checks {
		es[i] = k.Expr
	}
	ps, err := eval.CompileColumns(es, src, env)
	for i, p := range ps {
		to := &c.Checks
		if checks[i].View {
			to = &c.Views
		}
		*to = append(*to, op.NamedCheck{Name: checks[i].Name, Program: p})
	}
	return c, err
}
