package node

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/cluster/coord"
	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/cluster/otlp"
	"github.com/tributarydb/tributary/cluster/past"
	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cluster/repl"
	"github.com/tributarydb/tributary/cluster/resource"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/storage"
	"github.com/tributarydb/tributary/cluster/trainer"
	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Options are the options of a node. Data and ListenCluster are required; the zero
// value of the rest is usable.
type Options struct {
	Data    string
	Temp    string
	Name    string
	Zone    string // the failure domain of the node: a rack, a site
	Memory  int64  // bytes the process may use; 0: no limit
	Threads int
	// FixedMemory and FixedThreads say that these were given at the start, not defaulted:
	// they override what the catalog has set before.
	FixedMemory, FixedThreads bool
	// ListenCluster is the address for other nodes, Advertise the one under which they
	// reach it ("": the same).
	ListenCluster, Advertise string
	// Join are members to ask for admission, on the first start.
	Join []string
	// Secret is the cluster's secret, which a node needs that joins without certificates;
	// a new cluster generates one if it is not given.
	Secret rpc.Secret
	// TLS returns the current configuration of connections between nodes; nil for plain
	// ones, which cmd allows on loopback or with --insecure.
	TLS func() *tls.Config
	// Reload begins to read the configuration file again, for pg_reload_conf(); nil where there is none.
	Reload func()
	// PG and HTTP are the node's other addresses, and Version that of its program, for cluster.nodes.
	PG, HTTP, Version string
	// Password returns the SCRAM verifier of a password.
	Password func(plain string) (string, error)
	// Heartbeat and DeadAfter tune how soon a dead node is noticed; 0: a second and a half, three.
	Heartbeat, DeadAfter time.Duration
	// ScrubRate is the rate in bytes per second at which the node reads its segments to
	// find damage, 0 for never; ScrubEvery is the time from one pass to the next, 0: a
	// day.
	ScrubRate  int64
	ScrubEvery time.Duration
	// InlineBlob is the size in bytes up to which models and checkpoints are stored in the
	// catalog itself; 0: catalog.InlineBlob.
	InlineBlob int
	// ObjectCache is how many bytes of objects in buckets are kept on disk, 0 for none.
	ObjectCache int64
	// Storage is s3://bucket/prefix, where the cluster keeps its files; "" for what it does already. StorageCache is how many bytes
	// of files this node keeps of those that are there; 0: what its disk has room for.
	Storage      string
	StorageCache int64
	Pace         Pace
	Log          *slog.Logger
	Audit        *slog.Logger // takes the audit log; nil: Log
}

// Pace is how often the node's background work runs. Zeros are the defaults; tests need
// shorter intervals.
type Pace struct {
	Sweep, Tick, Grace, Audit time.Duration // repl.Options
	SegmentRows               int64         // repl.Options
	Snapshot                  uint64        // raftnode.Options
	Without                   raftnode.Deviation
	Traces                    time.Duration // otlp.Exporter
	Lease                     time.Duration // storage.Options.Life
}

// Node is a running node.
type Node struct {
	o      Options
	self   catalog.Node
	limits atomic.Pointer[coord.Limits]
	// ballast makes the garbage collector run less often; see limit.
	ballast []byte
	asked   coord.Limits // what the catalog had set when it was last read
	pool    *mem.Pool
	dir     *raftnode.Dir
	server  *rpc.Server
	store   *store.Store
	storage *storage.Storage
	repl    *repl.Repl
	raft    *raftnode.Node
	worker  *worker.Worker
	models  *models
	locks   *advisory.Locks
	observe *observe.Node
	monitor *monitor
	upgrade *upgrade
	traffic rpc.Traffic
	started time.Time

	unwatch func() // stops watching the heap
	unguard func() // stops watching the disk
	unheed  func() // stops watching the limits in the catalog
	past    *past.History
	// closePast ends the history, once nothing is applied any more.
	closePast func()
	watched   sync.WaitGroup
	engine    *coord.Engine
	trainer   *trainer.Trainer
	resources *resource.Groups
	up        atomic.Bool // Start is done: heartbeats may use all other fields
}

