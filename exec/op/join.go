package op

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

const (
	joinInner    = plan.Inner
	joinLeft     = plan.Left
	joinRight    = plan.Right
	joinFull     = plan.Full
	joinSemi     = plan.Semi
	joinAnti     = plan.Anti
	joinAntiNull = plan.AntiNull
	joinMark     = plan.Mark
	joinSingle   = plan.Single
)

// JoinConfig is a hash join, or a nested loop where there are no keys. The
// right input is built into a table, the left one probes it.
//
// AntiNull has one key and no residual. A Mark with one key that is not
// null-safe and without a residual is IN; in any other Mark the keys choose
// candidates and the mark is the three-valued OR of the residual over them.
type JoinConfig struct {
	Kind         plan.JoinKind
	LTypes       []types.Type // the inputs' columns
	RTypes       []types.Type
	LKeys, RKeys [][]Item     // by lane; an item without Program is a column
	KeyTypes     []types.Type // how both sides' keys are carried
	NullSafe     []bool       // by key
	// ResidualCols are the columns the residual reads, counted over left then
	// right columns; it sees them alone, in this order. Residual, by lane,
	// decides pairs. Mark uses ResidualValue instead.
	ResidualCols  []int
	Residual      []Filter
	ResidualValue []Program
	// LOut and ROut are the columns to give; Mark adds a boolean. Semi, Anti,
	// AntiNull and Mark give none of the right, RightSemi and RightAnti none of
	// the left.
	LOut, ROut []int
	// Filters, by key (nil: none), are told which keys the right side has.
	Filters []*KeyFilter
}

// joinConfig is a JoinConfig with the layout of what is kept: of each side the
// columns that are needed, then the keys that are computed.
type joinConfig struct {
	JoinConfig
	lStored, rStored           []int // input columns
	lStoredTypes, rStoredTypes []types.Type
	lKeyAt, rKeyAt             []int // by key: stored column
	lOutAt, rOutAt             []int
	residual                   []residualCol
	lPaired, rPaired           []int // stored columns that pairs are gathered of
	directKey                  bool
	nullAware                  bool // a NULL key makes the answer NULL
}

// residualCol is a stored column of a side.
type residualCol struct {
	right bool
	at    int
}

// emitsPairs: the result has right columns; else it is about left rows only.
func (c *joinConfig) emitsPairs() bool {
	switch c.Kind {
	case joinSemi, joinAnti, joinAntiNull, joinMark, plan.RightSemi, plan.RightAnti:
		return false
	}
	return true
}

// rightOnly: the result is about right rows.
func (c *joinConfig) rightOnly() bool { return c.Kind == plan.RightSemi || c.Kind == plan.RightAnti }

// emitsUnmatched: left rows without a match come with NULLs.
func (c *joinConfig) emitsUnmatched() bool {
	return c.Kind == joinLeft || c.Kind == joinFull || c.Kind == joinSingle
}

// tracks: which left rows have a match must be remembered.
func (c *joinConfig) tracks() bool {
	return !c.rightOnly() && (!c.emitsPairs() || c.emitsUnmatched())
}

// emitsBuild: right rows go out by themselves after the probe, those without a
// match, or with one.
func (c *joinConfig) emitsBuild() bool {
	return c.Kind == joinRight || c.Kind == joinFull || c.rightOnly()
}

// keepsLeft: a left row without a match is in the result somehow.
func (c *joinConfig) keepsLeft() bool {
	return c.Kind != joinInner && c.Kind != joinRight && c.Kind != joinSemi && !c.rightOnly()
}

