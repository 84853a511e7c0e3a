package repl

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/cluster/place"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Cluster is the part of raftnode.Node that repl needs.
type Cluster interface {
	ID() uint64
	Current() *catalog.State
	Changed() <-chan struct{}
	Peers() *rpc.Peers
	Liveness(node uint64) (alive bool, since time.Time)
	LivenessChanged() <-chan struct{}
	Propose(ctx context.Context, changes []catalog.Change) (meta.Response, error)
	ReadIndex(ctx context.Context) error
	InDoubt() bool
	Horizon() uint64
}

// Options are the options of a Repl. Zero durations are the defaults named.
type Options struct {
	Store  *store.Store
	Server *rpc.Server
	Pool   *mem.Pool // compaction charges it; may be nil
	Log    *slog.Logger
	// Grace is how long a dead node's files are not copied (10 s); Tick how often the
	// leader plans (1 s); Sweep how often a node looks for files to remove (30 s), and
	// Soon how often while it has files that its catalog does not name (1 s).
	Grace, Tick, Sweep, Soon time.Duration
	// OldestOpen returns the catalog version at which the oldest open transaction of this
	// node began, 0 for none; may be nil.
	OldestOpen func() uint64
	// Audit is how often a node checks that its files exist (1 min). ScrubRate is the rate
	// in bytes per second at which it reads them all, 0 for never; ScrubEvery is the time
	// from the end of one pass to the next (a day).
	Audit, ScrubEvery time.Duration
	ScrubRate         int64
	// Short reports whether a node has little disk space left; may be nil.
	Short func(node uint64) bool
	// Bucket is the cluster's storage, where it has one; Cache is how many bytes of files this node is to have, which may go
	// once they are there; 0: as many as its disk has room for.
	Bucket Bucket
	Cache  int64
	// NoCompaction leaves small segments as they are.
	NoCompaction bool
	// SegmentRows is the number of rows that compaction aims at; 0 is the store's default.
	SegmentRows int64
}

// Repl is a node's replication manager. Its methods may be called from any goroutine.
type Repl struct {
	o        Options
	c        Cluster
	attached chan struct{}
	flight   singleflight.Group
	holds    holds
	scrub    scrubber
	failed   failures
	stored   stored
	ctx      context.Context
	stop     context.CancelFunc
	wg       sync.WaitGroup
}

// The RPCs that repl serves.
const (
	callPush    = "repl.push"
	callFetch   = "repl.fetch"
	callCopy    = "repl.copy"
	callCompact = "repl.compact"
	callDiscard = "repl.discard"
	callHave    = "repl.have"
	callBegan   = "repl.began"
)

// chunk is the size of a message of a stream, in bytes.
const chunk = 1 << 20

// New makes a Repl and registers its RPCs. The server may serve before Attach; calls
// wait for it.
func New(o Options) *Repl {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.Grace, 10*time.Second)
	def(&o.Tick, time.Second)
	def(&o.Sweep, 30*time.Second)
	def(&o.Soon, o.Sweep/30)
	def(&o.Audit, time.Minute)
	def(&o.ScrubEvery, 24*time.Hour)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &Repl{o: o, attached: make(chan struct{})}
	r.scrub.r = r
	s := &r.stored
	s.bucket, s.files, s.limit, s.pause, s.log = o.Bucket, &o.Store.Cache, o.Cache, o.Soon, o.Log
	s.state = func() *catalog.State { return r.c.Current() }
	s.files.Tight = s.tight
	s.short = func() bool { return o.Short != nil && o.Short(r.c.ID()) }
	r.ctx, r.stop = context.WithCancel(context.Background())
	o.Server.RegisterPut(callPush, r.handlePush)
	o.Server.RegisterGet(callFetch, r.handleFetch)
	rpc.Handle(o.Server, callCopy, r.handleCopy)
	rpc.Handle(o.Server, callCompact, r.handleCompact)
	rpc.Handle(o.Server, callDiscard, r.handleDiscard)
	rpc.Handle(o.Server, callHave, r.handleHave)
	rpc.Handle(o.Server, callBegan, r.handleOldestOpen)
	o.Store.SetRemote(r)
	return r
}

// Attach sets the cluster membership. It must be called once.
func (r *Repl) Attach(c Cluster) {
	r.c = c
	close(r.attached)
}

// StartMaintenance starts the sweep and scrub loops; call it once the node is ready.
func (r *Repl) StartMaintenance() {
	r.wg.Go(r.sweep)
	// From time to time too: files that were just written may go once they are in the storage.
	r.wg.Go(func() { every(r.ctx, r.stored.pause, r.stored.trim) })
	r.wg.Go(r.scrub.run)
}

// Close stops the background loops.
func (r *Repl) Close() error {
	r.stop()
	r.wg.Wait()
	return nil
}

// every calls do again and again, until ctx ends.
func every(ctx context.Context, pause time.Duration, do func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// ready waits for Attach.
func (r *Repl) ready(ctx context.Context) error {
	select {
	case <-r.attached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.ctx.Done():
		return pgerr.New(pgerr.AdminShutdown, "the node is shutting down")
	}
}

// members returns the nodes as place sees them.
func (r *Repl) members() []place.Node {
	var out []place.Node
	now := time.Now()
	for _, n := range r.c.Current().Nodes() {
		m := place.Node{ID: n.ID, Draining: n.Draining, Zone: n.Zone, Heir: n.Heir}
		m.Short = r.o.Short != nil && r.o.Short(n.ID) || r.failed.lately(n.ID, now)
		alive, since := r.c.Liveness(n.ID)
		if m.Alive = alive; !alive {
			m.DeadFor = now.Sub(since)
		}
		out = append(out, m)
	}
	return out
}
