package training

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// find returns the newest training of a model for which ok is true, nil for none.
func find(c *query.Caller, st *catalog.State, name []string, ok func(*catalog.Job) bool) (*catalog.Job, error) {
	found := trainingsOf(c, st, name, ok)
	if len(found) == 0 {
		return nil, nil
	}
	newest := found[len(found)-1]
	return newest, owned(c, st, newest)
}

// owned is the error for a training that the caller may not stop or resume.
func owned(c *query.Caller, st *catalog.State, job *catalog.Job) error {
	if !st.Inherits(c.Role, job.Owner) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of training job %s", job.Model)
	}
	return nil
}

// trainingsOf returns the trainings of a model for which ok is true, the newest last.
func trainingsOf(c *query.Caller, st *catalog.State, name []string, ok func(*catalog.Job) bool) (found []*catalog.Job) {
	schemas := c.Schemas(st)
	if len(name) > 1 {
		schemas = nil
		if sc := st.SchemaByName(name[0]); sc != nil {
			schemas = append(schemas, sc)
		}
	}
	for _, sc := range schemas {
		for _, j := range st.Jobs() {
			if j.Schema == sc.OID && j.Model == name[len(name)-1] && ok(j) {
				found = append(found, j)
			}
		}
		if found != nil {
			break
		}
	}
	return found
}

// cancellable reports whether CANCEL TRAINING means a job: one that runs, but not somebody else's verification, which does not stand
// in the way of a training.
func cancellable(c *query.Caller, st *catalog.State, job *catalog.Job) bool {
	return job.State == catalog.JobRunning && (job.Verify == 0 || st.Inherits(c.Role, job.Owner))
}

// cancelled returns the changes that stop all trainings of a model, which two sessions may have begun: those that the caller may stop.
func cancelled(c *query.Caller, st *catalog.State, name []string) ([]catalog.Change, error) {
	var changes []catalog.Change
	var denied error
	for _, job := range trainingsOf(c, st, name, func(job *catalog.Job) bool { return cancellable(c, st, job) }) {
		if err := owned(c, st, job); err != nil {
			denied = err
			continue
		}
		changes = append(changes, &catalog.CancelJob{OID: job.OID})
	}
	if changes == nil {
		return nil, denied
	}
	return changes, nil
}

// Cancel asks the running trainings of a model to stop, or a trial of the newest.
func (j *Jobs) Cancel(ctx context.Context, c *query.Caller, name []string, trial int) error {
	if err := j.cfg.Catalog.Barrier(ctx); err != nil {
		return err
	}
	st := j.cfg.Catalog.Current()
	if trial == 0 {
		changes, err := cancelled(c, st, name)
		if err == nil && changes == nil {
			err = notRunning(name)
		}
		if err != nil {
			return err
		}
		return j.cfg.Catalog.Commit(ctx, changes)
	}
	job, err := find(c, st, name, func(job *catalog.Job) bool { return cancellable(c, st, job) })
	if err != nil {
		return err
	}
	if job == nil {
		return notRunning(name)
	}
	at := slices.IndexFunc(job.Trials, func(t catalog.ModelTrial) bool { return t.Number == trial })
	switch {
	case at < 0:
		return pgerr.New(pgerr.UndefinedObject, "the training of model \"%s\" has no trial %d, or not yet", strings.Join(name, "."), trial).
			WithHint("ml.trials shows those that run.")
	case job.Trials[at].State != string(train.TrialRunning):
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "trial %d of the training of model \"%s\" has ended: it is %s", trial, strings.Join(name, "."), job.Trials[at].State)
	}
	return j.cfg.Catalog.Commit(ctx, []catalog.Change{&catalog.CancelTrial{OID: job.OID, Trial: trial}})
}

func notRunning(name []string) error {
	return pgerr.New(pgerr.UndefinedObject, "no training of model \"%s\" is running", strings.Join(name, "."))
}

// Resume continues a training from its last checkpoint and waits for its model. If the training is
// running, it only waits.
func (j *Jobs) Resume(ctx context.Context, c *query.Caller, st *catalog.State, name []string, notice func(*pgerr.Error)) (*catalog.Job, *catalog.ModelVersion, error) {
	job, err := find(c, st, name, func(job *catalog.Job) bool { return job.State == catalog.JobRunning && !job.Attached || resumable(job) })
	if err != nil {
		return nil, nil, err
	}
	if job == nil {
		return nil, nil, pgerr.New(pgerr.UndefinedObject, "there is no training of model \"%s\" to resume", strings.Join(name, ".")).
			WithHint("A training that failed or was cancelled can be resumed for a day, once it has made a checkpoint.")
	}
	if job.State != catalog.JobRunning {
		take := &catalog.TakeJob{OID: job.OID, ExpectEpoch: job.Epoch, Coordinator: j.driverFor(), Restart: true, Micros: time.Now().UnixMicro()}
		if err := j.cfg.Catalog.Commit(ctx, []catalog.Change{take}); err != nil {
			return nil, nil, err
		}
	}
	v, err := j.outcome(ctx, job, notice)
	return job, v, err
}
