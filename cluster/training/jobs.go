package training

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// Config has what trainings need from their node.
type Config struct {
	Self    uint64
	Catalog Catalog
	Queries *query.Planner
	Models  Models
	Trainer Trainer
	Blobs   Blobs
	Members Members
	Shared  func(*settings.Def) string // returns the value of a setting outside of sessions
	NewOID  func(context.Context) (types.OID, error)
	Build   string // the version of the program
	Log     *slog.Logger
}

// Catalog is the replicated catalog. Its methods may be called from any
// goroutine.
type Catalog interface {
	// Current is the newest state applied on this node.
	Current() *catalog.State
	// Changed returns a channel that is closed when Current next changes.
	Changed() <-chan struct{}
	// Redefined is Changed without commits that only change rows or report the progress of jobs.
	Redefined() <-chan struct{}
	// Barrier waits until Current has everything that any node committed before the call.
	Barrier(ctx context.Context) error
	// Commit commits the changes atomically and waits until they are applied on this node.
	Commit(ctx context.Context, changes []catalog.Change) error
}

// Models returns the scorer of a model by reference. It may be called from any goroutine.
type Models interface {
	Scorer(ctx context.Context, st *catalog.State, ref expr.ModelRef, pool *mem.Pool) (function.Scorer, error)
}

// Statement is a parsed TRAIN MODEL. It is immutable, so it may be shared.
type Statement struct {
	Text *parse.Statement
	*parse.TrainModel
	Retrain int // the version of the model that is trained again; 0 for none
}

// Jobs manages the trainings of a node: those that its sessions wait for, and those that it drives. A
// supervisor compares the jobs in the catalog with what runs here, each second and whenever jobs or
// nodes change, and starts and stops drivers. On the leader it also assigns a new driver to jobs
// whose driver is dead or drained.
type Jobs struct {
	cfg     Config
	started time.Time

	outcomes outcomes

	mu       sync.Mutex
	attached map[types.OID]context.CancelCauseFunc // cancel the jobs that sessions here drive
	drivers  map[types.OID]*driver
	read     map[types.OID]Statement // of jobs that sessions here wait for and this node drives
	ended    chan struct{}           // of capacity 1: a driver has ended
	wg       sync.WaitGroup
	stop     func()
}

// driver is a job that runs here.
type driver struct {
	epoch  uint64
	cancel context.CancelCauseFunc
}

// New makes a node's trainings.
func New(c Config) *Jobs {
	return &Jobs{cfg: c, started: time.Now(), attached: map[types.OID]context.CancelCauseFunc{}, drivers: map[types.OID]*driver{},
		read: map[types.OID]Statement{}, ended: make(chan struct{}, 1)}
}

// attach registers how to cancel a session's job, until leave is called.
func (j *Jobs) attach(oid types.OID, cancel context.CancelCauseFunc) (leave func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.attached[oid] = cancel
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.attached, oid)
	}
}

// keep makes the parsed statement available to the job's driver, if that is on this node, until forget
// is called.
func (j *Jobs) keep(oid types.OID, s Statement) (forget func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read[oid] = s
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.read, oid)
	}
}
