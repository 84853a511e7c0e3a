package coord

import (
	"context"
	"fmt"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// planning is what binding a statement takes whose planning ends with ctx.
func (s *Session) planning(ctx context.Context, st *catalog.State, stmt *parse.Statement, params []types.Type) *bind.Session {
	return s.engine.queries.Binding(s.context().With(nil, params), st, stmt, query.Poll(ctx))
}

// query handles SELECT, VALUES, TABLE and WITH.
func (s *Session) query(ctx context.Context, stmt *parse.Statement, params []types.Type) (*handler, error) {
	s.ensureTxn()
	first, err := s.look(ctx, func(st *catalog.State) (*query.Bound, error) {
		return s.engine.queries.BindQuery(s.context().With(nil, params), st, stmt, query.Poll(ctx))
	})
	if err != nil {
		return nil, err
	}
	made := first.b.Query
	return &handler{cols: made.Cols, params: made.Params, open: func(ctx context.Context, x *execution) (*result, error) {
		view, err := s.look(x.Ctx, func(now *catalog.State) (*query.Bound, error) {
			return s.engine.queries.BindQuery(x.Context, now, stmt, query.Poll(x.Ctx))
		})
		if err != nil {
			return nil, err
		}
		q := view.b.Query
		if view.unconfirmed {
			s.warnUnconfirmed(q)
		}
		if len(q.Locks) > 0 {
			if err := s.tx.Writable("SELECT FOR UPDATE"); err != nil {
				return nil, err
			}
		}
		r := x.Open(view.st)
		var rows op.BatchReader
		var cols []plan.Column
		// A statement alone reads one state and commits nothing: there is nothing
		// that its locks would hold together.
		if len(q.Locks) > 0 && s.tx.Explicit {
			rows, cols, err = r.SelectLocked(q)
		} else {
			rows, cols, err = r.SelectBound(view.b)
		}
		if err != nil {
			r.Close()
			return nil, err
		}
		return rowsResult(cols, &closing{BatchReader: rows, then: r.Close}, "SELECT"), nil
	}}, nil
}

// dml handles INSERT, UPDATE, DELETE and MERGE.
func (s *Session) dml(ctx context.Context, stmt *parse.Statement, params []types.Type) (*handler, error) {
	s.ensureTxn()
	st, err := s.tx.Begin(ctx, s.engine.cfg.Meta)
	if err != nil {
		return nil, err
	}
	b, err := s.engine.queries.BindDML(s.context().With(nil, params), st, stmt, query.Poll(ctx))
	if err != nil {
		return nil, err
	}
	cols := returned(b.DML)
	return &handler{cols: cols, params: b.DML.Params, again: cols == nil, open: func(ctx context.Context, x *execution) (*result, error) {
		if err := x.Txn.Writable(write.Verb(b.DML.Kind)); err != nil {
			return nil, err
		}
		st, err := x.view()
		if err != nil {
			return nil, err
		}
		b, err := s.engine.queries.BindDML(x.Context, st, stmt, query.Poll(x.Ctx))
		if err != nil {
			return nil, err
		}
		r := x.Open(st)
		defer r.Close()
		w, err := r.ModifyBound(b)
		if err != nil {
			return nil, err
		}
		return modified(w, cols), nil
	}}, nil
}

// returned are the columns of RETURNING, nil for none.
func returned(d *plan.DML) (cols []plan.Column) {
	for _, it := range d.Returning {
		cols = append(cols, it.Col)
	}
	return cols
}

// modified makes a result of what was written, with rows of the columns of RETURNING.
func modified(w *write.ModifyTable, cols []plan.Column) *result {
	res := &result{cols: cols, tag: w.Tag, close: func() error { w.Close(); return nil }}
	if cols != nil {
		res.next = w.Returned().Next
	}
	return res
}

// rowsResult makes a result of a reader; its tag counts the rows.
func rowsResult(cols []plan.Column, rows op.BatchReader, verb string) *result {
	var n int64
	return &result{
		cols: cols,
		next: func(ctx context.Context) (*batch.Batch, error) {
			b, err := rows.Next(ctx)
			if err == nil {
				n += int64(b.Rows())
			}
			return b, err
		},
		tag:   func() string { return fmt.Sprintf("%s %d", verb, n) },
		close: rows.Close,
	}
}

// closing closes something after a reader.
type closing struct {
	op.BatchReader
	then func()
}

func (c *closing) Close() error {
	err := c.BatchReader.Close()
	if c.then != nil {
		c.then()
		c.then = nil
	}
	return err
}

// constants evaluates the arguments of EXECUTE to given types.
func constants(x *execution, args []ast.Node, want []types.Type) ([]types.Datum, error) {
	st, err := x.view()
	if err != nil {
		return nil, err
	}
	out := make([]types.Datum, len(args))
	for i, a := range args {
		e, err := bind.Argument(x.Binding(x.Ctx, st, x.Text, x.Context.ParamTypes), a, i+1, want[i])
		if err != nil {
			return nil, err
		}
		if out[i], err = eval.Constant(e, x.Env); err != nil {
			return nil, err
		}
	}
	return out, nil
}
