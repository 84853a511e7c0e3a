package session

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/cursor"
	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/resource"
	"github.com/tributarydb/tributary/cluster/sequence"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Config is what the sessions of a node share. All fields are required.
type Config struct {
	Catalog   Catalog
	Queries   *query.Planner
	Commands  Commands
	Files     write.Files
	Models    Models
	Pool      *mem.Pool
	Resources *resource.Groups
	Locks     *advisory.Locks
	Temp      string // directory for temporary files
	Data      string // the node's directory, which superusers are told
	Reload    func() // reads the node's configuration again; may be nil
	// Shared is the value of a setting that is no session's.
	Shared func(*settings.Def) string
	// Elsewhere sends a signal to a session of another node on behalf of a role; it reports whether
	// there was such a session.
	Elsewhere func(s Signal) (bool, error)
	// Forget forgets the counts of statements on all nodes.
	Forget  func(role types.OID, fingerprint int64) error
	Observe *observe.Node
	Log     *slog.Logger
	Audit   *slog.Logger
}

// Catalog is the replicated catalog. Its methods may be called from any goroutine.
type Catalog interface {
	txn.Catalog
	sequence.Catalog
	// Changed returns a channel that is closed at the next change of Current.
	Changed() <-chan struct{}
}

// Commands finds what statements do. It binds, so that parameters and columns are known, but changes nothing. Its methods may be
// called from any goroutine.
type Commands interface {
	Command(ctx context.Context, s *Session, st *parse.Statement, params []types.Type) (*Command, error)
}

// Models score rows. Its methods may be called from any goroutine.
type Models interface {
	Scorer(ctx context.Context, st *catalog.State, ref expr.ModelRef, pool *mem.Pool) (function.Scorer, error)
}

// Registry has the sessions of one node, by key. Its methods may be called from any
// goroutine.
type Registry struct {
	cfg       Config
	started   time.Time
	snapshots txn.Snapshots
	turns     txn.Turns
	sequences sequence.Cache

	mu       sync.Mutex
	sessions map[uint32]*Session
	closed   bool
}

// New makes a registry without sessions.
func New(cfg Config) *Registry {
	return &Registry{cfg: cfg, started: time.Now(), sessions: map[uint32]*Session{}, snapshots: txn.Snapshots{Nodes: cfg.Queries.Runner.Nodes},
		sequences: sequence.Cache{Catalog: cfg.Catalog, Log: cfg.Log}}
}

// Cancel stops the running statement of the session with this key, on whatever node it is: a load
// balancer sends the request anywhere. A PID means one session of all.
func (r *Registry) Cancel(pid, secret uint32) {
	s := Signal{PID: pid, ByKey: true, Secret: secret}
	if r.session(pid) == nil {
		_, _ = r.cfg.Elsewhere(s) // who asks gets no answer
		return
	}
	_, _ = r.Signal(s)
}

// Signal is what pg_cancel_backend and pg_terminate_backend do for a role, or a cancel request that has
// the session's key.
type Signal struct {
	PID       uint32
	By        types.OID
	Terminate bool
	ByKey     bool
	Secret    uint32
}

// Signal cancels or terminates a session of this node, if there is such a one.
func (r *Registry) Signal(s Signal) (found bool, err error) {
	to := r.session(s.PID)
	if to == nil {
		return false, nil
	}
	canceled := pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	if s.ByKey {
		if to.start.Secret != s.Secret {
			return false, nil
		}
		to.cancel(canceled)
		return true, nil
	}
	st := r.cfg.Catalog.Current()
	verb, what, done := "cancel", "query", "canceled"
	if s.Terminate {
		verb, what, done = "terminate", "process", "terminated"
	}
	switch {
	case st.Super(to.login) && !st.Super(s.By):
		return false, pgerr.New(pgerr.InsufficientPrivilege, "must be a superuser to %s superuser %s", verb, what)
	case !st.Inherits(s.By, to.login) && !st.Inherits(s.By, catalog.SignalBackendOID):
		return false, pgerr.New(pgerr.InsufficientPrivilege, "must be a member of the role whose %s is being %s or member of pg_signal_backend", what, done)
	case s.Terminate:
		to.terminate(pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command"))
	default:
		to.cancel(canceled)
	}
	return true, nil
}

func (r *Registry) session(pid uint32) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[pid]
}

// Sessions lists what runs here, by PID.
func (r *Registry) Sessions() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Session, 0, len(r.sessions))
	for _, s := range r.sessions {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *Session) int { return cmp.Compare(a.start.PID, b.start.PID) })
	return out
}

