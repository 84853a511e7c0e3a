package op

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// SortConfig is an ORDER BY.
type SortConfig struct {
	Types []types.Type // the input's columns, all of which are given
	Keys  [][]Item     // by lane
	Specs []kernel.KeySpec
	Limit int64 // only so many rows are needed; -1: all
	// Split, where not 0, lets every lane give rows: those that agree in the
	// first Split keys come out of one lane, in order. There is no limit then.
	Split int
}

// NewSort makes the lanes of a sort. The sorted rows come out of lane 0.
//
//	lane 0   rows ─► runs ─► merge ──────────► merge ─► out
//	lane 1   rows ─► runs ─► merge ─► channel ───┘
//
// A run is what memory holds, sorted; while there is only one it stays there.
// With a limit a lane keeps that many rows and throws away the rest as it goes.
// With a split the lanes' rows are cut into ranges where memory held them all
// (sort_split.go); else lane 0 gives them.
func NewSort(rt *Runtime, st *Stats, cfg SortConfig, in []Operator) []Operator {
	s := &sortShared{cfg: cfg, rt: rt, st: st, stop: make(chan struct{})}
	for i := 0; i < rt.Lanes; i++ {
		s.feeds = append(s.feeds, make(chan *sortedBatch, 2))
	}
	if cfg.Split > 0 && rt.Lanes > 1 {
		s.split = newSortSplit(rt)
	}
	return lanes(rt, func(i int) *sortLane {
		l := &sortLane{s: s, lane: i, in: in[i]}
		s.lanes = append(s.lanes, l)
		return l
	})
}

type sortShared struct {
	cfg   SortConfig
	rt    *Runtime
	st    *Stats
	feeds []chan *sortedBatch // from lanes above 0; closed at their end
	stop  chan struct{}       // closed when lane 0 wants no more
	once  sync.Once
	cut   atomic.Pointer[[]byte] // with a limit: rows at or above are not needed
	lanes []*sortLane
	split *sortSplit // nil: lane 0 gives all rows
}

type sortLane struct {
	s      *sortShared
	lane   int
	in     Operator
	acct   *mem.Account
	enc    *kernel.KeyEncoder
	set    *rowSet
	keys   *kernel.Keys
	runs   []*spill.Run
	stream sortedStream
	given  int64
	state  uint8 // 0 not begun, 1 giving, 2 at the end
	closed bool
	fed    bool // the feed is closed
	apart  bool // the lane gives a range of its own

	sortedRows orderedSet // with a split, once sorted
}

func (o *sortLane) Open(ctx context.Context) error {
	o.acct = o.s.rt.Pool.Account("sort", true)
	o.enc = kernel.NewKeyEncoder(o.s.cfg.Specs)
	o.reset()
	return o.in.Open(ctx)
}

func (o *sortLane) reset() {
	o.set, o.keys = newRowSet(o.s.cfg.Types), &kernel.Keys{}
}

func (o *sortLane) Next(ctx context.Context) (*batch.Batch, error) {
	if o.state == 0 {
		o.state = 1
		if err := o.fill(ctx); err != nil {
			return nil, err
		}
		if o.s.split != nil {
			if err := o.meet(ctx); err != nil {
				return nil, err
			}
		}
		if o.stream == nil {
			if err := o.begin(ctx); err != nil {
				return nil, err
			}
		}
	}
	if o.state == 2 {
		return nil, io.EOF
	}
	if o.lane > 0 && !o.apart {
		err := o.feed(ctx)
		o.end()
		if err == nil {
			err = io.EOF
		}
		return nil, err
	}
	left := o.s.cfg.Limit - o.given
	if o.s.cfg.Limit < 0 {
		left = 1<<63 - 1
	}
	if left > 0 {
		sb, err := o.stream.next(ctx)
		if err != nil {
			return nil, err
		}
		if sb != nil {
			b := sb.b
			if int64(b.N) > left {
				b = b.Slice(0, int(left))
			}
			o.given += int64(b.N)
			return b, nil
		}
	}
	o.end()
	return nil, io.EOF
}