func newJoinConfig(jc JoinConfig) *joinConfig {
	c := &joinConfig{JoinConfig: jc}
	side := func(ts []types.Type, need []int, keys []Item) (stored []int, storedTypes []types.Type, keyAt []int) {
		at := map[int]int{}
		put := func(col int) int {
			if i, ok := at[col]; ok {
				return i
			}
			at[col] = len(stored)
			stored = append(stored, col)
			storedTypes = append(storedTypes, ts[col])
			return at[col]
		}
		for _, col := range need {
			put(col)
		}
		for _, k := range keys {
			if k.Program == nil {
				keyAt = append(keyAt, put(k.Col))
			} else {
				keyAt = append(keyAt, -1)
			}
		}
		for i := range keys {
			if keyAt[i] < 0 {
				keyAt[i] = len(storedTypes)
				storedTypes = append(storedTypes, c.KeyTypes[i])
			}
		}
		return stored, storedTypes, keyAt
	}
	lNeed, rNeed := append([]int(nil), c.LOut...), append([]int(nil), c.ROut...)
	for _, col := range c.ResidualCols {
		if col < len(c.LTypes) {
			lNeed = append(lNeed, col)
		} else {
			rNeed = append(rNeed, col-len(c.LTypes))
		}
	}
	c.lStored, c.lStoredTypes, c.lKeyAt = side(c.LTypes, lNeed, c.LKeys[0])
	c.rStored, c.rStoredTypes, c.rKeyAt = side(c.RTypes, rNeed, c.RKeys[0])
	find := func(stored []int, col int) int {
		for i, s := range stored {
			if s == col {
				return i
			}
		}
		panic("BUG: join: a column is not stored")
	}
	for _, col := range c.LOut {
		c.lOutAt = append(c.lOutAt, find(c.lStored, col))
	}
	c.rOutAt = []int{}
	for _, col := range c.ROut {
		c.rOutAt = append(c.rOutAt, find(c.rStored, col))
	}
	for _, col := range c.ResidualCols {
		if col < len(c.LTypes) {
			c.residual = append(c.residual, residualCol{false, find(c.lStored, col)})
		} else {
			c.residual = append(c.residual, residualCol{true, find(c.rStored, col-len(c.LTypes))})
		}
	}
	lPair, rPair := map[int]bool{}, map[int]bool{}
	pair := func(of map[int]bool, list *[]int, at int) {
		if !of[at] {
			of[at] = true
			*list = append(*list, at)
		}
	}
	for _, r := range c.residual {
		if r.right {
			pair(rPair, &c.rPaired, r.at)
		} else {
			pair(lPair, &c.lPaired, r.at)
		}
	}
	if c.emitsPairs() {
		for _, at := range c.lOutAt {
			pair(lPair, &c.lPaired, at)
		}
		for _, at := range c.rOutAt {
			pair(rPair, &c.rPaired, at)
		}
	}
	if len(c.KeyTypes) == 1 && !c.NullSafe[0] {
		switch c.KeyTypes[0].Arrow().ID() {
		case arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT32, arrow.DATE32:
			c.directKey = true
		}
	}
	c.nullAware = (c.Kind == joinAntiNull || c.Kind == joinMark) && len(c.KeyTypes) == 1 && !c.NullSafe[0] && c.ResidualValue == nil
	return c
}

// NewJoin makes the lanes of a join.
func NewJoin(rt *Runtime, st *Stats, jc JoinConfig, l, r []Operator) []Operator {
	s := &joinShared{cfg: newJoinConfig(jc), rt: rt, st: st, bar: NewBarrier(rt.Lanes), sets: make([]*rowSet, rt.Lanes)}
	s.acct = rt.Pool.Account("hash join", false)
	s.open.Store(int32(rt.Lanes))
	return lanes(rt, func(i int) *join {
		return &join{s: s, lane: i, l: l[i], r: r[i], ins: inserter{h: kernel.NewHasher(jc.KeyTypes)}}
	})
}

// joinShared is what the lanes of a join share.
//
//	build: every lane keeps its right rows ──► one table, all lanes insert
//	         │ memory refused (any lane)             │
//	         ▼                                       ▼
//	spill: right rows to partitions          probe: every lane for itself
//	       left rows to partitions                   │ Right, Full: barrier
//	       each lane joins whole partitions          ▼
//	                                         unmatched right rows
type joinShared struct {
	cfg   *joinConfig
	rt    *Runtime
	st    *Stats
	bar   *Barrier
	sets  []*rowSet // by lane
	table *joinTable
	acct  *mem.Account // of the table; used between barriers only
	open  atomic.Int32 // lanes not closed

	spilling atomic.Bool
	hasNull  atomic.Bool // some right row has a NULL key, while spilling
	nonEmpty atomic.Bool
	parts    joinParts
	room     int64 // for each lane's pairs, charged to acct
}

type joinState uint8

const (
	joinBuilding joinState = iota
	joinProbing
	joinEmitting  // unmatched right rows
	joinSpilled   // partitions
	joinExhausted // at the end
)

type join struct {
	s      *joinShared
	lane   int
	l, r   Operator
	acct   *mem.Account
	ins    inserter
	state  joinState
	probe  *prober
	busy   bool           // the prober has a batch
	todo   []*batch.Batch // left rows of a batch that was too large at once, the first last
	spill  joinSpill
	out    smallBatches
	closed bool
}

