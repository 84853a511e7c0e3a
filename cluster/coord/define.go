package coord

import (
	"context"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/define"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// defining is the session as definitions see it.
func (s *Session) defining() *define.Session {
	return &define.Session{Key: s.engine.cfg.Node.ID<<20 | uint64(s.start.PID)&0xfffff, NewOID: s.engine.oids.New,
		Password: s.engine.cfg.Password, Notice: s.notice, Temp: &s.temp}
}

// ddl handles the statements that planner/ddl knows.
func (s *Session) ddl(stmt *parse.Statement) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		if err := x.Txn.Writable(stmt.Tag()); err != nil {
			return "", err
		}
		st, err := x.view()
		if err != nil {
			return "", err
		}
		return s.defining().Run(x.Execution, st)
	}), nil
}

// createTableAs handles CREATE TABLE AS and CREATE MATERIALIZED VIEW.
func (s *Session) createTableAs(ctx context.Context, stmt *parse.Statement, n *ast.CreateTableAsStmt, params []types.Type) (*handler, error) {
	q, ok := n.Query.(ast.Stmt)
	if !ok {
		return nil, pgerr.Unsupported("CREATE TABLE AS takes a query")
	}
	as := &define.TableAs{Query: q, Into: n.Into, Materialized: n.ObjType == ast.OBJECT_MATVIEW, IfNotExists: n.IfNotExists}
	if e, ok := q.(*ast.ExecuteStmt); ok {
		p, err := s.Kept(e.Name)
		if err != nil {
			return nil, err
		}
		if as.Query, ok = p.node().(*ast.SelectStmt); !ok {
			return nil, pgerr.New(pgerr.WrongObjectType, "prepared statement is not a SELECT")
		}
		h, err := s.tableAs(ctx, p.stmt, as, p.h.params)
		if err != nil {
			return nil, err
		}
		return s.supplied(p.stmt, h, e), nil
	}
	return s.tableAs(ctx, stmt, as, params)
}

// selectInto handles SELECT … INTO table.
func (s *Session) selectInto(ctx context.Context, stmt *parse.Statement, n *ast.SelectStmt, params []types.Type) (*handler, error) {
	q := *n
	q.IntoClause = nil
	return s.tableAs(ctx, stmt, &define.TableAs{Query: &q, Into: n.IntoClause}, params)
}

func (s *Session) tableAs(ctx context.Context, stmt *parse.Statement, as *define.TableAs, params []types.Type) (*handler, error) {
	s.ensureTxn()
	st, err := s.tx.Begin(ctx, s.engine.cfg.Meta)
	if err != nil {
		return nil, err
	}
	bound, err := bind.Query(s.planning(ctx, st, stmt, params), as.Query)
	if err != nil {
		return nil, err
	}
	h, err := simple(func(ctx context.Context, x *execution) (string, error) {
		if err := x.Txn.Writable("CREATE TABLE AS"); err != nil {
			return "", err
		}
		st, err := x.view()
		if err != nil {
			return "", err
		}
		return s.defining().TableAs(x.Execution, st, stmt, as)
	}), nil
	h.params = bound.Params
	return h, err
}
