package coord

import (
	"context"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/define"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// handle finds what a statement does. It binds, so that parameters and columns
// are known, but changes nothing.
func (s *Session) handle(ctx context.Context, st *parse.Statement, params []types.Type) (*handler, error) {
	h, err := s.dispatch(ctx, st, params)
	if !st.Defines() {
		return h, err
	}
	if err != nil {
		s.audit(query.Cause(ctx, err), s.auditRecord(st))
		return nil, err
	}
	return s.audited(st, h), nil
}

// dispatch has one line a statement kind.
func (s *Session) dispatch(ctx context.Context, st *parse.Statement, params []types.Type) (*handler, error) {
	if st.Own != nil {
		return s.handleOwn(ctx, st, params)
	}
	switch n := st.Node.(type) {
	case *ast.TransactionStmt:
		return s.transaction(n)
	case *ast.VariableSetStmt:
		return s.variableSet(n)
	case *ast.VariableShowStmt:
		return s.variableShow(n)
	case *ast.AlterSystemStmt:
		return s.alterSystem(n.Setstmt)
	case *ast.DiscardStmt:
		return s.discard(n)
	case *ast.PrepareStmt:
		return s.prepareSQL(st, n)
	case *ast.ExecuteStmt:
		return s.executeSQL(n)
	case *ast.DeallocateStmt:
		return s.deallocate(n)
	case *ast.DeclareCursorStmt:
		return s.declareCursor(ctx, st, n, params)
	case *ast.FetchStmt:
		return s.fetch(n)
	case *ast.ClosePortalStmt:
		return s.closeCursor(n)
	case *ast.SelectStmt:
		if n.IntoClause != nil {
			return s.selectInto(ctx, st, n, params)
		}
		return s.query(ctx, st, params)
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.MergeStmt:
		return s.dml(ctx, st, params)
	case *ast.CreateTableAsStmt:
		return s.createTableAs(ctx, st, n, params)
	case *ast.RefreshMatViewStmt:
		return simple(func(ctx context.Context, x *execution) (string, error) {
			view, err := x.view()
			if err != nil {
				return "", err
			}
			return "REFRESH MATERIALIZED VIEW", define.Refresh(x.Execution, view, n)
		}), nil
	case *ast.CopyStmt:
		return s.copy(ctx, st, n, params)
	case *ast.ExplainStmt:
		return s.explain(ctx, st, n, params)
	case *ast.VacuumStmt:
		return s.vacuum(n)
	case *ast.CheckPointStmt:
		return simple(func(context.Context, *execution) (string, error) { return "CHECKPOINT", nil }), nil
	case *ast.UnlistenStmt:
		// Nothing can be listened to, so there is nothing left to do.
		return simple(func(context.Context, *execution) (string, error) { return "UNLISTEN", nil }), nil
	case *ast.ConstraintsSetStmt:
		return s.constraintsSet(n)
	case *ast.ListenStmt, *ast.NotifyStmt:
		return nil, pgerr.Unsupported("LISTEN and NOTIFY are not supported")
	case *ast.LockStmt:
		return s.lockTable(n)
	case *ast.DoStmt:
		return nil, pgerr.Unsupported("DO is not supported")
	case *ast.CallStmt:
		return nil, pgerr.Unsupported("CALL is not supported")
	}
	return s.ddl(st)
}

// vacuum takes VACUUM and ANALYZE. Statistics are kept with each segment and
// compaction runs by itself, so both only check the names they are given.
func (s *Session) vacuum(n *ast.VacuumStmt) (*handler, error) {
	tag := "ANALYZE"
	if n.IsVacuumcmd {
		tag = "VACUUM"
	}
	return simple(func(ctx context.Context, x *execution) (string, error) {
		if n.IsVacuumcmd && s.tx.Explicit {
			return "", pgerr.New(pgerr.ActiveSQLTransaction, "VACUUM cannot run inside a transaction block")
		}
		st, err := x.view()
		if err != nil {
			return "", err
		}
		if n.Rels != nil {
			for _, r := range n.Rels.Items {
				if v, ok := r.(*ast.VacuumRelation); ok && v.Relation != nil {
					if _, err := x.Relation(st, v.Relation); err != nil {
						return "", err
					}
				}
			}
		}
		return tag, nil
	}), nil
}

func (s *Session) constraintsSet(n *ast.ConstraintsSetStmt) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		if !s.tx.Explicit {
			s.warn(pgerr.NoActiveSQLTransaction, "SET CONSTRAINTS can only be used in transaction blocks")
		}
		st, err := x.view()
		if err != nil {
			return "", err
		}
		return "SET CONSTRAINTS", x.SetConstraints(st, n)
	}), nil
}
