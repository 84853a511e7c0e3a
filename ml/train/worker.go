package train

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// WorkerConfig is a node's configuration of its part of a job.
type WorkerConfig struct {
	// Context ends when the job ends on this node. It is for work without a caller's
	// context: rows that are not kept; nil: never.
	Context context.Context
	Pool    *mem.Pool // of the job on this node
	Temp    string    // directory of temporary files
	Threads int       // goroutines of a task; 0: 1
	Workers int       // of the job; 0: 1
	// Rescan says that the query may be read a second time: rows that do not fit
	// in memory are not written then.
	Rescan bool
	// Send passes encoded rows to another worker's PutRows. It may use the bytes during
	// the call only. It is required where Rescan is set and there are several workers.
	Send func(ctx context.Context, to int, rows []byte) error
}

// Worker is one node's part in a job: its rows, later its leaves' blocks. The
// methods of a phase may be called from several goroutines; phases follow each
// other: Add … Counts … TakeBucket, PutBucket … Assign … Begin.
type Worker struct {
	job     *Job
	cfg     WorkerConfig
	dataset dataset.Config
	store   *dataset.Store
	in      *intake // takes the rows instead of the store, where it can; else nil
	flow    flow    // of rows that are not kept

	// set by Assign
	self   int
	owners []int // of the leaves
	plan   *reduce.Plan
	leaves []int // own ones, ascending

	mu       sync.Mutex
	rows     map[int]*dataset.Leaf // built, until they are encoded
	unfitted map[int]*unfitted     // of leaves that have one, likewise
	gate     mem.Gate              // limits the leaves whose rows are in memory
	blocks   *dataset.Blocks
	state    *dataset.State // the family's, of rows
	scored   map[int]*family.Scores
	acct     *mem.Account
	inbox    *mem.Account // of what comes from other workers
	spec     *feature.Spec
	drawer   *dataset.Drawer
	fold     int // of the drawer, the blocks and the family's worker
	fitted   *feature.Fitted
	family   family.Worker // made by the first step
	nodes    *reduce.Plan  // of partials of nodes
	needed   int64         // bytes charged for passes and partials
	last     *Part         // the last one begun
	closed   bool
	taken    bool // the blocks are from another worker: see Take

	// for Usage
	read, moved, encoded atomic.Int64
	before               int64
	stepped              bool
}

// unfitted is a leaf's unfitted block and the bytes reserved for it.
type unfitted struct {
	*feature.Unfitted
	bytes int64
}

// NewWorker makes a node's part in a job.
func NewWorker(job *Job, cfg WorkerConfig) (*Worker, error) {
	layout, err := dataset.NewLayout(job.Columns)
	if err != nil {
		return nil, err
	}
	cfg.Threads, cfg.Workers = max(cfg.Threads, 1), max(cfg.Workers, 1)
	if cfg.Context == nil {
		cfg.Context = context.Background()
	}
	w := &Worker{job: job, cfg: cfg, rows: map[int]*dataset.Leaf{}, unfitted: map[int]*unfitted{},
		dataset: dataset.Config{Pool: cfg.Pool, Temp: cfg.Temp, Seed: job.Seed(), InPlace: job.InPlace(), Windows: job.windows}}
	w.flow.may = cfg.Rescan && job.flows(layout)
	w.dataset.Copies = job.counts() || w.flow.may && !job.InPlace() && job.windows == nil
	if w.flow.may {
		w.dataset.Flow, w.flow.zone = w.flowed, job.zone()
		w.flow.charge = func(n int64) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if n < 0 {
				w.acct.Shrink(-n)
			} else {
				w.acct.Take(n) // the least that processing rows needs
			}
		}
		w.flow.stats = make([]*feature.Stats, w.flow.zone.Parts())
		if job.windows != nil {
			w.flow.lengths = dataset.NewLengths(job.windows, cfg.Pool.Limit()/lengthsShare, w.flow.charge)
			w.dataset.Worth, w.dataset.Lengths = w.worth, w.flow.lengths
		}
	}
	w.inbox = cfg.Pool.Account("training messages", false)
	w.renew()
	w.open(layout)
	return w, nil
}

