package coord

import (
	"context"
	"fmt"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// binding is what looking up names needs of the session.
func (s *Session) binding(st *catalog.State) *bind.Session {
	return s.engine.queries.Binding(s.context(), st, nil, nil)
}

// planning is what binding a statement takes whose planning ends with ctx.
func (s *Session) planning(ctx context.Context, st *catalog.State, stmt *parse.Statement, params []types.Type) *bind.Session {
	return s.engine.queries.Binding(s.context().With(nil, params), st, stmt, query.Poll(ctx))
}

// path gives the schemas of the search path that exist and that the role may
// use, temporary ones first.
func (s *Session) path(st *catalog.State) []*catalog.Schema { return s.context().Schemas(st) }

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
		view, err := s.look(x.ctx, func(now *catalog.State) (*query.Bound, error) {
			return s.engine.queries.BindQuery(x.Context, now, stmt, query.Poll(x.ctx))
		})
		if err != nil {
			return nil, err
		}
		q := view.b.Query
		if view.unconfirmed {
			s.warnUnconfirmed(q)
		}
		if len(q.Locks) > 0 {
			if err := s.writable("SELECT FOR UPDATE"); err != nil {
				return nil, err
			}
		}
		width := len(q.Cols)
		var locks []*lockSet
		// A statement alone reads one state and commits nothing: there is nothing
		// that its locks would hold together.
		if len(q.Locks) > 0 && s.tx.explicit {
			q, locks = s.lock(q, view.st)
		}
		r := s.newRun(x, view.st)
		var rows op.BatchReader
		var cols []plan.Column
		if locks == nil {
			rows, cols, err = r.open(view.b)
		} else {
			rows, cols, err = r.query(q)
		}
		if err != nil {
			r.close()
			return nil, err
		}
		if locks != nil {
			cols = cols[:width]
			rows = &lockedRows{BatchReader: rows, s: s, st: view.st, width: width, locks: locks, acct: x.Pool.Account("row locks", false)}
		}
		return rowsResult(cols, &closing{BatchReader: rows, then: r.close}, "SELECT"), nil
	}}, nil
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
func (s *Session) constants(x *execution, args []ast.Node, want []types.Type) ([]types.Datum, error) {
	st, err := x.view()
	if err != nil {
		return nil, err
	}
	out := make([]types.Datum, len(args))
	for i, a := range args {
		e, err := bind.Argument(s.planning(x.ctx, st, x.stmt, x.Context.ParamTypes), a, i+1, want[i])
		if err != nil {
			return nil, err
		}
		if out[i], err = evalConstant(e, x.Env); err != nil {
			return nil, err
		}
	}
	return out, nil
}
