package training

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// driveJob drives a job to its end and commits its outcome: the model, or the job's error. It returns an
// error if it could not commit an outcome.
func (j *Jobs) driveJob(ctx context.Context, job *catalog.Job) error {
	d, err := j.trainJob(ctx, job)
	if d != nil {
		defer d.rec.close()
	}
	for try := 1; err == nil; try++ {
		if err = j.finishJob(ctx, job, d); err == nil {
			j.outcomes.count(catalog.JobDone)
			return nil
		}
		if pgerr.CodeOf(err) == pgerr.CannotConnectNow && ctx.Err() == nil {
			err, try = nil, try-1 // it waits for a leader each time
			continue
		}
		now := j.cfg.Catalog.Current().Job(job.OID)
		if mine := now != nil && now.Epoch == job.Epoch; try < 5 && mine && pgerr.CodeOf(err) == pgerr.SerializationFailure {
			err = nil // the model was changed at the same time
		}
	}
	err = query.Cause(ctx, err)
	if ctx.Err() != nil && pgerr.CodeOf(err) != pgerr.QueryCanceled || pgerr.CodeOf(err) == pgerr.CannotConnectNow {
		return err // this node stops, the job was assigned to another, or there is no leader: the job is continued there, or later
	}
	end := failed(job, err)
	j.outcomes.count(end.State)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	changes := []catalog.Change{end}
	if d != nil {
		changes = []catalog.Change{d.rec.progress(), end}
	}
	return j.cfg.Catalog.Commit(late, changes)
}

// failed returns the change that ends a job by an error.
func failed(job *catalog.Job, err error) *catalog.EndJob {
	pe := pgerr.From(err)
	end := &catalog.EndJob{OID: job.OID, ExpectEpoch: job.Epoch, State: catalog.JobFailed, UpdatedMicros: time.Now().UnixMicro(),
		Error: pe.Message, ErrorCode: string(pe.Code), ErrorDetail: pe.Detail, ErrorHint: pe.Hint, ErrorPosition: pe.Position}
	if pe.Code == pgerr.QueryCanceled {
		end.State = catalog.JobCancelled
	}
	return end
}

// trainJob trains a job's model, for the caller that the job's record has.
func (j *Jobs) trainJob(ctx context.Context, job *catalog.Job) (*drive, error) {
	if err := j.cfg.Catalog.Barrier(ctx); err != nil {
		return nil, err
	}
	st := job.At(j.cfg.Catalog.Current())
	c, err := j.callerOf(job, st)
	if err != nil {
		return nil, err
	}
	s, err := j.statementOf(job, c.Dialect)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := j.cfg.Queries.Begin(c, 0, func(err error) { cancel(err) })
	defer func() {
		if leaked := x.End(); leaked > 0 {
			j.cfg.Log.Warn("BUG: a training's query ended with charged memory", "query", x.ID, "bytes", leaked)
		}
	}()
	p, err := j.Plan(ctx, s, c, st)
	if err != nil {
		return nil, err
	}
	d := &drive{j: j, statement: s, x: x, state: p.State, plan: p, query: p.Query, rec: newRecord(j, job, nil)}
	return d, query.Cause(ctx, d.run(ctx))
}

// statementOf returns a job's statement. It parses it unless a session on this node has done so.
func (j *Jobs) statementOf(job *catalog.Job, dialect parse.Dialect) (Statement, error) {
	j.mu.Lock()
	s, ok := j.read[job.OID]
	j.mu.Unlock()
	if ok {
		return s, nil
	}
	list, err := parse.Parse(job.Statement, dialect)
	if err != nil {
		return s, err
	}
	if len(list) == 1 {
		if n, ok := list[0].Extension.(*parse.TrainModel); ok {
			return Statement{Text: list[0], TrainModel: n}, nil
		}
	}
	return s, pgerr.New(pgerr.DataCorrupted, "training job %d has no TRAIN statement", job.OID)
}

// finishJob commits the model and the end of the job in one commit.
func (j *Jobs) finishJob(ctx context.Context, job *catalog.Job, d *drive) error {
	if err := j.cfg.Catalog.Barrier(ctx); err != nil {
		return err
	}
	st := j.cfg.Catalog.Current()
	if now := st.Job(job.OID); now != nil && now.State == catalog.JobDone {
		return nil // an earlier attempt to commit was applied after all
	}
	old := st.Model(job.Schema, job.Model)
	switch { // the model may have been made while this one was trained
	case old == nil || job.Replace != 0:
	case d.statement.OrReplace && st.Inherits(job.Owner, old.Owner): // it gets one version more, as it would have a moment later
	case d.statement.OrReplace:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of model %s", old.Name)
	default:
		return pgerr.New(pgerr.DuplicateObject, "model %q already exists", job.Model).
			WithHint("It was made while this one was trained.")
	}
	m, v, err := j.version(ctx, job, old, d)
	if err != nil {
		return err
	}
	// The last iterations may not be in the record yet: it is brought up to date once a second.
	changes := []catalog.Change{d.rec.progress(), &catalog.EndJob{OID: job.OID, ExpectEpoch: job.Epoch, State: catalog.JobDone, Number: v.Number, UpdatedMicros: time.Now().UnixMicro()}, m}
	if err := j.cfg.Blobs.Prove(ctx, catalog.Files(changes)); err != nil {
		return err
	}
	err = j.cfg.Catalog.Commit(ctx, changes)
	if pgerr.CodeOf(err) == pgerr.StatementCompletionUnknown {
		// Another attempt is safe although it is another commit: a job can end only once, and the
		// commit that ends it has the model.
		return pgerr.New(pgerr.SerializationFailure, "the commit of model %q may not have gone through", job.Model)
	}
	return err
}
