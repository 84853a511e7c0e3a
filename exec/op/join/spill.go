package join

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/partition"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// partitions are the partitions of a join that spills.
type partitions struct {
	mu    sync.Mutex
	build [kernel.Parts][]*spill.Run
	probe [kernel.Parts][]*spill.Run
	tasks []task
}

// task is a partition to be joined. A partition of one build row's hash
// cannot be split any further: it is stuck, and joined in several passes over
// its probe side, each with as much of the build side as fits.
type task struct {
	build, probe []*spill.Run
	level        int
	stuck        bool
}

func (p *partitions) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.build {
		spill.RemoveAll(p.build[i])
		spill.RemoveAll(p.probe[i])
	}
	for _, t := range p.tasks {
		spill.RemoveAll(t.build)
		spill.RemoveAll(t.probe)
	}
}

// spillState is the part of a thread in a join that spills.
type spillState struct {
	part  *partition.Writer // in use while inputs are drained
	split []task            // split off by this thread
	task  *task
	probe partition.Reader
	// of several passes
	multiPass bool
	build     partition.Reader
	over      *batch.Batch // read, but not in the last pass
	matched   []bool       // by probe row
	unknown   []bool
	at        int // probe rows read in this pass
	final     bool
	last      bool // this is the last pass over build rows
}

func (sp *spillState) close() {
	if sp.part != nil {
		sp.part.Abort()
		sp.part = nil
	}
	sp.probe.Close()
	sp.build.Close()
	if sp.task != nil {
		spill.RemoveAll(sp.task.build)
		spill.RemoveAll(sp.task.probe)
		sp.task = nil
	}
	for _, t := range sp.split {
		spill.RemoveAll(t.build)
		spill.RemoveAll(t.probe)
	}
	sp.split = nil
}

// level returns the level at which the inputs are partitioned: not at all where all pairs of rows
// must be compared.
func (o *join) level() int {
	if len(o.s.cfg.KeyTypes) == 0 {
		return -1
	}
	return 0
}

// partitions begins to divide rows of one side.
func (o *join) partitions(ts []types.Type, keyAt []int, level int) *partition.Writer {
	s := o.s
	return partition.NewWriter(partition.Config{Dir: s.rt.Spill, Account: o.acct, Buffer: s.rt.PartitionBuffer(),
		Types: ts, Keys: keyAt, KeyTypes: s.cfg.KeyTypes, Level: level, Wrote: s.st.AddSpilled})
}

// spillBuild writes a batch of the build side, after what the thread kept of it.
func (o *join) spillBuild(ctx context.Context, b *batch.Batch) error {
	s, c := o.s, o.s.cfg
	if o.spill.part == nil {
		set := s.sets[o.thread]
		s.sets[o.thread] = nil
		o.spill.part = o.partitions(c.rStoredTypes, c.rKeyAt, o.level())
		if set != nil {
			set.Flush()
			for ch := range set.Chunks() {
				if err := o.spillBuildBatch(ctx, set.Chunk(ch)); err != nil {
					return err
				}
			}
			if err := o.spill.part.Flush(ctx); err != nil {
				return err
			}
			o.acct.Shrink(o.acct.Used()) // the set; the partitioner holds nothing now
		}
	}
	if b == nil {
		return nil
	}
	return o.spillBuildBatch(ctx, b)
}

func (o *join) spillBuildBatch(ctx context.Context, b *batch.Batch) error {
	s, c := o.s, o.s.cfg
	if b.N > 0 {
		s.nonEmpty.Store(true)
	}
	for k, at := range c.rKeyAt {
		if !c.NullSafe[k] && b.Cols[at].NullN() > 0 {
			s.hasNull.Store(true)
		}
	}
	return o.spill.part.Add(ctx, b)
}

