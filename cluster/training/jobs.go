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

// Config is what trainings need of a node.
type Config struct {
	Self    uint64
	Catalog Catalog
	Queries *query.Planner
	Models  Models
	Trainer Trainer
	Blobs   Blobs
	Members Members
	Shared  func(*settings.Def) string // the value of a setting that is no session's
	NewOID  func(context.Context) (types.OID, error)
	Log     *slog.Logger
}

// Catalog is the replicated catalog. Its methods may be called from any
// goroutine.
type Catalog interface {
	// Current is the newest state applied on this node.
	Current() *catalog.State
	// Changed returns a channel that is closed when Current next changes.
	Changed() <-chan struct{}
	// Redefined is Changed but for commits of rows, and reports of progress, alone.
	Redefined() <-chan struct{}
	// Barrier waits until Current holds all that was committed anywhere before.
	Barrier(ctx context.Context) error
	// Commit proposes the changes as one and waits until they are applied here.
	Commit(ctx context.Context, changes []catalog.Change) error
}

// Models gives scorers for models by reference, for any goroutine.
type Models interface {
	Scorer(ctx context.Context, st *catalog.State, ref expr.ModelRef, pool *mem.Pool) (function.Scorer, error)
}

// Statement is a TRAIN MODEL that has been read. It is not changed any more, and
// may be shared.
type Statement struct {
	Text *parse.Statement
	*parse.TrainModel
}

// Jobs are the trainings of a node: those that its sessions wait for, and those
// that it drives. A supervisor looks at the jobs of the catalog whenever they or
// the nodes change, and brings what runs here in line with them; on the leading
// node it also finds a new driver for jobs whose own is dead.
type Jobs struct {
	cfg     Config
	started time.Time

	mu       sync.Mutex
	attached map[types.OID]context.CancelCauseFunc // jobs of sessions here
	drivers  map[types.OID]*driver
	read     map[types.OID]Statement // of jobs that were given and are driven here
	ended    chan struct{}           // has room for one
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

// attach notes a job of a session; the function it gives forgets it.
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

// keep has the driver of a job find its statement, if it is this node's; the
// function it gives forgets it.
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