// Start opens the data directory and starts the node's services. It returns when the
// node is a member that has caught up with its cluster.
func Start(ctx context.Context, o Options) (_ *Node, err error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Threads = max(o.Threads, 1)
	if o.InlineBlob <= 0 {
		o.InlineBlob = catalog.InlineBlob
	}
	if o.Storage != "" {
		if o.Storage, err = storage.Place(o.Storage); err != nil {
			return nil, err
		}
	}
	n := &Node{o: o, started: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	stored := storage.Options{Catalog: n.Catalog, Log: o.Log, Life: o.Pace.Lease}
	if o.Storage != "" && len(o.Join) == 0 {
		if err = foundOn(ctx, o.Storage, o.Data, o.Secret, stored); err != nil {
			return nil, err
		}
	}
	if n.dir, err = raftnode.OpenDir(o.Data, len(o.Join) > 0, "segments"); err != nil {
		return nil, err
	}
	if n.o.Name == "" {
		n.o.Name = fmt.Sprintf("node-%x", n.dir.ID>>48)
	}
	n.pool = mem.NewPool(n.o.Name, 0)
	stored.Pool = n.pool
	n.storage = storage.New(stored)
	n.limit(coord.Limits{Memory: o.Memory, Threads: o.Threads})
	n.observe = observe.New(n.pool)
	o.Log = slog.New(n.observe.Handler(o.Log.Handler()))
	n.o.Log = o.Log
	if n.dir.Reserve, err = disk.NewReserve(o.Data, o.Log); err != nil {
		return nil, err
	}
	stop := make(chan struct{})
	n.unguard = func() { close(stop) }
	n.watched.Go(func() { n.dir.Reserve.Watch(stop) })
	if n.o.Temp == "" {
		n.o.Temp = filepath.Join(o.Data, "temp")
	}
	if err = os.MkdirAll(n.o.Temp, 0o700); err != nil {
		return nil, err
	}
	if err = spill.Sweep(n.o.Temp); err != nil {
		return nil, err
	}
	unwatch := make(chan struct{})
	n.unwatch = func() { close(unwatch) }
	n.watched.Go(func() { n.pool.Watch(unwatch, programShare) })
	trust := rpc.Trust{TLS: o.TLS}
	if trust.Secret, err = n.dir.Secret(o.Secret); err != nil {
		return nil, err
	}
	if trust.Secret.IsZero() && o.TLS == nil {
		return nil, n.dir.NoSecret()
	}
	dialer := rpc.Dialer{Trust: trust, Self: n.dir.Identity, Log: o.Log, Traffic: &n.traffic}
	ln, err := net.Listen("tcp", o.ListenCluster)
	if err != nil {
		return nil, err
	}
	ln = n.traffic.Listener(ln)
	n.server = rpc.Listen(ln, trust, n.dir.Identity, o.Log)
	if n.store, err = store.Open(store.Options{Dir: segmentsIn(o.Data), Node: n.dir.ID, Room: n.dir.Reserve.Room, Pool: n.pool, StatEvery: time.Second}); err != nil {
		return nil, err
	}
	n.repl = repl.New(repl.Options{Short: n.lowOnDisk, Store: n.store, Server: n.server, Pool: n.pool, Log: o.Log, OldestOpen: n.oldestRead,
		ScrubRate: o.ScrubRate, ScrubEvery: o.ScrubEvery, Audit: o.Pace.Audit,
		Sweep: o.Pace.Sweep, Tick: o.Pace.Tick, Grace: o.Pace.Grace, SegmentRows: o.Pace.SegmentRows, Bucket: n.storage, Cache: o.StorageCache})
	n.models = newModels(n.pool, n.store.ReadBlob)
	n.models.open = func(ctx context.Context, ref *catalog.Segment) (*store.Blob, error) {
		return store.OpenBlob(ctx, n.store, ref)
	}
	addr := o.Advertise
	if addr == "" {
		addr = ln.Addr().String()
	}
	n.self = catalog.Node{ID: n.dir.ID, Name: n.o.Name, Addr: addr, PG: o.PG, HTTP: o.HTTP, Cores: runtime.NumCPU(), Threads: o.Threads, Memory: o.Memory, Zone: o.Zone}
	if n.past, n.closePast, err = openPast(o.Data, n.pool, o.Log, askOthers(n.dir.ID, func() *raftnode.Node { return n.raft }), func() bool { return n.lowOnDisk(n.dir.ID) }); err != nil {
		return nil, err
	}
	n.locks = advisory.New(locks{n}, advisory.Lease*cmp.Or(o.DeadAfter, 3*time.Second))
	attached := make(chan struct{}) // closed when n.raft is set: the node may lead before
	expire := func(ctx context.Context) {
		select {
		case <-attached:
			expirePast(ctx, n.raft, o.Log, n.lowOnDisk)
		case <-ctx.Done():
		}
	}
	n.raft, err = raftnode.Start(raftnode.Options{Dir: n.dir, Self: n.self, Join: o.Join, Server: n.server, Dialer: &dialer, Log: o.Log,
		Heartbeat: o.Heartbeat, DeadAfter: o.DeadAfter, Snapshot: o.Pace.Snapshot, Without: o.Pace.Without, OldestRead: n.oldestRead, Report: n.report, BeforeSecond: n.locks.Share, Recorder: n.past, OnLead: []func(context.Context){n.repl.Lead, expire}})
	if err != nil {
		return nil, err
	}
	close(attached)
	n.repl.Attach(n.raft)
	keys, err := keysOf(trust.Secret)
	if err != nil {
		return nil, err
	}
	stores, err := storesOf(n.Catalog, keys, n.o.Temp, o.ObjectCache, n.Account("blocks of objects"))
	if err != nil {
		return nil, err
	}
	v := newVirtuals(n, stores)
	n.resources = resource.New(n.pool, n.Catalog)
	n.trainer = n.newTrainer()
	n.worker = worker.New(worker.Config{Observe: n.observe, Collects: n.trainer, Groups: n.trainer, Resources: n.resources, Self: n.dir.ID, Peers: n.raft.Peers(), Server: n.server, Store: n.store, Pool: n.pool, Threads: n.threads,
		Temp: n.o.Temp, Sources: v.sources, Parts: v.sources.Parts, Local: source.Local, Replicate: n.repl.Push, State: n.stateAt, Models: n.models, Log: o.Log})
	n.handleParts()
	n.server.RegisterGet(callPast, n.past.Tell)
	n.server.Serve()
	if err = n.raft.WaitReady(ctx); err != nil {
		return nil, err
	}
	if err = beginStorage(ctx, o.Storage, n.storage, raftMeta{n.raft, n.past}); err != nil {
		return nil, err
	}
	n.engine = coord.New(coord.Config{
		Meta: raftMeta{n.raft, n.past}, Storage: n.storage, Locks: n.locks, Pool: n.pool, Resources: n.resources, Files: &files{store: n.store, threads: n.threads, replicate: n.repl.Push, discard: n.repl.Discard, prove: n.repl.Prove}, Models: n.models, Temp: n.o.Temp, Data: n.o.Data, Reload: n.o.Reload,
		Virtual: v, Sources: v.sources, Build: cmp.Or(o.Version, "unknown"), Password: o.Password, Log: o.Log, Audit: o.Audit, Node: n.self, Limits: func() coord.Limits { return *n.limits.Load() },
		Runner: runner{n.worker.Gateway(n.schedulable)}, Elsewhere: n.signal, Forget: n.forget, Observe: n.observe, Trainer: trainings{n}, Blobs: blobs{n}, Backups: n.repl, Commits: func(ctx context.Context, after uint64, most int64) ([]past.Record, error) {
			return n.past.CommitsOfAll(ctx, n.pool, after, most)
		}, Stores: stores, Keys: keys, Members: members{n.raft, n},
	})
	n.monitor = newMonitor(n)
	n.watched.Go(func() { n.monitor.run(unwatch) })
	n.upgrade = &upgrade{n.raft, func(id uint64) uint32 { return n.reportOf(id).Binary }, n.dir, n.o.Log}
	n.watched.Go(func() { n.upgrade.record(unwatch) })
	n.watched.Go(func() { n.upgrade.finalize(unwatch) })
	n.up.Store(true)
	n.Event("start", "info", n.o.Name, "the node has started")
	heed, stopHeed := context.WithCancel(context.Background())
	n.unheed = stopHeed
	n.watchLimits(heed, true)
	n.watched.Go(func() { n.watchLimits(heed, false) })
	traces := otlp.Exporter{Observe: n.observe, Node: n.o.Name, Version: o.Version, Log: o.Log, Every: cmp.Or(o.Pace.Traces, 5*time.Second), Endpoint: func() string {
		v, _ := n.raft.Current().Setting("tributary.otlp_endpoint")
		return v
	}}
	n.watched.Go(func() { traces.Run(heed) })
	n.repl.StartMaintenance()
	n.engine.Supervise()
	return n, nil
}

// oldestRead returns the version of the oldest state that a statement here reads.
func (n *Node) oldestRead() uint64 {
	if !n.up.Load() {
		return 0
	}
	return n.engine.OldestRead()
}

// Engine is the gateway's engine.
func (n *Node) Engine() *coord.Engine { return n.engine }

// Account opens an account of the node's memory for memory that belongs to no
// statement.
func (n *Node) Account(name string) *mem.Account { return n.pool.Account(name, false) }

// Log returns the node's log, of which it keeps the last records.
func (n *Node) Log() *slog.Logger { return n.o.Log }

// Name returns the node's name.
func (n *Node) Name() string { return n.o.Name }

// ClusterAddr returns the address for other nodes.
func (n *Node) ClusterAddr() string { return n.server.Addr().String() }

// Gone returns a channel that is closed when the cluster has removed this node.
func (n *Node) Gone() <-chan struct{} { return n.raft.Gone() }

// Leads reports whether the node leads its cluster's Raft.
func (n *Node) Leads() bool { return n.raft.Leads() }

// Failed returns a channel that receives an error when the node cannot continue and
// must be closed.
func (n *Node) Failed() <-chan error { return n.raft.Failed() }

// Close stops everything, newest first. It may be called on a node that did not
// start in full.
func (n *Node) Close() error {
	var errs []error
	for _, stop := range []*func(){&n.unwatch, &n.unguard, &n.unheed} {
		if *stop != nil {
			(*stop)()
			*stop = nil
		}
	}
	n.watched.Wait()
	if n.engine != nil {
		n.engine.Close()
	}
	if n.up.Load() { // nothing renews it any more
		releaseStorage(n.storage, n.raft, n.o.Log)
	}
	if n.locks != nil {
		n.locks.Close()
	}
	if n.worker != nil {
		n.worker.Close()
	}
	if n.trainer != nil {
		n.trainer.Close()
	}
	if n.models != nil {
		n.models.close()
	}
	if n.server != nil {
		errs = append(errs, n.server.Close())
	}
	if n.repl != nil {
		errs = append(errs, n.repl.Close())
	}
	if n.raft != nil {
		errs = append(errs, n.raft.Close())
	}
	if n.closePast != nil {
		n.closePast()
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.dir != nil {
		errs = append(errs, n.dir.Close())
	}
	return errors.Join(errs...)
}

// Ready reports whether the node serves statements: its cluster has a leader.
func (n *Node) Ready() bool { return n.raft.Leader() != 0 }

// Catalog returns the newest state of the catalog that this node has applied.
func (n *Node) Catalog() *catalog.State { return n.raft.Current() }

// Members lists the cluster's nodes as this one sees them.
func (n *Node) Members() []sysview.NodeRow { return (&viewHost{n: n}).Nodes() }