// spillInputs ends the build side's partitions and makes the probe side's.
func (o *join) spillInputs(ctx context.Context) error {
	s, c, sp := o.s, o.s.cfg, &o.spill
	if err := o.spillBuild(ctx, nil); err != nil {
		return err
	}
	runs, err := sp.part.Finish(ctx)
	if err != nil {
		return err
	}
	s.parts.put(&s.parts.build, runs)
	sp.part = o.partitions(c.lStoredTypes, c.lKeyAt, o.level())
	add := func(b *batch.Batch) error {
		b, err := stored(ctx, b, c.lStored, c.LKeys[o.thread])
		if err != nil {
			return err
		}
		return sp.part.Add(ctx, b)
	}
	if err := op.Drain(ctx, o.l, func(b *batch.Batch) error { return op.InHalves(b, add) }); err != nil {
		return err
	}
	if err := o.l.Close(); err != nil {
		return err
	}
	if runs, err = sp.part.Finish(ctx); err != nil {
		return err
	}
	sp.part = nil
	s.parts.put(&s.parts.probe, runs)
	return s.bar.Wait(ctx, s.makeTasks)
}

func (p *partitions) put(to *[kernel.Parts][]*spill.Run, runs [kernel.Parts]*spill.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range runs {
		if r != nil {
			to[i] = append(to[i], r)
		}
	}
}

func (s *shared) makeTasks() error {
	p := &s.parts
	s.room = max(runsRoom(p.build[:]), runsRoom(p.probe[:]))
	if !s.acct.Try(s.room * int64(s.rt.Threads)) {
		s.room = 0
	}
	for i := range p.build {
		t := task{build: p.build[i], probe: p.probe[i], stuck: len(s.cfg.KeyTypes) == 0}
		p.build[i], p.probe[i] = nil, nil
		if s.worth(&t) {
			p.tasks = append(p.tasks, t)
		} else {
			spill.RemoveAll(t.build)
			spill.RemoveAll(t.probe)
		}
	}
	return nil
}

// runsRoom returns the memory that a thread needs for pairs of the rows in runs.
func runsRoom(parts [][]*spill.Run) int64 {
	var bytes, rows int64
	for _, runs := range parts {
		for _, r := range runs {
			b, _ := r.Size()
			bytes, rows = bytes+b, rows+r.Rows()
		}
	}
	return pairRoom(bytes, rows)
}

// worth reports whether a partition can have results.
func (s *shared) worth(t *task) bool {
	if len(t.build) == 0 {
		return len(t.probe) > 0 && s.cfg.keepsLeft()
	}
	return len(t.probe) > 0 || s.cfg.emitsBuild() && s.cfg.Kind != plan.RightSemi
}

// spillNext returns the next results of the partitions, io.EOF after all.
func (o *join) spillNext(ctx context.Context) (*batch.Batch, error) {
	sp := &o.spill
	for {
		if sp.task == nil {
			t, ok := o.nextTask()
			if !ok {
				return nil, io.EOF
			}
			sp.task = t
			if err := o.beginTask(ctx); err != nil {
				return nil, err
			}
			continue
		}
		b, err := o.taskNext(ctx)
		if err != io.EOF {
			return b, err
		}
		o.endTask()
	}
}

func (o *join) nextTask() (*task, bool) {
	sp := &o.spill
	if n := len(sp.split); n > 0 {
		t := sp.split[n-1]
		sp.split = sp.split[:n-1]
		return &t, true
	}
	p := &o.s.parts
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tasks) == 0 {
		return nil, false
	}
	t := p.tasks[0]
	p.tasks = p.tasks[1:]
	return &t, true
}

func (o *join) endTask() {
	sp := &o.spill
	own := sp.split
	sp.split = nil
	sp.close()
	*sp = spillState{split: own}
	o.probe.t = nil
	o.busy = false
	o.acct.Shrink(o.acct.Used())
}

