package session

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/sql/pgerr"
)

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
	p := s.tx.only
	for n := 0; ; n++ {
		err := s.Commit(ctx)
		if err == nil || p == nil || n == maxRetries || pgerr.CodeOf(err) != pgerr.SerializationFailure || ctx.Err() != nil {
			return err
		}
		again := &Portal{p: p.p, params: p.params}
		if _, e := again.Next(ctx); e != io.EOF {
			_ = again.Close()
			s.Rollback()
			return e
		}
		if p.told && again.tag != p.tag {
			s.Rollback()
			return err
		}
		p.tag = again.tag
	}
}

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
		s.Rollback()
		return nil
	}
	return s.syncRetrying(ctx)
}
