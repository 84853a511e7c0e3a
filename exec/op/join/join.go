package join

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Config is a hash join, or a nested loop where there are no keys. The
// right input is built into a table, the left one probes it.
//
// AntiNull has one key and no residual. A Mark with one key that is not
// null-safe and without a residual is IN; in any other Mark the keys choose
// candidates and the mark is the three-valued OR of the residual over them.
type Config struct {
	Kind         plan.JoinKind
	LTypes       []types.Type // the inputs' columns
	RTypes       []types.Type
	LKeys, RKeys [][]op.Item  // by thread; an item without Program is a column
	KeyTypes     []types.Type // how both sides' keys are represented
	NullSafe     []bool       // by key
	// ResidualCols are the columns the residual reads, counted over left then
	// right columns; it sees them alone, in this order. Residual, by thread,
	// decides pairs. Mark uses ResidualValue instead.
	ResidualCols  []int
	Residual      []op.Filter
	ResidualValue []op.Program
	// Ranges are conditions of the residual by which candidates are found, of all rows or of those with a key. Not of Mark.
	Ranges []Range
	// LOut and ROut are the columns to return; Mark adds a boolean. Semi, Anti, AntiNull and Mark
	// return none of the right, RightSemi and RightAnti none of the left.
	LOut, ROut []int
	// Filters, by key (nil: none), receive the keys that the right side has.
	Filters []*op.KeyFilter
	// Kept, unless nil, has the table from round to round of a recursion.
	Kept *Kept
}

// New makes the threads of a join.
func New(rt *op.Runtime, st *op.Stats, jc Config, l, r []op.Operator) []op.Operator {
	s := &shared{cfg: newLayout(jc), rt: rt, st: st, bar: op.NewBarrier(rt.Threads), sets: make([]*rowset.Set, rt.Threads)}
	s.acct = rt.Pool.Account("hash join", false)
	s.copyAcct = rt.Pool.Account("rows of a hash join", false)
	s.open.Store(int32(rt.Threads))
	return op.Instances(rt, func(i int) *join {
		return &join{s: s, thread: i, l: l[i], r: r[i], ins: inserter{h: kernel.NewHasher(jc.KeyTypes)}}
	})
}

// shared is what the threads of a join share.
//
//	build: every thread keeps its right rows ──► one table, all threads insert
//	         │ memory refused (any thread)             │
//	         ▼                                       ▼
//	spill: right rows to partitions          probe: every thread for itself
//	       left rows to partitions                   │ Right, Full: barrier
//	       each thread joins whole partitions          ▼
//	                                         unmatched right rows
type shared struct {
	cfg   *layout
	rt    *op.Runtime
	st    *op.Stats
	bar   *op.Barrier
	sets  []*rowset.Set // by thread
	table *hashTable
	lists *listOrder   // while the order of the table is made
	built bool         // the table is whole, and no other round's
	acct  *mem.Account // of the table; used between barriers only
	open  atomic.Int32 // threads not closed

	copyAcct *mem.Account // of the table's copy; for the thread that makes that

	spilling atomic.Bool
	hasNull  atomic.Bool // some right row has a NULL key, while spilling
	nonEmpty atomic.Bool
	parts    partitions
	room     int64 // for each thread's pairs, charged to acct
}

type phase uint8

const (
	building phase = iota
	probing
	emitting  // unmatched right rows
	spilled   // partitions
	exhausted // at the end
)

type join struct {
	s      *shared
	thread int
	l, r   op.Operator
	acct   *mem.Account
	ins    inserter
	phase  phase
	probe  *prober
	busy   bool           // the prober works on a batch
	todo   []*batch.Batch // left rows of a batch that was too large at once, the first last
	spill  spillState
	out    op.Coalescer
	closed bool
}

func (o *join) Open(ctx context.Context) error {
	o.acct = o.s.rt.Pool.Account("hash join", true)
	o.probe = newProber(o.s.cfg, o.thread, o.s.rt.Rows(), o.s.rt.Pool.Account("join results", false))
	o.out.Types = o.outTypes()
	if o.s.cfg.Kept.lend(o.s) {
		o.phase = probing
		return o.l.Open(ctx)
	}
	return op.OpenAll(ctx, o.r, o.l)
}

func (o *join) outTypes() []types.Type {
	c := o.s.cfg
	var ts []types.Type
	for _, at := range c.lOutAt {
		ts = append(ts, c.lStoredTypes[at])
	}
	if c.Kind == plan.Mark {
		return append(ts, types.Bool)
	}
	for _, at := range c.rOutAt {
		ts = append(ts, c.rStoredTypes[at])
	}
	return ts
}

