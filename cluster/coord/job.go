package coord

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// jobRecord is a running training as the cluster sees it: a job in the catalog,
// brought up to date at most once a second, and the notices to the client.
type jobRecord struct {
	s      *Session
	oid    types.OID
	last   time.Time
	sent   int // iterations in the catalog
	hist   []catalog.Iteration
	name   string
	rows   int64
	state  string
	cancel context.CancelCauseFunc
}

// startJob makes the job's record. It is committed by itself: a training is
// seen while its transaction is open.
func (e *Engine) startJob(ctx context.Context, s *Session, st *catalog.State, schema types.OID, name, text string) (*jobRecord, error) {
	oid, err := e.newOID(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	job := &catalog.Job{OID: oid, Schema: schema, Model: name, Owner: s.role, Statement: text, ReadVersion: st.Version(), State: catalog.JobRunning,
		Coordinator: e.cfg.Node.ID, Epoch: 1, CreatedAt: now, UpdatedAt: now, Phase: "read"}
	if err := e.cfg.Meta.Commit(ctx, []catalog.Change{&catalog.PutJob{Job: job, New: true}}); err != nil {
		return nil, err
	}
	return &jobRecord{s: s, oid: oid, name: name, last: now}, nil
}

func (j *jobRecord) phase(p string, rows int64) {
	j.state, j.rows = p, rows
	j.update()
}

// event takes an iteration or a phase of the training.
func (j *jobRecord) event(e train.Event, rows int64) {
	if e.Phase != "" {
		j.state = e.Phase
	}
	if it := e.Iteration; it != nil {
		j.hist = append(j.hist, catalog.Iteration{Number: it.Number, TrainLoss: it.TrainLoss, ValidationLoss: it.ValidationLoss, Seconds: it.Seconds})
	}
	if time.Since(j.last) < time.Second {
		return
	}
	j.update()
	if n := len(j.hist); n > 0 {
		it := j.hist[n-1]
		msg := fmt.Sprintf("training %s: iteration %d, loss %.6g", j.name, it.Number, it.TrainLoss)
		if !math.IsNaN(it.ValidationLoss) {
			msg += fmt.Sprintf(", validation loss %.6g", it.ValidationLoss)
		}
		n := pgerr.New(pgerr.SuccessfulCompletion, "%s", msg).WithSeverity(pgerr.SevNotice)
		j.s.notice(n)
	}
}

// update brings the catalog up to date and sees whether the job is cancelled.
// A failure to do so is not the training's.
func (j *jobRecord) update() {
	j.last = time.Now()
	m := j.s.engine.cfg.Meta
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	iter := 0
	if n := len(j.hist); n > 0 {
		iter = j.hist[n-1].Number
	}
	err := m.Commit(ctx, []catalog.Change{&catalog.JobProgress{OID: j.oid, ExpectEpoch: 1, Iteration: iter, Phase: j.state, Rows: j.rows,
		UpdatedMicros: time.Now().UnixMicro(), History: j.hist[j.sent:]}})
	if err != nil {
		j.s.engine.log.Warn("training progress", "job", j.oid, "error", err)
		return
	}
	j.sent = len(j.hist)
	if job := m.Current().Job(j.oid); job != nil && job.CancelRequested && j.cancel != nil {
		j.cancel(pgerr.New(pgerr.QueryCanceled, "training of %s was cancelled", j.name))
	}
}

// end takes the job's record away: a finished training is its model.
func (j *jobRecord) end(error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := j.s.engine.cfg.Meta.Commit(ctx, []catalog.Change{&catalog.DropJob{OID: j.oid}}); err != nil {
		j.s.engine.log.Warn("ending a training job", "job", j.oid, "error", err)
	}
}