// open makes the intake or the store, which take the rows.
func (w *Worker) open(layout *dataset.Layout) {
	w.store, w.in = dataset.NewStore(layout, w.dataset), nil
	if w.job.InPlace() && w.job.spec.TakesIn() && w.job.Folds() == 0 { // folds need the rows again
		w.in = &intake{w: w, layout: layout}
	}
	if w.flow.readings > 0 {
		w.store.Flow()
		if w.in != nil {
			w.in.flowing.Store(true)
		}
	}
}

// renew makes new accounts and stores for blocks and what is learnt from them.
func (w *Worker) renew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocks, w.state = dataset.NewBlocks(w.dataset), dataset.NewState(w.dataset)
	w.acct, w.needed = w.cfg.Pool.Account("training partials", false), 0
}

// forget frees everything that was derived from the rows.
func (w *Worker) forget() error {
	if w.family != nil {
		w.family.Close()
		w.family = nil
	}
	clear(w.unfitted)
	w.acct.Close()
	return errors.Join(w.blocks.Close(), w.state.Close())
}

// Job returns the worker's job.
func (w *Worker) Job() *Job { return w.job }

// Add adds rows of the query, with the job's columns in order.
func (w *Worker) Add(ctx context.Context, b *batch.Batch) error {
	w.read.Add(bytesOf(b))
	if w.in != nil {
		return w.in.add(ctx, b)
	}
	return w.store.Add(ctx, b)
}

// Counts returns this node's rows by bucket; the sums over all nodes determine the
// number of leaves (Job.Leaves). For a job in place buckets have no meaning.
func (w *Worker) Counts() []int64 {
	n := w.store.Counts()
	if w.in != nil {
		n[0] = w.in.count()
	}
	return n
}

// Read ends the second reading of distributed rows: other workers' rows have been sent.
// Once it has returned on all workers, Assign must follow.
func (w *Worker) Read() error {
	if err := w.drain(); err != nil || w.flow.counting() {
		return err
	}
	if w.flow.out == nil {
		return pgerr.Internal("the rows of a training were not read again")
	}
	return errors.Join(w.flow.out.flush(), w.store.Close())
}

// stores returns the stores of the distributed rows.
func (w *Worker) stores() []*dataset.Store {
	if w.flow.out != nil {
		return w.flow.coded
	}
	return []*dataset.Store{w.store}
}

// TakeBucket calls emit with the rows of a bucket whose leaf another node owns.
func (w *Worker) TakeBucket(bucket int, emit func([]byte) error) error {
	return w.store.TakeBucket(bucket, func(rows []byte) error {
		w.moved.Add(int64(len(rows)))
		return emit(rows)
	})
}

// PutBucket adds rows that another node's TakeBucket emitted.
func (w *Worker) PutBucket(bucket int, rows []byte) error { return w.store.PutBucket(bucket, rows) }

// Common returns the rows of this worker that are so frequent among total rows that
// their copies are spread over all leaves; where rows are distributed encoded, those
// that were counted for that. All rows must have been put.
func (w *Worker) Common(total int64) ([]dataset.Common, error) {
	switch {
	case w.flow.out != nil:
		return w.flow.counted.List(), nil
	case w.flow.counting():
		return nil, nil
	}
	return w.store.Common(total)
}

// Assign ends the distribution of rows: owners names the worker of each leaf, of so
// many workers numbered from 0; self is this one. For a job in place nothing was
// distributed, owners is nil, and the worker divides its own rows into leaves. Where a
// worker is Short nothing is distributed either, and rescan says that the rows will be
// read once more: for a job that is not in place another Assign follows then. common
// are all workers' Common.
func (w *Worker) Assign(owners []int, workers, self int, rescan bool, common []dataset.Common) error {
	if w.flow.counting() {
		return nil
	}
	nodes := make([]int, workers)
	for i := range nodes {
		nodes[i] = i
	}
	w.self, w.nodes = self, reduce.NewPlan(nodes)
	switch {
	case rescan:
		w.assign(owners) // for rows to come, which will be distributed
		return w.release()
	case w.job.InPlace():
		leaves, err := w.localLeaves()
		if err != nil {
			return err
		}
		w.own(leaves)
	default:
		w.assign(owners)
		for i, s := range w.stores() {
			if err := s.Spread(common, i == 1); err != nil {
				return err
			}
		}
	}
	for _, s := range w.stores() {
		if err := s.Finish(); err != nil {
			return err
		}
	}
	return nil
}

