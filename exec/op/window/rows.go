package window

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// rows are rows by their numbers, in chunks: some partitions' rows in memory, which are one chunk,
// or one partition's in a file, of which a few chunks are in memory at a time. Calls use it to read
// anything in a row's partition.
type rows struct {
	w      *window
	chunks []chunk
	begins []int64 // the first row of each chunk, and the row after the last
	groups int64   // peer groups
	calls  []callRows
	valued span          // rows whose ordering value is not NULL, where RANGE has offsets; of one partition
	file   *spill.Writer // nil: the only chunk is in memory

	loaded []*block // most recently used first
	own    *block   // whose rows are computed
}

// chunk is the summary of a chunk of rows that is not in memory.
type chunk struct {
	base    int64
	peer    int64       // first row of the peer group of the first row
	group   int64       // number of that group
	head    int64       // first row that begins a peer group; -1: none does
	peerEnd int64       // the row after the last peer of the last row
	bytes   int64       // of the batch
	value   types.Datum // ordering value of the first row, where RANGE has offsets
}

// callRows is a call's state over rows, which is kept from one chunk to the next.
type callRows struct {
	keeps, merges bool  // abilities of the aggregate
	spans         bool  // likewise: agg.Spanner
	slides        bool  // likewise: sliding
	known         bool  // what comes before is determined
	shrinks       bool  // a frame had fewer rows than the one before
	end           int64 // of the last row's frame

	begins  []int64 // of chunks, in numbers of rows that FILTER passes
	states  agg.Agg // of all rows of each chunk; nil: not needed
	tree    *frameTree
	running *runningFrames
	afresh  afreshFrame

	passed int64 // the last row that FILTER passes, and 1; 0: none yet

	tile   types.Datum // ntile's argument in row tileAt - 1
	tileAt int64
}

// cachedChunks is how many chunks of a file are in memory: where frames start and end, on
// both sides of what EXCLUDE leaves out, and the rows that are computed.
const cachedChunks = 6

// chunkOf returns the chunk of a row by the rows at which chunks begin.
func chunkOf(begins []int64, row int64) int {
	if len(begins) == 2 {
		return 0
	}
	c, ok := slices.BinarySearch(begins, row)
	if !ok {
		return c - 1
	}
	for c+1 < len(begins) && begins[c+1] == row { // chunks of no rows come before
		c++
	}
	return c
}

