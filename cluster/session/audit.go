package session

import (
	"context"
	"log/slog"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Every statement that defines something leaves one record in the audit log,
// with its outcome: at once where it fails, else when its transaction ends, for
// until then it has done nothing. A record has names and no values, so that no
// password is in it.

// maxAuditNames bounds the names in a record.
const maxAuditNames = 100

// Command finds what a statement does, which leaves a record in the audit log where it
// defines something.
func (s *Session) Command(ctx context.Context, st *parse.Statement, params []types.Type) (*Command, error) {
	c, err := s.registry.cfg.Commands.Command(ctx, s, st, params)
	if !st.Defines() {
		return c, err
	}
	if err != nil {
		s.audit(query.Cause(ctx, err), s.auditRecord(st))
		return nil, err
	}
	return s.audited(st, c), nil
}

// audited is h with a record of each of its runs.
func (s *Session) audited(st *parse.Statement, h *Command) *Command {
	open := h.Run
	h.Run = func(ctx context.Context, x *Execution) (res *Result, err error) {
		rec := s.auditRecord(st)
		err = batch.Guard(func() error {
			res, err = open(ctx, x)
			return err
		})
		switch {
		case err != nil:
			s.audit(query.Cause(x.Ctx, err), rec)
		case s.tx == nil:
			s.audit(nil, rec)
		default:
			s.tx.audit = append(s.tx.audit, rec)
		}
		return res, err
	}
	return h
}

// auditRecord is what is known of a statement before it runs.
func (s *Session) auditRecord(st *parse.Statement) []slog.Attr {
	role := ""
	if r := s.registry.cfg.Catalog.Current().Role(s.role); r != nil {
		role = r.Name
	}
	objects, roles := st.Objects()
	rec := []slog.Attr{slog.Uint64("session", uint64(s.start.PID)), slog.String("user", s.start.User), slog.String("role", role),
		slog.String("database", s.start.Database), slog.String("address", s.start.Remote), slog.String("statement", st.Tag()),
		slog.Any("objects", objects[:min(len(objects), maxAuditNames)])}
	if len(roles) > 0 {
		rec = append(rec, slog.Any("roles", roles[:min(len(roles), maxAuditNames)]))
	}
	if n := max(0, len(objects)-maxAuditNames) + max(0, len(roles)-maxAuditNames); n > 0 {
		rec = append(rec, slog.Int("unnamed", n))
	}
	return rec
}

// audit writes records with their outcome.
func (s *Session) audit(err error, recs ...[]slog.Attr) {
	level, result := slog.LevelInfo, "ok"
	if err != nil {
		level, result = slog.LevelWarn, string(pgerr.CodeOf(err))
	}
	for _, r := range recs {
		s.registry.cfg.Audit.LogAttrs(context.Background(), level, "audit", append(r, slog.String("result", result))...)
	}
}

// auditEnd writes the records of a transaction from a place on: what they say
// is committed, or err says why it is not.
func (s *Session) auditEnd(t *openTransaction, from int, err error) {
	from = min(from, len(t.audit))
	s.audit(err, t.audit[from:]...)
	clear(t.audit[from:])
	t.audit = t.audit[:from]
}

// rolledBack is the outcome of statements whose transaction or savepoint was
// taken back.
func rolledBack() error {
	return pgerr.New(pgerr.TransactionRollback, "the transaction was rolled back")
}
