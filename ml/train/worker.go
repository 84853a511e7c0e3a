package train

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/linear"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// WorkerConfig is what a node gives to its part of a job.
type WorkerConfig struct {
	Pool    *mem.Pool // of the job on this node
	Temp    string    // directory of temporary files
	Threads int       // goroutines of a task; 0: 1
}

// Worker is one node's part in a job: its rows, later its leaves' blocks. The
// methods of a phase may be called from several goroutines; phases follow each
// other: Add … Counts … TakeBucket, PutBucket … Assign … Begin.
type Worker struct {
	job   *Job
	cfg   WorkerConfig
	store *dataset.Store

	// set by Assign
	self   int
	plan   *reduce.Plan
	leaves []int // own ones, ascending

	mu     sync.Mutex
	rows   map[int]*dataset.Leaf // settled, until they are sealed
	drafts map[int]*draft        // of leaves that have one, likewise
	blocks *dataset.Blocks
	acct   *mem.Account
	spec   *feature.Spec
	fitted *feature.Fitted
	obj    objective.Objective
	kind   model.Kind
	idle   []*linear.Pass
	needed int64 // bytes charged for passes and partials
}

// draft is a leaf's draft and the bytes reserved for it.
type draft struct {
	*feature.Draft
	bytes int64
}

// NewWorker makes a node's part.
func NewWorker(job *Job, cfg WorkerConfig) (*Worker, error) {
	layout, err := dataset.NewLayout(job.Columns)
	if err != nil {
		return nil, err
	}
	cfg.Threads = max(cfg.Threads, 1)
	dc := dataset.Config{Pool: cfg.Pool, Temp: cfg.Temp, Seed: job.Options.Seed}
	return &Worker{job: job, cfg: cfg, store: dataset.NewStore(layout, dc), rows: map[int]*dataset.Leaf{}, drafts: map[int]*draft{}, blocks: dataset.NewBlocks(dc),
		acct: cfg.Pool.Account("training partials", false), kind: job.Algorithm()}, nil
}

// Job is the worker's job.
func (w *Worker) Job() *Job { return w.job }

// Add takes rows of the query, the job's columns in their order.
func (w *Worker) Add(ctx context.Context, b *batch.Batch) error { return w.store.Add(ctx, b) }

// Counts gives this node's rows by bucket; the sums over all nodes give the
// number of leaves (dataset.Leaves).
func (w *Worker) Counts() []int64 { return w.store.Counts() }

// TakeBucket hands out the rows of a bucket whose leaf another node owns.
func (w *Worker) TakeBucket(bucket int, emit func([]byte) error) error {
	return w.store.TakeBucket(bucket, emit)
}

// PutBucket takes rows that another node's TakeBucket emitted.
func (w *Worker) PutBucket(bucket int, rows []byte) error { return w.store.PutBucket(bucket, rows) }

// Assign ends the dealing: owners names the worker of each leaf, self is this
// one.
func (w *Worker) Assign(owners []int, self int) error {
	w.self, w.plan = self, reduce.NewPlan(owners, 0)
	w.leaves = nil
	for i, o := range owners {
		if o == self {
			w.leaves = append(w.leaves, i)
		}
	}
	return w.store.Finish()
}

// Close frees everything. No task may be running. It may be called twice.
func (w *Worker) Close() error {
	w.acct.Close()
	return errors.Join(w.store.Close(), w.blocks.Close())
}

// Spilled is the bytes this job wrote to temporary files on this node.
func (w *Worker) Spilled() int64 { return w.cfg.Pool.Spilled() }

// leafFunc computes the partial of one leaf.
type leafFunc func(ctx context.Context, leaf int) ([]byte, error)

// prepare reads a task's payload once for all leaves.
func (w *Worker) prepare(t Task) (leafFunc, error) {
	switch t.Kind {
	case TaskFit:
		return w.fit(t)
	case TaskSeal:
		return w.seal(t)
	case TaskEval:
		return w.eval(t)
	case TaskMeasure, TaskCuts:
		return w.measure(t)
	}
	return nil, pgerr.Internal("unknown training task %d", t.Kind)
}

func (w *Worker) fit(t Task) (leafFunc, error) {
	spec, err := decodeSpec(t.Payload)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.spec = spec
	w.mu.Unlock()
	return func(ctx context.Context, leaf int) ([]byte, error) {
		v, err := w.view(ctx, leaf)
		if err != nil {
			return nil, err
		}
		defer v.Close()
		st, err := w.collect(ctx, leaf, spec, v)
		if err != nil {
			return nil, err
		}
		return encodeStats(st), nil
	}, nil
}

