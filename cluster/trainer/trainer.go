package trainer

import (
	"context"
	"log/slog"
	"math"
	"sync"

	"github.com/tributarydb/tributary/cluster/resource"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/ml/groups"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Config is the configuration of a node's trainer. Alive and Changed report members
// that die; nil on a single node.
type Config struct {
	Self      uint64
	Peers     *rpc.Peers
	Server    *rpc.Server
	Pool      *mem.Pool
	Resources *resource.Groups // nil for none
	Temp      string           // directory of temporary files
	Threads   func() int       // the current number, for a training that starts now
	Alive     func(node uint64) bool
	Changed   func() <-chan struct{} // closed when Alive may have changed
	Log       *slog.Logger
}

// Trainer runs a node's parts of all trainings. Its methods may be called from any
// goroutine.
type Trainer struct {
	cfg  Config
	log  *slog.Logger
	kept *keeper

	mu     sync.Mutex
	parts  map[string]*part
	closed bool
	live   sync.WaitGroup // parts that are not freed yet
}

// New makes a node's trainer and registers it with the node's server.
func New(c Config) *Trainer {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	t := &Trainer{cfg: c, log: c.Log, parts: map[string]*part{}}
	t.kept = newKeeper(c.Pool, c.Log, c.Temp)
	c.Server.RegisterGet(callPart, t.handlePart)
	rpc.Handle(c.Server, callKept, t.handleKept)
	rpc.Handle(c.Server, callKeep, t.handleKeep)
	c.Server.RegisterPut(callTask, t.handleTask)
	c.Server.RegisterPut(callOffer, t.handleOffer)
	return t
}

// Close stops all parts and waits for what runs in them.
func (t *Trainer) Close() {
	t.mu.Lock()
	t.closed = true
	var all []*part
	for _, p := range t.parts {
		all = append(all, p)
	}
	t.mu.Unlock()
	for _, p := range all {
		t.drop(p)
	}
	t.live.Wait() // for those that another call is closing
	t.kept.shed(math.MaxInt64)
}

// Collector implements op.Collectors: the part with this name.
func (t *Trainer) Collector(name string) (op.Collector, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.parts[name]
	if p == nil {
		return nil, errGone(name)
	}
	return p, nil
}

// GroupTrainer implements op.GroupTrainers.
func (t *Trainer) GroupTrainer(n *plan.TrainGroups, pool *mem.Pool) (op.GroupTrainer, error) {
	g, err := train.NewGroupTrainer(n.Job, n.Long, pool, t.cfg.Temp, t.cfg.Self)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Done implements op.GroupTrainers.
func (t *Trainer) Done(keys []byte) func(key []byte) bool { return groups.Keys(keys).Has }

// errGone returns the error for a part that does not exist here: its node was restarted,
// or the group is closed.
func errGone(name string) error {
	return pgerr.New(pgerr.ConnectionFailure, "training %s has no part on this node", name)
}

// enter makes a part and registers it.
func (t *Trainer) enter(m *openMsg) (*part, error) {
	job, err := train.DecodeJob(m.Job)
	if err != nil {
		return nil, err
	}
	if m.Self < 0 || m.Self >= len(m.Members) || m.Members[m.Self] != t.cfg.Self {
		return nil, pgerr.Internal("a training names this node wrongly")
	}
	of := t.cfg.Resources.Of(m.Role)
	p := &part{t: t, name: m.Name, members: m.Members, self: m.Self, cur: map[int]*reduction{}, wake: make(chan struct{}), coming: map[int]*incomingTask{},
		pool: of.Pool(t.cfg.Pool).Child("training "+m.Name, 0)}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	if p.w, err = train.NewWorker(job, train.WorkerConfig{Context: p.ctx, Pool: p.pool, Temp: t.cfg.Temp, Threads: max(of.Threads(t.cfg.Threads()), 1), GiveWay: t.cfg.Resources.GiveWay(m.Role), Workers: len(m.Members), Self: m.Self, Rescan: m.Rescan, Send: p.sendRows}); err != nil {
		p.pool.Close()
		return nil, err
	}
	p.sent.hold, p.sent.release = p.w.Hold, p.w.Release
	if m.Over != "" {
		if err := p.takeCached(m.Key, m.Over); err != nil {
			p.free()
			return nil, err
		}
	}
	t.mu.Lock()
	switch {
	case t.closed:
		err = pgerr.New(pgerr.CannotConnectNow, "the node is shutting down")
	case t.parts[m.Name] != nil:
		err = pgerr.Internal("training %s has a part here already", m.Name)
	default:
		t.parts[m.Name] = p
		t.live.Add(1)
	}
	t.mu.Unlock()
	if err != nil {
		p.free()
		return nil, err
	}
	return p, nil
}

// drop closes a part. It may be called twice.
func (t *Trainer) drop(p *part) {
	t.mu.Lock()
	was := t.parts[p.name] == p
	if was {
		delete(t.parts, p.name)
	}
	t.mu.Unlock()
	if was {
		p.free()
		t.live.Done()
	}
}

// use finds a part for a call. The context ends with the call and with the
// part; done must be called.
func (t *Trainer) use(ctx context.Context, name string) (p *part, _ context.Context, done func(), err error) {
	t.mu.Lock()
	if p = t.parts[name]; p != nil {
		p.calls.Add(1)
	}
	t.mu.Unlock()
	if p == nil {
		return nil, nil, nil, errGone(name)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.ctx, func() { cancel(context.Cause(p.ctx)) })
	return p, ctx, func() {
		stop()
		cancel(nil)
		p.calls.Done()
	}, nil
}

// handlePart opens a part for another node; it is closed when the call ends.
func (t *Trainer) handlePart(ctx context.Context, ticket []byte, send func([]byte) error) error {
	m, err := rpc.Decode[openMsg](ticket)
	if err != nil {
		return err
	}
	p, err := t.enter(&m)
	if err != nil {
		return err
	}
	defer t.drop(p)
	if err := send([]byte{1}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-p.ctx.Done():
	}
	return nil
}

func (t *Trainer) handleTask(ctx context.Context, header []byte, recv func() ([]byte, error)) ([]byte, error) {
	m, err := decodeBroadcast(header)
	if err != nil {
		return nil, err
	}
	p, ctx, done, err := t.use(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	defer done()
	return p.receive(ctx, m, recv)
}

func (t *Trainer) handleOffer(ctx context.Context, header []byte, recv func() ([]byte, error)) ([]byte, error) {
	m, err := decodeOffer(header)
	if err != nil {
		return nil, err
	}
	p, ctx, done, err := t.use(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	defer done()
	if m.Slice == rowsSlice {
		return nil, p.take(recv)
	}
	return nil, p.offer(ctx, m, recv)
}
