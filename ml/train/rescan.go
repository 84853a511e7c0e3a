package train

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Rows that there is no memory for are not spilled and read three times: statistics are
// taken as they arrive, the query is read a second time (a rescan), and then the rows
// are encoded, which is what is written. Rows in place become blocks. Others
// are distributed encoded, and a leaf's block is made of these. This is for jobs whose statistics do not depend on order, so that it does not
// matter if the second reading produces a row on another node.

// Statistics are of the rows that are not held out, and which these are depends on how
// often rows occur: which is known when all have been read. But which bins of the draw
// are held out is known approximately before. So separate statistics are taken for the
// rows below the cut, for those above it, and by bin in between (dataset.Zone).

// ErrOtherRows is the error of a query that returns other rows when it is read again:
// the training must hold its rows, with WorkerConfig.Rescan false. The error may come
// from another node: compare its code.
var ErrOtherRows = pgerr.New(pgerr.RowsNotHeld, "the training query gave other rows when it was read again")

// errDraw is the error when it is still unknown, after two readings, which rows are
// trained on: they must be held likewise.
var errDraw = pgerr.New(pgerr.RowsNotHeld, "which rows a training learns from is not known before all of them are held")

// flow is the state of a worker that does not keep its rows.
type flow struct {
	may  bool // rows may be read again
	on   bool // they will be read again: no worker keeps any
	task *encodeTask
	seen *dataset.Copies // of the first reading
	// readings after the first one
	readings int
	// For a job with distributed rows: those of the second reading, to train on and held
	// out, and the buffers that send them to others; nil for a job in place.
	coded   []*dataset.Store
	out     *outgoing
	counted *dataset.Counted // rows that are counted instead
	// For windows: how long partitions are, and which are too short.
	lengths *dataset.Lengths
	short   []dataset.RowHash

	mu      sync.Mutex
	drained bool
	apart   map[dataset.RowHash]*apartRow // rows counted separately; the map is never modified
	fixed   bool                          // no rows are added to apart
	before  *flowedBy                     // which other rows were read
	holdout *dataset.Holdout              // that was last asked for
	charge  func(n int64)                 // for statistics
	zone    dataset.Zone
	stats   []*feature.Stats // of this reading, by part of the zone; nil for no rows
	made    *encodedRows     // of a reading after the first
	leaves  int              // leaves made so far
}

// flowFolds is the maximum number of folds with separate statistics.
const flowFolds = 20

// flows reports whether a job's rows, of this layout, may be read again.
func (j *Job) flows(l *dataset.Layout) bool {
	if j.windows != nil {
		return j.flowsWindows(l)
	}
	return j.Folds() <= flowFolds
}

// close drops the rows of a reading after the first.
func (f *flow) close() (err error) {
	for _, s := range f.coded {
		err = errors.Join(err, s.Close())
	}
	f.coded, f.out, f.counted = nil, nil, nil
	return err
}

// collected adds the statistics of rows of a part of the zone.
func (f *flow) collected(spec *feature.Spec, part int, st *feature.Stats) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.stats[part].Bytes()
	if f.stats[part] != nil {
		st, err = spec.MergeStats(f.stats[part], st)
	}
	if err == nil {
		f.stats[part] = st
		f.charge(st.Bytes() - was)
	}
	return err
}

// counting reports whether the query is read only for statistics.
func (f *flow) counting() bool { return f.readings > 0 && f.task == nil }

// all returns the statistics of all rows except those that h holds out on node self;
// nil for no rows.
func (f *flow) all(spec *feature.Spec, h *dataset.Holdout, self int) (sum *feature.Stats, err error) {
	held, ok := f.zone.Held(h)
	if !ok {
		return nil, errDraw
	}
	for i, st := range f.stats {
		switch {
		case st == nil:
			continue
		case held[i]:
			st = spec.Hold(st)
		}
		if sum == nil {
			sum = st
		} else if sum, err = spec.MergeStats(sum, st); err != nil {
			return nil, err
		}
	}
	return f.addApart(spec, sum, h, held, self)
}

// forget frees the statistics of the last reading.
func (f *flow) forget() {
	for i, st := range f.stats {
		f.charge(-st.Bytes())
		f.stats[i] = nil
	}
}

// next returns the number of the next leaf.
func (f *flow) next() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leaves++
	return f.leaves - 1
}

// encodedRows adds a leaf that was made.
func (f *flow) encodedRows(j *Job, s *encodedRows) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.task.merge(j, f.made, s)
	return err
}

