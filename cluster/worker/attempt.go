package worker

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/flow"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/sched"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/task"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// stopTime is how long nodes have to say that they have stopped. The calls of
// those that do not are cut.
const stopTime = 3 * time.Second

// attempt is a plan on given nodes: the part that runs here and the calls that
// run the others. Its methods may be called from any goroutine.
type attempt struct {
	q     *query
	run   string
	nodes []uint64
	boxes map[uint64]*box // of the other nodes
	ready chan struct{}   // closed when all of them are open
	down  chan struct{}   // closed by fail

	conf  *partConfig
	part  *part
	flow  *flow.Flow
	calls sync.WaitGroup     // a listener and a speaker for each other node
	cut   context.CancelFunc // ends the calls

	mu      sync.Mutex
	err     error
	opening int // nodes that are not open yet
	done    bool
	remote  []nodeStats
	once    sync.Once
}

func newAttempt(q *query, run string, nodes []uint64) *attempt {
	a := &attempt{q: q, run: run, nodes: nodes, boxes: map[uint64]*box{}, ready: make(chan struct{}), down: make(chan struct{}), opening: len(nodes) - 1}
	for _, n := range nodes[1:] {
		a.boxes[n] = newBox(run)
	}
	return a
}

// open makes all nodes' ends of the exchange and waits for them.
func (a *attempt) open(ctx context.Context) error {
	s := a.q.s
	w := s.g.w
	a.conf = &partConfig{
		runtime: s.runtime(), env: s.env, tables: s.pin, sources: w.cfg.Sources, virtuals: s.o.Virtual,
		writers: w.cfg.writers(s.pool), buffers: s.buffers, collects: w.cfg.Collects,
		done:   func(l leafID, split int) { a.read(w.cfg.Self, l, split) },
		failed: func(err error) { a.q.trouble(a, 0, w.cfg.Store.Mend(ctx, err)) },
	}
	p := newPart(ctx, a.q.plan.Stages, true, a.conf)
	a.mu.Lock()
	a.part = p // from here on it does not change
	a.mu.Unlock()
	if len(a.q.plan.Stages) > 1 {
		f, err := w.hub.Open(ctx, flow.Options{Run: a.run, Stages: a.q.plan.Stages, Nodes: a.nodes, Pool: s.pool})
		if err != nil {
			return err
		}
		a.flow, a.conf.exchange = f, f
	}
	if len(a.nodes) == 1 {
		return nil
	}
	ticket, err := a.ticket()
	if err != nil {
		return err
	}
	// Calls outlive ctx a little, so that nodes are told to stop and say when
	// they have.
	net, cut := context.WithCancel(context.WithoutCancel(ctx))
	a.cut = cut
	for _, n := range a.nodes[1:] {
		b := a.boxes[n]
		a.calls.Go(func() { a.listen(net, n, ticket); b.close() })
		a.calls.Go(func() { a.speak(net, n, b) })
	}
	select {
	case <-a.ready:
		return nil
	case <-a.down:
		return a.error()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ticket is what the nodes need to know.
func (a *attempt) ticket() ([]byte, error) {
	s := a.q.s
	m := &startMsg{Run: a.run, Statement: s.id, Nodes: a.nodes, Env: envOut(s.env.Types), BatchSize: s.o.BatchSize, Limit: s.pool.Limit()}
	if s.st != nil {
		m.Version = s.st.Version()
	}
	if s.env.Host != nil {
		m.Session = s.env.Host.Session()
	}
	for _, st := range a.q.plan.Stages {
		if st.Where != plan.OnAll {
			st.Root = nil
		}
		m.Stages = append(m.Stages, st)
	}
	return startOut(m, s.env.Params)
}

// start starts all tasks, those here and those on other nodes.
func (a *attempt) start() error {
	if err := a.part.start(a.conf); err != nil {
		return err
	}
	for _, b := range a.boxes {
		b.add(func(o *orders) { o.Go = true })
	}
	return nil
}

func (a *attempt) root() *task.Task { return a.part.root() }

// listen runs the call that is a run on another node.
func (a *attempt) listen(ctx context.Context, node uint64, ticket []byte) {
	recv, err := a.q.s.g.w.cfg.Peers.Get(ctx, node, callRun, ticket)
	finished := false
	for err == nil {
		var data []byte
		if data, err = recv(); err != nil {
			break
		}
		var e event
		if e, err = rpc.Decode[event](data); err != nil {
			break
		}
		switch e.Kind {
		case evReady:
			a.boxes[node].open()
			a.mu.Lock()
			if a.opening--; a.opening == 0 {
				close(a.ready)
			}
			a.mu.Unlock()
		case evDone:
			a.read(node, e.Leaf, e.Split)
		case evFailed:
			a.q.told(a, node, e.Err.in())
		case evFinished:
			finished = true
			a.mu.Lock()
			a.remote = append(a.remote, e.Stats...)
			a.mu.Unlock()
		}
	}
	if err == io.EOF {
		if finished {
			return
		}
		err = pgerr.Internal("node %d ended run %s early", node, a.run)
	}
	a.q.trouble(a, node, err)
}

// speak passes orders on to another node.
func (a *attempt) speak(ctx context.Context, node uint64, b *box) {
	for {
		o, ok := b.next(ctx)
		if !ok {
			return
		}
		if _, err := rpc.Call[bool](ctx, a.q.s.g.w.cfg.Peers, node, callOrders, *o); err != nil {
			a.q.trouble(a, node, err)
			return
		}
		if o.Stop {
			return
		}
	}
}

// read tells that a node has read a split.
func (a *attempt) read(node uint64, id leafID, split int) {
	for i := range a.q.leaves {
		if a.q.leaves[i].id == id {
			a.q.event(a, sched.Done{Node: node, Leaf: i, Split: split})
			return
		}
	}
}

// assign gives splits of a leaf to a node.
func (a *attempt) assign(node uint64, l *leafWork, nums []int) {
	if b := a.boxes[node]; b != nil {
		b.add(func(o *orders) {
			for _, n := range nums {
				b.split(o, l.id, n, &l.splits[n])
			}
		})
		return
	}
	list := make([]numbered, len(nums))
	for i, n := range nums {
		sp := l.splits[n]
		list[i] = numbered{&sp, n}
	}
	a.part.feeds[l.id.Stage].give(l.id.Leaf, list...)
}

// end tells a node that it has had all splits of a leaf.
func (a *attempt) end(node uint64, id leafID) {
	if b := a.boxes[node]; b != nil {
		b.add(func(o *orders) { o.Ends = append(o.Ends, id) })
		return
	}
	a.part.feeds[id.Stage].end(id.Leaf)
}

// fail ends the attempt with an error, the first one.
func (a *attempt) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil && !a.done {
		a.err = err
		close(a.down)
		if a.part != nil {
			a.part.fail(err)
		}
	}
}

func (a *attempt) error() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

func (a *attempt) isAgain() bool { return a.error() == errAgain }

// over tells whether nothing that happens in the attempt matters any more.
func (a *attempt) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done || a.err != nil
}

