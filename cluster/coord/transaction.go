package coord

import (
	"context"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// transaction handles BEGIN, COMMIT, SAVEPOINT and the like.
func (c *dispatcher) transaction(n *ast.TransactionStmt) (*session.Command, error) {
	switch n.Kind {
	case ast.TRANS_STMT_PREPARE, ast.TRANS_STMT_COMMIT_PREPARED, ast.TRANS_STMT_ROLLBACK_PREPARED:
		return nil, pgerr.Unsupported("two-phase commit is not supported")
	}
	return &session.Command{Control: true, Run: func(ctx context.Context, x *session.Execution) (*session.Result, error) {
		return c.runTransaction(ctx, n)
	}}, nil
}

func (c *dispatcher) runTransaction(ctx context.Context, n *ast.TransactionStmt) (*session.Result, error) {
	switch n.Kind {
	case ast.TRANS_STMT_BEGIN, ast.TRANS_STMT_START:
		tag := "BEGIN"
		if n.Kind == ast.TRANS_STMT_START {
			tag = "START TRANSACTION"
		}
		if c.s.InBlock() {
			c.s.Warn(pgerr.ActiveSQLTransaction, "there is already a transaction in progress")
			return session.Done(tag), c.transactionModes(n.Options)
		}
		// What the implicit transaction did so far becomes part of the block.
		t := c.s.OpenTxn()
		err := c.transactionModes(n.Options)
		t.Explicit = err == nil
		return session.Done(tag), err
	case ast.TRANS_STMT_COMMIT:
		return c.endBlock(ctx, true, n.Chain)
	case ast.TRANS_STMT_ROLLBACK:
		return c.endBlock(ctx, false, n.Chain)
	}
	if !c.s.InBlock() {
		return nil, pgerr.New(pgerr.NoActiveSQLTransaction, "%s can only be used in transaction blocks", savepointVerb(n.Kind))
	}
	switch n.Kind {
	case ast.TRANS_STMT_SAVEPOINT:
		return session.Done("SAVEPOINT"), c.s.Savepoint(n.SavepointName)
	case ast.TRANS_STMT_RELEASE:
		return session.Done("RELEASE"), c.s.Release(n.SavepointName)
	case ast.TRANS_STMT_ROLLBACK_TO:
		return session.Done("ROLLBACK"), c.s.Txn().RollbackToSavepoint(n.SavepointName)
	}
	return nil, pgerr.Unsupported("this transaction statement is not supported")
}

func savepointVerb(k ast.TransactionStmtKind) string {
	switch k {
	case ast.TRANS_STMT_RELEASE:
		return "RELEASE SAVEPOINT"
	case ast.TRANS_STMT_ROLLBACK_TO:
		return "ROLLBACK TO SAVEPOINT"
	}
	return "SAVEPOINT"
}

func (c *dispatcher) endBlock(ctx context.Context, commit, chain bool) (*session.Result, error) {
	if !c.s.InBlock() {
		if chain {
			return nil, pgerr.New(pgerr.NoActiveSQLTransaction, "%s AND CHAIN can only be used in transaction blocks", map[bool]string{true: "COMMIT", false: "ROLLBACK"}[commit])
		}
		// The implicit transaction of the statements before it, in the text or the pipeline, ends here.
		c.s.Warn(pgerr.NoActiveSQLTransaction, "there is no transaction in progress")
		return session.Done(map[bool]string{true: "COMMIT", false: "ROLLBACK"}[commit]), c.s.EndImplicit(ctx, commit)
	}
	modes := []string{"transaction_isolation", "transaction_read_only"}
	if t := c.s.Txn(); t.Failed && !t.InSubtransaction() {
		modes = nil // an error has undone them
	}
	kept := make([]string, len(modes))
	for i, name := range modes {
		kept[i] = c.s.Settings().Value(name)
	}
	tag := "COMMIT"
	if commit && !c.s.Txn().Failed {
		if err := c.s.Commit(ctx); err != nil {
			return nil, err
		}
	} else {
		tag = "ROLLBACK"
		c.s.Rollback()
	}
	if chain {
		c.s.OpenTxn()
		c.s.Txn().Explicit = true
		for i, name := range modes {
			c.s.Settings().SetInternal(name, kept[i])
		}
	}
	return session.Done(tag), nil
}

// transactionModes applies ISOLATION LEVEL, READ ONLY and DEFERRABLE to the
// open transaction.
func (c *dispatcher) transactionModes(opts *ast.NodeList) error {
	if opts == nil {
		return nil
	}
	for _, n := range opts.Items {
		d, ok := n.(*ast.DefElem)
		if !ok {
			continue
		}
		switch d.Defname {
		case "transaction_isolation", "transaction_read_only":
			if err := c.s.Settings().Set(d.Defname, parse.ConstText(d.Arg), true); err != nil {
				return err
			}
		case "transaction_deferrable":
		default:
			return pgerr.Unsupported("transaction mode %q is not supported", d.Defname)
		}
	}
	return nil
}

func (c *dispatcher) constraintsSet(n *ast.ConstraintsSetStmt) (*session.Command, error) {
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		if !c.s.Shared() {
			c.s.Warn(pgerr.NoActiveSQLTransaction, "SET CONSTRAINTS can only be used in transaction blocks")
		}
		st, err := x.View()
		if err != nil {
			return "", err
		}
		return "SET CONSTRAINTS", x.SetConstraints(st, n)
	}), nil
}
