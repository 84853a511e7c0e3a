package session

import (
	"context"
	"fmt"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/cursor"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (s *Session) declareCursor(ctx context.Context, st *parse.Statement, n *ast.DeclareCursorStmt, params []types.Type) (*Command, error) {
	inner := *st
	q, ok := n.Query.(ast.Stmt)
	if !ok {
		return nil, pgerr.Unsupported("DECLARE CURSOR takes a SELECT")
	}
	inner.Node = q
	h, err := s.command(ctx, &inner, params)
	if err != nil {
		return nil, err
	}
	return &Command{Params: h.Params, Run: func(ctx context.Context, x *Execution) (*Result, error) {
		o := cursor.Options{Name: n.PortalName, Number: s.cursors.Declared + 1, Hold: n.Options&ast.CURSOR_OPT_HOLD != 0, Text: st.Text, At: time.Now()}
		if !s.tx.Explicit && !o.Hold {
			return nil, pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
		}
		if err := s.cursors.Free(o.Name); err != nil {
			return nil, err
		}
		switch n.Options & (ast.CURSOR_OPT_SCROLL | ast.CURSOR_OPT_NO_SCROLL) {
		case ast.CURSOR_OPT_SCROLL | ast.CURSOR_OPT_NO_SCROLL:
			return nil, pgerr.New(pgerr.InvalidCursorDefinition, "cannot specify both SCROLL and NO SCROLL")
		case ast.CURSOR_OPT_SCROLL:
			o.Scroll = 1
		case ast.CURSOR_OPT_NO_SCROLL:
			o.Scroll = -1
		}
		s.cursors.Declared = o.Number
		// The query outlives the DECLARE: its own context and memory pool.
		cctx, cancel := context.WithCancelCause(context.Background())
		cx := x.Fork(s.Context().With(x.Context.Params, h.Params), "cursor "+o.Name, cancel)
		c := cursor.New(o, cx, cctx, cancel, s.registry.cfg.Temp)
		run := &Execution{Execution: s.writing(cctx, cx, &inner), s: s, mark: s.tx.Mark()}
		s.queued.Store(&cx.Admission)
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
			return nil, err
		}
		s.cursors.Add(c)
		return Done("DECLARE CURSOR"), nil
	}}, nil
}

func (s *Session) fetch(n *ast.FetchStmt) (*Command, error) {
	c, err := s.cursors.Find(n.PortalName)
	if err != nil {
		return nil, err
	}
	verb := "FETCH"
	var cols []plan.Column
	if n.IsMove {
		verb = "MOVE"
	} else {
		cols = c.Columns()
	}
	return &Command{Columns: cols, Run: func(ctx context.Context, x *Execution) (*Result, error) {
		c, err := s.cursors.Find(n.PortalName)
		if err != nil {
			return nil, err
		}
		rows, err := c.Fetch(ctx, n)
		if err != nil {
			return nil, err
		}
		res := Done(fmt.Sprintf("%s %d", verb, rows.Count()))
		res.Columns = cols
		if !n.IsMove {
			res.Rows = rows
		}
		return res, nil
	}}, nil
}

func (s *Session) closeCursor(n *ast.ClosePortalStmt) (*Command, error) {
	return Simple(func(ctx context.Context, x *Execution) (string, error) {
		if n.PortalName == "" {
			s.cursors.CloseAll()
			return "CLOSE CURSOR ALL", nil
		}
		if _, err := s.cursors.Find(n.PortalName); err != nil {
			return "", err
		}
		s.cursors.Close(func(c *cursor.Cursor) bool { return c.Name == n.PortalName })
		return "CLOSE CURSOR", nil
	}), nil
}