// fill takes in the lane's rows.
func (o *sortLane) fill(ctx context.Context) error {
	if o.s.cfg.Limit == 0 {
		return o.in.Close()
	}
	add := func(b *batch.Batch) error { return o.add(ctx, b) }
	err := drain(ctx, o.in, func(b *batch.Batch) error {
		for n := b.Rows(); n > kernel.ChunkRows; n = b.Rows() {
			if err := inPieces(b.Slice(0, kernel.ChunkRows), add); err != nil {
				return err
			}
			b = b.Slice(kernel.ChunkRows, n)
		}
		return inPieces(b, add)
	})
	if err != nil {
		return err
	}
	return o.in.Close()
}

// minRun is the bytes of a run that is worth a file, whatever the limits say.
const minRun = 256 << 10

func (o *sortLane) add(ctx context.Context, b *batch.Batch) error {
	cols, err := columns(ctx, b, o.s.cfg.Keys[o.lane])
	if err != nil {
		return err
	}
	n := b.Rows()
	var fresh *kernel.Keys
	if o.s.cfg.Limit >= 0 {
		// keys first: most rows are beyond the limit already
		fresh = &kernel.Keys{}
		o.enc.Append(fresh, cols, n)
		if cut := o.s.cut.Load(); cut != nil {
			if b, fresh = below(kernel.Compact(b), fresh, *cut); b == nil {
				return nil
			}
			n = b.N
		}
	}
	b = kernel.Compact(b)
	width := int64(o.enc.Width())
	if width == 0 {
		width = 16
		for _, c := range cols {
			width += batch.ArrayBytes(c) / int64(max(n, 1))
		}
	}
	// twice the keys, as their memory doubles when it grows
	bytes := b.Bytes() + int64(n)*(2*width+16) + kernel.OrderBytes(n)
	err = o.acct.Grow(bytes)
	if err != nil || o.acct.ShouldSpill() || o.set.full() {
		if err != nil && !refused(err, o.acct) {
			return err
		}
		granted := err == nil
		if o.s.cfg.Limit >= 0 && o.set.n > o.s.cfg.Limit {
			o.prune()
		} else if o.acct.Used() >= minRun {
			held := int64(0)
			if granted {
				held = bytes
			}
			if err := o.spillRun(ctx); err != nil {
				return err
			}
			o.acct.Shrink(o.acct.Used() - held)
		}
		if !granted {
			o.acct.Take(bytes)
		}
	}
	o.set.add(b)
	if fresh != nil {
		for i := 0; i < fresh.N; i++ {
			appendKey(o.keys, fresh, i)
		}
		if o.set.n >= max(2*o.s.cfg.Limit, o.s.cfg.Limit+4*kernel.ChunkRows) {
			o.prune()
		}
		return nil
	}
	o.enc.Append(o.keys, cols, n)
	return nil
}

