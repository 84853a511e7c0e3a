package coord

import (
	"context"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Sync ends the implicit transaction, if one is open: commit if ok, else roll
// back. In an explicit transaction a failure is only noted.
func (s *Session) Sync(ctx context.Context, ok bool) error {
	if s.tx == nil {
		return nil
	}
	if s.tx.explicit {
		if !ok {
			s.tx.failed = true
		}
		return nil
	}
	if !ok || s.tx.failed {
		s.rollback()
		return nil
	}
	return s.syncAgain(ctx)
}

// commit proposes the transaction's changes and ends it whatever comes.
func (s *Session) commit(ctx context.Context) error {
	t := s.tx
	err := s.settleDeferred(ctx, nil)
	if err == nil {
		err = s.holdCursors()
	}
	if err == nil {
		err = s.engine.cfg.Files.Prove(ctx, catalog.Files(t.changes))
	}
	if err == nil && len(t.changes) > 0 {
		err = s.engine.cfg.Meta.Commit(ctx, t.changes)
	}
	if err != nil {
		if pgerr.CodeOf(err) == pgerr.StatementCompletionUnknown {
			// The files may be part of a commit that goes through yet: the sweep
			// decides, once that is known.
			t.created = nil
		}
		s.auditEnd(t, 0, query.Cause(ctx, err))
		s.rollback()
		return query.Cause(ctx, err)
	}
	s.tx = nil
	s.engine.snapshots.end(t)
	s.auditEnd(t, 0, nil)
	s.set.End(true)
	for _, f := range t.onCommit {
		f()
	}
	s.endTxnSettings()
	return nil
}

// rollback throws the transaction's changes and files away.
func (s *Session) rollback() {
	t := s.tx
	if t == nil {
		return
	}
	s.tx = nil
	s.engine.snapshots.end(t)
	s.auditEnd(t, 0, rolledBack())
	s.closeCursors(false)
	s.set.End(false)
	s.engine.cfg.Files.Discard(t.created)
	for i := len(t.onRollback) - 1; i >= 0; i-- {
		t.onRollback[i]()
	}
	s.endTxnSettings()
}

func (s *Session) endTxnSettings() {
	s.engine.locks.release(s, true)
	s.reading.Store(0)
	s.set.SetInternal("transaction_isolation", s.set.Value("default_transaction_isolation"))
	s.set.SetInternal("transaction_read_only", s.set.Value("default_transaction_read_only"))
}

// transaction handles BEGIN and its kin.
func (s *Session) transaction(n *ast.TransactionStmt) (*handler, error) {
	switch n.Kind {
	case ast.TRANS_STMT_PREPARE, ast.TRANS_STMT_COMMIT_PREPARED, ast.TRANS_STMT_ROLLBACK_PREPARED:
		return nil, pgerr.Unsupported("two-phase commit is not supported")
	}
	return &handler{control: true, open: func(ctx context.Context, x *execution) (*result, error) {
		return s.runTransaction(ctx, n)
	}}, nil
}

func (s *Session) runTransaction(ctx context.Context, n *ast.TransactionStmt) (*result, error) {
	switch n.Kind {
	case ast.TRANS_STMT_BEGIN, ast.TRANS_STMT_START:
		tag := "BEGIN"
		if n.Kind == ast.TRANS_STMT_START {
			tag = "START TRANSACTION"
		}
		if s.tx != nil && s.tx.explicit {
			s.warn(pgerr.ActiveSQLTransaction, "there is already a transaction in progress")
			return done(tag), nil
		}
		// What the implicit transaction did so far becomes part of the block.
		s.ensureTxn()
		s.tx.explicit = true
		return done(tag), s.transactionModes(n.Options)
	case ast.TRANS_STMT_COMMIT:
		return s.endBlock(ctx, true, n.Chain)
	case ast.TRANS_STMT_ROLLBACK:
		return s.endBlock(ctx, false, n.Chain)
	}
	if s.tx == nil || !s.tx.explicit {
		return nil, pgerr.New(pgerr.NoActiveSQLTransaction, "%s can only be used in transaction blocks", savepointVerb(n.Kind))
	}
	switch n.Kind {
	case ast.TRANS_STMT_SAVEPOINT:
		if s.tx.base != nil {
			if _, err := s.tx.state(); err != nil {
				return nil, err
			}
		}
		s.tx.savepoint(n.SavepointName, s.set.Mark(), s.declared)
		return done("SAVEPOINT"), nil
	case ast.TRANS_STMT_RELEASE:
		return done("RELEASE"), s.tx.release(n.SavepointName)
	case ast.TRANS_STMT_ROLLBACK_TO:
		sp, err := s.tx.rollbackToSavepoint(n.SavepointName)
		if err != nil {
			return nil, err
		}
		s.auditEnd(s.tx, sp.audit, rolledBack())
		s.set.RollbackTo(sp.settings)
		s.closeWhere(func(c *cursor) bool { return c.no > sp.declared })
		return done("ROLLBACK"), nil
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

func (s *Session) endBlock(ctx context.Context, commit, chain bool) (*result, error) {
	if s.tx == nil || !s.tx.explicit {
		if chain {
			return nil, pgerr.New(pgerr.NoActiveSQLTransaction, "%s AND CHAIN can only be used in transaction blocks", map[bool]string{true: "COMMIT", false: "ROLLBACK"}[commit])
		}
		s.warn(pgerr.NoActiveSQLTransaction, "there is no transaction in progress")
		if commit {
			return done("COMMIT"), nil
		}
		return done("ROLLBACK"), nil
	}
	iso, readOnly := s.tx.iso, s.tx.readOnly
	tag := "COMMIT"
	if commit && !s.tx.failed {
		s.closeCursors(false)
		if err := s.commit(ctx); err != nil {
			return nil, err
		}
	} else {
		tag = "ROLLBACK"
		s.rollback()
	}
	if chain {
		s.ensureTxn()
		s.tx.explicit, s.tx.iso, s.tx.readOnly = true, iso, readOnly
	}
	return done(tag), nil
}

// transactionModes applies ISOLATION LEVEL, READ ONLY and DEFERRABLE to the
// open transaction.
func (s *Session) transactionModes(opts *ast.NodeList) error {
	if opts == nil {
		return nil
	}
	for _, n := range opts.Items {
		d, ok := n.(*ast.DefElem)
		if !ok {
			continue
		}
		switch d.Defname {
		case "transaction_isolation":
			level := parse.ConstText(d.Arg)
			if s.tx.base != nil && s.tx.iso != isolationOf(level) {
				return pgerr.New(pgerr.ActiveSQLTransaction, "SET TRANSACTION ISOLATION LEVEL must be called before any query")
			}
			if err := s.set.Set("transaction_isolation", level, true); err != nil {
				return err
			}
			s.tx.iso = isolationOf(level)
			s.warnSerializable(level)
		case "transaction_read_only":
			ro := parse.ConstText(d.Arg)
			s.tx.readOnly = ro == "1" || ro == "on" || ro == "true"
			s.set.SetInternal("transaction_read_only", onOff(s.tx.readOnly))
		case "transaction_deferrable":
		default:
			return pgerr.Unsupported("transaction mode %q is not supported", d.Defname)
		}
	}
	return nil
}

func (s *Session) warnSerializable(level string) {
	if level == "serializable" {
		s.warn(pgerr.Warning, "SERIALIZABLE transactions run as REPEATABLE READ")
	}
}

func isolationOf(level string) isolation {
	switch level {
	case "repeatable read", "serializable":
		return snapshot
	}
	return readCommitted
}

// writable fails in a read-only transaction.
func (s *Session) writable(tag string) error {
	if s.tx != nil && s.tx.readOnly {
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", tag)
	}
	return nil
}
