package coord

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/tributarydb/tributary/cluster/admin"
	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/archive"
	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/resource"
	"github.com/tributarydb/tributary/cluster/schedule"
	"github.com/tributarydb/tributary/cluster/sequence"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/cluster/training"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Config is what an Engine needs. All fields but Log and Audit are required.
type Config struct {
	Meta      Meta
	Runner    query.Runner
	Pool      *mem.Pool
	Resources *resource.Groups
	Files     write.Files
	Locks     *advisory.Locks
	Models    training.Models
	Virtual   query.Virtuals
	Sources   query.Sources
	Build     string // the version of the program
	Password  func(plain string) (string, error)
	Log       *slog.Logger
	Audit     *slog.Logger // takes the audit log; nil: Log
	Node      catalog.Node // this node
	Limits    func() Limits
	Temp      string // directory for temporary files
	Data      string // the node's own
	Reload    func() // of the node's configuration
	Trainer   training.Trainer
	Blobs     training.Blobs
	Backups   Backups
	Commits   archive.Commits
	Storage   Storage
	Stores    *object.Stores
	Keys      object.Keys // for secrets
	// Elsewhere sends a signal to a session of another node. Observe records the node's history of statements
	// and events.
	Elsewhere func(session.Signal) (bool, error)
	Forget    func(role types.OID, fingerprint int64) error
	Observe   *observe.Node
	Members   interface {
		admin.Members
		training.Members
		// Horizon is the version of the oldest state that a statement of any node reads.
		Horizon() uint64
	}
}

// Meta is the replicated catalog, as the gateway uses it. Its methods may be called
// from any goroutine.
type Meta interface {
	// Current is the newest state applied on this node.
	Current() *catalog.State
	// Changed returns a channel that is closed at the next change of Current.
	Changed() <-chan struct{}
	// Redefined is like Changed, but ignores commits that only change rows.
	Redefined() <-chan struct{}
	// Barrier waits until Current holds all that was committed anywhere before
	// the call (a linearizable read).
	Barrier(ctx context.Context) error
	// Leaderless reports whether Barrier is unlikely to succeed now.
	Leaderless() bool
	// Commit proposes the changes as one and waits until they are applied here.
	// 40003 says that their outcome is unknown; any other error, that
	// nothing was applied nor will be. Once they are proposed the end of ctx ends
	// the wait only after a while.
	Commit(ctx context.Context, changes []catalog.Change) error
	// AllocOIDs reserves n object identifiers and returns the first.
	AllocOIDs(ctx context.Context, n int) (types.OID, error)
	// Advance takes up to n values off a sequence, at least one.
	Advance(ctx context.Context, sequence types.OID, n int64) (catalog.SeqRange, error)
}

// Limits are what the node may use now.
type Limits struct {
	Memory  int64 // bytes; 0 for no limit
	Threads int
}

// Engine runs the sessions of one node, and the trainings that it drives. Its methods may
// be called from any goroutine.
type Engine struct {
	*session.Registry
	cfg       Config
	oids      sequence.OIDs
	cluster   admin.Cluster
	queries   *query.Planner
	trainings *training.Jobs
	schedules *schedule.Runner // nil before Supervise
	archiver  func()           // ends it; nil before Supervise
}

// Trainings are the node's, with their metrics.
func (e *Engine) Trainings() *training.Jobs { return e.trainings }

// New makes an engine.
func New(cfg Config) *Engine {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Audit == nil {
		cfg.Audit = cfg.Log
	}
	e := &Engine{cfg: cfg, oids: sequence.OIDs{Catalog: cfg.Meta}, cluster: admin.Cluster{Catalog: cfg.Meta, Members: cfg.Members},
		queries: &query.Planner{Self: cfg.Node.ID, Runner: cfg.Runner, Virtual: cfg.Virtual, Sources: cfg.Sources, Stores: cfg.Stores, Pool: cfg.Pool, Resources: cfg.Resources}}
	if cfg.Pool != nil {
		e.queries.KeepPlans()
	}
	e.Registry = session.New(session.Config{Catalog: cfg.Meta, Queries: e.queries, Commands: e, Files: cfg.Files, Models: cfg.Models, Pool: cfg.Pool, Resources: cfg.Resources, Locks: cfg.Locks,
		Elsewhere: cfg.Elsewhere, Forget: cfg.Forget, Observe: cfg.Observe, Temp: cfg.Temp, Data: cfg.Data, Reload: cfg.Reload, Shared: e.shared, Log: cfg.Log, Audit: cfg.Audit.WithGroup("audit")})
	e.trainings = training.New(training.Config{Self: cfg.Node.ID, Catalog: cfg.Meta, Queries: e.queries, Models: cfg.Models, Trainer: cfg.Trainer,
		Blobs: cfg.Blobs, Members: cfg.Members, Shared: e.shared, NewOID: e.oids.New, Build: cfg.Build, Log: cfg.Log})
	return e
}

// Close refuses new sessions and stops running statements. Sessions are closed by their
// connections.
func (e *Engine) Close() {
	if e.schedules != nil {
		e.schedules.Close()
		e.archiver()
	}
	e.Registry.Close()
	e.trainings.Close()
}

// Supervise starts the loops that drive this node's trainings and schedules, and the archive; Close ends it. It must
// be called once, when the engine is ready to run statements.
func (e *Engine) Supervise() {
	e.trainings.Supervise()
	e.schedules = e.startSchedules()
	e.archiver = e.startArchiver()
}

// shared returns the value of a setting that does not belong to a session. Where each
// node has its own value, it is this node's.
func (e *Engine) shared(d *settings.Def) string {
	switch d.Name {
	case catalog.SettingMemory:
		return strconv.FormatInt(e.cfg.Limits().Memory>>10, 10)
	case catalog.SettingThreads:
		return strconv.Itoa(e.cfg.Limits().Threads)
	case "tributary.cluster_version":
		return strconv.FormatUint(uint64(e.cfg.Meta.Current().Finalized()), 10)
	}
	if v, ok := e.cfg.Meta.Current().Setting(d.Name); ok {
		return v
	}
	return d.Default
}

// dispatcher makes the commands of a session's statements.
type dispatcher struct {
	*Engine
	s *session.Session
}
