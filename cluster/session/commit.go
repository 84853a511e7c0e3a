package session

import (
	"context"
	"slices"
	"time"

	"github.com/tributarydb/tributary/cluster/define"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Commit proposes the transaction's changes and ends it whatever comes.
func (s *Session) Commit(ctx context.Context) error {
	t := s.tx
	s.cursors.EndTransaction()
	err := s.checkDeferred(ctx)
	if err == nil {
		err = s.cursors.Materialize()
	}
	if err == nil {
		err = define.DropAtCommit(t.Txn.Txn)
	}
	if err == nil {
		err = s.registry.cfg.Files.Prove(ctx, catalog.Files(t.Changes()))
	}
	if err == nil && len(t.Changes()) > 0 {
		err = catalog.TakenOver(s.registry.cfg.Catalog.Current())
	}
	stored := err == nil && commitsToBucket(s)
	if err == nil && len(t.Changes()) > 0 {
		changes := t.Changes()
		if stored {
			changes = append(slices.Clip(changes), &catalog.WantArchive{})
		}
		var checked bool
		if checked, err = s.locks.Commit(ctx, changes); !checked {
			err = s.registry.cfg.Catalog.Commit(ctx, changes)
		}
	}
	if err != nil {
		if pgerr.CodeOf(err) == pgerr.StatementCompletionUnknown {
			// The files may be part of a commit that goes through yet: the sweep
			// decides, once that is known.
			t.ForgetCreated()
		}
		s.auditEnd(t, 0, query.Cause(ctx, err))
		s.Rollback()
		return query.Cause(ctx, err)
	}
	s.ended(nil)
	s.set.End(true)
	s.endTxnSettings()
	if stored {
		return awaitBucket(ctx, s)
	}
	return nil
}

// commitsToBucket reports whether the transaction's commit waits until the storage has it.
func commitsToBucket(s *Session) bool {
	return len(s.tx.Changes()) > 0 && catalog.Storage(s.registry.cfg.Catalog.Current()) != "" && s.set.Value(catalog.SettingStorageCommit) == "bucket"
}

// awaitBucket waits until the storage has what was just committed.
func awaitBucket(ctx context.Context, s *Session) error {
	givenUp := func() error { // not an error: it would say that nothing is committed
		s.Warn(pgerr.Warning, "waiting for the storage was given up: the transaction is committed on the nodes' disks, and the storage may not have it yet")
		return nil
	}
	ctx, w, err := s.watch(ctx)
	if err != nil {
		return givenUp()
	}
	defer w.end()
	c := s.registry.cfg.Catalog
	for wanted := c.Current().Wanted(); ; {
		changed := c.Changed()
		st := c.Current()
		if catalog.TakenOver(st) != nil {
			return pgerr.New(pgerr.StatementCompletionUnknown, "the transaction is committed on the nodes' disks, and the storage was taken over by another cluster").
				WithDetail("The other cluster may have it or not.")
		}
		if a := catalog.Archiving(st); a != nil && a.Based && a.Version >= wanted {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return givenUp()
		}
	}
}

// checkDeferred makes the checks that the transaction has put off.
func (s *Session) checkDeferred(ctx context.Context) error {
	if !s.tx.HasDeferred() {
		return nil
	}
	x, err := s.newExecution(ctx, prepared{h: &Command{}}, nil)
	if err != nil {
		return err
	}
	defer s.end(x)
	return x.CheckDeferred()
}

// maxRetries bounds how often a statement is run again for a conflict. Of the
// commits that meet, one goes through each time.
const maxRetries = 50

// syncRetrying commits the implicit transaction, and where that meets a conflict
// runs its one statement again over what is committed by now, as a statement
// that waited for a lock would go on in PostgreSQL. It does so only for
// statements that have told the client nothing: a DML without RETURNING, whose
// tag is the same again or has not been asked for. A conflict means that the
// first attempt was refused for good: what may yet go through is 40003.
func (s *Session) syncRetrying(ctx context.Context) error {
	retry := s.tx.retry
	for n := 0; ; n++ {
		err := s.Commit(ctx)
		if err == nil || retry == nil || n == maxRetries || pgerr.CodeOf(err) != pgerr.SerializationFailure || ctx.Err() != nil {
			return err
		}
		if err := retry(ctx, err); err != nil {
			s.Rollback()
			return err
		}
	}
}

// Sync ends the implicit transaction, if one is open: commit if ok, else roll
// back. In an explicit transaction a failure is only noted.
func (s *Session) Sync(ctx context.Context, ok bool) error {
	s.several = false
	if s.InBlock() {
		if !ok {
			s.tx.Failed = true
		}
		return nil
	}
	if len(s.unsaid) == 0 {
		return s.EndImplicit(ctx, ok)
	}
	began := time.Now()
	err := s.EndImplicit(ctx, ok)
	s.say(err, time.Since(began))
	return err
}

// EndImplicit ends the transaction of statements without a block, if one is open.
func (s *Session) EndImplicit(ctx context.Context, ok bool) error {
	if s.tx == nil {
		return nil
	}
	if !ok || s.tx.Failed {
		s.Rollback()
		return nil
	}
	return s.syncRetrying(ctx)
}

// StopReading ends that a session's statement keeps files of the state that it read.
func StopReading(s *Session) { s.reading.Free() }
