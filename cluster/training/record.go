package training

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// jobRecord maintains a running training's record in the catalog. It commits progress at most once a
// second, and with every checkpoint. It is for the driver's goroutine, which does not wait for a commit of
// progress: with a training of a few milliseconds it would wait for little else, and without a
// leader for seconds.
type jobRecord struct {
	j      *Jobs
	job    *catalog.Job
	notice func(*pgerr.Error) // receives the notices of an attached job
	last   time.Time          // of the start, or the last commit of progress or a checkpoint
	kept   time.Time          // of the last checkpoint
	state  string
	rows   int64
	hist   []catalog.Iteration       // those that are not in the catalog yet
	trials []catalog.ModelTrial      // as they changed, likewise
	sent   chan *catalog.JobProgress // receives what the commit under way has taken of these; nil: none is
	iter   int
	resume *catalog.Segment // the last checkpoint
	saved  int              // its iteration
	// merges is the tree of reductions, until a commit of progress takes it along.
	merges []catalog.JobMerge
	// commits is how many commits of the job's record there were, the first included.
	commits int
	// models are the trained model and those of other trials that are kept, whose files are protected from the
	// sweep until close.
	models  []*catalog.Segment
	release []func()
}

func newRecord(j *Jobs, job *catalog.Job, notice func(*pgerr.Error)) *jobRecord {
	return &jobRecord{j: j, job: job, notice: notice, last: time.Now(), state: job.Phase, rows: job.Rows, iter: job.Iteration, saved: job.Iteration, resume: job.Blob(), commits: 1}
}

// putJob commits a new job's record at once, also within a transaction block, so that other sessions
// see the training while it runs.
func (j *Jobs) putJob(ctx context.Context, job *catalog.Job) (err error) {
	if job.OID == 0 {
		if job.OID, err = j.cfg.NewOID(ctx); err != nil {
			return err
		}
	}
	changes := []catalog.Change{&catalog.PutJob{Job: job}}
	for _, old := range j.cfg.Catalog.Current().Jobs() {
		if job.Verify == 0 && old.Schema == job.Schema && old.Model == job.Model && resumable(old) {
			changes = append(changes, &catalog.DropJob{OID: old.OID}) // replaced by this one
		}
	}
	return j.cfg.Catalog.Commit(ctx, changes)
}

// reduces notes the tree in which the nodes, in the order of the workers, merge their sums.
func (r *jobRecord) reduces(nodes []uint64) {
	workers := make([]int, len(nodes))
	for i := range workers {
		workers[i] = i
	}
	r.merges = nil
	p := reduce.NewPlan(workers).To(0)
	root := p.Root()
	for level := root.Level; level >= 0; level-- {
		for i := int32(0); p.Valid(reduce.Node{Level: level, Index: i}); i++ {
			r.merges = append(r.merges, catalog.JobMerge{Level: int(level), Index: int(i), Node: nodes[p.Home(reduce.Node{Level: level, Index: i})]})
		}
	}
}

func (r *jobRecord) log() *slog.Logger {
	return r.j.cfg.Log.With("job", r.job.OID, "model", r.job.Model)
}

func (r *jobRecord) phase(p string, rows int64) {
	if r.state == p && r.rows == rows {
		return
	}
	r.state, r.rows = p, rows
	r.update()
}

// groups notes how many groups are trained, and commits it once a second.
func (r *jobRecord) groups(n int) {
	if r.iter = n; time.Since(r.last) >= time.Second {
		r.update()
	}
}

