package order

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// Config is an ORDER BY.
type Config struct {
	Types []types.Type // the input's columns
	Given []int        // which of them are given; nil: all
	Keys  [][]op.Item  // by thread
	Specs []kernel.KeySpec
	Limit int64 // only so many rows are needed; -1: all
	// Bound, where not nil, is the filter of scans below over the first key, a column of theirs.
	Bound *op.KeyFilter
	// First, where not nil, is told which rows are needed.
	First *op.FirstRows
	// Split, where not 0, lets every thread give rows: those that agree in the
	// first Split keys come out of one thread, in order. There is no limit then.
	Split int
	// Alone is up to how many rows thread 0 gives all of them nevertheless.
	Alone int64
}

// NewSort makes the threads of a sort. The sorted rows come out of thread 0.
//
//	thread 0   rows ─► runs ─► merge ──────────► merge ─► out
//	thread 1   rows ─► runs ─► merge ─► channel ───┘
//
// A run is what memory holds, sorted; while there is only one it stays there.
// With a limit a thread keeps that many rows and throws away the rest as it goes.
// With a split the threads' rows are divided into bins where memory held them all
// (split.go); else thread 0 gives them.
func NewSort(rt *op.Runtime, st *op.Stats, cfg Config, in []op.Operator) []op.Operator {
	s := &shared{cfg: cfg, rt: rt, st: st, stop: make(chan struct{})}
	for i := 0; i < rt.Threads; i++ {
		s.feeds = append(s.feeds, make(chan *sortedBatch, 2))
	}
	if cfg.Split > 0 {
		s.split = newRanges(rt)
	}
	s.types = slices.Clone(cfg.Types)
	for i := range cfg.Types {
		s.input = append(s.input, i)
	}
	if s.cfg.Given == nil {
		s.cfg.Given = s.input
	}
	for i, k := range cfg.Keys[0] {
		if k.Program != nil && cfg.Limit < 0 {
			k = op.Item{Col: len(s.types)}
			s.types = append(s.types, cfg.Specs[i].Type)
		}
		s.keys = append(s.keys, k)
	}
	return op.Instances(rt, func(i int) *sorter {
		l := &sorter{s: s, thread: i, in: in[i]}
		s.threads = append(s.threads, l)
		return l
	})
}

type shared struct {
	cfg     Config
	rt      *op.Runtime
	st      *op.Stats
	feeds   []chan *sortedBatch // from threads above 0; closed at their end
	stop    chan struct{}       // closed when thread 0 wants no more
	once    sync.Once
	cut     atomic.Pointer[[]byte] // with a limit: rows at or above are not needed
	threads []*sorter
	split   *ranges // nil: thread 0 gives all rows

	// Without a limit keys are made when rows are sorted, of columns that the threads keep: those that are computed come
	// after the input's.
	types []types.Type // of the columns that are kept
	keys  []op.Item    // which of them the keys are
	input []int        // which of them are the input's
}

type sorter struct {
	s      *shared
	thread int
	in     op.Operator
	acct   *mem.Account
	enc    *kernel.KeyEncoder
	set    *rowset.Set
	keys   *kernel.Keys
	runs   []*spill.Run
	stream sortedStream
	given  int64
	state  uint8 // 0 not begun, 1 taking rows in or giving them, 2 at the end
	filled bool  // all rows are in
	closed bool
	fed    bool        // the feed is closed
	apart  bool        // the thread gives a range of its own
	waits  bool        // for other threads to have all their rows
	begins [][]uint16  // meanwhile: of bins, by chunk
	held   *heldStream // of the rows in memory, once they are given; nil: there are none
	open   int64       // bytes of acct that batches of runs take
	rows   []int32     // room for those of a batch

	mu sync.Mutex // held while the thread works on its rows, and for state
}

func (o *sorter) Open(ctx context.Context) error {
	o.acct = o.s.rt.Pool.Account("sort", true)
	o.enc = kernel.NewKeyEncoder(o.s.cfg.Specs)
	o.reset()
	o.acct.OnReclaim(func() (bool, error) { return o.reclaim(ctx) })
	return o.in.Open(ctx)
}

func (o *sorter) reset() {
	o.set, o.keys = rowset.New(o.s.types), &kernel.Keys{}
}

func (o *sorter) Next(ctx context.Context) (*batch.Batch, error) {
	if o.state == 0 {
		if err := o.fill(ctx); err != nil {
			return nil, err
		}
		if err := o.start(ctx); err != nil {
			return nil, err
		}
	}
	if o.state == 2 {
		return nil, io.EOF
	}
	if o.thread > 0 && !o.apart {
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
		sb, err := o.advance(ctx)
		if err != nil {
			return nil, err
		}
		if sb != nil {
			b := sb.b
			if int64(b.N) > left {
				b = b.Slice(0, int(left))
			}
			o.given += int64(b.N)
			if !o.apart && len(o.s.cfg.Given) < len(b.Cols) {
				b = b.Columns(o.s.cfg.Given)
			}
			return b, nil
		}
	}
	o.end()
	return nil, io.EOF
}