// collect gives a leaf's statistics and, where there is plenty of memory for
// it, keeps its draft.
func (w *Worker) collect(ctx context.Context, leaf int, spec *feature.Spec, v *dataset.View) (*feature.Stats, error) {
	w.dropDraft(leaf)
	if !spec.Drafts() {
		return spec.Collect(ctx, v)
	}
	train, held := v.Split(spec.Holdout)
	n := spec.DraftBytes(train.Rows, held.Rows)
	if !w.blocks.TryReserve(n) {
		return spec.Collect(ctx, v)
	}
	st, d, err := spec.CollectDraft(ctx, v)
	if err != nil || d == nil {
		w.blocks.Unreserve(n)
		return st, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drafts[leaf] = &draft{d, n}
	return st, nil
}

// dropDraft forgets the drafts of these leaves.
func (w *Worker) dropDraft(leaves ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, leaf := range leaves {
		if d := w.drafts[leaf]; d != nil {
			w.blocks.Unreserve(d.bytes)
			delete(w.drafts, leaf)
		}
	}
}

// takeDraft gives a leaf's draft, nil for none, and keeps it no longer.
func (w *Worker) takeDraft(leaf int) *draft {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.drafts[leaf]
	delete(w.drafts, leaf)
	return d
}

// view opens a leaf's rows, which are settled when they are first wanted.
func (w *Worker) view(ctx context.Context, leaf int) (*dataset.View, error) {
	w.mu.Lock()
	l := w.rows[leaf]
	w.mu.Unlock()
	if l == nil {
		from, to := dataset.LeafBuckets(leaf, w.plan.Leaves())
		var err error
		if l, err = w.store.Settle(ctx, from, to); err != nil {
			return nil, err
		}
		w.mu.Lock()
		w.rows[leaf] = l
		w.mu.Unlock()
	}
	return l.Open()
}

func (w *Worker) seal(t Task) (leafFunc, error) {
	p, err := decodeSeal(t.Payload)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	spec := w.spec
	w.fitted, w.obj = p.fitted, model.Objective(w.kind, p.fitted)
	w.mu.Unlock()
	if spec == nil {
		return nil, pgerr.Internal("a training task to seal came before one to fit")
	}
	left := atomic.Int64{}
	left.Store(int64(len(w.leaves)))
	return func(ctx context.Context, leaf int) ([]byte, error) {
		s, err := w.sealLeaf(ctx, leaf, spec, p)
		if err != nil {
			return nil, err
		}
		if left.Add(-1) == 0 { // the rows have served
			if err := w.store.Close(); err != nil {
				return nil, err
			}
		}
		return s.Encode(), nil
	}, nil
}

// sealLeaf makes the leaf's blocks: 2·leaf of training rows, 2·leaf+1 of rows
// held out. The sums are of both: rows and weight to train on, and in the
// vector rows and weight held out.
func (w *Worker) sealLeaf(ctx context.Context, leaf int, spec *feature.Spec, p *sealPayload) (*reduce.Sums, error) {
	v, err := w.view(ctx, leaf)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	train, held := v.Split(spec.Holdout)
	s := &reduce.Sums{Rows: int64(train.Rows), Vec: make([]float64, 2)}
	d := w.takeDraft(leaf)
	if d != nil && !p.fitted.Finishes(d.Draft) {
		w.blocks.Unreserve(d.bytes)
		d = nil
	}
	for i, part := range []*dataset.View{train, held} {
		if part.Rows == 0 {
			continue
		}
		b, err := w.encode(spec, p, part, d, i)
		if err != nil {
			return nil, err
		}
		var sum float64
		for _, x := range b.W {
			sum += x
		}
		if i == 0 {
			s.Weight = sum
		} else {
			s.Vec[0], s.Vec[1] = float64(part.Rows), sum
		}
		if err := w.blocks.Put(2*leaf+i, b); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	w.rows[leaf].Free()
	delete(w.rows, leaf)
	w.mu.Unlock()
	return s, nil
}

// encode makes the block of the training rows (i = 0) or the rows held out (1)
// of a leaf, out of its draft if it has one. The block is paid for.
func (w *Worker) encode(spec *feature.Spec, p *sealPayload, part *dataset.View, d *draft, i int) (*dataset.Block, error) {
	f := p.fitted
	if d != nil {
		return f.Finish(spec, [...]*feature.DraftBlock{d.Train, d.Held}[i], part, p.classWeights), nil
	}
	n := dataset.BlockBytes(part.Rows, f.Dense, f.Codes, f.Narrow)
	if err := w.blocks.Reserve(n); err != nil {
		w.dropDraft(w.leaves...) // they can be made again
		if err := w.blocks.Reserve(n); err != nil {
			return nil, err
		}
	}
	return f.EncodeLeaf(spec, part, p.classWeights), nil
}

// pass gives scratch space for an evaluation.
func (w *Worker) pass(need optim.Need) (*linear.Pass, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fitted == nil {
		return nil, pgerr.Internal("a training task to evaluate came before one to seal")
	}
	f := w.fitted
	// Each goroutine holds a pass and a partial, and merging as much again.
	if n := 2 * int64(w.cfg.Threads) * linear.Bytes(w.obj.Outputs(), f.Dense, f.Ones, need); n > w.needed {
		if err := w.acct.Grow(n - w.needed); err != nil {
			return nil, err
		}
		w.needed = n
	}
	if n := len(w.idle); n > 0 {
		p := w.idle[n-1]
		w.idle = w.idle[:n-1]
		return p, nil
	}
	return linear.NewPass(w.obj, f.Dense, f.Ones), nil
}

func (w *Worker) giveBack(p *linear.Pass) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, p)
}