// event notes an iteration or a phase of the training, and commits and reports progress once a second.
func (r *jobRecord) event(e train.Event) {
	if e.Phase != "" {
		r.state = e.Phase
	}
	if e.Trial != nil {
		r.trials = append(r.trials, e.Trial.Record())
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

// progress returns the change that updates the record, once no other is under way.
func (r *jobRecord) progress() *catalog.JobProgress {
	r.settle()
	merges := r.merges
	r.merges = nil
	return &catalog.JobProgress{OID: r.job.OID, ExpectEpoch: r.job.Epoch, Iteration: r.iter, Phase: r.state, Rows: r.rows,
		UpdatedMicros: time.Now().UnixMicro(), History: r.hist, Merges: merges, Trials: r.trials}
}

// update begins to commit the progress. Its failure does not fail the training: if the reason is that
// the job was assigned to another node, the supervisor will stop this driver.
func (r *jobRecord) update() {
	r.last = time.Now()
	p, sent := r.progress(), make(chan *catalog.JobProgress, 1)
	r.sent = sent
	r.commits++
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := r.j.cfg.Catalog.Commit(ctx, []catalog.Change{p}); err != nil {
			r.log().Warn("training progress", "error", err)
			sent <- &catalog.JobProgress{}
			return
		}
		sent <- p
	}()
}

// settle waits for a commit of progress that is under way.
func (r *jobRecord) settle() {
	if r.sent != nil {
		p := <-r.sent
		r.hist, r.trials, r.sent = r.hist[len(p.History):], r.trials[len(p.Trials):], nil
	}
}

// saveEvery is the least time between two checkpoints. Progress does not count: a training whose
// iterations each take more than a second commits it right before each checkpoint.
const saveEvery = 500 * time.Millisecond

// Save implements train.Checkpointer. It may skip a checkpoint: a training that resumes from an earlier
// one has the same result.
func (r *jobRecord) Save(ctx context.Context, iteration int, write func(io.Writer) error) error {
	if r.saved > 0 && time.Since(r.kept) < saveEvery {
		return nil
	}
	defer r.j.cfg.Blobs.Hold()()
	ref, err := r.j.cfg.Blobs.Put(ctx, write)
	if err != nil {
		return err
	}
	p := r.progress()
	p.Checkpoint, p.CheckpointFile, p.CheckpointNodes, p.CheckpointSHA, p.CheckpointBytes = ref.Inline, ref.ID, ref.Nodes, ref.SHA256, ref.Bytes
	r.commits++
	if err := r.j.cfg.Catalog.Commit(ctx, []catalog.Change{p}); err != nil {
		return err
	}
	r.discard()
	now := time.Now()
	r.resume, r.last, r.kept, r.saved, r.hist = ref, now, now, iteration, nil
	r.trials = nil
	return nil
}

// discard removes the file of the last checkpoint, unless the catalog refers to it. The sweep would
// remove it only after the statement that waits for the training.
func (r *jobRecord) discard() {
	if r.resume != nil && r.resume.Inline == nil {
		r.j.cfg.Blobs.Discard(r.resume)
	}
}

// forget drops the models of an earlier attempt.
func (r *jobRecord) forget() {
	for _, release := range r.release {
		release()
	}
	r.models, r.release = nil, nil
}

// keep stores a trained model. A commit must refer to it before close, or the sweep removes its file. Of a verification
// only the hash is kept.
func (r *jobRecord) keep(ctx context.Context, write func(io.Writer) error) error {
	if r.job.Verify != 0 {
		h, ref := sha256.New(), &catalog.Segment{}
		err := write(h)
		h.Sum(ref.SHA256[:0])
		r.models = append(r.models, ref)
		return err
	}
	r.release = append(r.release, r.j.cfg.Blobs.Hold())
	ref, err := r.j.cfg.Blobs.Put(ctx, write)
	r.models = append(r.models, ref)
	return err
}

// cancelled reports whether a trial was cancelled alone.
func (r *jobRecord) cancelled(trial int) bool {
	j := r.j.cfg.Catalog.Current().Job(r.job.OID)
	if j == nil {
		return false
	}
	_, asked := slices.BinarySearch(j.CancelledTrials, trial)
	return asked
}

// close releases the model's file and discards the last checkpoint, when the outcome of the job is
// committed.
func (r *jobRecord) close() {
	r.settle()
	r.forget()
	r.discard()
}

// drop removes the record from the catalog.
func (r *jobRecord) drop() {
	r.settle()
	r.commit(&catalog.DropJob{OID: r.job.OID})
}

// commit commits the end of the job, also where its statement has been stopped.
func (r *jobRecord) commit(changes ...catalog.Change) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r.commits++
	if err := r.j.cfg.Catalog.Commit(ctx, changes); err != nil {
		r.log().Warn("ending a training job", "error", err)
	}
}

// resumable reports whether RESUME TRAINING can continue the job: it failed or was cancelled outside of
// a transaction block, and has a checkpoint.
func resumable(j *catalog.Job) bool {
	return !j.Attached && (j.State == catalog.JobFailed || j.State == catalog.JobCancelled) && (j.Checkpoint != nil || !j.CheckpointFile.IsZero())
}