// flowed processes rows that the store does not keep.
func (w *Worker) flowed(v *dataset.View) error {
	switch {
	case w.job.windows == nil:
	case w.flow.task == nil:
		return w.flow.lengths.Sift(v, w.flowedBy)
	default:
		v = v.Without(w.flow.short)
	}
	return w.flowedBy(v)
}

// flowedBy processes those of them that are trained on or held out.
func (w *Worker) flowedBy(v *dataset.View) error {
	if v.Rows == 0 {
		return nil
	}
	spec, rest := w.job.Spec(), v
	if w.job.counts() {
		apart, err := w.flow.sift(v.Rows, func(i int) dataset.RowHash { h, _ := v.Hash(i); return h },
			func(i int) (*feature.Stats, error) { return spec.Collect(w.cfg.Context, v.Only(i)) })
		if err != nil {
			return err
		}
		if apart != nil {
			rest, _ = v.SplitBy(func(i int) bool { return apart[i] })
		}
	}
	for part, v := range rest.Parted(w.flow.zone) {
		if v == nil {
			continue
		}
		st, err := spec.Collect(w.cfg.Context, v)
		if err == nil {
			err = w.flow.collected(spec, part, st)
		}
		if err != nil {
			return err
		}
	}
	if w.flow.task == nil {
		return nil
	}
	v.Hold(w.drawer)
	if w.flow.out != nil {
		return w.distribute(spec, v)
	}
	s, err := w.encodeView(w.flow.next(), spec, w.flow.task, v, nil)
	if err != nil {
		return err
	}
	return w.flow.encodedRows(w.job, s)
}

