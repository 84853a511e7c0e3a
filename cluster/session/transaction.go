package session

import (
	"context"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/cursor"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/sql/catalog"
)

// ended takes the transaction from the session: it is committed, or err says why not.
func (s *Session) ended(err error) {
	t := s.tx
	s.tx, t.Ended = nil, true
	s.registry.snapshots.End(t.Txn.Txn)
	s.auditEnd(t, 0, err)
}

// Rollback throws the transaction's changes and files away.
func (s *Session) Rollback() {
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
	s.locks.Release(context.Background(), advisory.Transaction)
	s.reading.Free()
	k := s.known()
	s.set.SetInternal("transaction_isolation", k.isolation)
	s.set.SetInternal("transaction_read_only", k.readOnly)
}

// Savepoint makes a savepoint of the session: settings, cursors and records go back with
// the transaction.
func (s *Session) Savepoint(name string) error {
	t, deferred, records, settings, declared := s.tx, s.tx.Deferred(), len(s.tx.audit), s.set.Mark(), s.cursors.Declared
	return t.Savepoint(name, func() {
		t.RestoreDeferred(deferred)
		s.auditEnd(t, records, rolledBack())
		s.set.RollbackTo(settings)
		s.cursors.Close(func(c *cursor.Cursor) bool { return c.Number > declared })
	})
}

// ImportSnapshot makes the transaction read what another session's exported.
func (s *Session) ImportSnapshot(id string) error { return s.registry.snapshots.Import(s.Txn(), id) }

// SetReadOnly lets the transaction write or not.
func (s *Session) SetReadOnly(on bool) {
	s.tx.ReadOnly = on
	s.set.SetInternal("transaction_read_only", onOff(on))
}

// OpenTxn opens the implicit transaction of a statement, if there is none.
func (s *Session) OpenTxn() *txn.Txn {
	if s.tx == nil {
		s.tx = &openTransaction{Txn: write.Txn{Txn: s.newTxn()}}
		s.set.Begin()
	}
	return s.Txn()
}

func (s *Session) newTxn() *txn.Txn {
	t, k := txn.New(s.registry.cfg.Queries.Next(), &s.reading), s.known()
	t.ReadOnly, t.Isolation = k.readOnly == "on", txn.IsolationOf(k.isolation)
	return t
}

// Begin returns the view that a statement is planned in, in a transaction that is opened if
// there is none.
func (s *Session) Begin(ctx context.Context) (*catalog.State, error) {
	return s.OpenTxn().Begin(ctx, s.registry.cfg.Catalog)
}