// below keeps the rows whose keys are below cut; nil for none.
func below(b *batch.Batch, k *kernel.Keys, cut []byte) (*batch.Batch, *kernel.Keys) {
	var rows []int32
	p := prefixOf(cut)
	for i := 0; i < k.N; i++ {
		key := k.At(i)
		if q := prefixOf(key); q < p || q == p && bytes.Compare(key, cut) < 0 {
			rows = append(rows, int32(i))
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if len(rows) == k.N {
		return b, k
	}
	out := &kernel.Keys{}
	for _, i := range rows {
		appendKey(out, k, int(i))
	}
	sel := &batch.Batch{Cols: b.Cols, N: b.N, Sel: rows, Seq: -1}
	return kernel.Compact(sel), out
}

// prune keeps the first Limit rows and lets all lanes know from where on rows
// are not needed.
func (o *sortLane) prune() {
	n := int(o.s.cfg.Limit)
	o.set.flush()
	order := kernel.Order(o.keys, nil)
	if len(order) <= n {
		return
	}
	order = order[:n]
	ids := o.set.ids()
	keys, set := &kernel.Keys{}, newRowSet(o.s.cfg.Types)
	o.set.seal()
	for from := 0; from < n; from += kernel.ChunkRows {
		part := order[from:min(from+kernel.ChunkRows, n)]
		at := make([]uint32, len(part))
		for i, r := range part {
			at[i] = ids[r]
			appendKey(keys, o.keys, int(r))
		}
		set.add(batch.New(o.set.gather(at, nil), len(at)))
	}
	was := o.set.n
	o.set, o.keys = set, keys
	// what is left is its share of what was charged
	o.acct.Shrink(o.acct.Used() - min(o.acct.Used(), o.acct.Used()*int64(n)/was+minRun))
	last := bytes.Clone(keys.At(n - 1))
	for {
		old := o.s.cut.Load()
		if old != nil && bytes.Compare(*old, last) <= 0 || o.s.cut.CompareAndSwap(old, &last) {
			return
		}
	}
}

// begin makes the lane's stream of sorted batches.
func (o *sortLane) begin(ctx context.Context) error {
	streams := []sortedStream{}
	if o.set.n > 0 {
		streams = append(streams, o.sorted())
	}
	own, err := o.openRuns(ctx, len(streams))
	if err != nil {
		return err
	}
	// runs first: they hold the earlier rows
	streams = append(own, streams...)
	if o.lane == 0 {
		for i := 1; i < o.s.rt.Lanes; i++ {
			streams = append(streams, &feedStream{o.s.feeds[i]})
		}
	}
	if len(streams) == 1 {
		o.stream = streams[0]
		return nil
	}
	o.stream = newMerger(o.s.cfg.Types, streams, o.outRows(), o.lane > 0)
	return nil
}

// sorted sorts what is in memory.
func (o *sortLane) sorted() sortedStream {
	if o.sortedRows.set != nil {
		return &o.sortedRows
	}
	o.set.seal()
	order := kernel.Order(o.keys, nil)
	if n := o.s.cfg.Limit; n >= 0 && int64(len(order)) > n {
		order = order[:n]
	}
	return &orderedSet{set: o.set, keys: o.keys, order: order, ids: o.set.ids(), rows: o.outRows(), withKeys: o.lane > 0 || o.s.rt.Lanes > 1 || len(o.runs) > 0}
}

// feed sends the lane's sorted rows to lane 0.
func (o *sortLane) feed(ctx context.Context) error {
	for {
		sb, err := o.stream.next(ctx)
		if err != nil || sb == nil {
			return err
		}
		select {
		case o.s.feeds[o.lane] <- sb:
		case <-o.s.stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end frees what the lane holds.
func (o *sortLane) end() {
	o.state = 2
	if o.lane == 0 {
		o.s.once.Do(func() { close(o.s.stop) })
	} else if !o.fed {
		o.fed = true
		close(o.s.feeds[o.lane])
	}
	if o.stream != nil {
		o.stream.close()
		o.stream = nil
	}
	removeRuns(o.runs)
	o.runs, o.set, o.keys, o.sortedRows = nil, nil, nil, orderedSet{}
	if o.acct != nil {
		o.acct.Shrink(o.acct.Used())
	}
}

func (o *sortLane) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	if o.s.split != nil {
		o.s.split.leave(o)
	}
	o.end()
	if o.acct != nil {
		o.s.st.peak(o.acct)
		o.acct.Close()
	}
	return o.in.Close()
}

// feedStream is the other end of a lane's feed.
type feedStream struct{ ch chan *sortedBatch }

func (f *feedStream) next(ctx context.Context) (*sortedBatch, error) {
	select {
	case sb := <-f.ch: // nil once it is closed
		return sb, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *feedStream) close() {}

// orderedSet gives the rows of a set in order.
type orderedSet struct {
	set      *rowSet
	keys     *kernel.Keys
	order    []uint32
	ids      []uint32
	rows     int
	withKeys bool
	at       int
}

func (s *orderedSet) next(ctx context.Context) (*sortedBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.at == len(s.order) {
		return nil, nil
	}
	part := s.order[s.at:min(s.at+s.rows, len(s.order))]
	s.at += len(part)
	at := make([]uint32, len(part))
	for i, r := range part {
		at[i] = s.ids[r]
	}
	out := &sortedBatch{b: batch.New(s.set.gather(at, nil), len(at))}
	if s.withKeys {
		out.keys = pickKeys(s.keys, part)
	}
	return out, nil
}

// pickKeys gives the keys of some rows.
func pickKeys(k *kernel.Keys, rows []uint32) *kernel.Keys {
	w := k.Width
	if w == 0 {
		out := &kernel.Keys{Data: make([]byte, 0, len(rows)*16), Offs: make([]uint64, 0, len(rows)+1)}
		for _, r := range rows {
			appendKey(out, k, int(r))
		}
		return out
	}
	data := make([]byte, len(rows)*w)
	for i, r := range rows {
		copy(data[i*w:(i+1)*w], k.Data[int(r)*w:(int(r)+1)*w])
	}
	return &kernel.Keys{Width: w, N: len(rows), Data: data}
}

func (s *orderedSet) close() {}