// own makes so many leaves, all owned by this worker.
func (w *Worker) own(leaves int) {
	owners := make([]int, leaves)
	for i := range owners {
		owners[i] = w.self
	}
	w.assign(owners)
}

func (w *Worker) assign(owners []int) {
	w.owners, w.plan, w.leaves = owners, reduce.NewPlan(owners), nil
	for i, o := range owners {
		if o == w.self {
			w.leaves = append(w.leaves, i)
		}
	}
}

// localLeaves returns the number of leaves of a job in place.
func (w *Worker) localLeaves() (int, error) {
	if w.in != nil {
		err := w.in.finish()
		return len(w.in.leaves), err
	}
	var rows int64
	for _, n := range w.store.Counts() {
		rows += n
	}
	return dataset.LocalLeaves(rows, w.cfg.Threads), nil
}

// Close frees everything. No task may be running. It may be called twice.
func (w *Worker) Close() error {
	w.mu.Lock()
	w.closed = true
	w.inbox.Close()
	w.mu.Unlock()
	return errors.Join(w.forget(), w.store.Close(), w.flow.close())
}

// Spilled returns the bytes that this job wrote to temporary files on this node.
func (w *Worker) Spilled() int64 { return w.cfg.Pool.Spilled() }

// leafFunc computes the partial of one leaf.
type leafFunc func(ctx context.Context, leaf int) (family.Message, error)