// advance returns the next batch of the thread's stream.
func (o *sorter) advance(ctx context.Context) (*sortedBatch, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stream.next(ctx)
}

// start makes the thread's stream.
func (o *sorter) start(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.filled = true
	if o.s.split != nil {
		if err := o.meet(ctx); err != nil {
			return err
		}
	}
	if o.stream == nil {
		return o.begin(ctx)
	}
	return nil
}

// fill takes in the thread's rows.
func (o *sorter) fill(ctx context.Context) error {
	o.mu.Lock()
	o.state = 1
	o.mu.Unlock()
	if o.s.cfg.Limit == 0 {
		return o.in.Close()
	}
	add := func(b *batch.Batch) error { return o.add(ctx, b) }
	err := op.Drain(ctx, o.in, func(b *batch.Batch) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		for n := b.Rows(); n > kernel.ChunkRows; n = b.Rows() {
			if err := op.InHalves(b.Slice(0, kernel.ChunkRows), add); err != nil {
				return err
			}
			b = b.Slice(kernel.ChunkRows, n)
		}
		return op.InHalves(b, add)
	})
	if err != nil {
		return err
	}
	return o.in.Close()
}

// minRun is the bytes of a run that is worth a file, whatever the limits say.
const minRun = 256 << 10

func (o *sorter) add(ctx context.Context, b *batch.Batch) error {
	if o.s.cfg.Limit < 0 {
		b = kernel.Compact(b)
	}
	cols, err := op.Columns(ctx, b, o.s.cfg.Keys[o.thread])
	if err != nil {
		return err
	}
	n := b.Rows()
	var fresh *kernel.Keys
	if o.s.cfg.Limit >= 0 {
		// keys first: the columns of rows beyond the limit are not copied
		fresh = &kernel.Keys{}
		o.enc.Append(fresh, cols, n)
		rows := o.within(fresh)
		if len(rows) == 0 {
			return nil
		}
		if len(rows) < n {
			b = &batch.Batch{Cols: b.Cols, N: b.N, Sel: b.SourceRows(rows), Seq: -1}
			fresh, n = pickKeys(fresh, rows), len(rows)
		}
		b = kernel.Compact(b)
	} else if len(o.s.types) > len(b.Cols) {
		all := slices.Clone(b.Cols)
		for i, k := range o.s.cfg.Keys[o.thread] {
			if k.Program != nil {
				all = append(all, cols[i])
			}
		}
		b = b.With(all)
	}
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
	if err != nil || o.acct.ShouldSpill() || o.set.Full() {
		if err != nil && !o.acct.Refused(err) {
			return err
		}
		granted := err == nil
		if o.s.cfg.Limit >= 0 && o.set.Rows() > o.s.cfg.Limit {
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
	o.set.Add(b)
	if fresh != nil {
		for i := 0; i < fresh.N; i++ {
			appendKey(o.keys, fresh, i)
		}
		if rows := o.set.Rows(); rows/2 >= o.s.cfg.Limit || rows >= o.s.cfg.Limit && o.s.cut.Load() == nil {
			o.prune()
		}
	}
	return nil
}

// within returns, in their order, the rows whose keys are below the cut; of many only those that are among
// the first Limit.
func (o *sorter) within(k *kernel.Keys) []int32 {
	rows := slices.Grow(o.rows[:0], k.N)
	o.rows = rows
	if cut := o.s.cut.Load(); cut != nil {
		end := newBound(*cut)
		for i := range k.N {
			if end.above(k.At(i)) {
				rows = append(rows, int32(i))
			}
		}
	} else {
		for i := range k.N {
			rows = append(rows, int32(i))
		}
	}
	if n := int(o.s.cfg.Limit); len(rows)/2 > n {
		if len(rows) < k.N {
			k = pickKeys(k, rows)
		}
		first := kernel.Order(k, nil)[:n]
		slices.Sort(first)
		for i, r := range first {
			rows[i] = rows[r]
		}
		rows = rows[:n]
	}
	return rows
}

// prune keeps the first Limit rows and lets all threads, and operators below, know from where on rows
// are not needed.
func (o *sorter) prune() {
	n := int(o.s.cfg.Limit)
	o.set.Flush()
	order := kernel.Order(o.keys, nil)
	if len(order) < n {
		return
	}
	if len(order) == n {
		o.cutAt(bytes.Clone(o.keys.At(int(order[n-1]))))
		return
	}
	order = order[:n]
	ids := o.set.IDs()
	keys, set := &kernel.Keys{}, rowset.New(o.s.cfg.Types)
	o.set.Finish()
	for from := 0; from < n; from += kernel.ChunkRows {
		part := order[from:min(from+kernel.ChunkRows, n)]
		at := make([]uint32, len(part))
		for i, r := range part {
			at[i] = ids[r]
			appendKey(keys, o.keys, int(r))
		}
		set.Add(batch.New(o.set.Gather(at, nil), len(at)))
	}
	was := o.set.Rows()
	o.set, o.keys = set, keys
	// what is left is its share of what was charged
	o.acct.Shrink(o.acct.Used() - min(o.acct.Used(), o.acct.Used()*int64(n)/was+minRun))
	o.cutAt(bytes.Clone(keys.At(n - 1)))
}

// cutAt says that rows from key last on are not needed: there are enough before them.
func (o *sorter) cutAt(last []byte) {
	for {
		old := o.s.cut.Load()
		if old != nil && bytes.Compare(*old, last) <= 0 {
			return
		}
		if o.s.cut.CompareAndSwap(old, &last) {
			break
		}
	}
	c := &o.s.cfg
	if c.First != nil {
		c.First.Cut(*o.s.cut.Load())
	}
	if c.Bound != nil {
		if v, ok := c.Specs[0].Whole(last); ok {
			c.Bound.Bound(v, c.Specs[0].Desc, len(c.Specs) > 1, c.Specs[0].NullsFirst)
		}
	}
}

// begin makes the thread's stream of sorted batches.
func (o *sorter) begin(ctx context.Context) error {
	streams := []sortedStream{}
	if len(o.runs) > 0 && o.acct.Used() > o.mergeBytes() {
		// beside the runs' batches there would be nothing left for who reads the rows
		if err := o.spillRun(ctx); err != nil {
			return err
		}
		o.acct.Shrink(o.acct.Used())
	}
	if o.set.Rows() > 0 {
		o.held = &heldStream{o.sorted()}
		streams = append(streams, o.held)
	}
	own, err := o.openRuns(ctx, len(streams))
	if err != nil {
		return err
	}
	// runs first: they hold the earlier rows
	streams = append(own, streams...)
	if o.thread == 0 {
		for i := 1; i < o.s.rt.Threads; i++ {
			streams = append(streams, &feedStream{o.s.feeds[i]})
		}
	}
	if len(streams) == 1 {
		o.stream = streams[0]
		return nil
	}
	o.stream = newMerger(o.s.cfg.Types, streams, o.outRows(), o.thread > 0)
	return nil
}

// sorted sorts what is in memory.
func (o *sorter) sorted() *orderedSet {
	o.set.Finish()
	if o.s.cfg.Limit < 0 {
		o.keys = &kernel.Keys{Data: make([]byte, 0, o.enc.Width()*int(o.set.Rows()))}
		for ch := range o.set.Chunks() {
			b := o.set.Chunk(ch)
			o.enc.Append(o.keys, o.s.keyColumns(b.Cols), b.N)
		}
	}
	order := kernel.Order(o.keys, nil)
	if n := o.s.cfg.Limit; n >= 0 && int64(len(order)) > n {
		order = order[:n]
	}
	return &orderedSet{set: o.set, input: o.s.input, keys: o.keys, order: order, ids: o.set.IDs(), rows: o.outRows(), withKeys: o.thread > 0 || o.s.rt.Threads > 1 || len(o.runs) > 0}
}

// keyColumns are those of the keys among columns that are kept.
func (s *shared) keyColumns(cols []arrow.Array) []arrow.Array {
	out := make([]arrow.Array, len(s.keys))
	for i, k := range s.keys {
		out[i] = cols[k.Col]
	}
	return out
}

// feed sends the thread's sorted rows to thread 0.
func (o *sorter) feed(ctx context.Context) error {
	for {
		sb, err := o.advance(ctx)
		if err != nil || sb == nil {
			return err
		}
		select {
		case o.s.feeds[o.thread] <- sb:
		case <-o.s.stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end frees what the thread holds.
func (o *sorter) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.free()
}

func (o *sorter) free() {
	o.state = 2
	if o.thread == 0 {
		o.s.once.Do(func() { close(o.s.stop) })
	} else if !o.fed {
		o.fed = true
		close(o.s.feeds[o.thread])
	}
	if o.stream != nil {
		o.stream.close()
		o.stream = nil
	}
	spill.RemoveAll(o.runs)
	o.runs, o.set, o.keys, o.held = nil, nil, nil, nil
	if o.acct != nil {
		o.acct.Shrink(o.acct.Used())
	}
}

func (o *sorter) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.s.split != nil {
		o.s.split.leave(o)
	}
	o.free()
	if o.acct != nil {
		o.s.st.AddPeak(o.acct)
		o.acct.Close()
	}
	return o.in.Close()
}

// feedStream is the other end of a thread's feed.
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
	set      *rowset.Set
	input    []int // the columns
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
	out := &sortedBatch{b: batch.New(s.set.Gather(at, s.input), len(at))}
	if s.withKeys {
		out.keys = pickKeys(s.keys, part)
	}
	return out, nil
}

// pickKeys returns the keys of some rows.
func pickKeys[R int32 | uint32](k *kernel.Keys, rows []R) *kernel.Keys {
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

// Divided reports, once there are rows, whether each thread gives a range of its own.
func (o *sorter) Divided() bool { return o.apart }

// Range returns how many rows come before those of the thread's range, and how many there are.
func (o *sorter) Range() (before, all int64) {
	b := o.s.split.before
	return b[o.thread], b[len(b)-1]
}
