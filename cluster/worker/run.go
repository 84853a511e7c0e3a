package worker

import (
	"context"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/flow"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/exec/task"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// run is this node's part of a run whose gateway is another node.
//
//	opened ─ready─▶ waiting ─go─▶ tasks ──all done──▶ finished
//	                   │            │ failed           ▲
//	                   └────────────┴─── stop ─────────┘
type run struct {
	m       *startMsg
	gateway uint64
	self    uint64
	pool    *mem.Pool
	part    *part
	ticket  *mem.Ticket
	goes    chan struct{} // closed by the order to go
	stop    chan struct{} // closed by the order to stop, or abort

	mu       sync.Mutex
	going    bool
	stopped  bool
	cause    error // why it was aborted
	segments map[int]*catalog.Segment
}

// run handles the call that begins a run. The run ends with it.
func (w *Worker) run(ctx context.Context, ticket []byte, send func([]byte) error) error {
	m, err := rpc.Decode[*startMsg](ticket)
	if err == nil && m == nil {
		err = pgerr.New(pgerr.ProtocolViolation, "a run without its plan")
	}
	if err != nil {
		return err
	}
	r := &run{m: m, gateway: rpc.Caller(ctx).Node, self: w.cfg.Self, goes: make(chan struct{}), stop: make(chan struct{}), segments: map[int]*catalog.Segment{}}
	notify := eventSender(send)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	of := w.cfg.Resources.Of(m.Role)
	threads := of.Threads(w.cfg.Threads())
	r.pool = of.Pool(w.cfg.Pool).Child("statement "+m.Statement, m.Limit)
	r.ticket = r.pool.Ticket(uint32(m.Role), threads)
	dir := spill.NewDir(spill.Options{Parent: w.cfg.Temp, Pool: r.pool, Budget: w.cfg.Budget})
	pin := w.cfg.Store.Pin(m.BatchSize)
	h := newRemoteHost(ctx, w, m)
	env := &function.Env{Types: m.Env.in(), Params: m.Params, Host: h, Pool: r.pool}
	env.Types.Names = remoteNames{h}
	failed := make(chan error, 1)
	c := &partConfig{
		runtime: &op.Runtime{Threads: threads, BatchSize: m.BatchSize, Pool: r.pool, Spill: dir},
		env:     env, tables: pin, sources: w.cfg.Sources,
		writers: w.cfg.writers(r.pool), collects: w.cfg.Collects, groups: w.cfg.Groups,
		noted: func(s *plan.Stage, t *task.Task) { w.cfg.noted(m.Statement, s, t) },
		done:  func(l leafID, portion int) { _ = notify(event{Kind: evDone, Leaf: l, Portion: portion}) },
		failed: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	}
	r.pool.OnFail(c.failed)
	r.part = newPart(ctx, m.Stages, false, c)
	entered := false
	defer func() {
		// The order matters: tasks use all the rest, and batches alias pinned segments.
		cancel(context.Canceled)
		r.part.stop(context.Canceled)
		if f, ok := c.exchange.(*flow.Flow); ok {
			_ = f.Close()
		}
		r.ticket.Close()
		_ = pin.Close()
		_ = dir.Close()
		if leaked := r.pool.Close(); leaked > 0 {
			w.log.Warn("BUG: a run ended with charged memory", "run", m.Run, "bytes", leaked)
		}
		if entered { // last: a worker that closes waits until everything has been released
			w.leave(r)
		}
	}()
	if err := w.enter(r); err != nil {
		return err
	}
	entered = true
	if ok, err := r.admit(ctx, notify); !ok {
		return err
	}
	f, err := w.hub.Open(ctx, flow.Options{Run: m.Run, Stages: m.Stages, Nodes: m.Nodes, Pool: r.pool})
	if err != nil {
		return err
	}
	c.exchange = f
	if err := notify(event{Kind: evReady}); err != nil {
		return err
	}
	select {
	case <-r.goes:
	case <-r.stop:
		return r.aborted()
	case <-ctx.Done():
		return ctx.Err()
	}
	w.cfg.Resources.Work(1)
	defer w.cfg.Resources.Work(-1)
	return r.work(ctx, c, f, failed, w.cfg.Store.Repair, notify)
}

// statsEvery is how often a run reports what it has done so far.
const statsEvery = time.Second

// placeEvery is how often a queued run reports its place.
const placeEvery = time.Second

// admit takes the run's ticket, before any of its tasks has begun on another node; it
// returns false if it got none, which has been reported to the gateway unless there is
// an error.
func (r *run) admit(ctx context.Context, notify func(event) error) (bool, error) {
	if r.m.Admit != admitWait || r.ticket.Try() {
		ok, err := take(ctx, r.ticket, r.m.Admit)
		if !ok && err == nil {
			err = notify(event{Kind: evFull})
		}
		return ok, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan error, 1)
	go func() { done <- r.ticket.Wait(ctx) }() // ends with ctx, and is waited for
	t := time.NewTicker(placeEvery)
	defer t.Stop()
	stop, last := r.stop, 0
	for {
		// A node whose run is queued accepts orders: the gateway may give up.
		if n := max(r.ticket.Place(), 1); n != last {
			last = n
			if err := notify(event{Kind: evQueued, Place: n}); err != nil {
				cancel(err)
			}
		}
		select {
		case err := <-done:
			cancel(nil)
			if stopped := r.aborted(); stopped != nil {
				err = stopped
			}
			return err == nil, err
		case <-stop:
			stop = nil
			cancel(context.Canceled)
		case <-t.C:
		}
	}
}

// work runs the tasks to their end, or until the run is stopped. A failed task does not
// end the run: its node's end of the exchange stays, so that other nodes do not fail
// for lack of it before the gateway knows the cause and stops all.
func (r *run) work(ctx context.Context, c *partConfig, f *flow.Flow, failed chan error, repair func(context.Context, error) error, notify func(event) error) error {
	report := func(err error) error {
		r.part.fail(err)
		return notify(event{Kind: evFailed, Err: errOut(repair(ctx, err))})
	}
	if err := r.part.start(c); err != nil {
		if err := report(err); err != nil {
			return err
		}
		select {
		case <-r.stop:
			return r.aborted()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	all := r.part.wait(func() error { return f.Drained(ctx) })
	told := time.NewTicker(statsEvery)
	defer told.Stop()
	for {
		select {
		case <-told.C:
			if err := notify(event{Kind: evStats, Stats: r.part.stats()}); err != nil {
				return err
			}
			continue
		case err := <-failed:
			failed = nil // only the first error counts
			all = nil
			if err := report(err); err != nil {
				return err
			}
			continue
		case <-all:
			select {
			case err := <-failed:
				failed, all = nil, nil
				if err := report(err); err != nil {
					return err
				}
				continue
			default:
			}
		case <-r.stop:
			if err := r.aborted(); err != nil {
				return err
			}
			r.part.stop(context.Canceled)
		case <-ctx.Done():
			return ctx.Err()
		}
		return notify(event{Kind: evFinished, Stats: r.part.stats()})
	}
}

// eventSender returns a function that sends events and may be called from any
// goroutine.
func eventSender(send func([]byte) error) func(event) error {
	var mu sync.Mutex
	return func(e event) error {
		b := rpc.Encode(e)
		mu.Lock()
		defer mu.Unlock()
		return send(b)
	}
}

// abort stops the run with an error for its gateway.
func (r *run) abort(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped {
		r.stopped, r.cause = true, cause
		close(r.stop)
	}
}

func (r *run) aborted() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cause
}

// order carries out a gateway's orders.
func (r *run) order(o orders) error {
	if o.Stop {
		r.abort(nil)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range o.Segments {
		if s.Segment == nil {
			return pgerr.New(pgerr.ProtocolViolation, "no segment %d in a node's orders", s.Num)
		}
		r.segments[s.Num] = s.Segment
	}
	lists := map[leafID][]numbered{} // a portion is added as a whole
	for _, s := range o.Splits {
		if r.part.feeds[s.Leaf.Stage] == nil {
			return pgerr.Internal("stage %d has no task here", s.Leaf.Stage)
		}
		sp := &op.Split{Scan: s.Leaf.Leaf, Ordinal: s.Ordinal, From: s.From, To: s.To, Part: s.Part, Of: s.Of, Range: s.Range, HashBy: s.HashBy}
		if s.Segment > 0 {
			if sp.Segment = r.segments[s.Segment]; sp.Segment == nil {
				return pgerr.Internal("segment %d of run %s is not known", s.Segment, r.m.Run)
			}
		}
		lists[s.Leaf] = append(lists[s.Leaf], numbered{sp, s.Portion})
	}
	for id, list := range lists {
		r.part.feeds[id.Stage].add(id.Leaf, list...)
	}
	for _, e := range o.Ends {
		if f := r.part.feeds[e.Stage]; f != nil {
			f.end(e.Leaf)
		}
	}
	switch {
	case o.Rest:
		r.ticket.Release()
	case o.Resume:
		r.ticket.Force()
	}
	if o.Go && !r.going {
		r.going = true
		close(r.goes)
	}
	return nil
}
