package aggregate

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/partition"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// newThreads is New for aggregates by all groups.
//
//	each thread:  rows ─▶ its own table of groups           (spills to partitions)
//	            ─▶ the groups of coarser grouping sets
//	barrier
//	each thread:  its share of the groups of every thread, by key or hash ─▶ results
//
// With one thread the table is the result. Where groups hardly repeat a thread defers rows, which
// are grouped by partitions (radix.go). Large tables of a partial phase are returned without a
// merge: the final phase finds their groups anyway. When any thread had to spill, or there is no
// memory to merge, all write what they hold, and partitions are merged one after the other, each by
// one thread, splitting again where one does not fit.
func newThreads(rt *op.Runtime, st *op.Stats, n *plan.Aggregate, read []bool, in []plan.Column, env *function.Env, inputs []op.Operator) ([]*aggThread, error) {
	n = masked(n)
	s := &aggShared{rt: rt, st: st, n: n, read: read, env: env, barrier: op.NewBarrier(rt.Threads), long: make(chan struct{}, 1), threads: make([]*aggThread, rt.Threads)}
	s.open.Store(int32(rt.Threads))
	s.sets = n.Sets
	for _, g := range n.Groups {
		s.keyTypes = append(s.keyTypes, g.Expr.Type())
	}
	if s.sets != nil {
		s.keyTypes = append(s.keyTypes, types.Int4) // the set's number
	} else {
		s.layouts = newCodeLayouts(s.keyTypes)
	}
	s.share(n)
	s.spills = len(s.keyTypes) > 0 || slices.ContainsFunc(s.calls, isSortable)
	s.rowTypes = append(append([]types.Type(nil), s.keyTypes...), repeat(types.Bytea, len(s.calls))...)
	for i := range s.threads {
		l := &aggThread{s: s, thread: i, in: inputs[i]}
		if err := l.compile(in); err != nil {
			return nil, err
		}
		s.threads[i] = l
	}
	return s.threads, nil
}

func isSortable(call expr.AggCall) bool {
	a, err := agg.New(call, nil)
	return err == nil && sortable([]agg.Agg{a})
}

func repeat(t types.Type, n int) []types.Type {
	out := make([]types.Type, n)
	for i := range out {
		out[i] = t
	}
	return out
}

type aggShared struct {
	rt       *op.Runtime
	st       *op.Stats
	n        *plan.Aggregate
	read     []bool // nil: all groups' columns are
	env      *function.Env
	sets     [][]int
	keyTypes []types.Type
	rowTypes []types.Type // keys, then a state (bytea) an aggregate: spilled rows
	barrier  *op.Barrier
	threads  []*aggThread
	with     []*aggThread   // those that take part, once all have met
	calls    []expr.AggCall // those that have states
	slot     []int          // of each aggregate: the call in calls with its states
	spilled  bool           // set by the barrier's serial part
	runs     [kernel.Parts][]*spill.Run
	radix    *aggRadix // nil: no rows were deferred
	apart    bool      // each thread returns its own table, unmerged
	shared   *sharedBlocks
	layouts  *codeLayouts // nil: the keys have no codes
	spills   bool         // there are keys, or aggregates that can be written in partial states
	joint    bool         // the threads find the only group's results together, in these steps
	steps    []togetherStep
	needed   *Needed       // groups; nil: all
	open     atomic.Int32  // threads not closed
	long     chan struct{} // holds a token while a thread makes results that hold all rows (mergeSorted)
}

// share finds which aggregates have states of their own, and which read those
// of another.
func (s *aggShared) share(n *plan.Aggregate) {
	over := map[string][]int{} // slots by what their calls' arguments compute
	for _, it := range n.Aggs {
		at := len(s.calls)
		if n.Phase != plan.AggFinal && len(it.Call.Args) > 0 { // final: its states come in a column each
			if arg, ok := eval.Fingerprint(it.Call.Args...); ok {
				for _, slot := range over[arg] {
					if agg.Shared(s.calls[slot], it.Call) {
						at = slot
						break
					}
					if agg.Shared(it.Call, s.calls[slot]) {
						at = slot
						s.calls[at] = it.Call
						break
					}
				}
				if at == len(s.calls) {
					over[arg] = append(over[arg], at)
				}
			}
		}
		if at == len(s.calls) {
			s.calls = append(s.calls, it.Call)
		}
		s.slot = append(s.slot, at)
	}
}

