package coord

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// jobs are the trainings that this node drives. A supervisor looks at the jobs
// of the catalog whenever they or the nodes change, and brings what runs here
// in line with them; on the leading node it also finds a new driver for jobs
// whose own is dead.
type jobs struct {
	mu       sync.Mutex
	attached map[types.OID]context.CancelCauseFunc // jobs of sessions here
	drivers  map[types.OID]*driver
	ended    chan struct{} // has room for one
	wg       sync.WaitGroup
	stop     func()
}

// driver is a job that runs here.
type driver struct {
	epoch  uint64
	cancel context.CancelCauseFunc
}

// attach notes a job of a session; the function it gives forgets it.
func (j *jobs) attach(oid types.OID, cancel context.CancelCauseFunc) (leave func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.attached[oid] = cancel
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.attached, oid)
	}
}

// doneFor is how long the record of a job that is done waits for the gateway of
// its statement, failedFor how long one that failed waits to be resumed.
const (
	doneFor   = time.Minute
	failedFor = 24 * time.Hour
)

// jobAction is what a node is to do about a job.
type jobAction uint8

const (
	jobNothing jobAction = iota
	jobStart             // drive it here
	jobStop              // it is not driven here any more
	jobCancel            // stop it because that was asked
	jobTake              // give it to another node
	jobDrop              // forget it
)

// jobView is what a node knows besides the job itself.
type jobView struct {
	self, running uint64 // running is the epoch driven here, 0 for none
	attached      bool   // a session here drives it
	leads         bool
	alive         func(uint64) bool
	draining      func(uint64) bool
	now           time.Time
	over          time.Duration // since this node first saw that the job has ended
}

// decide says what this node does about a job: one step at a time, each of
// which changes what is seen the next time.
func decide(j *catalog.Job, v jobView) jobAction {
	here := j.Coordinator == v.self
	switch {
	case j.State != catalog.JobRunning:
		keep := doneFor
		if resumable(j) {
			keep = failedFor
		}
		// Clocks may jump, and who ended the job has another: its gateway has its
		// minute all the same.
		if v.leads && v.now.Sub(j.UpdatedAt) > keep && v.over >= doneFor {
			return jobDrop
		}
	case v.running != 0 && (!here || v.running != j.Epoch):
		return jobStop
	case j.CancelRequested && (v.running != 0 || v.attached):
		return jobCancel
	case here && j.Attached && !v.attached:
		return jobDrop // of an earlier life of this node
	case here && !j.Attached && v.running == 0:
		return jobStart
	case v.leads && !here && !j.Attached && v.draining(j.Coordinator):
		return jobTake // it goes on elsewhere while its driver still can
	case v.leads && !here && !v.alive(j.Coordinator):
		if j.Attached {
			return jobDrop
		}
		return jobTake
	}
	return jobNothing
}

// Supervise starts the node's supervisor of trainings; Close ends it. It must be
// called once, when the engine is ready to run statements.
func (e *Engine) Supervise() {
	ctx, cancel := context.WithCancelCause(context.Background())
	e.jobs.stop = func() { cancel(errPassed) }
	e.jobs.wg.Go(func() { e.supervise(ctx) })
}

func (e *Engine) supervise(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	ended := map[types.OID]time.Time{}
	for {
		changed, members := e.cfg.Meta.Changed(), e.cfg.Members.Changed()
		e.superviseOnce(ctx, ended)
		select {
		case <-changed:
		case <-members:
		case <-tick.C:
		case <-e.jobs.ended:
		case <-ctx.Done():
			return
		}
	}
}

// superviseOnce looks at all jobs; ended is when those that have ended were
// first seen so.
func (e *Engine) superviseOnce(ctx context.Context, ended map[types.OID]time.Time) {
	st := e.cfg.Meta.Current()
	seen := map[types.OID]bool{}
	for _, j := range st.Jobs() {
		seen[j.OID] = true
		v := jobView{self: e.cfg.Node.ID, leads: e.cfg.Members.Leads(), alive: e.cfg.Members.Alive, now: time.Now(),
			draining: func(id uint64) bool { n := st.Node(id); return n != nil && n.Draining }}
		if since, ok := ended[j.OID]; j.State == catalog.JobRunning {
			delete(ended, j.OID)
		} else if ok {
			v.over = time.Since(since)
		} else {
			ended[j.OID] = v.now
		}
		e.jobs.mu.Lock()
		d, cancel := e.jobs.drivers[j.OID], e.jobs.attached[j.OID]
		e.jobs.mu.Unlock()
		if v.attached = cancel != nil; d != nil {
			v.running, cancel = d.epoch, d.cancel
		}
		switch decide(j, v) {
		case jobStart:
			e.startDriver(ctx, j)
		case jobStop:
			cancel(errPassed)
		case jobCancel:
			cancel(pgerr.New(pgerr.QueryCanceled, "training of %s was cancelled", j.Model))
		case jobTake:
			e.changeJob(ctx, &catalog.TakeJob{OID: j.OID, ExpectEpoch: j.Epoch, Coordinator: e.driverFor()})
		case jobDrop:
			e.changeJob(ctx, &catalog.DropJob{OID: j.OID})
		}
	}
	maps.DeleteFunc(ended, func(oid types.OID, _ time.Time) bool { return !seen[oid] })
	e.jobs.mu.Lock()
	defer e.jobs.mu.Unlock()
	for oid, d := range e.jobs.drivers {
		if !seen[oid] {
			d.cancel(errPassed)
		}
	}
}

// errPassed ends a driver whose job is not its own any more.
var errPassed = pgerr.New(pgerr.AdminShutdown, "the training goes on at another node")

// changeJob commits what the supervisor decided. Where it cannot, it will be
// decided again.
func (e *Engine) changeJob(ctx context.Context, c catalog.Change) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := e.cfg.Meta.Commit(ctx, []catalog.Change{c}); err != nil && ctx.Err() == nil {
		e.log.Warn("looking after training jobs", "error", err)
	}
}

func (e *Engine) startDriver(ctx context.Context, j *catalog.Job) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &driver{epoch: j.Epoch, cancel: cancel}
	e.jobs.mu.Lock()
	e.jobs.drivers[j.OID] = d
	e.jobs.mu.Unlock()
	e.jobs.wg.Go(func() {
		defer cancel(nil)
		err := e.guarded(ctx, j)
		if err != nil && ctx.Err() == nil {
			// The record stands as it was: wait before the supervisor tries again.
			e.log.Warn("driving a training", "job", j.OID, "model", j.Model, "error", err)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
		e.jobs.mu.Lock()
		delete(e.jobs.drivers, j.OID)
		e.jobs.mu.Unlock()
		select {
		case e.jobs.ended <- struct{}{}:
		default:
		}
	})
}

// guarded turns a panic of a driver into its job's error.
func (e *Engine) guarded(ctx context.Context, j *catalog.Job) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e.log.Error("BUG: a training panicked", "job", j.OID, "panic", r)
			err = e.cfg.Meta.Commit(ctx, []catalog.Change{&catalog.EndJob{OID: j.OID, ExpectEpoch: j.Epoch, State: catalog.JobFailed,
				Error: "internal error in training", ErrorCode: string(pgerr.InternalError), UpdatedMicros: time.Now().UnixMicro()}})
		}
	}()
	return e.driveJob(ctx, j)
}

func (j *jobs) close() {
	if j.stop != nil {
		j.stop()
	}
	j.wg.Wait()
}
