package coord

import (
	"context"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/copydata"
	"github.com/tributarydb/tributary/cluster/define"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Command implements session.Commands. It has one line for each kind of statement.
func (e *Engine) Command(ctx context.Context, s *session.Session, st *parse.Statement, params []types.Type) (*session.Command, error) {
	c := &dispatcher{e, s}
	if st.Extension != nil {
		return c.extension(ctx, st, params)
	}
	switch n := st.Node.(type) {
	case *ast.TransactionStmt:
		return c.transaction(n)
	case *ast.ConstraintsSetStmt:
		return c.constraintsSet(n)
	case *ast.LockStmt:
		return c.lockTable(n)
	case *ast.VariableSetStmt:
		return c.variableSet(n)
	case *ast.VariableShowStmt:
		return c.variableShow(n)
	case *ast.DiscardStmt:
		return c.discard(n)
	case *ast.PrepareStmt:
		return c.prepare(st, n)
	case *ast.ExecuteStmt:
		return c.execute(n)
	case *ast.DeallocateStmt:
		return c.deallocate(n)
	case *ast.DeclareCursorStmt:
		return c.declareCursor(ctx, st, n, params)
	case *ast.FetchStmt:
		return c.fetch(n)
	case *ast.ClosePortalStmt:
		return c.closeCursor(n)
	case *ast.UnlistenStmt:
		// There is no LISTEN, so there is nothing to do.
		return session.Simple(func(context.Context, *session.Execution) (string, error) { return "UNLISTEN", nil }), nil
	case *ast.ListenStmt, *ast.NotifyStmt:
		return nil, pgerr.Unsupported("LISTEN and NOTIFY are not supported")
	case *ast.SelectStmt:
		if n.IntoClause != nil {
			return c.selectInto(ctx, st, n, params)
		}
		return c.query(ctx, st, params)
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.MergeStmt:
		return c.dml(ctx, st, params)
	case *ast.CreateTableAsStmt:
		return c.createTableAs(ctx, st, n, params)
	case *ast.RefreshMatViewStmt:
		return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
			view, err := x.View()
			if err != nil {
				return "", err
			}
			return "REFRESH MATERIALIZED VIEW", define.Refresh(x.Statement, view, n)
		}), nil
	case *ast.CopyStmt:
		return c.copyCommand(n)
	case *ast.ExplainStmt:
		return c.explain(ctx, st, n, params)
	case *ast.VacuumStmt:
		return c.vacuum(n), nil
	case *ast.AlterSystemStmt:
		return c.alterSystem(n.Setstmt), nil
	case *ast.CheckPointStmt:
		return session.Simple(func(context.Context, *session.Execution) (string, error) { return "CHECKPOINT", nil }), nil
	case *ast.LoadStmt:
		// What it does is there already: the settings auto_explain.*.
		if strings.TrimPrefix(n.Filename, "$libdir/") != "auto_explain" {
			return nil, pgerr.New(pgerr.UndefinedFile, "could not access file %q: No such file or directory", n.Filename)
		}
		return session.Simple(func(context.Context, *session.Execution) (string, error) { return "LOAD", nil }), nil
	case *ast.DoStmt:
		return nil, pgerr.Unsupported("DO is not supported")
	case *ast.CallStmt:
		return nil, pgerr.Unsupported("CALL is not supported")
	}
	return c.ddl(st), nil
}

// copyCommand handles COPY.
func (c *dispatcher) copyCommand(n *ast.CopyStmt) (*session.Command, error) {
	opts, err := copydata.Options(n)
	if err != nil {
		return nil, err
	}
	return &session.Command{Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		st, err := x.View()
		if err != nil {
			return nil, err
		}
		opts := opts
		opts.Client(c.s.Charset())
		stream, tag, err := copydata.Copy(x.Statement, st, n, opts)
		if err != nil || stream == nil {
			return session.Done(tag), err
		}
		return &session.Result{Copy: stream, Tag: stream.Tag}, nil
	}}, nil
}

// alterSystem handles ALTER SYSTEM SET and RESET.
func (c *dispatcher) alterSystem(n *ast.VariableSetStmt) *session.Command {
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		if err := c.s.Alone("ALTER SYSTEM"); err != nil {
			return "", err
		}
		st, err := x.View()
		if err != nil {
			return "", err
		}
		value := func() (string, error) { return settingValue(x, n) }
		return "ALTER SYSTEM", c.cluster.AlterSystem(x.Ctx, st, x.Caller.Role, n, value, c.s.Notice)
	})
}
