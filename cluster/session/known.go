package session

import (
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// known is what every statement asks of the session's settings, which are texts, read
// once for as long as they stay. None of them is a setting of the cluster's.
type known struct {
	changes uint64
	who     query.Identity
	context *query.Context // of no statement

	statement, idle, idleInBlock time.Duration // limits; 0 for none
	isolation, readOnly          string        // of a transaction that begins
}

// known is what the settings say now.
func (s *Session) known() *known {
	who := query.Identity{Role: s.role, SessionUser: s.user, Temp: s.temp}
	if k := s.knows; k != nil && k.changes == s.set.Changes() && k.who == who {
		return k
	}
	ms := func(name string) time.Duration { return time.Duration(s.set.Int(name)) * time.Millisecond }
	s.knows = &known{changes: s.set.Changes(), who: who, context: query.NewContext(who, s.set, s.env, time.Time{}, nil),
		statement: ms("statement_timeout"), idle: ms("idle_session_timeout"), idleInBlock: ms("idle_in_transaction_session_timeout"),
		isolation: s.set.Value("default_transaction_isolation"), readOnly: s.set.Value("default_transaction_read_only")}
	return s.knows
}

// IdleLimit is how long the session may wait for its client now, and the error
// that ends it then; 0 is for ever.
func (s *Session) IdleLimit() (time.Duration, error) {
	k := s.known()
	limit, code, what := k.idle, pgerr.IdleSessionTimeout, "idle-session"
	if s.TxStatus() != 'I' {
		limit, code, what = k.idleInBlock, pgerr.IdleInTransactionSessionTimeout, "idle-in-transaction"
	}
	if limit <= 0 {
		return 0, nil
	}
	return limit, pgerr.New(code, "terminating connection due to %s timeout", what).WithSeverity(pgerr.SevFatal)
}
