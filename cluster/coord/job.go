package coord

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// jobRecord is a running training's record in the catalog as its driver keeps
// it: brought up to date at most once a second, and with every checkpoint. It
// is for the driver's goroutine.
type jobRecord struct {
	e       *Engine
	job     *catalog.Job
	session *Session // of an attached job: who gets the notices
	last    time.Time
	state   string
	rows    int64
	hist    []catalog.Iteration // not in the catalog yet
	iter    int
	resume  []byte // the last checkpoint
	saved   int    // its iteration
}

func newJobRecord(e *Engine, job *catalog.Job, s *Session) *jobRecord {
	return &jobRecord{e: e, job: job, session: s, last: time.Now(), iter: job.Iteration, saved: job.Iteration}
}

// putJob commits a new job's record. It is committed by itself: a training is
// seen while its transaction is open.
func (e *Engine) putJob(ctx context.Context, job *catalog.Job) (err error) {
	if job.OID == 0 {
		if job.OID, err = e.newOID(ctx); err != nil {
			return err
		}
	}
	changes := []catalog.Change{&catalog.PutJob{Job: job}}
	for _, old := range e.cfg.Meta.Current().Jobs() {
		if old.Schema == job.Schema && old.Model == job.Model && resumable(old) {
			changes = append(changes, &catalog.DropJob{OID: old.OID}) // this one is in its place
		}
	}
	return e.cfg.Meta.Commit(ctx, changes)
}

func (j *jobRecord) log() *slog.Logger { return j.e.log.With("job", j.job.OID, "model", j.job.Model) }

func (j *jobRecord) phase(p string, rows int64) {
	j.state, j.rows = p, rows
	j.update()
}

// event takes an iteration or a phase of the training.
func (j *jobRecord) event(e train.Event) {
	if e.Phase != "" {
		j.state = e.Phase
	}
	if it := e.Iteration; it != nil {
		j.iter = it.Number
		j.hist = append(j.hist, catalog.Iteration{Number: it.Number, TrainLoss: it.TrainLoss, ValidationLoss: it.ValidationLoss, Seconds: it.Seconds})
	}
	if time.Since(j.last) < time.Second {
		return
	}
	if n := len(j.hist); n > 0 && j.session != nil {
		j.session.notice(progressNotice(j.job.Model, j.hist[n-1]))
	}
	j.update()
}

func progressNotice(model string, it catalog.Iteration) *pgerr.Error {
	msg := fmt.Sprintf("training %s: iteration %d", model, it.Number)
	if !math.IsNaN(it.TrainLoss) {
		msg += fmt.Sprintf(", loss %.6g", it.TrainLoss)
	}
	if !math.IsNaN(it.ValidationLoss) {
		msg += fmt.Sprintf(", validation loss %.6g", it.ValidationLoss)
	}
	return pgerr.New(pgerr.SuccessfulCompletion, "%s", msg).WithSeverity(pgerr.SevNotice)
}

// progress is the change that brings the record up to date.
func (j *jobRecord) progress() *catalog.JobProgress {
	return &catalog.JobProgress{OID: j.job.OID, ExpectEpoch: j.job.Epoch, Iteration: j.iter, Phase: j.state, Rows: j.rows,
		UpdatedMicros: time.Now().UnixMicro(), History: j.hist}
}

// update brings the catalog up to date. A failure to do so is not the
// training's: if the job has gone to another node, the supervisor stops it.
func (j *jobRecord) update() {
	j.last = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := j.e.cfg.Meta.Commit(ctx, []catalog.Change{j.progress()}); err != nil {
		j.log().Warn("training progress", "error", err)
		return
	}
	j.hist = nil
}

// inlineCheckpoint is the size to which a checkpoint rides in the catalog.
const inlineCheckpoint = 64 << 10

// saveEvery is how often a checkpoint is worth a commit: what is lost with its
// driver is less than that much work.
const saveEvery = 500 * time.Millisecond

// Save implements train.Checkpointer. Where the optimiser goes on from does not
// change where it arrives, so a checkpoint may as well be left out.
func (j *jobRecord) Save(ctx context.Context, iteration int, state []byte) error {
	j.resume = state
	if j.job.Attached || j.saved > 0 && time.Since(j.last) < saveEvery {
		return nil
	}
	p := j.progress()
	if len(state) <= inlineCheckpoint {
		p.Checkpoint = state
	} else {
		defer j.e.cfg.Blobs.Hold()()
		ref, err := j.e.cfg.Blobs.Put(ctx, state)
		if err != nil {
			return err
		}
		p.CheckpointFile, p.CheckpointNodes, p.CheckpointSHA = ref.ID, ref.Nodes, ref.SHA256
	}
	if err := j.e.cfg.Meta.Commit(ctx, []catalog.Change{p}); err != nil {
		return err
	}
	j.last, j.saved, j.hist = time.Now(), iteration, nil
	return nil
}

// load fetches the job's checkpoint. A training goes on without one that is lost.
func (j *jobRecord) load(ctx context.Context) {
	j.resume = j.job.Checkpoint
	if j.job.CheckpointFile.IsZero() {
		return
	}
	b, err := j.e.cfg.Blobs.Get(ctx, &catalog.Segment{ID: j.job.CheckpointFile, Nodes: j.job.CheckpointNodes, SHA256: j.job.CheckpointSHA})
	if err != nil {
		j.log().Warn("training starts anew: its checkpoint cannot be read", "error", err)
		return
	}
	j.resume = b
}

// drop takes the record away.
func (j *jobRecord) drop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := j.e.cfg.Meta.Commit(ctx, []catalog.Change{&catalog.DropJob{OID: j.job.OID}}); err != nil {
		j.log().Warn("ending a training job", "error", err)
	}
}
