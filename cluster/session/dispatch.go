package session

import (
	"context"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// command finds what a statement does. It binds, so that parameters and columns
// are known, but changes nothing.
func (s *Session) command(ctx context.Context, st *parse.Statement, params []types.Type) (*Command, error) {
	c, err := s.dispatch(ctx, st, params)
	if !st.Defines() {
		return c, err
	}
	if err != nil {
		s.audit(query.Cause(ctx, err), s.auditRecord(st))
		return nil, err
	}
	return s.audited(st, c), nil
}

// dispatch has one line for each kind of statement about the session itself.
func (s *Session) dispatch(ctx context.Context, st *parse.Statement, params []types.Type) (*Command, error) {
	switch n := st.Node.(type) {
	case *ast.TransactionStmt:
		return s.transaction(n)
	case *ast.ConstraintsSetStmt:
		return s.constraintsSet(n)
	case *ast.LockStmt:
		return s.lockTable(n)
	case *ast.VariableSetStmt:
		return s.variableSet(n)
	case *ast.VariableShowStmt:
		return s.variableShow(n)
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
	case *ast.UnlistenStmt:
		// Nothing can be listened to, so there is nothing left to do.
		return Simple(func(context.Context, *Execution) (string, error) { return "UNLISTEN", nil }), nil
	case *ast.ListenStmt, *ast.NotifyStmt:
		return nil, pgerr.Unsupported("LISTEN and NOTIFY are not supported")
	}
	return s.registry.cfg.Commands.Command(ctx, s, st, params)
}