// inMemory makes the rows of partitions that begin at starts.
func (o *window) inMemory(ctx context.Context, b *batch.Batch, starts []int32) (*rows, *block, error) {
	changes, err := o.peerChanges(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	p := newBlock(b, len(o.funcs), o.peered)
	group := int64(-1)
	for k, from := range starts {
		to := b.N
		if k+1 < len(starts) {
			to = int(starts[k+1])
		}
		whole := span{int64(from), int64(to)}
		group = p.place(int(from), to, whole, chunk{peer: whole.from, group: group + 1, peerEnd: whole.to}, changes)
	}
	n := int64(b.N)
	r := &rows{w: o, chunks: []chunk{{peerEnd: n}}, begins: []int64{0, n}, groups: group + 1, calls: make([]callRows, len(o.funcs)), loaded: []*block{p}, own: p}
	return r, p, nil
}

// peerChanges returns the rows that are no peers of the one before; nil where peers are not asked for.
func (o *window) peerChanges(ctx context.Context, b *batch.Batch) ([]bool, error) {
	if !o.peered {
		return nil, nil
	}
	return o.changes(ctx, o.order, o.orderSpecs, b)
}

// block returns a chunk, which it reads if it is not in memory.
func (r *rows) block(ctx context.Context, c int) (*block, error) {
	for i, p := range r.loaded {
		if p.number == c {
			copy(r.loaded[1:i+1], r.loaded[:i])
			r.loaded[0] = p
			return p, nil
		}
	}
	if n := len(r.loaded); n >= cachedChunks {
		if r.loaded[n-1] == r.own {
			r.loaded[n-2], r.loaded[n-1] = r.loaded[n-1], r.loaded[n-2]
		}
		r.w.acct.Shrink(r.loaded[n-1].held)
		r.loaded = r.loaded[:n-1]
	}
	ch := r.chunks[c]
	held := ch.bytes + blockRow*(r.begins[c+1]-ch.base)
	r.w.acct.Take(held)
	b, err := r.file.At(ctx, c)
	if err != nil {
		return nil, err
	}
	p := newBlock(b, len(r.calls), r.w.peered)
	p.number, p.base, p.held = c, ch.base, held
	changes, err := r.w.peerChanges(ctx, b)
	if err != nil {
		return nil, err
	}
	p.place(0, p.n, span{0, r.begins[len(r.chunks)]}, ch, changes)
	r.loaded = slices.Insert(r.loaded, 0, p)
	return p, nil
}

// charge reserves n bytes for what is computed of p's rows.
func (r *rows) charge(ctx context.Context, p *block, n int64) error {
	if r.file == nil {
		return r.w.charge(ctx, n)
	}
	r.w.acct.Take(n) // in proportion to a chunk
	p.held += n
	return nil
}

// knownOf returns a chunk and the arguments of f in its rows.
func (r *rows) knownOf(ctx context.Context, f *call, c int) (*block, *blockCall, error) {
	p, err := r.block(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	of, err := r.of(ctx, f, p)
	return p, of, err
}

// of returns the arguments of f in a block's rows, computed once.
func (r *rows) of(ctx context.Context, f *call, p *block) (*blockCall, error) {
	c := &p.calls[f.k]
	if c.known {
		return c, nil
	}
	args, err := f.arguments(ctx, p.b)
	if err != nil {
		return nil, err
	}
	if r.file != nil {
		var made int64
		for _, a := range args {
			if !slices.Contains(p.b.Cols, a) {
				made += batch.ArrayBytes(a)
			}
		}
		if err := r.charge(ctx, p, made); err != nil {
			return nil, err
		}
	}
	c.args = args
	if f.filter != nil {
		arr, err := f.filter.Eval(ctx, p.b)
		if err != nil {
			return nil, err
		}
		if err := r.charge(ctx, p, batch.New(args, p.n).Bytes()+8*int64(p.n)); err != nil {
			return nil, err
		}
		c.args, c.before = passing(arr.(*array.Boolean), args, p.n)
	}
	c.known = true
	return c, nil
}

// head returns the first row of a peer group.
func (r *rows) head(ctx context.Context, group int64) (int64, error) {
	c := sort.Search(len(r.chunks), func(i int) bool { return r.chunks[i].group > group }) - 1
	if ch := r.chunks[c]; ch.group == group {
		return ch.peer, nil
	}
	p, err := r.block(ctx, c)
	if err != nil {
		return 0, err
	}
	if p.heads == nil {
		for i, at := range p.peer {
			if at == p.base+int64(i) {
				p.heads = append(p.heads, at)
			}
		}
	}
	return p.heads[group-p.groupOf(int(p.heads[0]-p.base))], nil
}

// search returns the first row of within, whose ordering values are not NULL, for which before is
// false; the row after them where it is true for all.
func (r *rows) search(ctx context.Context, within span, before func(types.Datum) bool) (int64, error) {
	if within.to <= within.from {
		return within.from, nil
	}
	c := chunkOf(r.begins, within.from)
	c += sort.Search(chunkOf(r.begins, within.to-1)-c, func(i int) bool { return !before(r.chunks[c+1+i].value) })
	p, err := r.block(ctx, c)
	if err != nil {
		return 0, err
	}
	vals, err := r.values(ctx, p)
	if err != nil {
		return 0, err
	}
	lo, hi := max(within.from, p.base), min(within.to, p.base+int64(p.n))
	for lo < hi {
		if mid := (lo + hi) / 2; before(vals[mid-p.base]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// values returns the ordering values of a block's rows.
func (r *rows) values(ctx context.Context, p *block) (vals []types.Datum, err error) {
	if p.values == nil {
		if err := r.charge(ctx, p, 32*int64(p.n)); err != nil {
			return nil, err
		}
		p.values, err = r.w.values(ctx, p.b)
	}
	return p.values, err
}

// values returns the values of the only ordering column. A date becomes its midnight: an interval
// may end within the day.
func (o *window) values(ctx context.Context, b *batch.Batch) ([]types.Datum, error) {
	arr, err := o.order[0].Eval(ctx, b)
	if err != nil {
		return nil, err
	}
	t := o.orderSpecs[0].Type
	vals := make([]types.Datum, b.N)
	for i := range vals {
		vals[i] = types.DatumAt(t, arr, i)
		if day, ok := vals[i].(int64); ok && t.OID == types.DateOID {
			if vals[i], err = datetime.DateToTimestamp(day); err != nil {
				return nil, err
			}
		}
	}
	return vals, nil
}

// pick returns f's first argument in some rows, in any order; a row below 0 yields NULL.
func (r *rows) pick(ctx context.Context, f *call, at []int64) (arrow.Array, error) {
	t := f.item.Call.Typ
	part := func(c int, rows []int32) (arrow.Array, error) {
		_, of, err := r.knownOf(ctx, f, c)
		if err != nil {
			return nil, err
		}
		return r.w.pick(ctx, t, of.args[0], rows)
	}
	to := make([]int32, len(at))
	if len(r.chunks) == 1 {
		for i, row := range at {
			to[i] = int32(max(row, -1))
		}
		return part(0, to)
	}
	// Each chunk's rows at once: the rows may be in any order.
	order := make([]int32, 0, len(at))
	for i, row := range at {
		if to[i] = -1; row >= 0 {
			order = append(order, int32(i))
		}
	}
	if len(order) == 0 {
		return part(r.own.number, to)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(at[a], at[b]) })
	var arrays []arrow.Array
	for k := 0; k < len(order); {
		c := chunkOf(r.begins, at[order[k]])
		var rows []int32
		for ; k < len(order) && at[order[k]] < r.begins[c+1]; k++ {
			to[order[k]] = int32(k)
			rows = append(rows, int32(at[order[k]]-r.begins[c]))
		}
		arr, err := part(c, rows)
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, arr)
	}
	return r.w.pick(ctx, t, kernel.Concat(t.Arrow(), arrays), to)
}

// passed returns how many rows before a row f's FILTER passes.
func (r *rows) passed(ctx context.Context, f *call, row int64) (int64, error) {
	c, begins := chunkOf(r.begins, row), r.calls[f.k].begins
	if row == r.begins[c] {
		return begins[c], nil
	}
	p, of, err := r.knownOf(ctx, f, c)
	if err != nil {
		return 0, err
	}
	return begins[c] + int64(of.before[row-p.base]), nil
}

// updateRows is how many rows a state takes at once.
const updateRows = 1 << 14

// update adds rows [from, from+len(groups)) of those that f's FILTER passes to groups.
func (r *rows) update(ctx context.Context, f *call, to agg.Agg, groups []uint32, from int64) error {
	return r.each(ctx, f, span{from, from + int64(len(groups))}, func(all []arrow.Array, s span) error {
		args := slices.Clone(all)
		for k, a := range args {
			args[k] = array.NewSlice(a, s.from, s.to)
		}
		n := s.to - s.from
		if h, ok := to.(agg.Holistic); ok {
			if err := r.calls[f.k].afresh.hold(ctx, r, h.Takes(args, int(n))); err != nil {
				return err
			}
		}
		err := to.Update(groups[:n], args)
		groups = groups[n:]
		return err
	})
}

// each calls do with the arguments of chunks and which of their rows are rows s of those that f's
// FILTER passes.
func (r *rows) each(ctx context.Context, f *call, s span, do func(args []arrow.Array, s span) error) error {
	begins := r.calls[f.k].begins
	for s.from < s.to {
		c := chunkOf(begins, s.from)
		_, of, err := r.knownOf(ctx, f, c)
		if err != nil {
			return err
		}
		to := min(s.to, begins[c+1])
		if err := do(of.args, span{s.from - begins[c], to - begins[c]}); err != nil {
			return err
		}
		s.from = to
	}
	return nil
}

// add adds rows s of those that f's FILTER passes to a group, by the states of whole chunks and of
// aligned runs of rows.
func (r *rows) add(ctx context.Context, f *call, to agg.Agg, group uint32, s span) error {
	if s.to <= s.from {
		return nil
	}
	cr := &r.calls[f.k]
	c, end := chunkOf(cr.begins, s.from), chunkOf(cr.begins, s.to-1)+1
	if cr.tree == nil {
		return r.addWithin(ctx, f, to, group, c, s)
	}
	if from := (span{s.from, min(s.to, cr.begins[c+1])}); from != (span{cr.begins[c], cr.begins[c+1]}) {
		if err := r.addWithin(ctx, f, to, group, c, from); err != nil {
			return err
		}
		c++
	}
	if c >= end {
		return nil
	}
	part := s.to < cr.begins[end]
	if part {
		end--
	}
	if err := cr.tree.add(to, group, span{int64(c), int64(end)}); err != nil || !part {
		return err
	}
	return r.addWithin(ctx, f, to, group, end, span{cr.begins[end], s.to})
}

// addWithin is add of rows of one chunk.
func (r *rows) addWithin(ctx context.Context, f *call, to agg.Agg, group uint32, c int, s span) error {
	p, of, err := r.knownOf(ctx, f, c)
	if err != nil {
		return err
	}
	base := r.calls[f.k].begins[c]
	if of.tree == nil {
		n := int(r.calls[f.k].begins[c+1] - base)
		leaves := func(to agg.Agg, groups []uint32, s span) error { return updateSpan(to, groups, of.args, s) }
		if of.tree, err = newFrameTree(ctx, func(n int64) error { return r.charge(ctx, p, n) }, f.fresh, leaves, n); err != nil {
			return err
		}
	}
	return of.tree.add(to, group, span{s.from - base, s.to - base})
}
