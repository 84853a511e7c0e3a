package training

import (
	"context"
	"maps"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// The record of a job that has ended is kept for the gateway of its statement for doneFor at least. For
// those who look later it is kept for endedFor, as long as no more than mostEnded have ended since, and
// that of a job that can be resumed for failedFor.
const (
	doneFor   = time.Minute
	endedFor  = time.Hour
	failedFor = 24 * time.Hour
	mostEnded = 100
)

// jobAction is what a node does about a job.
type jobAction uint8

const (
	jobNothing jobAction = iota
	jobStart             // drive it here
	jobStop              // stop a driver that is not the job's any more
	jobCancel            // stop it, as was requested
	jobTake              // assign it to another node
	jobDrop              // remove its record
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
	many          bool          // mostEnded jobs have ended after this one
}

// decide returns what this node does about a job: one step at a time, after which it decides again.
func decide(j *catalog.Job, v jobView) jobAction {
	here := j.Coordinator == v.self
	switch {
	case j.State != catalog.JobRunning:
		keep := endedFor
		switch {
		case resumable(j):
			keep = failedFor
		case v.many:
			keep = doneFor
		}
		// UpdatedAt is of the clock of the node that ended the job, and clocks may jump. Its gateway
		// has a minute by this node's clock in any case.
		if v.leads && v.now.Sub(j.UpdatedAt) > keep && v.over >= doneFor {
			return jobDrop
		}
	case v.running != 0 && (!here || v.running != j.Epoch):
		return jobStop
	case j.CancelRequested && (v.running != 0 || v.attached):
		return jobCancel
	case here && j.Attached && !v.attached:
		return jobDrop // its session ended when this node was restarted
	case here && !j.Attached && v.running == 0:
		return jobStart
	case v.leads && !here && !j.Attached && v.draining(j.Coordinator):
		return jobTake // while the node that is drained can still hand it over
	case v.leads && !here && !v.alive(j.Coordinator):
		if j.Attached {
			return jobDrop
		}
		return jobTake
	}
	return jobNothing
}

// Supervise starts the node's supervisor; Close ends it. It must be called once,
// when the node is ready to run queries.
func (j *Jobs) Supervise() {
	ctx, cancel := context.WithCancelCause(context.Background())
	j.stop = func() { cancel(errPassed) }
	j.wg.Go(func() { j.supervise(ctx) })
}

func (j *Jobs) supervise(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	ended, digests := map[types.OID]time.Time{}, map[types.OID]digest{}
	for {
		changed, members := j.cfg.Catalog.Redefined(), j.cfg.Members.Changed()
		j.prune(j.cfg.Catalog.Current(), digests)
		j.superviseOnce(ctx, ended)
		select {
		case <-changed:
		case <-members:
		case <-tick.C:
		case <-j.ended:
		case <-ctx.Done():
			return
		}
	}
}

// superviseOnce looks at all jobs. ended has the time at which a job that has ended was first seen so.
func (j *Jobs) superviseOnce(ctx context.Context, ended map[types.OID]time.Time) {
	st := j.cfg.Catalog.Current()
	seen := map[types.OID]bool{}
	jobs, over := st.Jobs(), 0
	for _, job := range jobs {
		if job.State != catalog.JobRunning {
			over++
		}
	}
	for _, job := range jobs {
		seen[job.OID] = true
		j.mu.Lock()
		d, cancel := j.drivers[job.OID], j.attached[job.OID]
		j.mu.Unlock()
		// What runs here is read first: a session lets go of its job once its end is committed, so in an older state a
		// job that has ended would be one that its session has left, and its record would be dropped.
		if job = j.cfg.Catalog.Current().Job(job.OID); job == nil {
			continue
		}
		v := jobView{self: j.cfg.Self, leads: j.cfg.Members.Leads(), alive: j.cfg.Members.Alive, now: time.Now(),
			draining: func(id uint64) bool { n := st.Node(id); return n != nil && n.Draining }}
		if job.State != catalog.JobRunning {
			v.many = over > mostEnded
			over--
		}
		if since, ok := ended[job.OID]; job.State == catalog.JobRunning {
			delete(ended, job.OID)
		} else if ok {
			v.over = time.Since(since)
		} else {
			ended[job.OID] = v.now
		}
		if v.attached = cancel != nil; d != nil {
			v.running, cancel = d.epoch, d.cancel
		}
		switch decide(job, v) {
		case jobStart:
			j.startDriver(ctx, job)
		case jobStop:
			cancel(errPassed)
		case jobCancel:
			cancel(pgerr.New(pgerr.QueryCanceled, "training of %s was cancelled", job.Model))
		case jobTake:
			j.changeJob(ctx, &catalog.TakeJob{OID: job.OID, ExpectEpoch: job.Epoch, Coordinator: j.driverFor(), Micros: v.now.UnixMicro()})
		case jobDrop:
			j.changeJob(ctx, &catalog.DropJob{OID: job.OID})
		}
	}
	maps.DeleteFunc(ended, func(oid types.OID, _ time.Time) bool { return !seen[oid] })
	j.mu.Lock()
	defer j.mu.Unlock()
	for oid, d := range j.drivers {
		if !seen[oid] {
			d.cancel(errPassed)
		}
	}
}

// errPassed stops a driver whose job another node drives or will drive.
var errPassed = pgerr.New(pgerr.AdminShutdown, "the training goes on at another node")

// changeJob commits a decision of the supervisor. If that fails, it decides again later.
func (j *Jobs) changeJob(ctx context.Context, c catalog.Change) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := j.cfg.Catalog.Commit(ctx, []catalog.Change{c}); err != nil && ctx.Err() == nil {
		j.cfg.Log.Warn("looking after training jobs", "error", err)
	}
}

func (j *Jobs) startDriver(ctx context.Context, job *catalog.Job) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &driver{epoch: job.Epoch, cancel: cancel}
	j.mu.Lock()
	j.drivers[job.OID] = d
	j.mu.Unlock()
	j.wg.Go(func() {
		defer cancel(nil)
		err := j.guarded(ctx, job)
		if err != nil && ctx.Err() == nil {
			// The job's record has not changed, so the supervisor will start it again: wait before.
			j.cfg.Log.Warn("driving a training", "job", job.OID, "model", job.Model, "error", err)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
		j.mu.Lock()
		delete(j.drivers, job.OID)
		j.mu.Unlock()
		select {
		case j.ended <- struct{}{}:
		default:
		}
	})
}

// guarded drives a job, and makes a panic the job's error.
func (j *Jobs) guarded(ctx context.Context, job *catalog.Job) (err error) {
	defer func() {
		if r := recover(); r != nil {
			j.cfg.Log.Error("BUG: a training panicked", "job", job.OID, "panic", r)
			err = j.cfg.Catalog.Commit(ctx, []catalog.Change{&catalog.EndJob{OID: job.OID, ExpectEpoch: job.Epoch, State: catalog.JobFailed,
				Error: "internal error in training", ErrorCode: string(pgerr.InternalError), UpdatedMicros: time.Now().UnixMicro()}})
		}
	}()
	return j.driveJob(ctx, job)
}

// Close stops the drivers of this node.
func (j *Jobs) Close() {
	if j.stop != nil {
		j.stop()
	}
	j.wg.Wait()
}
