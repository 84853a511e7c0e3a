package coord

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/admin"
	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/cursor"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/sequence"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/cluster/training"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Config is what an Engine needs. All fields but Log and Audit are required.
type Config struct {
	Meta     Meta
	Runner   query.Runner
	Pool     *mem.Pool
	Files    write.Files
	Models   training.Models
	Virtual  query.Virtuals
	Sources  bind.SourceCatalog
	Password func(plain string) (string, error)
	Log      *slog.Logger
	Audit    *slog.Logger // takes the audit log; nil: Log
	Node     catalog.Node // this node
	Limits   func() Limits
	Temp     string // directory for temporary files
	Trainer  training.Trainer
	Blobs    training.Blobs
	Members  interface {
		admin.Members
		training.Members
	}
}

// Meta is the replicated catalog, as a gateway uses it. Its methods may be
// called from any goroutine.
type Meta interface {
	// Current is the newest state applied on this node.
	Current() *catalog.State
	// Changed gives a channel that is closed when Current next changes.
	Changed() <-chan struct{}
	// Barrier waits until Current holds all that was committed anywhere before
	// the call (a linearizable read).
	Barrier(ctx context.Context) error
	// Leaderless tells that Barrier will hardly succeed now.
	Leaderless() bool
	// Commit proposes the changes as one and waits until they are applied here.
	// 40003 says that it is not known what became of them; any other error, that
	// nothing was applied nor will be. Once they are proposed the end of ctx ends
	// the wait only after a while.
	Commit(ctx context.Context, changes []catalog.Change) error
	// AllocOIDs reserves n object identifiers and gives the first.
	AllocOIDs(ctx context.Context, n int) (types.OID, error)
	// Advance takes up to n values off a sequence, at least one.
	Advance(ctx context.Context, sequence types.OID, n int64) (catalog.SeqRange, error)
}

// Limits are what the node may use now.
type Limits struct {
	Memory  int64 // bytes; 0 for no limit
	Threads int
}

// Engine runs sessions on one node. Its methods may be called from any
// goroutine.
type Engine struct {
	cfg      Config
	log      *slog.Logger
	auditLog *slog.Logger

	mu        sync.Mutex
	sessions  map[uint32]*Session
	closed    bool
	started   time.Time
	oids      sequence.OIDs
	sequences sequence.Cache
	locks     advisory.Locks
	snapshots txn.Snapshots
	cluster   admin.Cluster
	queries   *query.Planner
	trainings *training.Jobs
}

// New makes an engine.
func New(cfg Config) *Engine {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Audit == nil {
		cfg.Audit = cfg.Log
	}
	e := &Engine{cfg: cfg, log: cfg.Log, auditLog: cfg.Audit.WithGroup("audit"), started: time.Now(), sessions: map[uint32]*Session{},
		queries: &query.Planner{Self: cfg.Node.ID, Runner: cfg.Runner, Virtual: cfg.Virtual, Sources: cfg.Sources, Pool: cfg.Pool}}
	e.oids.Catalog = cfg.Meta
	e.sequences.Catalog, e.sequences.Log = cfg.Meta, cfg.Log
	e.snapshots.Nodes = cfg.Runner.Nodes
	e.cluster = admin.Cluster{Catalog: cfg.Meta, Members: cfg.Members}
	if cfg.Pool != nil {
		e.queries.KeepPlans()
	}
	e.trainings = training.New(training.Config{Self: cfg.Node.ID, Catalog: cfg.Meta, Queries: e.queries, Models: cfg.Models, Trainer: cfg.Trainer,
		Blobs: cfg.Blobs, Members: cfg.Members, Shared: e.shared, NewOID: e.oids.New, Log: cfg.Log})
	return e
}

