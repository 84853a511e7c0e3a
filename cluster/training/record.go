package training

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// record is a running training's record in the catalog as its driver keeps
// it: brought up to date at most once a second, and with every checkpoint. It
// is for the driver's goroutine.
type record struct {
	j      *Jobs
	job    *catalog.Job
	notice func(*pgerr.Error) // of an attached job: who gets the notices
	last   time.Time
	state  string
	rows   int64
	hist   []catalog.Iteration // not in the catalog yet
	iter   int
	resume *catalog.Segment // holds the last checkpoint
	saved  int              // its iteration
	// model is what holds the trained model, which is kept until close.
	model   *catalog.Segment
	release func()
}

func newRecord(j *Jobs, job *catalog.Job, notice func(*pgerr.Error)) *record {
	return &record{j: j, job: job, notice: notice, last: time.Now(), iter: job.Iteration, saved: job.Iteration, resume: job.Blob(), release: func() {}}
}

// putJob commits a new job's record. It is committed by itself: a training is
// seen while its transaction is open.
func (j *Jobs) putJob(ctx context.Context, job *catalog.Job) (err error) {
	if job.OID == 0 {
		if job.OID, err = j.cfg.NewOID(ctx); err != nil {
			return err
		}
	}
	changes := []catalog.Change{&catalog.PutJob{Job: job}}
	for _, old := range j.cfg.Catalog.Current().Jobs() {
		if old.Schema == job.Schema && old.Model == job.Model && resumable(old) {
			changes = append(changes, &catalog.DropJob{OID: old.OID}) // this one is in its place
		}
	}
	return j.cfg.Catalog.Commit(ctx, changes)
}

func (r *record) log() *slog.Logger { return r.j.cfg.Log.With("job", r.job.OID, "model", r.job.Model) }

func (r *record) phase(p string, rows int64) {
	r.state, r.rows = p, rows
	r.update()
}

// event takes an iteration or a phase of the training.
func (r *record) event(e train.Event) {
	if e.Phase != "" {
		r.state = e.Phase
	}
	if it := e.Iteration; it != nil {
		r.iter = it.Number
		r.hist = append(r.hist, catalog.Iteration{Number: it.Number, TrainLoss: it.TrainLoss, ValidationLoss: it.ValidationLoss, Seconds: it.Seconds})
	}
	if time.Since(r.last) < time.Second {
		return
	}
	if n := len(r.hist); n > 0 && r.notice != nil {
		r.notice(progressNotice(r.job.Model, r.hist[n-1]))
	}
	r.update()
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
func (r *record) progress() *catalog.JobProgress {
	return &catalog.JobProgress{OID: r.job.OID, ExpectEpoch: r.job.Epoch, Iteration: r.iter, Phase: r.state, Rows: r.rows,
		UpdatedMicros: time.Now().UnixMicro(), History: r.hist}
}

// update brings the catalog up to date. A failure to do so is not the
// training's: if the job has gone to another node, the supervisor stops it.
func (r *record) update() {
	r.last = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.j.cfg.Catalog.Commit(ctx, []catalog.Change{r.progress()}); err != nil {
		r.log().Warn("training progress", "error", err)
		return
	}
	r.hist = nil
}

// saveEvery is how often a checkpoint is worth a commit: what is lost with its
// driver is less than that much work.
const saveEvery = 500 * time.Millisecond

// Save implements train.Checkpointer. Where the optimiser goes on from does not
// change where it arrives, so a checkpoint may as well be left out.
func (r *record) Save(ctx context.Context, iteration int, write func(io.Writer) error) error {
	if r.saved > 0 && time.Since(r.last) < saveEvery {
		return nil
	}
	defer r.j.cfg.Blobs.Hold()()
	ref, err := r.j.cfg.Blobs.Put(ctx, write)
	if err != nil {
		return err
	}
	p := r.progress()
	p.Checkpoint, p.CheckpointFile, p.CheckpointNodes, p.CheckpointSHA, p.CheckpointBytes = ref.Inline, ref.ID, ref.Nodes, ref.SHA256, ref.Bytes
	if err := r.j.cfg.Catalog.Commit(ctx, []catalog.Change{p}); err != nil {
		return err
	}
	r.discard()
	r.resume, r.last, r.saved, r.hist = ref, time.Now(), iteration, nil
	return nil
}

// discard removes the file of the last checkpoint, unless the catalog names it. The
// sweep would wait for the statement that waits for the training.
func (r *record) discard() {
	if r.resume != nil && r.resume.Inline == nil {
		r.j.cfg.Blobs.Discard(r.resume)
	}
}

// keep writes the trained model to where it is to stay, if a commit names it before
// close.
func (r *record) keep(ctx context.Context, m *model.Model) (err error) {
	r.release()
	r.release = r.j.cfg.Blobs.Hold()
	r.model, err = r.j.cfg.Blobs.Put(ctx, m.Write)
	return err
}

// close ends the driver's part, when the record says what became of the job.
func (r *record) close() {
	r.release()
	r.discard()
}

// drop takes the record away.
func (r *record) drop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.j.cfg.Catalog.Commit(ctx, []catalog.Change{&catalog.DropJob{OID: r.job.OID}}); err != nil {
		r.log().Warn("ending a training job", "error", err)
	}
}

// resumable reports whether RESUME TRAINING has something to go on from.
func resumable(j *catalog.Job) bool {
	return !j.Attached && (j.State == catalog.JobFailed || j.State == catalog.JobCancelled) && (j.Checkpoint != nil || !j.CheckpointFile.IsZero())
}
