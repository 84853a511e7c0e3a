package session

import (
	"context"
	"log/slog"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/cursor"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/cluster/write"
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
	if s.tx.Explicit {
		if !ok {
			s.tx.Failed = true
		}
		return nil
	}
	if !ok || s.tx.Failed {
		s.rollback()
		return nil
	}
	return s.syncAgain(ctx)
}

// transaction is the session's open transaction.
type transaction struct {
	write.Txn
	audit      [][]slog.Attr // records of what it did, which wait for the outcome
	statements int           // begun
	only       *Portal       // see syncAgain
}

// commit proposes the transaction's changes and ends it whatever comes.
func (s *Session) commit(ctx context.Context) error {
	t := s.tx
	err := s.checkDeferred(ctx)
	if err == nil {
		err = s.cursors.Materialize()
	}
	if err == nil {
		err = s.registry.cfg.Files.Prove(ctx, catalog.Files(t.Changes()))
	}
	if err == nil && len(t.Changes()) > 0 {
		err = s.registry.cfg.Catalog.Commit(ctx, t.Changes())
	}
	if err != nil {
		if pgerr.CodeOf(err) == pgerr.StatementCompletionUnknown {
			// The files may be part of a commit that goes through yet: the sweep
			// decides, once that is known.
			t.ForgetCreated()
		}
		s.auditEnd(t, 0, query.Cause(ctx, err))
		s.rollback()
		return query.Cause(ctx, err)
	}
	s.ended(nil)
	s.set.End(true)
	s.endTxnSettings()
	return nil
}

// checkDeferred makes the checks that the transaction has put off.
func (s *Session) checkDeferred(ctx context.Context) error {
	if s.tx.Deferred() == 0 {
		return nil
	}
	x, err := s.newExecution(ctx, &Prepared{s: s, h: &Command{}}, nil)
	if err != nil {
		return err
	}
	defer x.end()
	return x.CheckDeferred()
}

// ended takes the transaction from the session: it is committed, or err says why not.
func (s *Session) ended(err error) {
	t := s.tx
	s.tx, t.Ended = nil, true
	s.registry.snapshots.End(t.Txn.Txn)
	s.auditEnd(t, 0, err)
}

// rollback throws the transaction's changes and files away.
func (s *Session) rollback() {
	t := s.tx
	if t == nil {
		return
	}
	s.ended(rolledBack())
	s.cursors.EndTransaction()
	s.set.End(false)
	s.registry.cfg.Files.Discard(t.Created())
	t.RolledBack()
	s.endTxnSettings()
}

func (s *Session) endTxnSettings() {
	s.locks.Release(advisory.Transaction)
	s.reading.Free()
	s.set.SetInternal("transaction_isolation", s.set.Value("default_transaction_isolation"))
	s.set.SetInternal("transaction_read_only", s.set.Value("default_transaction_read_only"))
}

// transaction handles BEGIN and its kin.
func (s *Session) transaction(n *ast.TransactionStmt) (*Command, error) {
	switch n.Kind {
	case ast.TRANS_STMT_PREPARE, ast.TRANS_STMT_COMMIT_PREPARED, ast.TRANS_STMT_ROLLBACK_PREPARED:
		return nil, pgerr.Unsupported("two-phase commit is not supported")
	}
	return &Command{Control: true, Run: func(ctx context.Context, x *Execution) (*Result, error) {
		return s.runTransaction(ctx, n)
	}}, nil
}

