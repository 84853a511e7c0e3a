package session

import (
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/cursor"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/sequence"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Session is one connection's state. One goroutine at a time calls it, but for
// the methods that say otherwise.
type Session struct {
	registry *Registry
	start    Startup
	set      *settings.Set
	user     types.OID // who logged in, or SET SESSION AUTHORIZATION
	role     types.OID // SET ROLE
	started  time.Time

	tx        *transaction
	cursors   cursor.Set
	temp      types.OID // its schema for temporary tables, 0 until the first
	env       *types.Env
	knows     *known // nil before it is first asked for
	sequences sequence.Session
	locks     *advisory.Holder

	activity atomic.Pointer[Activity]
	pool     atomic.Pointer[mem.Pool]        // of the running statement
	queued   atomic.Pointer[query.Admission] // the running statement's
	asleep   int                             // portals that wait for their client
	text     *mem.Account                    // what the last text's trees take; nil if little
	appName  atomic.Value                    // string
	reading  txn.Pin                         // the state the transaction reads
	closed   bool

	interrupts
	statements
}

// Notice sends a message beside the result, if the client wants it.
func (s *Session) Notice(e *pgerr.Error) {
	if e.Severity == "" || e.Severity == pgerr.SevError {
		e.Severity = pgerr.SevNotice
	}
	rank := map[string]int{"debug5": 0, "debug4": 0, "debug3": 0, "debug2": 0, "debug1": 0, "log": 0, "notice": 1, "warning": 2, "error": 3}
	level := map[pgerr.Severity]int{pgerr.SevNotice: 1, pgerr.SevWarning: 2, pgerr.SevInfo: 9}[e.Severity]
	if s.start.Notify != nil && level >= rank[s.set.Value("client_min_messages")] {
		s.start.Notify.Notice(e)
	}
}

// Warn is a WARNING with a code.
func (s *Session) Warn(code pgerr.Code, format string, args ...any) {
	s.Notice(pgerr.New(code, format, args...).WithSeverity(pgerr.SevWarning))
}

// Txn is the open transaction, nil for none.
func (s *Session) Txn() *txn.Txn {
	if s.tx == nil {
		return nil
	}
	return s.tx.Txn.Txn
}

// TxStatus is 'I', 'T' or 'E'.
func (s *Session) TxStatus() byte {
	switch {
	case s.tx == nil || !s.tx.Explicit:
		return 'I'
	case s.tx.Failed:
		return 'E'
	}
	return 'T'
}

// InBlock reports whether the session is between BEGIN and COMMIT.
func (s *Session) InBlock() bool { return s.tx != nil && s.tx.Explicit }

// Sequences are the values that it took last.
func (s *Session) Sequences() *sequence.Session { return &s.sequences }

// Temp is its schema for temporary tables, 0 until the first is made.
func (s *Session) Temp() *types.OID { return &s.temp }

// PID is the session's key.
func (s *Session) PID() uint32 { return s.start.PID }
