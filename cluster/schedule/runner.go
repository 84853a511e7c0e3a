package schedule

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Catalog is the replicated catalog. Its methods may be called from any goroutine.
type Catalog interface {
	Current() *catalog.State
	Redefined() <-chan struct{}
	Commit(ctx context.Context, changes []catalog.Change) error
}

// Config is what a node's runner works with.
type Config struct {
	Self    uint64
	Catalog Catalog
	Leads   func() bool
	Alive   func(node uint64) bool
	// Run runs a schedule's statement as its owner, and returns its error.
	Run func(ctx context.Context, s *catalog.Schedule) error
	// Failed is told of a run that failed.
	Failed func(s *catalog.Schedule, err error)
	Log    *slog.Logger
}

// Runner runs schedules on a node.
type Runner struct {
	cfg  Config
	stop context.CancelFunc
	wg   sync.WaitGroup
	over chan types.OID // a run of this node has ended
	here map[types.OID]context.CancelFunc
}

// Start starts a runner; Close ends it.
func Start(c Config) *Runner {
	ctx, stop := context.WithCancel(context.Background())
	r := &Runner{cfg: c, stop: stop, over: make(chan types.OID), here: map[types.OID]context.CancelFunc{}}
	r.wg.Go(func() { r.supervise(ctx) })
	return r
}

// Close cancels the runs of this node and waits for them.
func (r *Runner) Close() {
	r.stop()
	r.wg.Wait()
}

// action is what a node does about a schedule.
type action uint8

const (
	nothing action = iota
	begin
	lost // end a run whose node does not run it any more
)

// view is what a node knows besides the schedule.
type view struct {
	self, leads bool // self: the run is this node's
	here        bool // and is under way
	alive       bool // the run's node is
	now         time.Time
}

func decide(s *catalog.Schedule, v view) action {
	switch {
	case s.Running && v.self && !v.here, s.Running && v.leads && !v.self && !v.alive:
		return lost
	case !s.Running && v.leads && !v.here && !s.Paused && !v.now.Before(s.Next):
		return begin
	}
	return nothing
}

// tick is how often schedules are looked at, though nothing has changed.
const tick = time.Second

func (r *Runner) supervise(ctx context.Context) {
	var runs sync.WaitGroup
	defer runs.Wait()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		changed := r.cfg.Catalog.Redefined()
		st := r.cfg.Catalog.Current()
		gone := map[types.OID]bool{}
		for oid := range r.here {
			gone[oid] = true
		}
		for _, s := range catalog.Schedules(st) {
			delete(gone, s.OID)
			self := s.Node == r.cfg.Self
			switch decide(s, view{self: self, leads: r.cfg.Leads(), here: r.here[s.OID] != nil, alive: r.cfg.Alive(s.Node), now: time.Now()}) {
			case begin:
				r.begin(ctx, s, &runs)
			case lost:
				r.end(ctx, s, pgerr.New(pgerr.ConnectionFailure, "the node that ran the statement was lost"))
			}
		}
		for oid := range gone { // it was dropped
			r.here[oid]()
		}
		select {
		case <-changed:
		case <-ticks.C:
		case oid := <-r.over:
			delete(r.here, oid)
		case <-ctx.Done():
			return
		}
	}
}

// begin commits that a run begins, and runs it, unless another node was first.
func (r *Runner) begin(ctx context.Context, s *catalog.Schedule, runs *sync.WaitGroup) {
	up := *s
	now := time.Now().UTC()
	var err error
	if up.Next, err = Next(s.Recurring, s.TimeZone, now); err != nil { // it was checked when it was made
		up.Paused, up.Error, up.Code = true, pgerr.From(err).Message, string(pgerr.CodeOf(err))
	}
	up.Runs, up.Running, up.Node, up.Started, up.Ended = s.Runs+1, err == nil, r.cfg.Self, now, time.Time{}
	if cerr := r.cfg.Catalog.Commit(ctx, []catalog.Change{&catalog.PutSchedule{Schedule: &up, ExpectVersion: s.Version}}); cerr != nil || err != nil {
		if cerr != nil && ctx.Err() == nil && pgerr.CodeOf(cerr) != pgerr.SerializationFailure {
			r.cfg.Log.Warn("beginning a schedule's run", "schedule", s.Name, "error", cerr)
		}
		return
	}
	run, cancel := context.WithCancel(ctx)
	r.here[s.OID] = cancel
	runs.Go(func() {
		defer cancel()
		err := r.cfg.Run(run, &up)
		late, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		r.end(late, &up, err)
		select {
		case r.over <- s.OID:
		case <-ctx.Done():
		}
	})
}

// end commits that a run has ended. The schedule may have been changed meanwhile, or dropped.
func (r *Runner) end(ctx context.Context, run *catalog.Schedule, err error) {
	for {
		st := r.cfg.Catalog.Current()
		var now *catalog.Schedule
		for _, s := range catalog.Schedules(st) {
			if s.OID == run.OID && s.Runs == run.Runs && s.Running {
				now = s
			}
		}
		if now == nil {
			return
		}
		up := *now
		up.Running, up.Ended, up.Code, up.Error = false, time.Now().UTC(), "", ""
		if err != nil {
			e := pgerr.From(err)
			up.Code, up.Error = string(e.Code), e.Message
		}
		cerr := r.cfg.Catalog.Commit(ctx, []catalog.Change{&catalog.PutSchedule{Schedule: &up, ExpectVersion: now.Version}})
		switch {
		case cerr == nil:
			if err != nil {
				r.cfg.Failed(&up, err)
			}
			return
		case ctx.Err() != nil:
			return // it counts as lost later
		case pgerr.CodeOf(cerr) != pgerr.SerializationFailure && pgerr.CodeOf(cerr) != pgerr.CannotConnectNow:
			r.cfg.Log.Warn("ending a schedule's run", "schedule", run.Name, "error", cerr)
			return
		}
	}
}