func (s *Session) runTransaction(ctx context.Context, n *ast.TransactionStmt) (*Result, error) {
	switch n.Kind {
	case ast.TRANS_STMT_BEGIN, ast.TRANS_STMT_START:
		tag := "BEGIN"
		if n.Kind == ast.TRANS_STMT_START {
			tag = "START TRANSACTION"
		}
		if s.tx != nil && s.tx.Explicit {
			s.Warn(pgerr.ActiveSQLTransaction, "there is already a transaction in progress")
			return Done(tag), nil
		}
		// What the implicit transaction did so far becomes part of the block.
		s.OpenTxn()
		s.tx.Explicit = true
		return Done(tag), s.transactionModes(n.Options)
	case ast.TRANS_STMT_COMMIT:
		return s.endBlock(ctx, true, n.Chain)
	case ast.TRANS_STMT_ROLLBACK:
		return s.endBlock(ctx, false, n.Chain)
	}
	if s.tx == nil || !s.tx.Explicit {
		return nil, pgerr.New(pgerr.NoActiveSQLTransaction, "%s can only be used in transaction blocks", savepointVerb(n.Kind))
	}
	switch n.Kind {
	case ast.TRANS_STMT_SAVEPOINT:
		t, deferred, records, settings, declared := s.tx, s.tx.Deferred(), len(s.tx.audit), s.set.Mark(), s.cursors.Declared
		return Done("SAVEPOINT"), t.Savepoint(n.SavepointName, func() {
			t.ForgetDeferred(deferred)
			s.auditEnd(t, records, rolledBack())
			s.set.RollbackTo(settings)
			s.cursors.Close(func(c *cursor.Cursor) bool { return c.Number > declared })
		})
	case ast.TRANS_STMT_RELEASE:
		return Done("RELEASE"), s.tx.Release(n.SavepointName)
	case ast.TRANS_STMT_ROLLBACK_TO:
		return Done("ROLLBACK"), s.tx.RollbackToSavepoint(n.SavepointName)
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

func (s *Session) endBlock(ctx context.Context, commit, chain bool) (*Result, error) {
	if s.tx == nil || !s.tx.Explicit {
		if chain {
			return nil, pgerr.New(pgerr.NoActiveSQLTransaction, "%s AND CHAIN can only be used in transaction blocks", map[bool]string{true: "COMMIT", false: "ROLLBACK"}[commit])
		}
		s.Warn(pgerr.NoActiveSQLTransaction, "there is no transaction in progress")
		if commit {
			return Done("COMMIT"), nil
		}
		return Done("ROLLBACK"), nil
	}
	iso, readOnly := s.tx.Isolation, s.tx.ReadOnly
	tag := "COMMIT"
	if commit && !s.tx.Failed {
		s.cursors.EndTransaction()
		if err := s.commit(ctx); err != nil {
			return nil, err
		}
	} else {
		tag = "ROLLBACK"
		s.rollback()
	}
	if chain {
		s.OpenTxn()
		s.tx.Explicit, s.tx.Isolation, s.tx.ReadOnly = true, iso, readOnly
	}
	return Done(tag), nil
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
			if s.tx.Begun() && s.tx.Isolation != txn.IsolationOf(level) {
				return pgerr.New(pgerr.ActiveSQLTransaction, "SET TRANSACTION ISOLATION LEVEL must be called before any query")
			}
			if err := s.set.Set("transaction_isolation", level, true); err != nil {
				return err
			}
			s.tx.Isolation = txn.IsolationOf(level)
			s.warnSerializable(level)
		case "transaction_read_only":
			ro := parse.ConstText(d.Arg)
			s.tx.ReadOnly = ro == "1" || ro == "on" || ro == "true"
			s.set.SetInternal("transaction_read_only", onOff(s.tx.ReadOnly))
		case "transaction_deferrable":
		default:
			return pgerr.Unsupported("transaction mode %q is not supported", d.Defname)
		}
	}
	return nil
}

func (s *Session) warnSerializable(level string) {
	if level == "serializable" {
		s.Warn(pgerr.Warning, "SERIALIZABLE transactions run as REPEATABLE READ")
	}
}

func (s *Session) constraintsSet(n *ast.ConstraintsSetStmt) (*Command, error) {
	return Simple(func(ctx context.Context, x *Execution) (string, error) {
		if !s.tx.Explicit {
			s.Warn(pgerr.NoActiveSQLTransaction, "SET CONSTRAINTS can only be used in transaction blocks")
		}
		st, err := x.View()
		if err != nil {
			return "", err
		}
		return "SET CONSTRAINTS", x.SetConstraints(st, n)
	}), nil
}
