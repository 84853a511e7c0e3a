package coord

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/catalog/pack"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// jobSession is what a job's statement needs of the session that gave it, so
// that it means the same on another node and later.
type jobSession struct {
	User     types.OID
	Temp     types.OID
	Now      time.Time
	Settings []catalog.NamedText
	Types    []types.Type
	Params   []byte // packed datums
}

// notForJobs are settings that say how long a client waits, not what a
// statement means.
var notForJobs = map[string]bool{"statement_timeout": true, "lock_timeout": true, "idle_in_transaction_session_timeout": true, "idle_session_timeout": true}

// forJob packs what a job needs of the session.
func (s *Session) forJob(x *execution) []byte {
	j := jobSession{User: s.user, Temp: s.temp, Now: x.env.Types.Now, Types: x.ptypes, Params: pack.Marshal(x.params)}
	start := settings.NewSet()
	for _, d := range settings.All() {
		if v := s.set.Value(d.Name); d.OfSession() && !notForJobs[d.Name] && v != start.Value(d.Name) {
			j.Settings = append(j.Settings, catalog.NamedText{Name: d.Name, Value: v})
		}
	}
	return pack.Marshal(j)
}

// sessionOf makes a session of nobody's connection for a job, in a transaction
// over what the job reads.
func (e *Engine) sessionOf(job *catalog.Job, st *catalog.State) (*Session, *jobSession, error) {
	j, err := pack.Unmarshal[jobSession](job.Session)
	if err != nil {
		return nil, nil, err
	}
	role := st.Role(j.User)
	if role == nil {
		return nil, nil, pgerr.New(pgerr.UndefinedObject, "the role that trains %s was dropped", job.Model)
	}
	s := &Session{engine: e, set: settings.NewSet(), user: j.User, role: job.Owner, temp: j.Temp, started: time.Now(),
		named: map[string]*named{}, cursors: map[string]*cursor{}}
	s.start.User, s.start.Database = role.Name, catalog.DatabaseName
	s.activity.Store(&Activity{State: "active", Since: s.started})
	if err := s.init(role); err != nil {
		return nil, nil, err
	}
	for _, v := range j.Settings {
		if err := s.set.SetStart(v.Name, v.Value); err != nil {
			return nil, nil, err
		}
	}
	s.refreshEnv()
	s.tx = s.newTxn(false)
	s.tx.iso, s.tx.base, s.tx.start = snapshot, job.At(st), j.Now
	return s, &j, nil
}

// trainingOf reads a job's statement in its session.
func trainingOf(s *Session, job *catalog.Job, st *catalog.State) (*training, error) {
	list, err := parse.Parse(job.Statement, s.dialect())
	if err != nil {
		return nil, err
	}
	if len(list) == 1 {
		if own, ok := list[0].Own.(*parse.TrainModel); ok {
			n := *own
			n.Name, n.OrReplace = []string{job.Model}, job.Replace != 0
			if sc := st.Schema(job.Schema); sc != nil {
				n.Name = []string{sc.Name, job.Model}
			}
			return &training{s: s, st: list[0], n: &n}, nil
		}
	}
	return nil, pgerr.New(pgerr.DataCorrupted, "training job %d has no TRAIN statement", job.OID)
}

// driveJob drives a job to its end and commits its model. An error of the job
// itself is in its record then; what is returned is why there is none.
func (e *Engine) driveJob(ctx context.Context, job *catalog.Job) error {
	p, err := e.trainJob(ctx, job)
	for try := 1; err == nil; try++ {
		if err = e.finishJob(ctx, job, p); err == nil {
			return nil
		}
		if pgerr.CodeOf(err) == pgerr.CannotConnectNow && ctx.Err() == nil {
			err, try = nil, try-1 // it waits for a leader each time
			continue
		}
		j := e.cfg.Meta.Current().Job(job.OID)
		if mine := j != nil && j.Epoch == job.Epoch; try < 5 && mine && pgerr.CodeOf(err) == pgerr.SerializationFailure {
			err = nil // the model was changed at the same time
		}
	}
	err = cause(ctx, err)
	if ctx.Err() != nil && pgerr.CodeOf(err) != pgerr.QueryCanceled || pgerr.CodeOf(err) == pgerr.CannotConnectNow {
		return err // this node stops, or the job is another's, or no leader is there: it goes on there, or later
	}
	pe := pgerr.From(err)
	end := &catalog.EndJob{OID: job.OID, ExpectEpoch: job.Epoch, State: catalog.JobFailed, UpdatedMicros: time.Now().UnixMicro(),
		Error: pe.Message, ErrorCode: string(pe.Code), ErrorDetail: pe.Detail, ErrorHint: pe.Hint, ErrorPosition: pe.Position}
	if pe.Code == pgerr.QueryCanceled {
		end.State = catalog.JobCancelled
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return e.cfg.Meta.Commit(late, []catalog.Change{end})
}

// trained is a job's outcome before it is committed.
type trained struct {
	t    *training
	plan *trainPlan
	res  *train.Result
}

// trainJob trains a job's model.
func (e *Engine) trainJob(ctx context.Context, job *catalog.Job) (*trained, error) {
	if err := e.cfg.Meta.Barrier(ctx); err != nil {
		return nil, err
	}
	st := e.cfg.Meta.Current()
	s, js, err := e.sessionOf(job, st)
	if err != nil {
		return nil, err
	}
	// The session is not closed: nothing of it is open but the execution, and
	// its temporary tables are another session's.
	t, err := trainingOf(s, job, st)
	if err != nil {
		return nil, err
	}
	params, err := pack.Unmarshal[[]types.Datum](js.Params)
	if err != nil {
		return nil, err
	}
	x, err := s.newExecution(ctx, &Prepared{s: s, piece: &Piece{stmt: t.st}, h: &handler{params: js.Types}}, params)
	if err != nil {
		return nil, err
	}
	defer x.end()
	view, err := x.view()
	if err != nil {
		return nil, err
	}
	p, err := t.bind(x.ctx, view, js.Types)
	if err != nil {
		return nil, err
	}
	rec := newJobRecord(e, job, nil)
	rec.load(ctx)
	res, err := t.drive(x.ctx, x, view, p, rec)
	if err != nil {
		return nil, cause(x.ctx, err)
	}
	return &trained{t: t, plan: p, res: res}, nil
}

// finishJob commits the model and the job's end as one.
func (e *Engine) finishJob(ctx context.Context, job *catalog.Job, p *trained) error {
	if err := e.cfg.Meta.Barrier(ctx); err != nil {
		return err
	}
	st := e.cfg.Meta.Current()
	if j := st.Job(job.OID); j != nil && j.State == catalog.JobDone {
		return nil // an earlier try went through after all
	}
	old := st.Model(job.Schema, job.Model)
	if old != nil && job.Replace == 0 {
		return pgerr.New(pgerr.DuplicateObject, "model %q already exists", job.Model).
			WithHint("It was made while this one was trained.")
	}
	m, v, err := p.t.version(ctx, job, old, p.plan, p.res)
	if err != nil {
		return err
	}
	err = e.cfg.Meta.Commit(ctx, []catalog.Change{&catalog.EndJob{OID: job.OID, ExpectEpoch: job.Epoch, State: catalog.JobDone,
		Number: v.Number, UpdatedMicros: time.Now().UnixMicro()}, m})
	if pgerr.CodeOf(err) == pgerr.StatementCompletionUnknown {
		// To try again is safe though it is another commit: the job ends once, and
		// the model goes with that.
		return pgerr.New(pgerr.SerializationFailure, "the commit of model %q may not have gone through", job.Model)
	}
	return err
}
