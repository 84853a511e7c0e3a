package session

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/cursor"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/sql/catalog"
)

// ended takes the transaction from the session: it is committed, or err says why not.
func (s *Session) ended(err error) {
	t := s.tx
	s.tx, t.Ended = nil, true
	s.ends++
	s.kept.shrink(t.kept)
	t.kept = 0
	s.registry.snapshots.End(t.Txn.Txn)
	s.registry.turns.End(t.Txn.Txn)
	s.auditEnd(t, 0, err)
}

// Rollback throws the transaction's changes and files away.
func (s *Session) Rollback() {
	t := s.tx
	if t == nil {
		return
	}
	s.ended(rolledBack())
	s.cursors.Close(func(c *cursor.Cursor) bool { return !c.Hold || c.Number > t.declared })
	s.set.End(false)
	s.registry.cfg.Files.Discard(t.Created())
	t.RolledBack()
	s.endTxnSettings()
}

func (s *Session) endTxnSettings() {
	s.locks.Release(context.Background(), advisory.Transaction)
	s.reading.Free()
	s.startTxnSettings()
}

// startTxnSettings shows what the next transaction begins with.
func (s *Session) startTxnSettings() {
	k := s.known()
	s.set.SetInternal("transaction_isolation", k.isolation)
	s.set.SetInternal("transaction_read_only", k.readOnly)
}

// Savepoint makes a savepoint of the session: settings, cursors and records go back with
// the transaction.
func (s *Session) Savepoint(name string) error {
	if err := s.keepInTxn(keptSavepoint + int64(len(name))); err != nil {
		return err
	}
	t, deferred, records, settings, declared := s.tx, s.tx.Deferred(), len(s.tx.audit), s.set.Mark(), s.cursors.Declared
	return t.Savepoint(name, func() {
		t.RestoreDeferred(deferred)
		s.auditEnd(t, records, rolledBack())
		s.set.RollbackTo(settings)
		s.cursors.Close(func(c *cursor.Cursor) bool { return c.Number > declared })
	})
}

// Release forgets a savepoint.
func (s *Session) Release(name string) error {
	err := s.tx.Release(name)
	s.set.SetInternal("transaction_read_only", onOff(s.tx.ReadOnly))
	return err
}

// ImportSnapshot makes the transaction read what another session's exported.
func (s *Session) ImportSnapshot(id string) error { return s.registry.snapshots.Import(s.Txn(), id) }

// OpenTxn opens the implicit transaction of a statement, if there is none.
func (s *Session) OpenTxn() *txn.Txn {
	if s.tx == nil {
		s.tx = &openTransaction{Txn: write.Txn{Txn: s.newTxn()}, declared: s.cursors.Declared}
		s.set.Begin()
	}
	return s.Txn()
}

func (s *Session) newTxn() *txn.Txn {
	t, k := txn.New(s.registry.cfg.Queries.Next(), &s.reading), s.known()
	t.Turns = &s.registry.turns
	t.ReadOnly, t.Isolation = k.readOnly == "on", txn.IsolationOf(k.isolation)
	t.AsOf = func() (time.Time, error) {
		if k := s.known(); k.asOf != "" {
			return query.AsOf(k.asOf, k.caller.Values, t.Start)
		}
		return time.Time{}, nil
	}
	return t
}

// Begin returns the view that a statement is planned in, in a transaction that is opened if
// there is none.
func (s *Session) Begin(ctx context.Context) (*catalog.State, error) {
	return s.OpenTxn().Begin(ctx, s.registry.cfg.Catalog)
}

// keepInTxn charges bytes that the open transaction keeps until it ends.
func (s *Session) keepInTxn(n int64) error {
	err := s.kept.grow(n)
	if err == nil {
		s.tx.kept += n
	}
	return err
}

// countChanges charges the changes that the last statement added to the transaction.
func (s *Session) countChanges() error {
	if s.tx == nil {
		return nil
	}
	added := len(s.tx.Changes()) - s.tx.counted
	if added <= 0 {
		return nil
	}
	s.tx.counted += added
	return s.keepInTxn(int64(added) * keptChange)
}