// fit collects statistics.
func (w *Worker) fit(t *fitTask) (leafFunc, error) {
	if w.fold != t.fold { // nothing else of the job runs
		if err := w.nextFold(t.fold); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spec = t.spec
	if w.drawer == nil {
		w.drawer = t.holdout.On(w.self)
	}
	d := w.drawer
	return func(ctx context.Context, leaf int) (family.Message, error) {
		if w.in != nil {
			return w.in.fit(ctx, leaf, d)
		}
		var st *feature.Stats
		return st, w.withLeaf(ctx, leaf, func(l *dataset.Leaf, v *dataset.View) (err error) {
			if err = l.Draw(d, v); err == nil {
				st, err = w.collect(ctx, leaf, t.spec, v)
			}
			return err
		})
	}, nil
}

// nextFold drops what was derived from the rows for another fold.
func (w *Worker) nextFold(fold int) error {
	if err := w.forget(); err != nil {
		return err
	}
	w.renew()
	w.fold, w.drawer, w.fitted = fold, nil, nil
	return nil
}

// collect returns a leaf's statistics and, where there is plenty of memory for
// it, keeps its unfitted block.
func (w *Worker) collect(ctx context.Context, leaf int, spec *feature.Spec, v *dataset.View) (*feature.Stats, error) {
	w.dropUnfitted(leaf)
	if !spec.HasUnfitted() {
		return spec.Collect(ctx, v)
	}
	train, held := spec.Split(v)
	n := spec.UnfittedBytes(train.Rows, held.Rows)
	if !w.blocks.TryReserve(n) {
		return spec.Collect(ctx, v)
	}
	st, d, err := spec.CollectUnfitted(ctx, v)
	if err != nil || d == nil {
		w.blocks.Unreserve(n)
		return st, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unfitted[leaf] = &unfitted{d, n}
	return st, nil
}

// dropUnfitted frees the unfitted blocks of these leaves.
func (w *Worker) dropUnfitted(leaves ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, leaf := range leaves {
		if d := w.unfitted[leaf]; d != nil {
			w.blocks.Unreserve(d.bytes)
			delete(w.unfitted, leaf)
		}
	}
}

// takeUnfitted removes and returns a leaf's unfitted block, nil for none.
func (w *Worker) takeUnfitted(leaf int) *unfitted {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.unfitted[leaf]
	delete(w.unfitted, leaf)
	return d
}

// leaf returns a leaf's rows, which are built on first use.
func (w *Worker) leaf(ctx context.Context, leaf int) (*dataset.Leaf, error) {
	w.mu.Lock()
	l := w.rows[leaf]
	w.mu.Unlock()
	if l == nil {
		from, to := dataset.LeafBuckets(leaf, w.plan.Leaves())
		var err error
		if l, err = w.store.MakeLeaf(ctx, from, to); err != nil {
			return nil, err
		}
		w.mu.Lock()
		w.rows[leaf] = l
		w.mu.Unlock()
	}
	return l, nil
}

// copies returns the counts of copies of the added rows.
func (w *Worker) copies() *dataset.Copies {
	if w.flow.on && w.flow.lengths != nil {
		return w.flow.lengths.Of(nil, w.self)
	}
	if w.flow.seen != nil {
		return w.flow.addCounts(w.flow.seen.Clone()) // it will be merged into
	}
	if w.in != nil {
		return w.in.copies(w.self)
	}
	return w.store.Copies(w.self)
}

// MakeRoom frees memory of what can be re-created or read from the file: unfitted
// blocks and blocks.
func (w *Worker) MakeRoom() error {
	w.dropUnfitted(w.leaves...)
	return w.blocks.Evict()
}

// withLeaf calls f with a leaf and its rows, as many leaves at once as there is memory
// for.
func (w *Worker) withLeaf(ctx context.Context, leaf int, f func(l *dataset.Leaf, v *dataset.View) error) error {
	var l *dataset.Leaf
	var v *dataset.View
	return w.gate.Hold(func() error {
		return w.twice(ctx, func() (err error) {
			l, v, err = w.openLeaf(ctx, leaf)
			return err
		})
	}, func() error {
		defer v.Close()
		return f(l, v)
	})
}

// openLeaf returns a leaf and its rows, which must be closed.
func (w *Worker) openLeaf(ctx context.Context, leaf int) (*dataset.Leaf, *dataset.View, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	l, err := w.leaf(ctx, leaf)
	if err != nil {
		return nil, nil, err
	}
	v, err := l.Open()
	return l, v, err
}

// twice calls f, which takes memory, and gives it back where it fails: again with more room
// if there was too little.
func (w *Worker) twice(ctx context.Context, f func() error) error {
	err := f()
	if pgerr.Is(err, pgerr.OutOfMemory) && ctx.Err() == nil {
		if err = w.MakeRoom(); err == nil {
			err = f()
		}
	}
	return err
}

// withRoom calls f likewise, and where there is memory for one goroutine alone, once more
// when others have finished.
func (w *Worker) withRoom(ctx context.Context, f func() error) error {
	var failed error // for another reason
	return w.gate.Hold(func() error {
		err := w.twice(ctx, f)
		if err != nil && !pgerr.Is(err, pgerr.OutOfMemory) {
			failed, err = err, nil
		}
		return err
	}, func() error { return failed })
}

// encodeRows encodes the leaves' blocks.
func (w *Worker) encodeRows(t *encodeTask) (leafFunc, error) {
	w.mu.Lock()
	spec := w.spec
	w.fitted = t.fitted
	w.mu.Unlock()
	if spec == nil && !w.flow.on {
		return nil, pgerr.Internal("a training task to encode came before one to fit")
	}
	left := atomic.Int64{}
	left.Store(int64(len(w.leaves)))
	return func(ctx context.Context, leaf int) (family.Message, error) {
		s, err := w.encodeLeaf(ctx, leaf, spec, t)
		if err != nil {
			return nil, err
		}
		if left.Add(-1) > 0 {
			return s, nil
		}
		err = w.flow.close()
		if !t.reencode { // the rows are no longer needed
			if w.in != nil {
				w.in.close()
			}
			err = errors.Join(err, w.store.Close())
		}
		if err != nil {
			return nil, err
		}
		return s, nil
	}, nil
}

// encodeLeaf encodes the leaf's blocks: 2·leaf of training rows, 2·leaf+1 of rows held
// out.
func (w *Worker) encodeLeaf(ctx context.Context, leaf int, spec *feature.Spec, p *encodeTask) (*encodedRows, error) {
	if w.in != nil {
		return w.in.encodeRows(leaf, p)
	}
	if w.flow.out != nil {
		return w.encodeCoded(ctx, leaf, p)
	}
	var s *encodedRows
	err := w.withRoom(ctx, func() error {
		_, v, err := w.openLeaf(ctx, leaf)
		if err != nil {
			return err
		}
		defer v.Close()
		s, err = w.encodeView(leaf, spec, p, v, w.takeUnfitted(leaf))
		return err
	})
	if err != nil {
		return nil, err
	}
	if !p.reencode {
		w.mu.Lock()
		w.rows[leaf].Free()
		delete(w.rows, leaf)
		w.mu.Unlock()
	}
	return s, nil
}

// encodeView encodes the blocks of a leaf's rows, from its unfitted block if it has
// one.
func (w *Worker) encodeView(leaf int, spec *feature.Spec, p *encodeTask, v *dataset.View, d *unfitted) (*encodedRows, error) {
	train, held := spec.Split(v)
	s := &encodedRows{rows: int64(train.Units()), held: int64(held.Units()), leaves: []int64{int64(train.Units())}}
	if d != nil && !p.fitted.Finishes(d.Unfitted) {
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
		if i == 0 {
			_, weights := b.Targets()
			for _, x := range weights {
				s.weight.Add(x)
			}
		}
		if err := w.order(b, part); err != nil {
			w.blocks.Unreserve(b.Bytes())
			return nil, err
		}
		if err := w.keep(2*leaf+i, b); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// keep keeps a block, which is charged, without the further targets, and releases its
// bytes if it cannot.
func (w *Worker) keep(id int, b *dataset.Block) error {
	bytes := b.Bytes()
	p, err := w.part(b)
	if err == nil {
		bytes = p.Bytes()
		err = w.blocks.Put(id, p)
	}
	if err != nil {
		w.blocks.Unreserve(bytes)
		return err
	}
	w.encoded.Add(bytes)
	return nil
}

// order sorts the rows of a leaf's block, made from a view, where they have an order:
// that of windows, by a column.
func (w *Worker) order(b *dataset.Block, v *dataset.View) error {
	switch {
	case w.job.InPlace():
		return nil
	case w.job.windows != nil:
		b.OrderTies(v, w.job.spec.WeightCol() >= 0)
		return nil
	}
	if err := w.blocks.Reserve(b.OrderBytes()); err != nil {
		return err
	}
	defer w.blocks.Unreserve(b.OrderBytes())
	b.Order(w.job.Seed(), w.job.spec.WeightCol() >= 0)
	return nil
}

// encode encodes the block of the training rows (i = 0) or the rows held out (1) of a
// leaf, from its unfitted block if it has one. The block is charged.
func (w *Worker) encode(spec *feature.Spec, p *encodeTask, part *dataset.View, d *unfitted, i int) (b *dataset.Block, err error) {
	f := p.fitted
	n := 4 * int64(len(part.Windows()))
	if d == nil {
		n += dataset.BlockBytes(part.Rows, f.Dense, f.Codes, f.Narrow)
	}
	if err := w.blocks.Reserve(n); err != nil {
		w.dropUnfitted(w.leaves...) // they can be re-created
		if err := w.blocks.Reserve(n); err != nil {
			return nil, err
		}
	}
	if d != nil {
		b = f.Finish(spec, [...]*feature.UnfittedBlock{d.Train, d.Held}[i], part, p.classWeights)
	} else {
		b = f.EncodeLeaf(spec, part, p.classWeights)
	}
	if ws := w.job.windows; ws != nil {
		b.Windows, b.Length = part.Windows(), ws.Length
	}
	return b, nil
}

// predictor decodes a predictor of the job's model, or that of one of several targets.
func (w *Worker) predictor(d *canon.D, target int) (family.Predictor, error) {
	w.mu.Lock()
	f := w.fitted
	w.mu.Unlock()
	if f == nil {
		return nil, pgerr.Internal("a training task to measure came before one to encode")
	}
	f, _ = w.job.learns(f)
	return family.Each(w.job.Family).Decode(f.Aim(target), d)
}

// grow charges bytes for the family's state. A driver may outlive its worker, where
// the node closes.
func (w *Worker) grow(n int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		if n > 0 {
			return errEnded()
		}
		return nil
	}
	if n < 0 {
		w.acct.Shrink(-n)
		return nil
	}
	// State kept per row must leave memory for passes over the rows: a family that can do
	// without it gets an error.
	if used, limit := w.cfg.Pool.Used(), w.cfg.Pool.Limit(); float64(used+n) > mem.PauseShare*float64(limit) {
		if err := w.blocks.Evict(); err != nil {
			return err
		}
		if used = w.cfg.Pool.Used(); float64(used+n) > mem.PauseShare*float64(limit) {
			return pgerr.New(pgerr.OutOfMemory, "out of memory: what a training keeps of its rows takes %d bytes more", n).
				WithDetail("%d of %d bytes are in use.", used, limit).WithHint("Raise --memory.")
		}
	}
	return w.charge(n)
}

// charge charges bytes that stay in memory. Blocks can be read from disk.
func (w *Worker) charge(n int64) error { return w.chargeTo(w.acct, n) }

func (w *Worker) chargeTo(a *mem.Account, n int64) error {
	if a.Grow(n) == nil {
		return nil
	}
	if err := w.blocks.Evict(); err != nil {
		return err
	}
	return a.Grow(n)
}

// Hold charges bytes of messages between workers. It may be called from any goroutine.
func (w *Worker) Hold(n int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errEnded()
	}
	return w.chargeTo(w.inbox, n)
}

// Release releases what Hold charged.
func (w *Worker) Release(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.inbox.Shrink(n)
	}
}

// ChargeTransit charges rows in transit to or from other workers, few bytes at a time, without
// a check of the limit: they free memory at the sender or are charged at their
// destination. A negative number releases.
func (w *Worker) ChargeTransit(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
	case n < 0:
		w.inbox.Shrink(-n)
	default:
		w.inbox.Take(n)
	}
}