// stop stops all tasks and waits for the nodes. It may be called twice.
func (a *attempt) stop() {
	a.once.Do(func() {
		a.mu.Lock()
		a.done = true
		a.mu.Unlock()
		if a.part != nil {
			a.part.stop(context.Canceled)
		}
		for _, b := range a.boxes {
			b.add(func(o *orders) { o.Stop = true })
		}
		if a.cut != nil {
			t := time.AfterFunc(stopTime, a.cut)
			a.calls.Wait()
			t.Stop()
			a.cut()
		}
		if a.flow != nil {
			_ = a.flow.Close()
		}
	})
}

func (a *attempt) actuals() stage.Actuals {
	out := stage.Actuals{}
	if a.part != nil {
		addStats(out, a.part.stats())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	addStats(out, a.remote)
	return out
}

// box holds the orders for a node until they are sent.
type box struct {
	run      string
	mu       sync.Mutex
	o        *orders
	segments map[*catalog.Segment]int
	isOpen   bool
	shut     bool
	wake     chan struct{}
}

func newBox(run string) *box {
	return &box{run: run, segments: map[*catalog.Segment]int{}, wake: make(chan struct{}, 1)}
}

// add adds to the orders that are sent next.
func (b *box) add(f func(o *orders)) {
	b.mark(func() {
		if b.o == nil {
			b.o = &orders{Run: b.run}
		}
		f(b.o)
	})
}

// split adds a split to o; under the lock.
func (b *box) split(o *orders, id leafID, num int, sp *op.Split) {
	m := splitMsg{Leaf: id, Num: num, Ordinal: sp.Ordinal, From: sp.From, To: sp.To, Part: sp.Part, Of: sp.Of}
	if sp.Segment != nil {
		n, known := b.segments[sp.Segment]
		if !known {
			n = len(b.segments) + 1
			b.segments[sp.Segment] = n
			o.Segments = append(o.Segments, segmentMsg{n, segmentOut(sp.Segment)})
		}
		m.Segment = n
	}
	o.Splits = append(o.Splits, m)
}

// open lets orders go: the node knows the run. An order to stop that came
// before the run itself would be lost.
func (b *box) open() { b.mark(func() { b.isOpen = true }) }

// close lets next end: the node does not listen any more.
func (b *box) close() { b.mark(func() { b.shut = true }) }

func (b *box) mark(f func()) {
	b.mu.Lock()
	f()
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// next waits for orders; ok is false when there will be none.
func (b *box) next(ctx context.Context) (*orders, bool) {
	for {
		b.mu.Lock()
		o, shut := b.o, b.shut
		if !b.isOpen {
			o = nil
		}
		if o != nil {
			b.o = nil
		}
		b.mu.Unlock()
		switch {
		case shut:
			return nil, false
		case o != nil:
			return o, true
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return nil, false
		}
	}
}
