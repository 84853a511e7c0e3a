package training

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Request is a TRAIN statement that a session runs.
type Request struct {
	Statement
	*query.Run                // of the statement
	State      *catalog.State // that the statement reads
	Durable    []byte         // the caller's durable form
	Notice     func(*pgerr.Error)
	// Put adds the model to the session's transaction block. It is nil outside of one, where the
	// driver commits the model.
	Put func(catalog.Change) error
	// base is the version that a warm start goes on from, where it is not the model's default one.
	base *catalog.ModelVersion
}

// Train creates the job of a statement and waits for its model. It returns no version if the model
// exists already and the statement has IF NOT EXISTS.
//
// Outside a transaction block the job belongs to the cluster: it goes on if this node is lost, and its
// driver commits the model. Inside one the job is attached to the session, sees what the transaction
// has done so far, and its model becomes part of the transaction.
func (j *Jobs) Train(ctx context.Context, r *Request) (*catalog.Schema, *catalog.ModelVersion, error) {
	c := r.Caller
	schema, old, err := r.place(c, r.State)
	if err != nil {
		return nil, nil, err
	}
	if old != nil && r.IfNotExists {
		r.Notice(pgerr.New(pgerr.DuplicateObject, "model %q already exists, skipping", old.Name).WithSeverity(pgerr.SevNotice))
		return nil, nil, nil
	}
	p, err := j.Plan(ctx, r.Statement, c, r.State)
	if err != nil {
		return nil, nil, err
	}
	// The job may start later, on another node, so privileges are checked now.
	if err := plan.Authorize(p.State, c.Role, p.uses()); err != nil {
		return nil, nil, err
	}
	job := r.job(p)
	job.Schema, job.Session = schema, r.Durable
	if old != nil {
		job.Replace = old.Version
	}
	var v *catalog.ModelVersion
	if job.Attached {
		v, err = j.forTransaction(ctx, r, old, job, p)
	} else {
		v, err = j.detached(ctx, r.Statement, job, r.Notice)
	}
	if err != nil {
		return nil, nil, err
	}
	r.warn(v, p.Job.Advice())
	return r.State.Schema(schema), v, nil
}

// job returns the record of the statement's job as it starts.
func (r *Request) job(p *Plan) *catalog.Job {
	now := time.Now().UTC()
	job := &catalog.Job{Model: r.Name[len(r.Name)-1], Owner: r.Caller.Role, Statement: r.Text.Text, State: catalog.JobRunning, Attached: r.Put != nil,
		MaxIterations: p.Job.MaxIterations(), Epoch: 1, Retrain: r.Retrain, CreatedAt: now, UpdatedAt: now, Phase: "read"}
	if p.Job.Outlook() != nil { // its iterations are the trials'
		job.MaxIterations = 0
	}
	for _, u := range p.uses() {
		job.Tables = append(job.Tables, u.OID)
	}
	for _, r := range catalog.PastOf(p.State) {
		job.Past, job.Reads = append(job.Past, r), append(job.Reads, p.State.Manifest(r.OID))
	}
	return job
}

// warn sends warnings about a model that may be worse than possible. advice is the hint if the training
// did not converge.
func (r *Request) warn(v *catalog.ModelVersion, advice string) {
	if g := v.Groups; g != nil && r.Retrain != 0 {
		r.Notice(pgerr.New(pgerr.SuccessfulCompletion, "%d of %d groups were kept, whose rows have not changed", g.Kept, g.Total).WithSeverity(pgerr.SevNotice))
	}
	for _, w := range v.Warnings {
		r.Notice(pgerr.New(pgerr.Warning, "%s", w.Message).WithSeverity(pgerr.SevWarning).WithHint("%s", w.Hint))
	}
	if v.Converged || v.Groups != nil { // there is a warning with the number of groups
		return
	}
	r.Notice(pgerr.New(pgerr.Warning, "the training of model %q did not converge in %d iterations", r.Name[len(r.Name)-1], v.Iterations).
		WithSeverity(pgerr.SevWarning).WithHint("%s", advice))
}

// forTransaction trains within the session's transaction block.
func (j *Jobs) forTransaction(ctx context.Context, r *Request, old *catalog.Model, job *catalog.Job, p *Plan) (*catalog.ModelVersion, error) {
	d, err := j.inSession(ctx, r, job, p, nil)
	if err != nil {
		return nil, err
	}
	defer d.rec.close()
	m, v, err := j.version(ctx, job, old, d)
	if err != nil {
		return nil, err
	}
	return v, r.Put(m)
}

// inSession drives a job of the session on this node. At the end it removes the record, or keeps the
// error there. If there is no error, the caller must close d.rec.
func (j *Jobs) inSession(ctx context.Context, r *Request, job *catalog.Job, p *Plan, show *query.Explain) (*drive, error) {
	job.Coordinator = j.cfg.Self
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var err error
	if job.OID, err = j.cfg.NewOID(ctx); err != nil {
		return nil, err
	}
	leave := j.attach(job.OID, cancel)
	defer leave()
	if err := j.putJob(ctx, job); err != nil {
		return nil, err
	}
	d := &drive{j: j, statement: r.Statement, x: r.Run, state: p.State, plan: p, query: p.Query, rec: newRecord(j, job, r.Notice), show: show, base: r.base}
	if err = query.Cause(ctx, d.run(ctx)); err == nil {
		j.outcomes.count(catalog.JobDone)
		d.rec.drop()
		return d, nil
	}
	end := failed(job, err)
	j.outcomes.count(end.State)
	if show != nil {
		d.rec.drop()
	} else {
		d.rec.commit(d.rec.progress(), end)
	}
	d.rec.close()
	return d, err
}

// place returns the schema of the model, and the model if it exists already.
func (s Statement) place(c *query.Caller, st *catalog.State) (types.OID, *catalog.Model, error) {
	var sc *catalog.Schema
	schema, _, err := catalog.ObjectName(s.Name...)
	if err != nil {
		return 0, nil, pgerr.From(err).At(s.NamePos)
	}
	if schema != "" {
		if sc = st.SchemaByName(schema); sc == nil {
			return 0, nil, pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", schema).At(s.NamePos)
		}
	} else {
		for _, p := range c.Schemas(st) {
			if p.OID != c.Temp {
				sc = p
				break
			}
		}
		if sc == nil {
			return 0, nil, pgerr.New(pgerr.InvalidSchemaName, "no schema has been selected to create in").At(s.NamePos)
		}
	}
	if sc.OID < types.FirstUserOID && sc.OID != catalog.PublicOID {
		return 0, nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", sc.Name)
	}
	m := st.Model(sc.OID, s.Name[len(s.Name)-1])
	if m == nil && !st.May(c.Role, sc.Object(), 'C') {
		return 0, nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", sc.Name)
	}
	switch {
	case m != nil && !s.OrReplace && !s.IfNotExists:
		return 0, nil, pgerr.New(pgerr.DuplicateObject, "model %q already exists", m.Name).At(s.NamePos).
			WithHint("Use TRAIN OR REPLACE MODEL to add a version, or DROP MODEL first.")
	case m != nil && !s.IfNotExists:
		if err := c.MustOwn(st, m); err != nil {
			return 0, nil, err
		}
	}
	return sc.OID, m, nil
}