func (o *join) Next(ctx context.Context) (*batch.Batch, error) {
	return o.out.Next(func() (*batch.Batch, error) { return o.step(ctx) })
}

// AllowReuse implements op.Reuser. What waits in out is copied, for it has a selection.
func (o *join) AllowReuse() { o.probe.reuse = make([]kernel.Room, len(o.s.cfg.rOutAt)) }

// step returns the next batch, of any size.
func (o *join) step(ctx context.Context) (*batch.Batch, error) {
	for {
		switch o.phase {
		case building:
			if err := o.build(ctx); err != nil {
				return nil, err
			}
		case probing:
			b, err := o.probeNext(ctx)
			if err != io.EOF {
				return b, err
			}
			o.phase = exhausted
			if o.s.cfg.emitsBuild() {
				if err := o.s.bar.Wait(ctx, nil); err != nil {
					return nil, err
				}
				o.phase = emitting
			}
		case emitting:
			if ids := o.s.table.rest(); ids != nil {
				return unmatchedBatch(o.s.cfg, o.s.table, ids), nil
			}
			o.phase = exhausted
		case spilled:
			b, err := o.spillNext(ctx)
			if err != io.EOF {
				return b, err
			}
			o.phase = exhausted
		case exhausted:
			return nil, io.EOF
		}
	}
}

// unmatchedBatch returns build rows with NULLs for the left columns.
func unmatchedBatch(c *layout, t *hashTable, ids []uint32) *batch.Batch {
	cols := make([]arrow.Array, 0, len(c.lOutAt)+len(c.rOutAt))
	for _, at := range c.lOutAt {
		cols = append(cols, batch.Nulls(c.lStoredTypes[at].Arrow(), len(ids)))
	}
	return batch.New(append(cols, t.rows.Gather(ids, c.rOutAt)...), len(ids))
}

// probeNext returns the results of the thread's next left rows.
func (o *join) probeNext(ctx context.Context) (*batch.Batch, error) {
	c := o.s.cfg
	o.probe.t, o.probe.room = o.s.table, o.s.room
	if o.s.table.rows.Rows() == 0 && !c.keepsLeft() {
		if err := o.l.Close(); err != nil { // the input may stop
			return nil, err
		}
		return nil, io.EOF
	}
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
		var b *batch.Batch
		if n := len(o.todo); n > 0 {
			b, o.todo = o.todo[n-1], o.todo[:n-1]
		} else {
			var err error
			if b, err = o.l.Next(ctx); err != nil {
				return nil, err
			}
		}
		n := b.Rows()
		if n == 0 {
			continue
		}
		keys, sel, err := o.probeKeys(ctx, b)
		if op.TooLong(err, n) {
			o.todo = append(o.todo, b.Slice(n/2, n), b.Slice(0, n/2))
			continue
		}
		if err != nil {
			return nil, err
		}
		o.probe.start(b.With(pickCols(b.Cols, c.lStored)), keys, sel, nil, nil)
		o.busy = true
	}
}

// probeKeys returns the keys of b's rows: where the table is by value, of a column as it is
// under b's selection.
func (o *join) probeKeys(ctx context.Context, b *batch.Batch) (keys []arrow.Array, sel []int32, err error) {
	items := o.s.cfg.LKeys[o.thread]
	if b.Sel != nil && len(items) == 1 && items[0].Program == nil {
		if key := b.Cols[items[0].Col]; o.s.table.places(key) {
			return []arrow.Array{key}, b.Sel, nil
		}
	}
	keys, err = op.Columns(ctx, b, items)
	return keys, nil, err
}

func (o *join) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	o.phase = exhausted
	o.todo = nil
	o.s.bar.Leave()
	err := op.CloseAll(o.r, o.l)
	o.spill.close()
	kept := o.s.cfg.Kept.take(o.s, o.acct, o.s.acct, o.s.copyAcct)
	if o.acct != nil {
		o.s.st.AddPeak(o.acct)
		if !kept {
			o.acct.Close()
		}
		o.probe.acct.Close()
	}
	if o.s.open.Add(-1) == 0 {
		o.s.st.AddPeak(o.s.acct)
		o.s.st.AddPeak(o.s.copyAcct)
		if !kept {
			o.s.acct.Close()
			if o.s.built {
				o.s.table.copy.free()
			}
			o.s.copyAcct.Close()
		}
		o.s.parts.close()
	}
	return err
}