// distribute encodes rows and distributes them, as many goroutines at once as there is memory for.
func (w *Worker) distribute(spec *feature.Spec, v *dataset.View) error {
	train, held := spec.Split(v)
	for i, part := range []*dataset.View{train, held} {
		if part.Rows == 0 {
			continue
		}
		var b *dataset.Block
		encode := func() (err error) {
			if b, err = w.encode(spec, w.flow.task, part, nil, i); err == nil {
				return nil
			}
			for _, s := range w.flow.coded { // rows distributed before may be spilled for it
				if err := s.MakeRoom(); err != nil {
					return err
				}
			}
			b, err = w.encode(spec, w.flow.task, part, nil, i)
			return err
		}
		err := w.gate.Hold(encode, func() error {
			defer w.blocks.Unreserve(b.Bytes())
			if err := w.checkTargets(b); err != nil {
				return err
			}
			return w.flow.out.add(part, b, i)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// collect takes the statistics of a block of rows that is not kept.
func (n *intake) collect(b *dataset.Block, taken *feature.Taken) error {
	f, spec := &n.w.flow, n.w.job.Spec()
	if !n.w.job.counts() {
		st, err := spec.CollectTaken(b, taken)
		if err == nil {
			err = f.collected(spec, f.zone.Parts()-1, st)
		}
		return err
	}
	apart, err := f.sift(taken.Rows, func(i int) dataset.RowHash { return b.Hashes[i] },
		func(i int) (*feature.Stats, error) { return spec.CollectRows(b, taken, []int32{int32(i)}) })
	if err != nil {
		return err
	}
	rows := make([][]int32, f.zone.Parts())
	for i, h := range b.Hashes[:taken.Rows] {
		if apart != nil && apart[i] {
			continue
		}
		part := f.zone.Part(h)
		rows[part] = append(rows[part], int32(i))
	}
	for part, rows := range rows {
		if rows == nil {
			continue
		}
		st, err := spec.CollectRows(b, taken, rows)
		if err == nil {
			err = f.collected(spec, part, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flowed processes a block of rows that is not kept.
func (n *intake) flowed(b *dataset.Block, taken *feature.Taken) error {
	w := n.w
	if err := n.collect(b, taken); err != nil || w.flow.task == nil {
		w.blocks.Unreserve(n.bytes(b.Rows))
		return err
	}
	b = n.trim(b, taken.Rows)
	if w.drawer.Draws() {
		for i, h := range b.Hashes {
			if w.drawer.Drawn(h) {
				taken.Hold(i)
			}
		}
	}
	if w.flow.task.fitted.FinishesTaken(b, taken) { // the block itself is kept, encoded in place
		w.blocks.Unreserve(int64(len(b.Hashes) * len(dataset.RowHash{})))
	}
	s, err := n.encodeBlock(w.flow.next(), b, taken, w.flow.task, func() { w.blocks.Unreserve(n.bytes(b.Rows)) })
	if err != nil {
		return err
	}
	return w.flow.encodedRows(w.job, s)
}

// letFlow stops keeping rows from now on.
func (n *intake) letFlow() error {
	n.shed.Lock()
	defer n.shed.Unlock()
	n.flowing.Store(true)
	n.mu.Lock()
	leaves := slices.Clone(n.leaves)
	n.mu.Unlock()
	for leaf, taken := range leaves {
		if taken == nil {
			continue
		}
		at := blockOf(family.Rows{Leaf: leaf})
		b, release, err := n.w.blocks.Open(at)
		if err != nil {
			return err
		}
		if b == nil { // still being filled: drain will find it
			continue
		}
		err = n.collect(b, taken)
		release()
		if err != nil {
			return err
		}
		n.w.blocks.Drop(at)
		n.mu.Lock()
		n.leaves[leaf] = nil
		n.mu.Unlock()
	}
	return nil
}

// drain ends all blocks and keeps none.
func (n *intake) drain() error {
	n.flowing.Store(true)
	if err := n.flush(); err != nil {
		return err
	}
	if err := n.letFlow(); err != nil {
		return err
	}
	for _, t := range n.all {
		if err := t.Close(); err != nil {
			return err
		}
		if st := t.Rest(); st != nil {
			if err := n.w.flow.collected(n.w.job.Spec(), n.w.flow.zone.Parts()-1, st); err != nil {
				return err
			}
		}
	}
	return nil
}

// short reports whether blocks are not kept, or were spilled.
func (n *intake) short() bool {
	return n.w.flow.may && (n.flowing.Load() || n.w.blocks.Spilled())
}

// Short reports whether this worker cannot hold its rows, once all were added. If one
// cannot, no worker holds them.
func (w *Worker) Short() bool {
	if w.in != nil {
		return w.in.short()
	}
	return w.store.Short()
}

// drain processes the rows that are still held, once a reading.
func (w *Worker) drain() error {
	if w.flow.drained {
		return nil
	}
	w.flow.drained = true
	if w.in != nil {
		return w.in.drain()
	}
	if w.flow.lengths != nil && w.store.Written() { // partitions of windows may be on other nodes in the second reading
		w.flow.lengths.Lose()
		return nil
	}
	return w.store.Drain()
}

// release ends the first reading of rows that are not kept.
func (w *Worker) release() error {
	w.flow.on = true
	if w.dataset.Copies {
		w.flow.seen = w.copies()
	}
	return w.drain()
}

// rescanTask prepares workers for another reading: rows added after it are encoded.
type rescanTask struct {
	*encodeTask
	count []dataset.RowHash // copies of these are counted, not distributed
}

func (t *rescanTask) kind() uint8 { return kindRescan }

func (t *rescanTask) Encode(e *canon.E) {
	t.encodeTask.Encode(e)
	(&copiesTask{t.count}).Encode(e)
}

// reread drops the previous reading.
func (w *Worker) reread() error {
	if !w.flow.on {
		return pgerr.Internal("rows that are held would be read again")
	}
	if err := errors.Join(w.store.Close(), w.blocks.Close()); err != nil {
		return err
	}
	w.flow.forget()
	w.flow.readings++
	w.flow.drained = false
	w.dataset.Copies, w.dataset.Worth, w.dataset.Lengths = false, nil, nil
	w.blocks = dataset.NewBlocks(w.dataset)
	if w.flow.lengths != nil {
		w.flow.lengths.Lose()
	}
	return nil
}

// rescan begins another reading.
func (w *Worker) rescan(t *rescanTask) error {
	if err := w.reread(); err != nil {
		return err
	}
	w.mu.Lock()
	w.fitted = t.fitted
	w.mu.Unlock()
	w.flow.task, w.flow.made, w.flow.leaves = t.encodeTask, &encodedRows{}, 0
	var common []dataset.RowHash
	if w.flow.holdout != nil {
		for _, q := range w.flow.holdout.Common {
			common = append(common, q.Hash)
		}
	}
	w.flow.only(common)
	w.open(w.store.Layout())
	if !w.job.InPlace() {
		f, parts := t.fitted, 1
		if w.job.split() != "no_split" || w.job.Folds() > 0 {
			parts = 2
		}
		w.flow.counted = dataset.NewCounted(t.count)
		layout, windows := w.codedLayout(f)
		for range parts {
			w.flow.coded = append(w.flow.coded, dataset.NewStore(layout, dataset.Config{Pool: w.cfg.Pool, Temp: w.cfg.Temp, Seed: w.job.Seed(), Leaves: len(w.owners), Windows: windows}))
		}
		var err error
		w.flow.out, err = w.newOutgoing(w.nodes.Leaves())
		return err
	}
	return nil
}

// collected ends a reading of rows that are not kept, and returns the statistics of
// those that are not held out. For a later fold they come from the previous reading,
// which was for the fold before.
func (w *Worker) collected(t *fitTask) (family.Message, error) {
	if err := w.drain(); err != nil {
		return nil, err
	}
	if w.fold != t.fold { // nothing else of the job is running
		if err := w.flow.close(); err != nil {
			return nil, err
		}
		stats := w.flow.stats // stay charged
		w.flow.stats = nil
		if err := w.nextFold(t.fold); err != nil {
			return nil, err
		}
		for _, st := range stats {
			w.flow.charge(st.Bytes())
		}
		w.flow.charge(w.flow.apartBytes())
		w.flow.stats = stats
	}
	if w.job.windows != nil {
		if err := w.waited(t.short); err != nil {
			return nil, err
		}
	}
	w.drawer, w.flow.holdout = t.holdout.On(w.self), t.holdout
	st, err := w.flow.all(w.job.Spec(), t.holdout, w.self)
	if st == nil || err != nil {
		return nil, err
	}
	return st, nil
}

// rescanned returns the blocks of the second reading.
func (w *Worker) rescanned() (*encodedRows, error) {
	f := &w.flow
	if f.task == nil {
		return nil, pgerr.Internal("rows that were not read again cannot be encoded")
	}
	if w.in != nil {
		w.in.close()
	}
	w.own(f.leaves)
	return f.made, w.store.Close()
}

// encodeCoded makes the blocks of a leaf of encoded rows.
func (w *Worker) encodeCoded(ctx context.Context, leaf int, t *encodeTask) (*encodedRows, error) {
	var s *encodedRows
	from, to := dataset.LeafBuckets(leaf, w.plan.Leaves())
	for i, store := range w.flow.coded {
		err := w.withRoom(ctx, func() error {
			l, err := store.MakeLeaf(ctx, from, to)
			if err != nil {
				return err
			}
			defer l.Free()
			if i == 0 {
				s = &encodedRows{} // of this try
			}
			return w.encodeStored(2*leaf+i, l, t, s)
		})
		if err != nil {
			return nil, err
		}
	}
	s.leaves = []int64{s.rows}
	return s, nil
}

// encodeStored makes block id of a leaf of encoded rows.
func (w *Worker) encodeStored(id int, l *dataset.Leaf, t *encodeTask, s *encodedRows) error {
	if l.Rows == 0 {
		return nil
	}
	bytes := l.CodedBytes()
	if err := w.blocks.Reserve(bytes); err != nil {
		return err
	}
	made := func() (*dataset.Block, error) { return l.Block(t.classWeights) }
	if w.job.windows != nil {
		made = l.Series
	}
	b, err := made()
	if err == nil && b.Rows != l.Rows { // a partition was longer in the first reading
		err = ErrOtherRows
	}
	if err == nil {
		err = w.blocks.Reserve(b.Bytes() - bytes) // the windows
	}
	if err != nil {
		w.blocks.Unreserve(bytes)
		return err
	}
	_, weights := b.Targets()
	if id%2 == 1 {
		s.held = int64(len(weights))
		return w.keep(id, b)
	}
	s.rows = int64(len(weights))
	for _, x := range weights {
		s.weight.Add(x)
	}
	return w.keep(id, b)
}

// rescan reads the query again where the workers do not hold its rows. It fails where
// the second reading's rows would have produced other encoders than the first's: then
// the query returned other rows.
func (r *runner) rescan(ctx context.Context, t *encodeTask) error {
	if r.in.Rescan == nil {
		return nil
	}
	a := &rescanTask{encodeTask: t}
	if r.job.Spreads(dataset.Leaves(r.in.Rows)) {
		c, err := r.copies(ctx, &copiesTask{})
		if err != nil {
			return err
		}
		a.count = c.Perhaps()
	}
	if _, err := r.reduce(ctx, a); err != nil {
		return err
	}
	if err := r.in.Rescan(ctx); err != nil {
		return err
	}
	st, err := r.statistics(ctx, r.holdout)
	if err != nil {
		return err
	}
	fitted, cw, err := r.encoders(st)
	if err != nil {
		return err
	}
	var first, second canon.E
	r.fitted.Encode(&first)
	first.F64s(r.cw)
	first.I64(r.seen)
	first.I64(r.stats.Held)
	fitted.Encode(&second)
	second.F64s(cw)
	second.I64(st.Rows + st.Held)
	second.I64(st.Held)
	if !bytes.Equal(first.B, second.B) {
		return ErrOtherRows
	}
	return nil
}
