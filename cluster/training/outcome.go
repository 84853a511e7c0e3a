package training

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// detached commits a job for any node to drive, and waits for its model. The job goes on if the client
// or this node is lost, but is cancelled if the statement is.
func (j *Jobs) detached(ctx context.Context, s Statement, job *catalog.Job, notice func(*pgerr.Error)) (v *catalog.ModelVersion, err error) {
	job.Coordinator = j.driverFor()
	if job.OID, err = j.cfg.NewOID(ctx); err != nil {
		return nil, err
	}
	if job.Coordinator == j.cfg.Self {
		defer j.keep(job.OID, s)()
	}
	if err := j.putJob(ctx, job); err != nil {
		return nil, err
	}
	return j.outcome(ctx, job, notice)
}

// outcome waits until a detached job ends.
func (j *Jobs) outcome(ctx context.Context, job *catalog.Job, notice func(*pgerr.Error)) (*catalog.ModelVersion, error) {
	end, err := j.await(ctx, job, notice)
	if err != nil {
		return nil, err
	}
	if end.State != catalog.JobDone {
		err := pgerr.New(pgerr.Code(end.ErrorCode), "%s", end.Error).WithHint("%s", end.ErrorHint).WithDetail("%s", end.ErrorDetail)
		return nil, err.At(end.ErrorPosition)
	}
	if m := j.cfg.Catalog.Current().Model(end.Schema, end.Model); m != nil {
		if v := m.Find(end.Number); v != nil {
			return v, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "model %q was dropped as soon as it was trained", end.Model)
}

// driverFor returns the node that drives a new job: the next one by number, so that gradients are summed
// on another node than the gateway.
func (j *Jobs) driverFor() uint64 {
	self := j.cfg.Self
	var ids []uint64
	for _, n := range j.cfg.Catalog.Current().Nodes() {
		if !n.Draining && (n.ID == self || j.cfg.Members.Alive(n.ID)) {
			ids = append(ids, n.ID)
		}
	}
	return after(self, ids)
}

// after returns the next larger id, or after the largest the smallest.
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
func (j *Jobs) await(ctx context.Context, job *catalog.Job, notice func(*pgerr.Error)) (*catalog.Job, error) {
	m := j.cfg.Catalog
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := 0
	for {
		changed := m.Changed()
		now := m.Current().Job(job.OID)
		if now == nil {
			return nil, pgerr.New(pgerr.QueryCanceled, "training of %s was taken away", job.Model)
		}
		if now.State != catalog.JobRunning {
			return now, nil
		}
		select {
		case <-changed:
		case <-tick.C:
			if n := len(now.History); n > 0 && now.History[n-1].Number > told {
				told = now.History[n-1].Number
				notice(progressNotice(job.Model, now.History[n-1]))
			}
		case <-ctx.Done():
			return nil, j.abandon(ctx, job)
		}
	}
}

// abandon ends the wait for a job whose statement was stopped.
func (j *Jobs) abandon(ctx context.Context, job *catalog.Job) error {
	why := context.Cause(ctx)
	var e *pgerr.Error
	if !errors.As(why, &e) || e.Code != pgerr.QueryCanceled {
		return why // the client is gone, and the job goes on
	}
	m := j.cfg.Catalog
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := m.Commit(late, []catalog.Change{&catalog.CancelJob{OID: job.OID}}); err != nil {
		j.cfg.Log.Warn("cancelling a training", "job", job.OID, "error", err)
		return why
	}
	for {
		changed := m.Changed()
		if now := m.Current().Job(job.OID); now == nil || now.State != catalog.JobRunning {
			return why
		}
		select {
		case <-changed:
		case <-late.Done():
			return why
		}
	}
}