func errEnded() error {
	return pgerr.New(pgerr.ConnectionFailure, "a training has ended on this node")
}

// Home returns the node for the job's driver, where that runs along with this worker.
func (w *Worker) Home() *family.Node {
	return &family.Node{Threads: w.cfg.Threads, Root: w.self == 0, Grow: w.grow, Space: w.state.Space, Memory: w.cfg.Pool.Limit()}
}

// familyWorker returns the family's part, made by the first step.
func (w *Worker) familyWorker(t *stepTask) (family.Worker, error) {
	w.mu.Lock()
	f, have := w.fitted, w.family
	w.mu.Unlock()
	if f == nil {
		return nil, pgerr.Internal("a training step came before the rows were encoded")
	}
	if have != nil {
		return have, nil
	}
	f, _ = w.job.learns(f)
	s := &family.Setup{Options: w.job.Options, Plan: w.job.Plan, Fitted: f, Seed: w.job.Seed(), Rows: t.rows, Held: t.held, Weight: t.weight}
	if t.by != nil {
		s.Weights = t.by.sums
	}
	made, err := w.job.Family.NewWorker(s, w.Home())
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.family = made
	return made, nil
}

// room charges for a step's passes over so many items, and returns for how many
// goroutines: fewer than there are where memory is short. Each holds a pass and a
// partial. Where items have their own partials some wait for their neighbours, one on
// each level of the tree and one more for each goroutine; those from other workers are
// charged as they arrive.
func (w *Worker) room(pass, partial int64, items int, whole bool) (threads int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for threads = min(w.cfg.Threads, items); ; threads /= 2 {
		n := int64(threads) * (pass + partial)
		if !whole {
			n += int64(min(items-1, reduce.Height(items)+threads)) * partial
		}
		if n <= w.needed {
			w.acct.Shrink(w.needed - n) // an earlier step needed more
		} else if err := w.charge(n - w.needed); err != nil {
			if threads > 1 && pgerr.Is(err, pgerr.OutOfMemory) {
				continue
			}
			return 0, err
		}
		w.needed = n
		return threads, nil
	}
}
