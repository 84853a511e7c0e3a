package coord

import (
	"context"
	"fmt"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/cursor"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (c *dispatcher) declareCursor(ctx context.Context, st *parse.Statement, n *ast.DeclareCursorStmt, params []types.Type) (*session.Command, error) {
	inner := *st
	q, ok := n.Query.(ast.Stmt)
	if !ok {
		return nil, pgerr.Unsupported("DECLARE CURSOR takes a SELECT")
	}
	inner.Node = q
	h, err := c.s.Command(ctx, &inner, params)
	if err != nil {
		return nil, err
	}
	return &session.Command{Params: h.Params, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		o := cursor.Options{Name: n.PortalName, Number: c.s.Cursors().Declared + 1, Hold: n.Options&ast.CURSOR_OPT_HOLD != 0, Text: st.Text, At: time.Now()}
		if !c.s.Shared() && !o.Hold {
			return nil, pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
		}
		if err := c.s.Cursors().Free(o.Name); err != nil {
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
		if err := c.s.OpenCursor(ctx, x, o, &inner, h); err != nil {
			return nil, err
		}
		return session.Done("DECLARE CURSOR"), nil
	}}, nil
}

func (c *dispatcher) fetch(n *ast.FetchStmt) (*session.Command, error) {
	cur, err := c.s.Cursors().Find(n.PortalName)
	if err != nil {
		return nil, err
	}
	if n.IsMove {
		return &session.Command{Run: c.fetched(n, "MOVE")}, nil
	}
	// A prepared FETCH refers to the cursor that has this name when it is bound, and again when it runs.
	shape := func() []plan.Column {
		cols, _ := c.s.Cursor(n.PortalName)
		return cols
	}
	return &session.Command{Columns: cur.Columns(), Shape: shape, Run: c.fetched(n, "FETCH")}, nil
}

func (c *dispatcher) fetched(n *ast.FetchStmt, verb string) func(context.Context, *session.Execution) (*session.Result, error) {
	return func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		cur, err := c.s.Cursors().Find(n.PortalName)
		if err != nil {
			return nil, err
		}
		rows, err := cur.Fetch(ctx, n)
		if err != nil {
			return nil, err
		}
		res := session.Done(fmt.Sprintf("%s %d", verb, rows.Count()))
		if !n.IsMove {
			res.Columns, res.Rows = cur.Columns(), rows
		}
		return res, nil
	}
}

func (c *dispatcher) closeCursor(n *ast.ClosePortalStmt) (*session.Command, error) {
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		if n.PortalName == "" {
			c.s.Cursors().CloseAll()
			return "CLOSE CURSOR ALL", nil
		}
		if _, err := c.s.Cursors().Find(n.PortalName); err != nil {
			return "", err
		}
		c.s.Cursors().Close(func(c *cursor.Cursor) bool { return c.Name == n.PortalName })
		return "CLOSE CURSOR", nil
	}), nil
}
