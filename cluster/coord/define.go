package coord

import (
	"context"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/define"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// defining returns the session as package define sees it.
func (c *dispatcher) defining() *define.Session {
	return &define.Session{Key: c.cfg.Node.ID<<20 | uint64(c.s.PID())&0xfffff, NewOID: c.oids.New,
		Password: c.cfg.Password, Notice: c.s.Notice, Temp: c.s.Temp()}
}

// ddl handles the statements that planner/ddl plans.
func (c *dispatcher) ddl(st *parse.Statement) *session.Command {
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		if err := x.Txn.Writable(st.Tag()); err != nil {
			return "", err
		}
		view, err := x.View()
		if err != nil {
			return "", err
		}
		return c.defining().Run(x.Statement, view)
	})
}

// createTableAs handles CREATE TABLE AS and CREATE MATERIALIZED VIEW.
func (c *dispatcher) createTableAs(ctx context.Context, stmt *parse.Statement, n *ast.CreateTableAsStmt, params []types.Type) (*session.Command, error) {
	q, ok := n.Query.(ast.Stmt)
	if !ok {
		return nil, pgerr.Unsupported("CREATE TABLE AS takes a query")
	}
	as := &define.TableAs{Query: q, Into: n.Into, Materialized: n.ObjType == ast.OBJECT_MATVIEW, IfNotExists: n.IfNotExists}
	if e, ok := q.(*ast.ExecuteStmt); ok {
		p, err := c.s.LookupPrepared(e.Name)
		if err != nil {
			return nil, err
		}
		if as.Query, ok = p.Node().(*ast.SelectStmt); !ok {
			return nil, pgerr.New(pgerr.WrongObjectType, "prepared statement is not a SELECT")
		}
		h, err := c.tableAs(ctx, p.Statement(), as, p.Params())
		if err != nil {
			return nil, err
		}
		return withArguments(p, h, e), nil
	}
	return c.tableAs(ctx, stmt, as, params)
}

// selectInto handles SELECT … INTO table.
func (c *dispatcher) selectInto(ctx context.Context, stmt *parse.Statement, n *ast.SelectStmt, params []types.Type) (*session.Command, error) {
	q := *n
	q.IntoClause = nil
	return c.tableAs(ctx, stmt, &define.TableAs{Query: &q, Into: n.IntoClause}, params)
}

func (c *dispatcher) tableAs(ctx context.Context, stmt *parse.Statement, as *define.TableAs, params []types.Type) (*session.Command, error) {
	st, err := c.s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	bound, err := bind.Query(c.planning(ctx, st, stmt, params), as.Query)
	if err != nil {
		return nil, err
	}
	h := session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		if err := x.Txn.Writable("CREATE TABLE AS"); err != nil {
			return "", err
		}
		st, err := x.View()
		if err != nil {
			return "", err
		}
		return c.defining().TableAs(x.Statement, st, stmt, as)
	})
	h.Params = bound.Params
	return h, nil
}
