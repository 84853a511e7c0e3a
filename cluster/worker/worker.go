package worker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/cluster/flow"
	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/cluster/resource"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Models returns models ready to predict.
type Models interface {
	Scorer(ctx context.Context, st *catalog.State, ref expr.ModelRef, pool *mem.Pool) (function.Scorer, error)
}

// Config is the configuration of a node's worker. Replicate, Parts, Sources, Budget and
// Log may be nil.
type Config struct {
	Self    uint64
	Peers   *rpc.Peers
	Server  *rpc.Server
	Store   *store.Store
	Pool    *mem.Pool
	Threads func() int // the current number, used by what starts now
	Temp    string     // parent of spill directories
	Budget  *spill.Budget
	Sources op.Sources
	Parts   func(*plan.Source) int // splits of a source
	// Local reports whether only the gateway can read a source; may be nil.
	Local func(*plan.Source) bool
	// Replicate makes a new segment durable on its replicas.
	Replicate func(ctx context.Context, s *catalog.Segment) error
	// State returns the catalog at a version or later, waiting for it.
	State  func(ctx context.Context, version uint64) (*catalog.State, error)
	Models Models
	// Collects finds the collectors of this node; nil for none.
	Collects op.Collectors
	Groups   op.GroupTrainers // nil for none
	// Resources are the node's resource groups; nil for none.
	Resources *resource.Groups
	// Observe keeps what tasks and exchanges did; may be nil.
	Observe *observe.Node
	Log     *slog.Logger
}

// writers returns a statement's writers on the node.
func (c *Config) writers(pool *mem.Pool) op.Writers {
	return &store.TableWriters{Store: c.Store, Pool: pool, Replicate: c.Replicate}
}

// Worker runs tasks on a node. Its methods may be called from any goroutine.
type Worker struct {
	cfg Config
	hub *flow.Hub
	log *slog.Logger

	queries atomic.Uint64 // plans that ran on several nodes so far

	mu         sync.Mutex
	runs       map[string]*run         // for other nodes
	statements map[*Statement]struct{} // of this node's sessions
	closed     bool
	wg         sync.WaitGroup
}

// New makes a node's worker and registers it with the node's server.
func New(c Config) *Worker {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	w := &Worker{cfg: c, hub: flow.NewHub(c.Self, c.Peers, c.Server, c.Observe), log: c.Log, runs: map[string]*run{}, statements: map[*Statement]struct{}{}}
	c.Server.RegisterGet(callRun, w.run)
	rpc.Handle(c.Server, callOrders, w.orders)
	return w
}

// Close stops all runs for other nodes and waits for them.
func (w *Worker) Close() {
	w.mu.Lock()
	w.closed = true
	for _, r := range w.runs {
		r.abort(pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command"))
	}
	w.mu.Unlock()
	w.wg.Wait()
}

// Wait waits until there is no run for another node.
func (w *Worker) Wait() { w.wg.Wait() }

// enter registers a run.
func (w *Worker) enter(r *run) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return pgerr.New(pgerr.CannotConnectNow, "the node is shutting down")
	case w.runs[r.m.Run] != nil:
		return pgerr.Internal("run %s is here already", r.m.Run)
	}
	w.runs[r.m.Run] = r
	w.wg.Add(1)
	return nil
}

func (w *Worker) leave(r *run) {
	w.mu.Lock()
	delete(w.runs, r.m.Run)
	w.mu.Unlock()
	w.wg.Done()
}

// orders carries out a gateway's orders to a run. Those for a run that has ended are
// ignored.
func (w *Worker) orders(_ context.Context, o orders) (bool, error) {
	w.mu.Lock()
	r := w.runs[o.Run]
	w.mu.Unlock()
	if r == nil {
		return false, nil
	}
	return true, r.order(o)
}