func (s *aggShared) newAggs() ([]agg.Agg, error) {
	out := make([]agg.Agg, len(s.calls))
	for i, c := range s.calls {
		a, err := s.newAgg(c)
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	return out, nil
}

func (s *aggShared) newAgg(c expr.AggCall) (agg.Agg, error) {
	if s.n.Phase == plan.AggSingle {
		return agg.NewWhole(c, s.env)
	}
	return agg.New(c, s.env)
}

type aggThread struct {
	s        *aggShared
	thread   int
	in       op.Operator
	vals     *eval.Programs // of keys and arguments
	keyAt    []int          // the keys' places in vals
	kept     []int          // what is kept of rows that are deferred: places in vals, or states' columns
	inputs   []aggInput     // by slot
	narrow   bool           // rows that do not count are not computed
	rows     int            // how many rows at a time keep values small
	t        *groupTable
	passing  []int32 // rows that the last FILTER passed
	deferred deferredRows
	rule     deferRule
	acct     *mem.Account
	returned int64 // of it: for the results returned last
	// expected is how many groups the table has room for.
	expected int
	// sized is how many groups the states have room for, about: they grow by half.
	sized int
	parts *partition.Writer
	runs  [kernel.Parts]*spill.Run
	roll  rollUp
	// The steps of roll that are done, and how many groups of the next.
	rolled, rolledTo int

	begun bool
	out   *groupTable
	at    int         // next group to return
	lost  []bool      // groups of out that other threads return; nil: none
	own   *groupTable // to return after out, but for the groups in ownLost
	// ownLost is lost of own.
	ownLost []bool
	todo    []aggPart
	merging []*spill.Run // of the partition that was begun last
	found   []*results   // of the partition that was sorted last
	closed  bool
	states  *partition.Reader // rows of a partial phase that are given as they are

	mu     sync.Mutex // held while the thread works on its table
	taking bool       // rows in: the table may be spilled between two batches

	// yield is set when another operator of the statement needs what the table of a partition holds: it is
	// divided after the batch (mergePart).
	yield atomic.Bool

	// Where groups are made by partitions: those the thread has still to return, its place among them, its
	// numbers as the common packer has them, and the table of the partition returned last.
	shares []int
	radix  int
	codes  [][]uint32
	merged *groupTable
}

// aggPart is a partition to merge.
type aggPart struct {
	runs   []*spill.Run
	level  int
	sorted bool // it has few groups, of which one does not fit
}

func (o *aggThread) Open(ctx context.Context) error {
	o.acct = o.s.rt.Pool.Account("hash aggregate", true)
	if err := o.reset(); err != nil {
		return err
	}
	o.roll = newRollUp(o.s.sets, o.t.aggs)
	if o.s.spills {
		o.acct.OnReclaim(func() (bool, error) { return o.reclaim(ctx) })
	}
	return o.in.Open(ctx)
}

// reclaim spills the table for another operator, if the thread waits for rows. While it merges or returns
// groups the other must wait: without that a thread that sorts a partition was refused 96 kB, since
// another's partition had grown until nothing was left.
func (o *aggThread) reclaim(ctx context.Context) (bool, error) {
	if !o.mu.TryLock() {
		return false, mem.ErrBusy
	}
	defer o.mu.Unlock()
	switch {
	case !o.taking && o.acct.Used() > smallTable:
		o.yield.Store(true)
		return false, mem.ErrBusy
	case !o.taking || !o.holds():
		return false, nil
	}
	return true, o.spill(ctx)
}

// grant charges optional memory of the table, and reports whether it was available.
func (o *aggThread) grant(bytes int64) bool { return o.acct.Try(bytes) }

func (o *aggThread) reset() error {
	aggs, err := o.newAggs()
	if err != nil {
		return err
	}
	o.t = o.newTable(aggs)
	// Rows that are spilled make groups of few rows at a time, so after that keys are deferred like
	// other rows.
	keys := len(o.kept) == 0 && o.t.values == nil && o.parts == nil
	o.deferred, o.rule = deferredRows{}, deferRule{able: o.canDefer(aggs), keys: keys}
	o.rolled, o.rolledTo, o.expected, o.sized = 0, 0, expectFrom, 0
	return nil
}

// newTable makes a table of groups for rows.
func (o *aggThread) newTable(aggs []agg.Agg) *groupTable {
	t := newGroupTable(o.s.keyTypes, aggs)
	t.grant = o.grant
	if o.s.layouts != nil {
		t.layouts, t.rng = o.s.layouts, &groupRange{}
	}
	return t
}

// newAggs makes the states of a table for rows.
func (o *aggThread) newAggs() ([]agg.Agg, error) {
	aggs, err := o.s.newAggs()
	if err != nil {
		return nil, err
	}
	first := make([]int, len(aggs))
	for i := range aggs {
		if first[i] = -1; len(o.inputs[i].at) > 0 {
			first[i] = o.inputs[i].at[0]
		}
	}
	agg.Share(aggs, first)
	return aggs, nil
}

func (o *aggThread) Next(ctx context.Context) (*batch.Batch, error) {
	if !o.begun {
		o.begun = true
		if err := o.begin(ctx); err != nil {
			return nil, err
		}
	}
	for {
		if o.states != nil {
			if b, err := o.giveState(ctx); b != nil || err != nil {
				return b, err
			}
			continue
		}
		if o.out != nil {
			b, err := o.emit(ctx)
			if err != nil || b != nil && b.N > 0 {
				return b, err
			}
			if b != nil { // none of these groups is needed
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				continue
			}
			o.dropFound()
			o.out, o.lost, o.own, o.ownLost = o.own, o.ownLost, nil, nil
			var left int64
			if o.out != nil {
				left = o.out.bytes()
			}
			if err := o.acct.Resize(left); err != nil {
				return nil, err
			}
			continue
		}
		if len(o.shares) > 0 {
			p := o.shares[0]
			o.shares = o.shares[1:]
			if err := o.mergeRadix(ctx, p); err != nil {
				return nil, err
			}
			continue
		}
		if len(o.todo) == 0 {
			return nil, io.EOF
		}
		p := o.todo[0]
		o.todo, o.merging = o.todo[1:], p.runs
		if err := o.mergePart(ctx, p); err != nil {
			return nil, err
		}
	}
}

// begin consumes the input, meets the other threads and finds what this thread returns.
func (o *aggThread) begin(ctx context.Context) error {
	s := o.s
	if err := o.consume(ctx); err != nil {
		return err
	}
	if o.parts == nil {
		if err := o.rollSets(ctx); err != nil {
			return err
		}
	}
	if err := s.barrier.Wait(ctx, func() error {
		for _, l := range s.threads {
			if l.begun { // others were closed before they read anything
				s.with = append(s.with, l)
				s.spilled = s.spilled || l.parts != nil
			}
		}
		return s.prepare()
	}); err != nil {
		return err
	}
	if s.spilled {
		if err := o.spill(ctx); err != nil {
			return err
		}
		runs, err := o.parts.Finish(ctx)
		o.parts.Account().Close()
		o.parts = nil
		if err != nil {
			return err
		}
		o.runs = runs
		o.t = nil
		if err := o.acct.Resize(0); err != nil {
			return err
		}
		if err := s.barrier.Wait(ctx, func() error {
			for _, l := range s.threads {
				for p, r := range l.runs {
					if r != nil {
						s.runs[p] = append(s.runs[p], r)
					}
				}
			}
			return nil
		}); err != nil {
			return err
		}
		for p := o.thread; p < kernel.Parts; p += s.rt.Threads {
			if len(s.runs[p]) > 0 {
				o.todo = append(o.todo, aggPart{runs: s.runs[p], level: 1})
			}
		}
		return nil
	}
	if s.radix != nil {
		if err := o.divideOwn(ctx); err != nil {
			return err
		}
		o.t = nil
		for p := o.thread; p < s.radix.parts; p += s.rt.Threads {
			o.shares = append(o.shares, p)
		}
		return s.barrier.Wait(ctx, nil)
	}
	if s.rt.Threads == 1 || s.apart {
		o.out, o.t = o.t, nil
		if err := o.ungrouped(); err != nil {
			return err
		}
		return o.together(ctx)
	}
	if len(s.keyTypes) == 0 || s.few() {
		// Few groups: one thread merges them all.
		if o.thread == 0 {
			if err := o.mergeThreads(ctx, 0, 1); err != nil {
				return err
			}
			if err := o.ungrouped(); err != nil {
				return err
			}
		}
	} else if err := o.mergeThreads(ctx, o.thread, s.rt.Threads); err != nil {
		return err
	}
	o.keepOwn()
	// A thread's table may go only when all have read it.
	if err := s.barrier.Wait(ctx, nil); err != nil {
		return err
	}
	o.t = nil
	if o.out == nil {
		if err := o.acct.Resize(0); err != nil {
			return err
		}
		return o.together(ctx)
	}
	have := o.out.bytes()
	if o.own != nil {
		have += o.own.bytes() + int64(len(o.ownLost))
	}
	// prepare has charged the estimate of a share, which is low where this thread's table had few of
	// its groups, or by the rounding of slots to powers of two. The memory is in use already, and its
	// rows are returned next.
	if more := have - o.acct.Used(); more > 0 {
		o.acct.Take(more)
	} else if err := o.acct.Resize(have); err != nil {
		return err
	}
	return o.together(ctx)
}

// prepare decides how the threads' tables become results. Merging takes as much
// memory again; where there is not so much, all spill.
func (s *aggShared) prepare() error {
	if s.spilled {
		return nil
	}
	s.joint = s.joins()
	var bytes int64
	groups, deferred := 0, false
	for _, l := range s.with {
		bytes += l.held()
		groups += l.t.n()
		deferred = deferred || l.deferred.rows > 0
	}
	if deferred {
		s.alike()
		room, err := s.divide()
		s.spilled = !room
		return err
	}
	if s.n.Phase == plan.AggPartial && groups >= deferGroups {
		s.apart = true
		return nil
	}
	if s.rt.Threads == 1 {
		return nil
	}
	if len(s.keyTypes) == 0 {
		s.spilled = s.spills && !s.fits()
		return nil
	}
	if groups >= fewGroups && s.numbered(groups) {
		s.alike()
		room, err := s.divide()
		s.spilled = !room
		return err
	}
	if groups >= fewGroups {
		s.sameCodes()
		s.shared = s.shareBlocks()
	}
	need := bytes/int64(s.rt.Threads) + bytes/8
	if s.shared != nil {
		need = int64(float64(need)*s.shared.part) + int64(groups)
	}
	for _, l := range s.with {
		if err := l.acct.Grow(need); err != nil {
			if !l.acct.Refused(err) {
				return err
			}
			s.spilled = true
			return nil
		}
	}
	s.alike()
	return nil
}

// fits reports whether there is memory to merge the threads' rows of one group: the rows are
// shared, the lists of them are not.
func (s *aggShared) fits() bool {
	var need int64
	for _, l := range s.with {
		need += l.t.bytes() / 4
	}
	return len(s.with) == 0 || s.with[0].acct.Grow(need) == nil
}

// alike makes either all threads' tables have ranges or none, so that they divide their groups by
// the same rule.
func (s *aggShared) alike() {
	ranges := 0
	for _, l := range s.with {
		if l.t.rng != nil {
			ranges++
		}
	}
	if ranges == len(s.with) {
		return
	}
	for _, l := range s.with {
		if l.t.rng != nil {
			l.t.leaveRange()
		}
	}
}

// fewGroups are merged by one thread.
const fewGroups = 4096

// few reports whether all threads together hold few groups.
func (s *aggShared) few() bool {
	n := 0
	for _, l := range s.with {
		n += l.t.n()
	}
	return n < fewGroups
}

// ungrouped makes the one row of an aggregation without groups.
func (o *aggThread) ungrouped() error {
	if o.s.n.Phase == plan.AggPartial && len(o.s.keyTypes) == 0 && o.out.n() == 0 {
		return nil // the final phase makes the row
	}
	if len(o.s.n.Groups) == 0 && o.s.sets == nil && o.out.n() == 0 {
		o.out.alone()
	}
	// An empty grouping set yields a row for no input too.
	if o.s.sets != nil && o.out.n() == 0 && o.s.n.Phase != plan.AggPartial {
		for i, set := range o.s.sets {
			if len(set) > 0 {
				continue
			}
			cols := make([]arrow.Array, len(o.s.keyTypes))
			for k := range o.s.n.Groups {
				cols[k] = batch.Nulls(o.s.keyTypes[k].Arrow(), 1)
			}
			cols[len(cols)-1] = batch.FromSlice(arrow.PrimitiveTypes.Int32, []int32{int32(i)}, nil)
			o.out.find(cols, 1)
		}
	}
	for _, a := range o.out.aggs {
		a.Resize(o.out.n())
	}
	return nil
}

// emit returns the next batch of results; nil at the end of the table.
func (o *aggThread) emit(ctx context.Context) (*batch.Batch, error) {
	t := o.out
	o.acct.Shrink(o.returned)
	o.returned = 0
	o.at = nextAlive(o.lost, o.at, t.n())
	if o.at >= t.n() {
		o.at = 0
		return nil, nil
	}
	from := o.at
	most := min(op.BatchBytes, o.s.threadRoom()/4)
	to, need := t.some(from, min(from+o.s.needed.most(min(o.s.rt.Rows(), kernel.ChunkRows)), t.n()), o.s.n.Phase == plan.AggPartial, most)
	if need > 0 {
		if err := o.acct.Grow(need); err != nil {
			switch {
			case !o.acct.Refused(err):
				return nil, err
			case need <= smallTable:
				o.acct.Take(need)
			case sortable(t.aggs):
				o.at = 0
				return nil, o.giveSorted(ctx, from)
			case o.found != nil: // there is nothing else to give way here
				if err := o.acct.Insist(ctx, need); err != nil {
					return nil, err
				}
			default:
				return nil, err
			}
		}
		o.returned = need
	}
	o.at = to
	result := func(i, from, to int) (arrow.Array, error) {
		return o.result(ctx, o.s.slot[i], o.s.n.Aggs[i].Call, from, to)
	}
	key := func(k int) arrow.Array { return t.keyColumn(k, from, to) }
	if o.found == nil {
		keys := func(list []uint32) []arrow.Array {
			return o.keysRead(func(k int) arrow.Array { return t.keysOf(k, list) })
		}
		g := &groupsOf{from: from, to: to, lost: o.lost, calls: o.s.n.Aggs, key: key, keys: keys, result: result}
		if b, err := o.s.needed.rows(g); b != nil || err != nil {
			return b, err
		}
	}
	cols := o.keysRead(key)
	for i := range o.s.n.Aggs {
		arr, err := result(i, from, to)
		if err != nil {
			return nil, err
		}
		cols = append(cols, arr)
	}
	out := batch.New(cols, to-from)
	out.Sel = alive(o.lost, from, to)
	return out, nil
}

// keysRead returns those of the keys' columns that are read, and the numbers of sets as
// GROUPING's masks.
func (o *aggThread) keysRead(key func(k int) arrow.Array) []arrow.Array {
	var cols []arrow.Array
	for k := range o.s.n.Groups {
		if o.s.read == nil || o.s.read[k] {
			cols = append(cols, key(k))
		}
	}
	if o.s.sets != nil && o.s.n.GroupingID != 0 {
		cols = append(cols, o.groupingIDs(key(len(o.s.keyTypes)-1).(*array.Int32)))
	}
	return cols
}

// result returns call's column, of results or of encoded states, from the states in a slot.
func (o *aggThread) result(ctx context.Context, slot int, call expr.AggCall, from, to int) (arrow.Array, error) {
	a := o.out.aggs[slot]
	if r, ok := a.(*results); ok {
		return r.rows(ctx, from, to)
	}
	if call.Fn != o.s.calls[slot].Fn {
		own, err := o.s.newAgg(call)
		if err != nil {
			return nil, err
		}
		a = agg.View(a, own)
	}
	if o.s.n.Phase == plan.AggPartial {
		return a.States(from, to)
	}
	return a.Results(from, to)
}

// groupingIDs turns set numbers into the masks of the keys they leave out.
func (o *aggThread) groupingIDs(num *array.Int32) arrow.Array {
	n := len(o.s.n.Groups)
	masks := make([]int32, len(o.s.sets))
	for i, set := range o.s.sets {
		for k := 0; k < n; k++ {
			if !contains(set, k) {
				masks[i] |= 1 << (n - 1 - k)
			}
		}
	}
	out := make([]int32, num.Len())
	for i := range out {
		out[i] = masks[num.Value(i)]
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Int32, out, nil)
}

// removeRuns removes the runs that were not read to their end, since all threads are closed: the
// statement may live on, with other plans, rounds of a recursion or a client that does not
// read what it has been sent.
func (s *aggShared) removeRuns() {
	for _, o := range s.threads {
		for _, r := range o.runs {
			if r != nil {
				_ = r.Remove() // or else with the directory
			}
		}
		spill.RemoveAll(o.merging)
		for _, p := range o.todo {
			spill.RemoveAll(p.runs)
		}
	}
}

func (o *aggThread) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	o.take(false)
	if !o.begun {
		o.s.barrier.Leave()
	}
	o.dropFound()
	o.s.st.AddPeak(o.acct)
	if o.acct != nil {
		o.acct.Close()
	}
	if o.parts != nil {
		o.parts.Abort()
		o.parts.Account().Close()
	}
	if o.states != nil {
		o.states.Close()
	}
	if o.s.open.Add(-1) == 0 {
		if o.s.radix != nil {
			o.s.radix.acct.Close()
		}
		o.s.removeRuns()
	}
	o.out, o.own, o.merged = nil, nil, nil // but not the table: another thread may still be reading it
	return o.in.Close()
}