// Supervise starts to drive the trainings that are this node's; Close ends it. It
// must be called once, when the engine is ready to run statements.
func (e *Engine) Supervise() { e.trainings.Supervise() }

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
func (e *Engine) Authenticate(ctx context.Context, role string, fresh bool) (Login, error) {
	if fresh {
		// A role that was made on another node a moment ago is there, and a password
		// that was changed there holds. Where there is no majority to ask, what is
		// known here must do: a session can look, if not read tables.
		ask, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if err := e.cfg.Meta.Barrier(ask); err != nil {
			e.log.Debug("login without a barrier", "role", role, "error", err)
		}
	}
	st := e.cfg.Meta.Current()
	r := st.RoleByName(role)
	if r == nil {
		return Login{}, nil
	}
	l := Login{Exists: true, CanLogin: r.Login, Super: r.Super, Verifier: r.Password, TrustLoopback: r.Password == ""}
	for _, of := range st.Roles() {
		if of.OID != r.OID && !r.Super && st.MemberOf(r.OID, of.OID) {
			l.Groups = append(l.Groups, of.Name)
		}
	}
	if !r.ValidUntil.IsZero() && time.Now().After(r.ValidUntil) {
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

// Connect opens a session for an authenticated role.
func (e *Engine) Connect(ctx context.Context, st Startup) (*Session, error) {
	fatal := func(err *pgerr.Error) error { return err.WithSeverity(pgerr.SevFatal) }
	if st.Database == "" {
		st.Database = st.User
	}
	state := e.cfg.Meta.Current()
	role := state.RoleByName(st.User)
	if role == nil {
		return nil, fatal(pgerr.New(pgerr.InvalidAuthorizationSpecification, "role %q does not exist", st.User))
	}
	if !role.Login {
		return nil, fatal(pgerr.New(pgerr.InvalidAuthorizationSpecification, "role %q is not permitted to log in", st.User))
	}
	// A client that names no database asks for one named after its user.
	if st.Database != catalog.DatabaseName && st.Database != "postgres" && st.Database != "template1" {
		return nil, fatal(pgerr.New(pgerr.InvalidCatalogName, "database %q does not exist", st.Database))
	}
	if !state.May(role.OID, state.Database().Object(), 'c') {
		return nil, fatal(pgerr.New(pgerr.InsufficientPrivilege, "permission denied for database %q", st.Database).WithDetail("User does not have CONNECT privilege."))
	}
	s := &Session{
		engine:  e,
		start:   st,
		set:     settings.NewSet(),
		user:    role.OID,
		role:    role.OID,
		started: time.Now(),
		locks:   e.locks.Holder(),
		named:   map[string]*named{},
		cursors: map[string]*cursor.Cursor{},
	}
	s.activity.Store(&Activity{State: "idle", Since: s.started})
	if err := s.init(role); err != nil {
		return nil, fatal(pgerr.From(err))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fatal(pgerr.New(pgerr.CannotConnectNow, "the database system is shutting down"))
	}
	free := s.set.Int("max_connections") - int64(len(e.sessions))
	switch {
	case free <= 0:
		return nil, fatal(pgerr.New(pgerr.TooManyConnections, "sorry, too many clients already"))
	case free <= s.set.Int("superuser_reserved_connections") && !role.Super:
		return nil, fatal(pgerr.New(pgerr.TooManyConnections, "remaining connection slots are reserved for roles with the SUPERUSER attribute"))
	}
	if role.ConnLimit >= 0 && !role.Super {
		n := 0
		for _, o := range e.sessions {
			if o.user == role.OID {
				n++
			}
		}
		if n >= role.ConnLimit {
			return nil, fatal(pgerr.New(pgerr.TooManyConnections, "too many connections for role %q", st.User))
		}
	}
	e.sessions[st.PID] = s
	return s, nil
}

// Cancel stops the running statement of the session with this key.
func (e *Engine) Cancel(pid, secret uint32) {
	if s := e.session(pid); s != nil && s.start.Secret == secret {
		s.cancelRunning(pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request"))
	}
}

// CancelBackend is pg_cancel_backend; it tells whether there was such a session.
func (e *Engine) CancelBackend(pid uint32) bool {
	s := e.session(pid)
	if s != nil {
		s.cancelRunning(pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request"))
	}
	return s != nil
}

// TerminateBackend is pg_terminate_backend.
func (e *Engine) TerminateBackend(pid uint32) bool {
	s := e.session(pid)
	if s != nil {
		s.terminate(pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command"))
	}
	return s != nil
}

func (e *Engine) session(pid uint32) *Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sessions[pid]
}

// Sessions lists what runs here, by PID.
func (e *Engine) Sessions() []*Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*Session, 0, len(e.sessions))
	for _, s := range e.sessions {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *Session) int { return cmp.Compare(a.start.PID, b.start.PID) })
	return out
}

// Close refuses new sessions and stops what runs. Sessions are closed by their
// connections.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	open := make([]*Session, 0, len(e.sessions))
	for _, s := range e.sessions {
		open = append(open, s)
	}
	e.mu.Unlock()
	for _, s := range open {
		s.terminate(pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command"))
	}
	e.trainings.Close()
}

// shared is the value of a setting that is no session's: of what nodes have each
// their own, that of this one.
func (e *Engine) shared(d *settings.Def) string {
	switch d.Name {
	case catalog.SettingMemory:
		return strconv.FormatInt(e.cfg.Limits().Memory>>10, 10)
	case catalog.SettingThreads:
		return strconv.Itoa(e.cfg.Limits().Threads)
	}
	if v, ok := e.cfg.Meta.Current().Setting(d.Name); ok {
		return v
	}
	return d.Default
}