// beginTask loads the build side of the partition and makes its table. Where
// memory is refused it splits the partition, which ends it, or goes on with
// what is loaded for the first pass.
func (o *join) beginTask(ctx context.Context) error {
	sp := &o.spill
	sp.build = partition.Reader{Runs: sp.task.build}
	sp.probe = partition.Reader{Runs: sp.task.probe}
	full, err := o.load(ctx, sp.task.stuck)
	if err != nil {
		return err
	}
	if full {
		if !sp.task.stuck {
			return o.split(ctx)
		}
		sp.multiPass = true
		n := spill.TotalRows(sp.task.probe)
		if o.s.cfg.tracks() {
			o.acct.Take(2 * n)
			sp.matched, sp.unknown = make([]bool, n), make([]bool, n)
		}
	}
	return nil
}

// smallTable is up to how many bytes a table is made in any case: the memory is used by other
// operators then, and dividing so few rows would not help.
const smallTable = 64 << 10

// load reads build rows into a table until the end or until memory is refused
// (full). With force it takes one batch in any case.
func (o *join) load(ctx context.Context, force bool) (full bool, err error) {
	sp, c := &o.spill, o.s.cfg
	set, held := rowset.New(c.rStoredTypes), int64(0)
	for {
		b := sp.over
		sp.over = nil
		if b == nil {
			if b, err = sp.build.Next(ctx); err != nil {
				return false, err
			}
			if b == nil {
				break
			}
		}
		// the table over these rows is charged with them
		rows := int64(b.N)
		need := set.Bytes() + b.Bytes() + tableBytes(c, set.Rows()+rows, set.Span()+rows)
		if force && c.ranges != nil && len(c.KeyTypes) > 0 { // one list, which is long
			kept, making := c.ranges.orderBytes()
			need += (kept + making) * (set.Rows() + rows)
		}
		if err := o.acct.Grow(need - held); err != nil || set.Full() {
			if err != nil && !o.acct.Refused(err) {
				return false, err
			}
			if (!force || set.Rows() > 0) && (need > smallTable || set.Full()) {
				sp.over = b
				full = true
				break
			}
			o.acct.Take(need - held)
		}
		held = need
		set.Add(b)
	}
	if full && !force {
		return true, nil // it will be split: no table
	}
	set.Flush()
	t := newHashTable(c, set)
	set.Finish()
	if c.directKey {
		for ch := range set.Chunks() {
			t.findRange(ch)
		}
	}
	t.size(nil)
	if t.exists != nil {
		for ch := range set.Chunks() {
			t.note(ch)
		}
		t.rank()
	}
	for ch := set.Chunks() - 1; ch >= 0; ch-- {
		t.insert(&o.ins, ch, true)
	}
	t.finish()
	if l := newListOrder(t); l != nil {
		acct := o.acct
		if force || len(t.keys) == 0 {
			acct = nil
		}
		if err := l.make(func(n int, do func(i int), then func()) error {
			for i := range n {
				do(i)
			}
			then()
			return ctx.Err()
		}, acct); err != nil {
			return false, err
		}
	}
	if o.level() == 0 {
		// NULLs and rows count for the whole build side, not for a partition
		t.hasNull.Store(o.s.hasNull.Load())
		t.nonEmpty.Store(o.s.nonEmpty.Load())
	}
	o.probe.t, o.probe.room = t, o.s.room
	return full, nil
}

