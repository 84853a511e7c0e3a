package coord

import (
	"context"
	"fmt"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// binding is what looking up names needs of the session.
func (s *Session) binding(st *catalog.State, stmt *parse.Statement, params []types.Type) *bind.Session {
	return &bind.Session{
		State:      st,
		SearchPath: s.pathNames(st),
		TempSchema: s.temp,
		Dialect:    s.dialect(),
		Fold:       func(e expr.Expr) (types.Datum, error) { return evalConstant(e, s.evalEnv(nil, nil)) },
		Role:       s.role,
		ParamTypes: params,
		Virtual:    s.engine.cfg.Virtual,
		Sources:    s.sources(st),
		Text:       stmt,
		Env:        s.env,
	}
}

// planning is binding for a statement that is planned, which ends with ctx.
func (s *Session) planning(ctx context.Context, st *catalog.State, stmt *parse.Statement, params []types.Type) *bind.Session {
	b := s.binding(st, stmt, params)
	b.Poll = poll(ctx)
	return b
}

// poll is how planning learns that its statement was cancelled, timed out or
// terminated.
func poll(ctx context.Context) plan.Poll {
	return func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
}

func (s *Session) pathNames(st *catalog.State) []string {
	var out []string
	for _, sc := range s.path(st) {
		out = append(out, sc.Name)
	}
	return out
}

// query handles SELECT, VALUES, TABLE and WITH.
func (s *Session) query(ctx context.Context, stmt *parse.Statement, params []types.Type) (*handler, error) {
	s.ensureTxn()
	first, err := s.look(ctx, func(st *catalog.State) (*plan.Query, error) {
		return bind.Query(s.planning(ctx, st, stmt, params), stmt.Node)
	})
	if err != nil {
		return nil, err
	}
	st, made, role := first.st, first.q, s.role // the first execution may use the plan of Prepare
	return &handler{cols: made.Cols, params: made.Params, open: func(ctx context.Context, x *execution) (*result, error) {
		view, err := s.look(x.ctx, func(now *catalog.State) (*plan.Query, error) {
			if made != nil && now == st && s.role == role {
				return made, nil
			}
			return bind.Query(s.planning(x.ctx, now, stmt, x.ptypes), stmt.Node)
		})
		made = nil
		if err != nil {
			return nil, err
		}
		if view.unconfirmed {
			s.warnUnconfirmed(view.q)
		}
		q := view.q
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
		rows, cols, err := r.query(q)
		if err != nil {
			r.close()
			return nil, err
		}
		if locks != nil {
			cols = cols[:width]
			rows = &lockedRows{BatchReader: rows, s: s, st: view.st, width: width, locks: locks, acct: x.pool.Account("row locks", false)}
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
		e, err := bind.Argument(s.planning(x.ctx, st, x.stmt, x.ptypes), a, i+1, want[i])
		if err != nil {
			return nil, err
		}
		if out[i], err = evalConstant(e, x.env); err != nil {
			return nil, err
		}
	}
	return out, nil
}
