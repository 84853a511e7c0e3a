package session

import (
	"context"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/define"
)

// DiscardAll is DISCARD ALL, in a transaction of its own.
func (s *Session) DiscardAll(ctx context.Context) error {
	s.cursors.CloseAll()
	s.ForgetAll()
	if err := s.set.Reset("session_authorization", false); err != nil {
		return err
	}
	s.set.ResetAll()
	s.sequences.Discard()
	s.locks.Release(ctx, advisory.Both)
	return s.DropTemp(ctx)
}

// DropTemp drops the session's temporary tables in its transaction.
func (s *Session) DropTemp(ctx context.Context) error {
	return define.DropTemp(ctx, s.Txn(), s.registry.cfg.Catalog, s.temp)
}