func (o *join) Open(ctx context.Context) error {
	o.acct = o.s.rt.Pool.Account("hash join", true)
	o.probe = newProber(o.s.cfg, o.lane, o.s.rt.Rows(), o.s.rt.Pool.Account("join results", false))
	o.out.types = o.outTypes()
	return openAll(ctx, o.r, o.l)
}

func (o *join) outTypes() []types.Type {
	c := o.s.cfg
	var ts []types.Type
	for _, at := range c.lOutAt {
		ts = append(ts, c.lStoredTypes[at])
	}
	if c.Kind == joinMark {
		return append(ts, types.Bool)
	}
	for _, at := range c.rOutAt {
		ts = append(ts, c.rStoredTypes[at])
	}
	return ts
}

func (o *join) Next(ctx context.Context) (*batch.Batch, error) {
	return o.out.next(func() (*batch.Batch, error) { return o.step(ctx) })
}

// step gives the next batch, of any size.
func (o *join) step(ctx context.Context) (*batch.Batch, error) {
	for {
		switch o.state {
		case joinBuilding:
			if err := o.build(ctx); err != nil {
				return nil, err
			}
		case joinProbing:
			b, err := o.probeNext(ctx)
			if err != io.EOF {
				return b, err
			}
			o.state = joinExhausted
			if o.s.cfg.emitsBuild() {
				if err := o.s.bar.Wait(ctx, nil); err != nil {
					return nil, err
				}
				o.state = joinEmitting
			}
		case joinEmitting:
			if ids := o.s.table.rest(); ids != nil {
				return unmatchedBatch(o.s.cfg, o.s.table, ids), nil
			}
			o.state = joinExhausted
		case joinSpilled:
			b, err := o.spillNext(ctx)
			if err != io.EOF {
				return b, err
			}
			o.state = joinExhausted
		case joinExhausted:
			return nil, io.EOF
		}
	}
}

// unmatchedBatch gives build rows with NULLs for the left columns.
func unmatchedBatch(c *joinConfig, t *joinTable, ids []uint32) *batch.Batch {
	cols := make([]arrow.Array, 0, len(c.lOutAt)+len(c.rOutAt))
	for _, at := range c.lOutAt {
		cols = append(cols, batch.Nulls(c.lStoredTypes[at].Arrow(), len(ids)))
	}
	return batch.New(append(cols, t.rows.gather(ids, c.rOutAt)...), len(ids))
}

// probeNext gives what the lane's next left rows find in the table.
func (o *join) probeNext(ctx context.Context) (*batch.Batch, error) {
	c := o.s.cfg
	o.probe.t, o.probe.room = o.s.table, o.s.room
	if o.s.table.rows.n == 0 && !c.keepsLeft() {
		if err := o.l.Close(); err != nil { // what is below may stop
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
		keys, err := columns(ctx, b, c.LKeys[o.lane])
		if tooLong(err, n) {
			o.todo = append(o.todo, b.Slice(n/2, n), b.Slice(0, n/2))
			continue
		}
		if err != nil {
			return nil, err
		}
		o.probe.start(b.With(pickCols(b.Cols, c.lStored)), keys, nil, nil)
		o.busy = true
	}
}

func pickCols(cols []arrow.Array, which []int) []arrow.Array {
	out := make([]arrow.Array, len(which))
	for i, w := range which {
		out[i] = cols[w]
	}
	return out
}

// stored gives a batch of an input in the stored layout, without a selection.
func stored(ctx context.Context, b *batch.Batch, which []int, keys []Item) (*batch.Batch, error) {
	cols := make([]arrow.Array, 0, len(which)+len(keys))
	for _, w := range which {
		c := b.Cols[w]
		if b.Sel != nil {
			c = kernel.Take(c, b.Sel)
		}
		cols = append(cols, c)
	}
	for _, k := range keys {
		if k.Program == nil {
			continue
		}
		c, err := k.Program.Eval(ctx, b)
		if err != nil {
			return nil, err
		}
		cols = append(cols, c)
	}
	return batch.New(cols, b.Rows()), nil
}

func (o *join) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	o.state = joinExhausted
	o.todo = nil
	o.s.bar.Leave()
	err := closeAll(o.r, o.l)
	o.spill.close()
	if o.acct != nil {
		o.s.st.peak(o.acct)
		o.acct.Close()
		o.probe.acct.Close()
	}
	if o.s.open.Add(-1) == 0 {
		o.s.st.peak(o.s.acct)
		o.s.acct.Close()
		o.s.parts.close()
	}
	return err
}
