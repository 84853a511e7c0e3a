package train

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/ml/rows"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// bytesOf returns the size of a batch's selected rows.
func bytesOf(b *batch.Batch) int64 {
	if b.N == 0 {
		return 0
	}
	var n int64
	for _, c := range b.Cols {
		n += batch.ArrayBytes(c)
	}
	return n * int64(b.Rows()) / int64(b.N)
}

// WorkerConfig is a node's configuration of its part of a job: what its rows need
// (rows.Config). Context may be nil: never; Threads and Workers 0: 1. Blocks is set by the worker.
type WorkerConfig rows.Config

// Worker is one node's part in a job: its rows, later its leaves' blocks, and the tasks over
// them.
type Worker struct {
	ledger
	job   *Job
	cfg   WorkerConfig
	rows  rows.Rows    // nil once they are left
	nodes *reduce.Plan // of partials of nodes

	due    bool         // rows are where they belong, and the leaves are to be assigned
	owners []int        // of the leaves
	plan   *reduce.Plan // nil until they are assigned
	leaves []int        // own ones, ascending

	state   *block.State // the family's, of rows
	scores  scores
	fold    int // of the rows, the blocks and the family's worker
	fitted  *feature.Fitted
	family  family.Worker  // made by the first step
	last    *Part          // the last one begun
	turn    sync.Mutex     // of Begin
	iter    int            // of the last task
	running sync.WaitGroup // parts that were begun and have not run to their end
	lanes   *lanes         // nil of a lane
	gone    bool           // the lane has ended
	taken   bool           // the blocks are of an earlier training: see Take
	earlier int64          // bytes of theirs

	// for Usage
	read    atomic.Int64
	before  int64
	stepped sync.Once
}

// NewWorker makes a node's part in a job.
func NewWorker(job *Job, cfg WorkerConfig) (*Worker, error) {
	cfg.Threads, cfg.Workers = max(cfg.Threads, 1), max(cfg.Workers, 1)
	if cfg.Context == nil {
		cfg.Context = context.Background()
	}
	w := &Worker{job: job, lanes: &lanes{}, ledger: ledger{pool: cfg.Pool, blocks: block.NewBlocks(block.Config{Pool: cfg.Pool, Temp: cfg.Temp})}}
	cfg.Blocks, w.cfg = w.blocks, cfg
	var err error
	if w.rows, err = rows.New(job.rows(), rows.Config(cfg)); err != nil {
		return nil, err
	}
	w.inbox = cfg.Pool.Account("training messages", false)
	w.renew()
	nodes := make([]int, cfg.Workers)
	for i := range nodes {
		nodes[i] = i
	}
	w.nodes = reduce.NewPlan(nodes)
	return w, nil
}

// renew makes room for what is learnt from the rows.
func (w *Worker) renew() {
	w.ledger.renew()
	w.state = block.NewState(block.Config{Pool: w.cfg.Pool, Temp: w.cfg.Temp})
	w.scores = scores{blocks: w.blocks}
}

// nextFold drops what was derived from the rows for another fold.
func (w *Worker) nextFold(fold int) error {
	if err := w.rows.NextFold(); err != nil {
		return err
	}
	if w.family != nil {
		w.family.Close()
	}
	if err := errors.Join(w.blocks.Reset(), w.state.Close()); err != nil {
		return err
	}
	w.renew()
	w.fold, w.fitted, w.family = fold, nil, nil
	return nil
}

// nextTrial has the worker go on with another trial over the blocks that it has: what
// the last one's family has derived from them is dropped.
func (w *Worker) nextTrial(job *Job) error {
	if !bytes.Equal(job.Encoding(), w.job.Encoding()) {
		return pgerr.Internal("a trial wants rows that are encoded in another way")
	}
	if w.family != nil {
		w.family.Close()
		w.family = nil
	}
	w.scores.drop()
	err := w.state.Close()
	w.renew()
	w.job = job
	return err
}

// Job returns the worker's job.
func (w *Worker) Job() *Job { return w.job }

// Add adds rows of the query, with the job's columns in order.
func (w *Worker) Add(ctx context.Context, b *batch.Batch) error {
	w.read.Add(bytesOf(b))
	return w.rows.Add(ctx, b)
}

// Put takes rows that another worker sent: see rows.Distributed.
func (w *Worker) Put(part []byte) error {
	d, err := w.distributed()
	if err != nil {
		return err
	}
	return d.Put(part)
}

// distributed returns the rows, of a job whose rows are sent to the owners of their leaves.
func (w *Worker) distributed() (rows.Distributed, error) {
	d, ok := w.rows.(rows.Distributed)
	if !ok {
		return nil, pgerr.Internal("rows in place would be distributed")
	}
	return d, nil
}

// settle assigns the leaves, when the rows are where they belong.
func (w *Worker) settle() error {
	if w.due {
		return w.share(w.owners, nil)
	}
	if w.plan == nil {
		return pgerr.Internal("a training task came before the leaves were assigned")
	}
	return nil
}

// share assigns the leaves, which share the copies of frequent rows.
func (w *Worker) share(owners []int, frequent []record.Frequent) error {
	owners, err := w.rows.Assign(owners, frequent)
	if err == nil {
		w.assign(owners)
	}
	return err
}

func (w *Worker) assign(owners []int) {
	w.owners, w.plan, w.leaves, w.due = owners, reduce.NewPlan(owners), nil, false
	for i, o := range owners {
		if o == w.cfg.Self {
			w.leaves = append(w.leaves, i)
		}
	}
}

// Close frees everything. No task may be running. It may be called twice.
func (w *Worker) Close() error {
	err := w.lanes.end(0)
	if w.family != nil {
		w.family.Close()
		w.family = nil
	}
	w.ledger.close()
	return errors.Join(err, w.blocks.Close(), w.state.Close(), w.rows.Close())
}

// Spilled returns the bytes that this job wrote to temporary files on this node.
func (w *Worker) Spilled() int64 { return w.cfg.Pool.Spilled() }

// predictor decodes a predictor of the job's model, or that of one of several targets.
func (w *Worker) predictor(d *canon.D, target int) (family.Predictor, error) {
	if w.fitted == nil {
		return nil, pgerr.Internal("a training task to measure came before one to encode")
	}
	f, _ := w.job.learns(w.fitted)
	return family.Each(w.job.Family).Decode(f.ForTarget(target), d)
}

// Home returns the node for the job's driver, where that runs along with this worker.
func (w *Worker) Home() *family.Node {
	return &family.Node{Threads: w.cfg.Threads, Root: w.cfg.Self == 0, Grow: w.grow, Space: w.state.Space, Memory: w.cfg.Pool.Limit()}
}