// split divides the partition by the next bits of the hash.
func (o *join) split(ctx context.Context) error {
	s, c, sp := o.s, o.s.cfg, &o.spill
	t := *sp.task
	o.acct.Shrink(o.acct.Used())
	sp.build.Close()
	sp.over = nil
	level := t.level + 1
	if level > partition.MaxLevel {
		t.stuck = true
		sp.task = nil
		sp.split = append(sp.split, t)
		return nil
	}
	total := spill.TotalRows(t.build)
	divide := func(runs []*spill.Run, build bool) (out [kernel.Parts]*spill.Run, err error) {
		ts, keyAt := c.lStoredTypes, c.lKeyAt
		if build {
			ts, keyAt = c.rStoredTypes, c.rKeyAt
		}
		sp.part = o.partitions(ts, keyAt, level)
		r := partition.Reader{Runs: runs}
		defer r.Close()
		for {
			b, err := r.Next(ctx)
			if err != nil {
				return out, err
			}
			if b == nil {
				break
			}
			if err := sp.part.Add(ctx, b); err != nil {
				return out, err
			}
		}
		out, err = sp.part.Finish(ctx)
		sp.part = nil
		return out, err
	}
	build, err := divide(t.build, true)
	if err != nil {
		return err
	}
	probe, err := divide(t.probe, false)
	if err != nil {
		spill.RemoveAll(listRuns(build))
		return err
	}
	spill.RemoveAll(t.build)
	spill.RemoveAll(t.probe)
	sp.task = nil
	for i := range build {
		sub := task{level: level}
		if build[i] != nil {
			sub.build = []*spill.Run{build[i]}
			// If splitting leaves all rows in one part, they have one hash.
			sub.stuck = build[i].Rows() == total
		}
		if probe[i] != nil {
			sub.probe = []*spill.Run{probe[i]}
		}
		if s.worth(&sub) {
			sp.split = append(sp.split, sub)
		} else {
			spill.RemoveAll(sub.build)
			spill.RemoveAll(sub.probe)
		}
	}
	return nil
}

func listRuns(in [kernel.Parts]*spill.Run) []*spill.Run {
	var out []*spill.Run
	for _, r := range in {
		if r != nil {
			out = append(out, r)
		}
	}
	return out
}

// taskNext returns the next results of the partition, io.EOF after all.
func (o *join) taskNext(ctx context.Context) (*batch.Batch, error) {
	sp, c := &o.spill, o.s.cfg
	for {
		if o.busy {
			b, err := o.probe.next(ctx)
			if err != nil {
				return nil, err
			}
			if b != nil {
				return b, nil
			}
			o.busy = false
		}
		if sp.final && !sp.multiPass {
			ids := o.probe.t.rest()
			if ids == nil {
				return nil, io.EOF
			}
			return unmatchedBatch(c, o.probe.t, ids), nil
		}
		b, err := sp.probe.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			out, err := o.passDone(ctx)
			if out != nil || err != nil {
				return out, err
			}
			continue
		}
		keys := pickCols(b.Cols, c.lKeyAt)
		if !sp.multiPass {
			o.probe.start(b, keys, nil, nil, nil)
			o.busy = true
			continue
		}
		from := sp.at
		sp.at += b.N
		if sp.last && sp.final {
			return o.probe.finish(b, sp.matched[from:sp.at], sp.unknown[from:sp.at]), nil
		}
		if c.tracks() {
			o.probe.start(b, keys, nil, sp.matched[from:sp.at], sp.unknown[from:sp.at])
		} else {
			o.probe.start(b, keys, nil, nil, nil)
		}
		o.busy = true
	}
}

// passDone is called at the end of the probe side. What is next:
//
//	one table   unmatched build rows (Right, Full), then the end
//	passes      this pass's unmatched build rows, then the next pass …, at
//	            last a pass that returns what the marks of the probe rows decide
func (o *join) passDone(ctx context.Context) (*batch.Batch, error) {
	sp, c := &o.spill, o.s.cfg
	if !sp.multiPass {
		if !c.emitsBuild() {
			return nil, io.EOF
		}
		sp.final = true
		return nil, nil
	}
	if sp.final {
		return nil, io.EOF
	}
	if c.emitsBuild() {
		if ids := o.probe.t.rest(); ids != nil {
			return unmatchedBatch(c, o.probe.t, ids), nil
		}
	}
	sp.probe.Rewind()
	sp.at = 0
	if sp.last {
		if !c.tracks() {
			return nil, io.EOF
		}
		sp.final = true
		return nil, nil
	}
	o.probe.t = nil
	o.acct.Shrink(o.acct.Used() - 2*int64(len(sp.matched)))
	full, err := o.load(ctx, true)
	sp.last = !full
	return nil, err
}
