package coord

import (
	"context"
	"slices"
	"strconv"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// planning returns what the binder needs for a statement. Planning ends with ctx.
func (c *dispatcher) planning(ctx context.Context, st *catalog.State, stmt *parse.Statement, params []types.Type) *bind.Session {
	return c.queries.Binding(c.s.Caller().With(nil, params), st, stmt, query.Poll(ctx))
}

// query handles SELECT, VALUES, TABLE and WITH.
func (c *dispatcher) query(ctx context.Context, stmt *parse.Statement, params []types.Type) (*session.Command, error) {
	first, err := c.bindView(ctx, c.s.OpenTxn(), func(st *catalog.State) (*planner.Bound, error) {
		return c.queries.Bind(c.s.Caller().With(nil, params), st, stmt, query.Poll(ctx))
	})
	if err != nil {
		return nil, err
	}
	made := first.b.Query
	return &session.Command{Columns: made.Cols, Params: made.Params, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		// A single statement outside a transaction block reads one state and commits nothing,
		// so its row locks would have no effect.
		locks := len(made.Locks) > 0 && c.s.Shared()
		open := func() (*write.Executor, *planner.Bound, error) {
			view, err := c.bindView(x.Ctx, x.Txn.Txn, func(now *catalog.State) (*planner.Bound, error) {
				return c.queries.Bind(x.Caller, now, stmt, query.Poll(x.Ctx))
			})
			if err != nil {
				return nil, nil, err
			}
			q := view.b.Query
			if err := sameColumns(made.Cols, q.Cols); err != nil {
				return nil, nil, err
			}
			if view.unconfirmed {
				c.warnUnconfirmed(q)
			}
			if len(q.Locks) > 0 || slices.ContainsFunc(q.Buffers, func(d plan.BufferDef) bool { return len(d.Locks) > 0 }) {
				if err := x.Txn.Writable("SELECT FOR UPDATE"); err != nil {
					return nil, nil, err
				}
			}
			return x.Open(view.b.In(view.st)), view.b, nil
		}
		start, read := open, (*write.Executor).SelectBound
		if locks {
			start = func() (*write.Executor, *planner.Bound, error) {
				return inTurn(x, first.b, (*planner.Bound).Wide, open)
			}
			read = (*write.Executor).SelectLocked
		}
		r, b, err := start()
		if err != nil {
			return nil, err
		}
		rows, cols, err := read(r, b)
		if err != nil {
			r.Close()
			return nil, err
		}
		res := queryResult(cols, rows)
		res.Free = func() error { r.Close(); return nil }
		return res, nil
	}}, nil
}

// dml handles INSERT, UPDATE, DELETE and MERGE.
func (c *dispatcher) dml(ctx context.Context, stmt *parse.Statement, params []types.Type) (*session.Command, error) {
	st, err := c.s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	b, err := c.queries.Bind(c.s.Caller().With(nil, params), st, stmt, query.Poll(ctx))
	if err != nil {
		return nil, err
	}
	cols := b.DML.ReturningColumns()
	return &session.Command{Columns: cols, Params: b.DML.Params, Repeatable: cols == nil, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		if err := x.Txn.Writable(write.Verb(b.DML.Kind)); err != nil {
			return nil, err
		}
		r, b, err := inTurn(x, b, func(b *planner.Bound) *planner.Bound { return b }, func() (*write.Executor, *planner.Bound, error) {
			return openDML(c.queries, x, stmt, cols)
		})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		w, err := r.ModifyBound(b)
		if err != nil {
			return nil, err
		}
		return dmlResult(w, cols)
	}}, nil
}

// inTurn opens an execution of a statement when it is its turn to write the rows that it writes or locks by their keys
// (write.Statement.TakeTurn), which the generic plan of form names. Where the plan is known only once the statement is open, and
// others had their turn meanwhile, it is opened once more, to read what they have written.
func inTurn(x *session.Execution, first *planner.Bound, form func(*planner.Bound) *planner.Bound,
	open func() (*write.Executor, *planner.Bound, error)) (*write.Executor, *planner.Bound, error) {
	g, known, _ := planner.Generic(form(first), nil)
	if _, err := x.AwaitTurn(g); err != nil {
		return nil, nil, err
	}
	r, b, err := open()
	if err != nil || known {
		return r, b, err
	}
	late := false
	if g, err = r.Generic(x.Ctx, form(b)); err == nil {
		late, err = x.AwaitTurn(g)
	}
	if err == nil && !late {
		return r, b, nil
	}
	r.Close()
	if err != nil {
		return nil, nil, err
	}
	return open()
}

// openDML opens an execution of a statement that writes, over a view of now; cols are the columns of its RETURNING.
func openDML(queries *query.Planner, x *session.Execution, stmt *parse.Statement, cols []plan.Column) (*write.Executor, *planner.Bound, error) {
	st, err := x.View()
	if err != nil {
		return nil, nil, err
	}
	b, err := queries.Bind(x.Caller, st, stmt, query.Poll(x.Ctx))
	if err != nil {
		return nil, nil, err
	}
	if err := sameColumns(cols, b.DML.ReturningColumns()); err != nil {
		return nil, nil, err
	}
	return x.Open(b.In(st)), b, nil
}

// sameColumns returns an error if a statement's columns have changed since it was prepared: the client knows
// the old columns and would read values by their types. Drivers recognise this error and prepare the
// statement again.
func sameColumns(was, now []plan.Column) error {
	if !slices.EqualFunc(was, now, func(a, b plan.Column) bool {
		return a.Name == b.Name && a.Type.SamePhysical(b.Type) && a.Type.Mod == b.Type.Mod
	}) {
		return pgerr.Unsupported("cached plan must not change result type")
	}
	return nil
}

// dmlResult returns the result of a write, with the rows of RETURNING.
func dmlResult(w *write.ModifyTable, cols []plan.Column) (*session.Result, error) {
	if cols == nil {
		return &session.Result{Tag: w.Tag, Free: func() error { w.Close(); return nil }}, nil
	}
	rows, err := w.Returned()
	if err != nil {
		return nil, err
	}
	return &session.Result{Columns: cols, Rows: rows, Tag: w.Tag}, nil
}

// queryResult returns the result of a query, whose command tag counts the rows.
func queryResult(cols []plan.Column, rows op.BatchReader) *session.Result {
	c := &countingReader{BatchReader: rows}
	return &session.Result{Columns: cols, Rows: c, Tag: func() string { return "SELECT " + strconv.FormatInt(c.n, 10) }}
}

// countingReader counts the rows of a reader.
type countingReader struct {
	op.BatchReader
	n int64
}

func (c *countingReader) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := c.BatchReader.Next(ctx)
	if err == nil {
		c.n += int64(b.Rows())
	}
	return b, err
}
