package worker

import (
	"context"
	"io"
	"slices"
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

// stopTime is how long nodes have to confirm that they have stopped. The calls of those
// that do not are cancelled.
const stopTime = 3 * time.Second

// attempt is a plan on given nodes: the part that runs here and the calls that
// run the others. Its methods may be called from any goroutine.
type attempt struct {
	q      *query
	run    string
	nodes  []uint64
	leaves []leafWork
	boxes  map[uint64]*orderQueue // of the other nodes
	admit  admitMode
	down   chan struct{} // closed by fail

	conf  *partConfig
	part  *part
	flow  *flow.Flow
	calls sync.WaitGroup     // a listener and a sender for each other node
	cut   context.CancelFunc // ends the calls

	mu     sync.Mutex
	err    error
	done   bool
	remote map[uint64][]nodeStats // by node, as it last said
	// portions are the splits that were handed out together, by leaf and the first of them.
	portions   map[portionID]int
	splitsRead int
	once       sync.Once
}

func newAttempt(q *query, run string, nodes []uint64, leaves []leafWork) *attempt {
	a := &attempt{q: q, run: run, nodes: nodes, leaves: leaves, boxes: map[uint64]*orderQueue{}, down: make(chan struct{}),
		remote: map[uint64][]nodeStats{}, portions: map[portionID]int{}}
	if q.admit != admitFree {
		a.admit = q.s.o.Admission.mode(q.admit)
	}
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
		noted:   func(st *plan.Stage, t *task.Task) { w.cfg.noted(s.id, st, t) },
		writers: w.cfg.writers(s.pool), buffers: a.q.buffers, collects: w.cfg.Collects, groups: w.cfg.Groups,
		done:   func(l leafID, portion int) { a.read(w.cfg.Self, l, portion) },
		failed: func(err error) { a.q.handleError(a, 0, w.cfg.Store.Repair(ctx, err)) },
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
	return a.openAll(ctx)
}

// openAll asks every node to admit the plan and to make its end of the exchange: all of
// them at once, or in the order of their ids where the plan is to wait.
func (a *attempt) openAll(ctx context.Context) error {
	self := a.nodes[0]
	order, waits := a.nodes, a.admit == admitWait
	if waits {
		order = slices.Sorted(slices.Values(a.nodes))
	}
	var ticket []byte
	var net context.Context
	if len(a.nodes) > 1 {
		ticket = a.ticket()
		// Calls outlive ctx a little, so that nodes can be stopped and confirm it.
		net, a.cut = context.WithCancel(context.WithoutCancel(ctx))
	}
	for _, n := range order {
		if n == self {
			if err := a.openHere(ctx); err != nil {
				return err
			}
			continue
		}
		b := a.boxes[n]
		a.calls.Go(func() { a.runRemote(net, n, ticket); b.close() })
		a.calls.Go(func() { a.sendOrders(net, n, b) })
		if waits {
			if err := a.await(ctx, b); err != nil {
				return err
			}
		}
	}
	for _, n := range a.nodes[1:] {
		if err := a.await(ctx, a.boxes[n]); err != nil {
			return err
		}
	}
	if a.admit != admitFree {
		a.q.s.o.Admission.start(a)
	}
	return nil
}

// openHere takes the ticket of this node.
func (a *attempt) openHere(ctx context.Context) error {
	if a.admit == admitFree {
		return nil
	}
	ok, err := a.q.s.o.Admission.here(ctx, a.admit)
	if err == nil && !ok {
		a.q.full(a)
		err = a.error()
	}
	return err
}

// await waits until a node is open.
func (a *attempt) await(ctx context.Context, b *orderQueue) error {
	select {
	case <-b.ready:
		return nil
	case <-a.down:
		return a.error()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ticket returns the encoded startMsg, without what differs by node.
func (a *attempt) ticket() []byte {
	s := a.q.s
	m := &startMsg{Run: a.run, Params: s.env.Params, Statement: s.id, Nodes: a.nodes, Env: envOut(s.env.Types), BatchSize: s.o.BatchSize, Limit: s.pool.OwnLimit(), Admit: a.admit}
	if s.o.Admission != nil {
		m.Role = s.o.Admission.role
	}
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
	return rpc.Encode(m)
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

// runRemote runs the call that is a run on another node.
func (a *attempt) runRemote(ctx context.Context, node uint64, ticket []byte) {
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
			a.queued(node, 0)
			a.boxes[node].open()
			close(a.boxes[node].ready)
		case evQueued:
			a.queued(node, e.Place)
			a.boxes[node].open()
		case evFull:
			a.q.full(a)
		case evDone:
			a.read(node, e.Leaf, e.Portion)
		case evFailed:
			a.q.remoteError(a, node, e.Err.in())
		case evStats, evFinished:
			finished = e.Kind == evFinished
			a.mu.Lock()
			a.remote[node] = e.Stats
			a.mu.Unlock()
		}
	}
	if err == io.EOF {
		if finished {
			return
		}
		err = pgerr.Internal("node %d ended run %s early", node, a.run)
	}
	a.q.handleError(a, node, err)
}

// queued notes the attempt's place in a node's queue.
func (a *attempt) queued(node uint64, place int) {
	if a.admit == admitWait {
		a.q.s.o.Admission.queued(a.q.names[node], place)
	}
}

// sendOrders sends orders to another node.
func (a *attempt) sendOrders(ctx context.Context, node uint64, b *orderQueue) {
	for {
		o, ok := b.next(ctx)
		if !ok {
			return
		}
		if _, err := rpc.Call[bool](ctx, a.q.s.g.w.cfg.Peers, node, callOrders, *o); err != nil {
			a.q.handleError(a, node, err)
			return
		}
		if o.Stop {
			return
		}
	}
}

// read records that a node has read a portion.
func (a *attempt) read(node uint64, id leafID, portion int) {
	a.mu.Lock()
	a.splitsRead += a.portions[portionID{id, portion}]
	a.mu.Unlock()
	for i := range a.leaves {
		if a.leaves[i].id == id {
			a.q.event(a, sched.Done{Node: node, Leaf: i, Split: portion})
			return
		}
	}
}

type portionID struct {
	leaf  leafID
	first int
}

// assign hands portions of a leaf's splits to a node.
func (a *attempt) assign(node uint64, l *leafWork, portions [][]int) {
	a.mu.Lock()
	for _, p := range portions {
		a.portions[portionID{l.id, p[0]}] = len(p)
	}
	a.mu.Unlock()
	if b := a.boxes[node]; b != nil {
		b.add(func(o *orders) {
			for _, p := range portions {
				for _, n := range p {
					b.split(o, l.id, p[0], &l.splits[n])
				}
			}
		})
		return
	}
	var list []numbered
	for _, p := range portions {
		for _, n := range p {
			sp := l.splits[n]
			list = append(list, numbered{&sp, p[0]})
		}
	}
	a.part.feeds[l.id.Stage].add(l.id.Leaf, list...)
}

// end notifies a node that it has been given all its splits of a leaf.
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

func (a *attempt) isRestart() bool { return a.error() == errRestart }

// over reports whether the attempt has ended, so that its events are to be ignored.
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
		if a.admit != admitFree {
			a.q.s.o.Admission.queued("", 0)
			a.q.s.o.Admission.stop(a)
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
	for _, n := range a.nodes[1:] {
		addStats(out, a.remote[n])
	}
	return out
}

// orderQueue holds the orders for a node until they are sent.
type orderQueue struct {
	run      string
	mu       sync.Mutex
	o        *orders
	segments map[*catalog.Segment]int
	isOpen   bool
	shut     bool
	wake     chan struct{}
	ready    chan struct{} // closed when the node is ready to go
}

func newBox(run string) *orderQueue {
	return &orderQueue{run: run, segments: map[*catalog.Segment]int{}, wake: make(chan struct{}, 1), ready: make(chan struct{})}
}

// add adds to the orders that are sent next.
func (b *orderQueue) add(f func(o *orders)) {
	b.mark(func() {
		if b.o == nil {
			b.o = &orders{Run: b.run}
		}
		f(b.o)
	})
}

// split adds a split of a portion to o; the lock is held.
func (b *orderQueue) split(o *orders, id leafID, portion int, sp *op.Split) {
	m := splitMsg{Leaf: id, Portion: portion, Ordinal: sp.Ordinal, From: sp.From, To: sp.To, Part: sp.Part, Of: sp.Of, Range: sp.Range, HashBy: sp.HashBy}
	if sp.Segment != nil {
		n, known := b.segments[sp.Segment]
		if !known {
			n = len(b.segments) + 1
			b.segments[sp.Segment] = n
			o.Segments = append(o.Segments, segmentMsg{n, sp.Segment})
		}
		m.Segment = n
	}
	o.Splits = append(o.Splits, m)
}

// open allows orders to be sent, once the node has registered the run. An order to stop
// that arrived before the run would be lost.
func (b *orderQueue) open() { b.mark(func() { b.isOpen = true }) }

// close ends next: the node no longer listens.
func (b *orderQueue) close() { b.mark(func() { b.shut = true }) }

func (b *orderQueue) mark(f func()) {
	b.mu.Lock()
	f()
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// next waits for orders; ok is false when there will be none.
func (b *orderQueue) next(ctx context.Context) (*orders, bool) {
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