func (w *Worker) eval(t Task) (leafFunc, error) {
	e, err := decodeEval(t.Payload)
	if err != nil {
		return nil, err
	}
	if w.fitted == nil || len(e.theta) != w.obj.Outputs()*(w.fitted.Params()+1) {
		return nil, pgerr.Internal("a training task has %d parameters", len(e.theta))
	}
	set := 0
	if e.held {
		set = 1
	}
	return func(ctx context.Context, leaf int) ([]byte, error) {
		pass, err := w.pass(e.need)
		if err != nil {
			return nil, err
		}
		defer w.giveBack(pass)
		b, release, err := w.blocks.Open(2*leaf + set)
		if err != nil {
			return nil, err
		}
		defer release()
		if b == nil {
			b = dataset.NewBlock(0, w.fitted.Dense, w.fitted.Codes, w.fitted.Narrow)
		}
		from, to := 0, b.Padded()
		if e.batch != nil {
			from, to = linear.BatchRows(b.Rows, leaf, w.plan.Leaves(), e.batch.Step, e.batch.Steps)
		}
		s, err := pass.Run(ctx, b, e.theta, e.need, from, to)
		if err != nil {
			return nil, err
		}
		return s.Encode(), nil
	}, nil
}

func (w *Worker) measure(t Task) (leafFunc, error) {
	p, err := decodeMeasure(t.Payload)
	if err != nil {
		return nil, err
	}
	if w.fitted == nil || len(p.theta) != w.obj.Outputs()*(w.fitted.Params()+1) {
		return nil, pgerr.Internal("a training task has %d parameters", len(p.theta))
	}
	s, err := model.NewScorer(&model.Model{Kind: w.kind, Fitted: w.fitted, Theta: p.theta})
	if err != nil {
		return nil, err
	}
	if t.Kind == TaskCuts && (p.every < 1 || len(w.fitted.Keys) != 2) {
		return nil, pgerr.Internal("a training task asks for one score in %d", p.every)
	}
	set := 0
	if p.held {
		set = 1
	}
	return func(ctx context.Context, leaf int) ([]byte, error) {
		b, release, err := w.blocks.Open(2*leaf + set)
		if err != nil {
			return nil, err
		}
		defer release()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if t.Kind == TaskCuts {
			return cutsOf(s, b, p.every), nil
		}
		return measureBlock(s, b, p).encode(), nil
	}, nil
}

// Part is a worker's part in the reduction of one task.
type Part struct {
	w    *Worker
	fn   leafFunc
	out  func(ship *reduce.Shipment, root []byte) error
	mu   sync.Mutex
	asm  *reduce.Assembler
	self int
}

// Begin prepares a task. out is called, from any goroutine but one at a time for
// each result, with what must go to another worker, whose Part is to be Offered
// it, or with the result, if this worker is the root's home.
func (w *Worker) Begin(t Task, out func(ship *reduce.Shipment, root []byte) error) (*Part, error) {
	if w.plan == nil {
		return nil, pgerr.Internal("a training task came before the leaves were assigned")
	}
	fn, err := w.prepare(t)
	if err != nil {
		return nil, err
	}
	return &Part{w: w, fn: fn, out: out, asm: reduce.NewAssembler(w.plan, w.self, w.job.Merge), self: w.self}, nil
}

// Offer takes a partial from another worker, before, while or after Run runs.
func (p *Part) Offer(n reduce.Node, data []byte) error {
	p.mu.Lock()
	ship, root, err := p.asm.Offer(n, data)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if ship != nil || root != nil {
		return p.out(ship, root)
	}
	return nil
}

// Run computes the worker's leaves and merges what it can. Of several errors the
// one of the first leaf is returned, so that a statement fails the same way each
// time.
func (p *Part) Run(ctx context.Context) error {
	leaves := p.w.leaves
	errs := make([]error, len(leaves))
	var next atomic.Int64
	var failed atomic.Bool
	g, ctx := errgroup.WithContext(ctx)
	for range min(p.w.cfg.Threads, len(leaves)) {
		g.Go(func() error {
			return op.Guard("training", func() error {
				for {
					i := int(next.Add(1)) - 1
					if i >= len(leaves) || failed.Load() {
						return nil
					}
					data, err := p.fn(ctx, leaves[i])
					if err == nil {
						err = p.Offer(reduce.Node{Index: int32(leaves[i])}, data)
					}
					if err != nil {
						errs[i] = err
						failed.Store(true)
						if ctx.Err() != nil {
							return ctx.Err()
						}
					}
				}
			})
		})
	}
	err := g.Wait()
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return err
}