// Close refuses new sessions and stops what runs. Sessions are closed by their
// connections.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	open := make([]*Session, 0, len(r.sessions))
	for _, s := range r.sessions {
		open = append(open, s)
	}
	r.mu.Unlock()
	for _, s := range open {
		s.terminate(pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command"))
	}
}

// OldestRead is the version of the oldest state that a statement of this
// gateway reads; 0 for none.
func (r *Registry) OldestRead() uint64 {
	return r.snapshots.Oldest(func(yield func(*txn.Pin) bool) {
		for _, s := range r.Sessions() {
			if !yield(&s.reading) {
				return
			}
		}
	})
}

// Session is one connection's state. One goroutine at a time calls it, but for
// the methods that say otherwise.
type Session struct {
	registry  *Registry
	start     Startup
	set       *settings.Set
	login     types.OID            // who logged in
	user      types.OID            // the same, or SET SESSION AUTHORIZATION
	role      types.OID            // whose privileges it has: user's, or SET ROLE
	roles     map[string]types.OID // of the names that were set, see identify
	connected bool                 // changes of settings are reported
	started   time.Time

	tx        *openTransaction
	ends      uint64 // transactions that have ended
	several   bool   // the text has several statements, which are a block without BEGIN
	cursors   cursor.Set
	temp      types.OID // its schema for temporary tables, 0 until the first
	env       *types.Env
	charset   *charset.Charset // of the client; nil for UTF8
	knows     *parsedSettings  // nil before it is first asked for
	sequences sequence.Session
	locks     *advisory.Holder

	doing   liveActivity
	counts  *observe.Session
	unsaid  []finished   // statements whose transaction has not ended
	asleep  int          // portals that wait for their client
	text    *mem.Account // what the last text's trees take; nil if little
	kept    *kept
	reading txn.Pin // the state the transaction reads
	closed  bool

	interrupts
	statements
}

// openTransaction is the session's open transaction.
type openTransaction struct {
	write.Txn
	audit      [][]slog.Attr // records of what it did, which wait for the outcome
	statements int           // begun
	declared   int           // cursors of the session before it
	kept       int64         // bytes charged for what waits for the commit
	counted    int           // changes that are in them
	// again runs the transaction's only statement again where the commit met that
	// conflict; nil where that may not be.
	retry func(ctx context.Context, conflict error) error
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

// fail notes that the transaction, explicit or implicit, cannot commit.
func (s *Session) fail() {
	if s.tx != nil {
		s.tx.Failed = true
	}
}

// Transactions counts those that have ended.
func (s *Session) Transactions() uint64 { return s.ends }

// InBlock reports whether the session is between BEGIN and COMMIT.
func (s *Session) InBlock() bool { return s.tx != nil && s.tx.Explicit }

// Shared reports whether the statement is one of several of a transaction: of a block, or of a text
// without one. What ends with the transaction makes sense there.
func (s *Session) Shared() bool { return s.several || s.InBlock() }

// Alone fails where a statement cannot be the only one of its transaction, as it must.
func (s *Session) Alone(what string) error {
	switch {
	case s.Shared():
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", what)
	case s.tx != nil && s.tx.statements > 1:
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot be executed within a pipeline", what)
	}
	return nil
}

// Sequences are the values that it took last.
func (s *Session) Sequences() *sequence.Session { return &s.sequences }

// Temp is its schema for temporary tables, 0 until the first is made.
func (s *Session) Temp() *types.OID { return &s.temp }

// PID is the session's key.
func (s *Session) PID() uint32 { return s.start.PID }

// known is what the settings say now.
func (s *Session) known() *parsedSettings {
	s.knows = s.knows.at(query.Identity{Role: s.role, SessionUser: s.user, Temp: s.temp}, s.set, s.env)
	return s.knows
}

// IdleLimit is how long the session may wait for its client now, and the error
// that ends it then; 0 is for ever.
func (s *Session) IdleLimit() (time.Duration, error) {
	k, g := s.known(), groupOf(s).Limits()
	return k.limit(resource.Tighter(k.idle, g.IdleTimeout), resource.Tighter(k.idleInBlock, g.IdleInTransaction), s.TxStatus() != 'I', s.txnStart())
}

// groupOf is a session's resource group, nil for none.
func groupOf(s *Session) *resource.Group { return s.registry.cfg.Resources.Of(s.user) }

// Info describes a session; it may be called from any goroutine.
func (s *Session) Info() SessionInfo {
	i := SessionInfo{PID: s.start.PID, User: s.login, UserName: s.start.User, Database: "tributary", Remote: s.start.Remote, TLS: s.start.TLS, Started: s.started, LockWait: s.locks.Waits()}
	s.doing.report(&i)
	return i
}
