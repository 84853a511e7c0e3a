package session

import (
	"context"

	"github.com/tributarydb/tributary/cluster/cursor"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
)

// Cursors are the session's.
func (s *Session) Cursors() *cursor.Set { return &s.cursors }

// Cursor describes a cursor that DECLARE made; false if there is none.
func (s *Session) Cursor(name string) ([]plan.Column, bool) {
	c, err := s.cursors.Find(name)
	if err != nil {
		return nil, false
	}
	return c.Columns(), true
}

// OpenCursor runs a command, of a text with the parameters of the DECLARE x, as a cursor.
func (s *Session) OpenCursor(ctx context.Context, x *Execution, o cursor.Options, text *parse.Statement, h *Command) error {
	s.cursors.Declared = o.Number
	// The query outlives the DECLARE: its own context and memory pool.
	cctx, cancel := context.WithCancelCause(context.Background())
	meaning, host := s.callerOf(x.Caller.Params, h.Params)
	cx := x.Fork(meaning, "cursor "+o.Name, cancel)
	c := cursor.New(o, cx, cctx, cancel, s.registry.cfg.Temp)
	run := s.execution(cctx, cx, host, text)
	s.doing.queued.Store(&cx.Admission)
	if err := cx.Pool.LastingAccount("cursor").Grow(keptSuspended); err != nil {
		c.Close()
		return err
	}
	err := c.Open(ctx, func(ctx context.Context) ([]plan.Column, op.BatchReader, error) {
		res, err := h.Run(ctx, run)
		if err != nil {
			return nil, nil, err
		}
		if res.Columns == nil {
			res.Columns = h.Columns
		}
		return res.Columns, res.rows(), nil
	})
	if err != nil {
		return err
	}
	s.cursors.Add(c)
	return nil
}
