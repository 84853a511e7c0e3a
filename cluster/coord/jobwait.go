package coord

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// detached gives a job to the cluster and waits for its model. Who goes away,
// or whose node does, leaves the job running; who cancels the statement cancels
// the job.
func (s *Session) detached(ctx context.Context, job *catalog.Job) (*catalog.ModelVersion, error) {
	e := s.engine
	job.Coordinator = e.driverFor()
	if err := e.putJob(ctx, job); err != nil {
		return nil, err
	}
	return s.outcome(ctx, job)
}

// outcome waits for a detached job and takes its record away.
func (s *Session) outcome(ctx context.Context, job *catalog.Job) (*catalog.ModelVersion, error) {
	e := s.engine
	end, err := s.await(ctx, job)
	if err != nil {
		return nil, err
	}
	if end.State != catalog.JobDone {
		if !resumable(end) {
			(&jobRecord{e: e, job: end}).drop()
		}
		err := pgerr.New(pgerr.Code(end.ErrorCode), "%s", end.Error).WithHint("%s", end.ErrorHint).WithDetail("%s", end.ErrorDetail)
		return nil, err.At(end.ErrorPosition)
	}
	m := e.cfg.Meta.Current().Model(end.Schema, end.Model)
	(&jobRecord{e: e, job: end}).drop()
	if m != nil {
		if v := m.Find(end.Number); v != nil {
			return v, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "model %q was dropped as soon as it was trained", end.Model)
}

// resumable tells whether RESUME TRAINING has something to go on from.
func resumable(j *catalog.Job) bool {
	return !j.Attached && (j.State == catalog.JobFailed || j.State == catalog.JobCancelled) && (j.Checkpoint != nil || !j.CheckpointFile.IsZero())
}

// driverFor picks the node that drives a new job: the one after this by number,
// so that gradients meet at a worker and not at the gateway.
func (e *Engine) driverFor() uint64 {
	self := e.cfg.Node.ID
	var ids []uint64
	for _, n := range e.cfg.Meta.Current().Nodes() {
		if !n.Draining && (n.ID == self || e.cfg.Members.Alive(n.ID)) {
			ids = append(ids, n.ID)
		}
	}
	return after(self, ids)
}

// after gives the id that follows in a ring; id itself if there is no other.
func after(id uint64, ids []uint64) uint64 {
	slices.Sort(ids)
	for _, n := range ids {
		if n > id {
			return n
		}
	}
	if len(ids) > 0 {
		return ids[0]
	}
	return id
}

// await waits until a job has ended.
func (s *Session) await(ctx context.Context, job *catalog.Job) (*catalog.Job, error) {
	m := s.engine.cfg.Meta
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := 0
	for {
		changed := m.Changed()
		j := m.Current().Job(job.OID)
		if j == nil {
			return nil, pgerr.New(pgerr.QueryCanceled, "training of %s was taken away", job.Model)
		}
		if j.State != catalog.JobRunning {
			return j, nil
		}
		select {
		case <-changed:
		case <-tick.C:
			if n := len(j.History); n > 0 && j.History[n-1].Number > told {
				told = j.History[n-1].Number
				s.notice(progressNotice(job.Model, j.History[n-1]))
			}
		case <-ctx.Done():
			return nil, s.abandon(ctx, job)
		}
	}
}

// abandon ends the wait for a job whose statement was stopped.
func (s *Session) abandon(ctx context.Context, job *catalog.Job) error {
	why := context.Cause(ctx)
	var e *pgerr.Error
	if !errors.As(why, &e) || e.Code != pgerr.QueryCanceled {
		return why // the client is gone; the job is the cluster's
	}
	m := s.engine.cfg.Meta
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := m.Commit(late, []catalog.Change{&catalog.CancelJob{OID: job.OID}}); err != nil {
		s.engine.log.Warn("cancelling a training", "job", job.OID, "error", err)
		return why
	}
	for {
		changed := m.Changed()
		if j := m.Current().Job(job.OID); j == nil || j.State != catalog.JobRunning {
			return why
		}
		select {
		case <-changed:
		case <-late.Done():
			return why
		}
	}
}
