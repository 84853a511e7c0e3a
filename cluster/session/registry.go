package session

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/sequence"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Config is what the sessions of a node share. All fields are required.
type Config struct {
	Catalog  Catalog
	Queries  *query.Planner
	Commands Commands
	Files    write.Files
	Models   Models
	Pool     *mem.Pool
	Temp     string // directory for temporary files
	// Shared is the value of a setting that is no session's.
	Shared func(*settings.Def) string
	Log    *slog.Logger
	Audit  *slog.Logger
}

// Catalog is the replicated catalog. Its methods may be called from any goroutine.
type Catalog interface {
	txn.Catalog
	sequence.Catalog
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
	locks     advisory.Locks
	snapshots txn.Snapshots
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

// Login is what authentication needs of a role; see wire/session.Login.
type Login struct {
	Exists, CanLogin bool
	Verifier         string
	Super            bool
	Groups           []string
	TrustLoopback    bool
}

// Authenticate finds a role's verifier. A role without a password is trusted over
// loopback, whatever passwords others have; one that is not there is asked for a
// password as one that has one.
func (r *Registry) Authenticate(ctx context.Context, role string, fresh bool) (Login, error) {
	if fresh {
		// A role that was made on another node a moment ago is there, and a password
		// that was changed there holds. Where there is no majority to ask, what is
		// known here must do: a session can look, if not read tables.
		ask, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if err := r.cfg.Catalog.Barrier(ask); err != nil {
			r.cfg.Log.Debug("login without a barrier", "role", role, "error", err)
		}
	}
	st := r.cfg.Catalog.Current()
	of := st.RoleByName(role)
	if of == nil {
		return Login{}, nil
	}
	l := Login{Exists: true, CanLogin: of.Login, Super: of.Super, Verifier: of.Password, TrustLoopback: of.Password == ""}
	for _, group := range st.Roles() {
		if group.OID != of.OID && !of.Super && st.MemberOf(of.OID, group.OID) {
			l.Groups = append(l.Groups, group.Name)
		}
	}
	if !of.ValidUntil.IsZero() && time.Now().After(of.ValidUntil) {
		l.Verifier = ""
	}
	return l, nil
}

// Startup is what a client said when it connected.
type Startup struct {
	User, Database string
	Params         [][2]string
	Remote, Local  string
	TLS            bool
	PID, Secret    uint32
	Notify         Notifier
	Wake           func() // called once Killed has a reason
}

// Notifier takes what a statement says beside its result.
type Notifier interface {
	Notice(*pgerr.Error)
	Parameter(name, value string)
}

// Cancel stops the running statement of the session with this key.
func (r *Registry) Cancel(pid, secret uint32) {
	if s := r.session(pid); s != nil && s.start.Secret == secret {
		s.cancel(pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request"))
	}
}

// CancelBackend is pg_cancel_backend; it reports whether there was such a session.
func (r *Registry) CancelBackend(pid uint32) bool {
	s := r.session(pid)
	if s != nil {
		s.cancel(pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request"))
	}
	return s != nil
}

// TerminateBackend is pg_terminate_backend.
func (r *Registry) TerminateBackend(pid uint32) bool {
	s := r.session(pid)
	if s != nil {
		s.terminate(pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command"))
	}
	return s != nil
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
