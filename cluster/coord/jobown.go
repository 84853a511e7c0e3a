package coord

import (
	"context"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// findJob finds the training of a model that ok takes, the newest of several.
func (s *Session) findJob(st *catalog.State, name []string, ok func(*catalog.Job) bool) (*catalog.Job, error) {
	schemas := s.path(st)
	if len(name) > 1 {
		schemas = nil
		if sc := st.SchemaByName(name[0]); sc != nil {
			schemas = append(schemas, sc)
		}
	}
	var found *catalog.Job
	for _, sc := range schemas {
		for _, j := range st.Jobs() {
			if j.Schema == sc.OID && j.Model == name[len(name)-1] && ok(j) {
				found = j
			}
		}
		if found != nil {
			break
		}
	}
	if found != nil && !st.Inherits(s.role, found.Owner) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of training job %s", found.Model)
	}
	return found, nil
}

// cancelTraining asks the running training of a model to stop.
func (s *Session) cancelTraining(n *parse.CancelTraining) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		m := s.engine.cfg.Meta
		if err := m.Barrier(ctx); err != nil {
			return "", err
		}
		j, err := s.findJob(m.Current(), n.Name, func(j *catalog.Job) bool { return j.State == catalog.JobRunning })
		if err != nil {
			return "", err
		}
		if j == nil {
			return "", pgerr.New(pgerr.UndefinedObject, "no training of model \"%s\" is running", dotted(n.Name))
		}
		return "CANCEL TRAINING", m.Commit(ctx, []catalog.Change{&catalog.CancelJob{OID: j.OID}})
	}), nil
}

// resumeTraining sets a training going again from its last checkpoint, and
// waits for its model; one that is running it only waits for.
func (s *Session) resumeTraining(n *parse.ResumeTraining) (*handler, error) {
	return &handler{cols: trainColumns(), open: func(ctx context.Context, x *execution) (*result, error) {
		if s.tx.explicit {
			return nil, pgerr.New(pgerr.ActiveSQLTransaction, "RESUME TRAINING cannot run inside a transaction block")
		}
		st, err := x.view()
		if err != nil {
			return nil, err
		}
		j, err := s.findJob(st, n.Name, func(j *catalog.Job) bool { return j.State == catalog.JobRunning && !j.Attached || resumable(j) })
		if err != nil {
			return nil, err
		}
		if j == nil {
			return nil, pgerr.New(pgerr.UndefinedObject, "there is no training of model \"%s\" to resume", dotted(n.Name)).
				WithHint("A training that failed or was cancelled can be resumed for a day, once it has made a checkpoint.")
		}
		if j.State != catalog.JobRunning {
			c := &catalog.TakeJob{OID: j.OID, ExpectEpoch: j.Epoch, Coordinator: s.engine.driverFor(), Restart: true}
			if err := s.engine.cfg.Meta.Commit(ctx, []catalog.Change{c}); err != nil {
				return nil, err
			}
		}
		v, err := s.outcome(ctx, j)
		if err != nil {
			return nil, err
		}
		return trainRow(st.Schema(j.Schema), j.Model, v, "RESUME TRAINING")
	}}, nil
}
