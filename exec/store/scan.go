package store

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/prune"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// RowID names a row of a statement's snapshot: the segment by its number in
// the snapshot (see Splits), the row by its number in the segment.
func RowID(ordinal, row uint32) int64 { return int64(ordinal)<<32 | int64(row) }

// Pin is a statement's view of a store: the segments that it opened stay mapped until Close, so
// that batches may be kept that long. It implements op.Tables, for all threads of the statement's
// tasks.
type Pin struct {
	store *Store
	batch int

	mu    sync.Mutex
	shut  bool
	held  map[catalog.SegmentID]*segment
	stale []*segment // replaced: what was read of them may be in use
	void  []*segment // replaced, and nothing is
	scans map[*plan.Scan]*scanPlan

	indexed atomic.Bool // the statement has made an index that takes long
}

// Pin begins a statement. rows is the batch size, 0 the usual one.
func (s *Store) Pin(rows int) *Pin {
	if rows <= 0 {
		rows = batch.DefaultSize
	}
	return &Pin{store: s, batch: rows}
}

// Close ends the statement. Its batches must not be read any more. It may be called twice.
func (p *Pin) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.held {
		p.store.release(g)
	}
	for _, g := range slices.Concat(p.stale, p.void) {
		p.store.release(g)
	}
	p.held, p.stale, p.void, p.shut = nil, nil, nil, true
	return nil
}

func (p *Pin) segment(ctx context.Context, ref *catalog.Segment) (*segment, error) {
	p.mu.Lock()
	g, shut := p.held[ref.ID], p.shut
	if g != nil && g.dead.Load() {
		// Batches of the old file stay readable, others are read from the new one.
		delete(p.held, ref.ID)
		p.stale = append(p.stale, g)
		g = nil
	}
	p.mu.Unlock()
	if shut {
		return nil, pgerr.Internal("store: a closed pin is used")
	}
	if g != nil {
		return g, nil
	}
	g, err := p.store.acquire(ctx, ref)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.shut:
		p.store.release(g)
		return nil, pgerr.Internal("store: a closed pin is used")
	case p.held[ref.ID] != nil:
		p.store.release(g)
		return p.held[ref.ID], nil
	}
	if p.held == nil {
		p.held = map[catalog.SegmentID]*segment{}
	}
	p.held[ref.ID] = g
	return g, nil
}

// borrow returns a segment until back is called, which may be done twice; nil: until the pin is closed. Where the files that statements
// have open are most of what the disk is to hold, a statement has no file for longer than it reads it: what is kept of it must be
// copied then, and the disk bounds no statement.
func (p *Pin) borrow(ctx context.Context, ref *catalog.Segment) (g *segment, back func(), err error) {
	p.mu.Lock()
	holds := p.held[ref.ID] != nil || p.shut
	p.mu.Unlock()
	if holds || !p.store.Cache.tight(ref) {
		g, err = p.segment(ctx, ref)
		return g, nil, err
	}
	if g, err = p.store.acquire(ctx, ref); err != nil {
		return nil, nil, err
	}
	return g, sync.OnceFunc(func() {
		if p.store.intact(g) != nil && p.keep(g) {
			return // Intact is to find it
		}
		p.store.release(g)
		p.store.Cache.passed.Store(true)
	}), nil
}

// keep holds a segment until the pin is closed; false: it is.
func (p *Pin) keep(g *segment) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.stale = append(p.stale, g)
	}
	return !p.shut
}

// giveBack calls what borrow returned.
func giveBack(back func()) {
	if back != nil {
		back()
	}
}

// mend replaces a damaged segment and returns the good one.
func (p *Pin) mend(ctx context.Context, ref *catalog.Segment, bad *CorruptError) (*segment, error) {
	if err := p.store.mend(ctx, ref, bad); err != nil {
		return nil, err
	}
	return p.segment(ctx, ref)
}

// scanPlan is what all splits of a scan share.
type scanPlan struct {
	filterCols []int // ordinals in the scan's schema that the filter reads
	prune      *prune.Pruner
	listed     []prune.Listed
	filters    sync.Pool // of op.Filter: one a reader at a time
	compile    func() (op.Filter, error)
}

// wholeKey is the plan of a split that has a key.
var wholeKey = scanPlan{prune: &prune.Pruner{}}

// hasInt reports whether a column of one row has an integer.
func hasInt(arr arrow.Array, want int64) bool {
	if arr.IsNull(0) {
		return false
	}
	switch a := arr.(type) {
	case *array.Int64:
		return a.Value(0) == want
	case *array.Int32:
		return int64(a.Value(0)) == want
	case *array.Int16:
		return int64(a.Value(0)) == want
	case *array.Uint32: // oid
		return int64(a.Value(0)) == want
	}
	return false
}

func (p *Pin) plan(s *plan.Scan, env *function.Env) *scanPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sp := p.scans[s]; sp != nil {
		return sp
	}
	c := prune.NewCompiler(s, env)
	sp := &scanPlan{prune: c.Pruner(s), listed: c.Listed(s)}
	if len(s.Filter) > 0 {
		used := map[expr.ColID]bool{}
		for _, c := range s.Filter {
			expr.Columns(c, used)
		}
		var in []plan.Column
		for i, c := range s.Schema() {
			if used[c.ID] {
				sp.filterCols = append(sp.filterCols, i)
				in = append(in, c)
			}
		}
		sp.compile = func() (op.Filter, error) { return eval.CompileFilter(s.Filter, in, env) }
	}
	if p.scans == nil {
		p.scans = map[*plan.Scan]*scanPlan{}
	}
	p.scans[s] = sp
	return sp
}

// Pruner is prune.NewPruner for a scan that the statement will open, made once.
func (p *Pin) Pruner(s *plan.Scan, env *function.Env) *prune.Pruner { return p.plan(s, env).prune }

// Open implements op.Tables: it reads the rows of a split that the scan's
// filter passes and that are not deleted. Seq of a batch is the RowID of its
// first row, counted before the selection.
func (p *Pin) Open(ctx context.Context, s *plan.Scan, split *op.Split, env *function.Env, keys []op.ScanKeys) (op.BatchReader, error) {
	sp := &wholeKey
	if split.Key == nil {
		sp = p.plan(s, env)
	}
	r, err := p.reader(ctx, s, split, sp)
	if err != nil {
		return nil, err
	}
	if err := r.restrict(split, keys); err != nil {
		giveBack(r.back)
		return nil, err
	}
	return r, nil
}

// restrict leaves out the rows that a split or its scan does not want.
func (r *reader) restrict(split *op.Split, keys []op.ScanKeys) (err error) {
	s, sp := r.scan, r.plan
	r.keys = newKeyReader(s, keys)
	switch {
	case split.Range != nil:
		r.within, err = newRangeFilter(s, split.Range)
	case len(split.HashBy) > 0:
		r.within, err = newHashFilter(s, split)
	}
	if err != nil {
		return err
	}
	if split.Key != nil {
		// One row, decided by one integer: making and running a filter would be most of the work.
		r.key = split.Key
		r.keyCol = slices.IndexFunc(s.Cols, func(c plan.Column) bool { return c.Num == split.KeyNum })
	}
	if sp.compile != nil {
		if f, ok := sp.filters.Get().(op.Filter); ok {
			r.filter = f
		} else if r.filter, err = sp.compile(); err != nil {
			return err
		}
	}
	r.pick()
	return nil
}

// reader makes a reader of a split, without a filter and what else leaves rows out, but for those that are deleted.
func (p *Pin) reader(ctx context.Context, s *plan.Scan, split *op.Split, sp *scanPlan) (*reader, error) {
	seg, back, err := p.borrow(ctx, split.Segment)
	if err != nil {
		return nil, err
	}
	r := &reader{pin: p, back: back, scan: s, plan: sp, ref: split.Segment, ordinal: split.Ordinal, at: split.From, to: min(split.To, split.Segment.Rows)}
	if !split.Segment.Deleted.Empty() {
		r.deleted, err = readDeleted(split.Segment)
	}
	if err == nil {
		err = r.use(seg)
	}
	if err != nil {
		giveBack(back)
		return nil, err
	}
	return r, nil
}

// reader reads one split.
type reader struct {
	pin     *Pin
	scan    *plan.Scan
	plan    *scanPlan
	filter  op.Filter
	key     *int64 // in place of the filter: what the integer column keyCol must have
	keyCol  int
	ref     *catalog.Segment
	ordinal uint32
	deleted deletedRows
	gone    goneRows // of deleted, those of the split
	at, to  int64    // rows of the segment still to read
	mended  int
	keys    keyReader
	picks   []uint32 // the only rows still to read, where picked: an index named them
	picked  bool
	within  within        // nil: all rows
	missed  []*segmentKey // keys without an index, which would have saved reading
	read    int64         // rows read

	seg   *segment
	back  func()        // gives seg back, and then no batch may have anything of its file; nil: the pin holds it
	dicts []arrow.Array // where back is not nil, copies of seg's dictionaries by column of the scan, once read
	cols  []int         // per column of the scan: its place in the segment, -1 none
	group int           // the group that start and arrs are of; -1 none
	start int64
	arrs  []arrow.Array // per column of the scan, nil until loaded
	fixed []fixedPart   // per column of the scan

	missing []arrow.Array // per column: the fill-in, of the last batch's length
}

// use makes seg the segment to read from.
func (r *reader) use(seg *segment) error {
	if seg.foot.Rows != r.ref.Rows {
		return seg.corrupt("wrong number of rows")
	}
	r.seg, r.group, r.start = seg, -1, 0
	r.cols = make([]int, len(r.scan.Cols))
	r.arrs = make([]arrow.Array, len(r.scan.Cols))
	r.missing = make([]arrow.Array, len(r.scan.Cols))
	r.fixed = make([]fixedPart, len(r.scan.Cols))
	for i, c := range r.scan.Cols {
		r.cols[i] = seg.column(c.Num)
		if j := r.cols[i]; j >= 0 {
			have := seg.foot.Cols[j].Type
			if r.fixed[i].wanted = have.OID == types.NumericOID && !have.IsFixed() && c.Type.IsFixed(); r.fixed[i].wanted {
				continue
			}
			if !samePhysicalType(have, c.Type) {
				return pgerr.Internal("store: column %d of segment %s is %s, not %s", c.Num, r.ref.ID, have, c.Type)
			}
		}
	}
	return nil
}

// samePhysicalType reports whether columns of two types have the same representation.
func samePhysicalType(a, b types.Type) bool {
	if a.OID == types.NumericOID && b.OID == types.NumericOID {
		return a.IsFixed() == b.IsFixed() && (!a.IsFixed() || a.Scale == b.Scale)
	}
	return a.OID == b.OID || arrow.TypeEqual(a.Arrow(), b.Arrow())
}

// Next implements op.BatchReader.
func (r *reader) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		var b *batch.Batch
		err := batch.Guard(func() (err error) {
			b, err = r.next(ctx)
			return err
		})
		var bad *CorruptError
		if err == nil || err == io.EOF || !errors.As(err, &bad) || r.pin.store.remote == nil || r.ref.Inline != nil || r.mended > 1 {
			return b, err
		}
		r.mended++
		seg, err := r.pin.mend(ctx, r.ref, bad)
		if err != nil {
			return nil, err
		}
		if err := r.use(seg); err != nil {
			return nil, err
		}
		r.pick()
	}
}

func (r *reader) next(ctx context.Context) (*batch.Batch, error) {
	for r.at < r.to {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.picked && !r.nextPick() {
			return nil, io.EOF
		}
		if !r.seek() {
			continue
		}
		end := min(r.start+r.seg.foot.Groups[r.group].Rows, r.to)
		n := int(min(int64(r.pin.batch), end-r.at))
		if r.picked {
			n = r.pickSpan(n)
		}
		b, err := r.rows(ctx, n)
		if err != nil {
			return nil, err
		}
		r.at, r.read = r.at+int64(n), r.read+int64(n)
		if b != nil {
			return b, nil
		}
	}
	return nil, io.EOF
}

// seek makes group the one that row at is in. It returns false, and moves at
// behind the group, where the zone maps exclude it.
func (r *reader) seek() bool {
	g := &r.seg.foot.Groups
	if r.group >= 0 && r.at < r.start+(*g)[r.group].Rows {
		return true
	}
	for r.group < 0 || r.at >= r.start+(*g)[r.group].Rows {
		if r.group >= 0 {
			r.start += (*g)[r.group].Rows
		}
		r.group++
	}
	clear(r.arrs)
	gr := &(*g)[r.group]
	zones := r.plan.prune.Zones(r.ref, gr.Zones, r.start, gr.Rows)
	if !r.plan.prune.MayMatch(zones, gr.Rows) || !r.keys.mayMatch(zones, gr.Rows) {
		r.at = min(r.start+gr.Rows, r.to)
		return false
	}
	return true
}

// rows returns n rows from at on, nil if none of them counts.
func (r *reader) rows(ctx context.Context, n int) (*batch.Batch, error) {
	// A filter makes a selection of its own, so its input may be scratch.
	sel, none := r.live(n, r.filter != nil)
	if r.picked && !none {
		sel, none = r.pickedOf(sel, n)
	}
	if none {
		return nil, nil
	}
	if r.within != nil {
		var err error
		if sel, err = r.within.rows(r.column, sel, n); err != nil || len(sel) == 0 {
			return nil, err
		}
	}
	schema := len(r.scan.Cols)
	if r.scan.RowID != 0 {
		schema++
	}
	cols := make([]arrow.Array, schema)
	if r.key != nil {
		arr, err := r.column(r.keyCol, n)
		if err != nil || !hasInt(arr, *r.key) {
			return nil, err
		}
		cols[r.keyCol] = arr
	}
	var err error
	if r.keys.filtered = r.filter != nil; r.filter != nil {
		if sel, none, err = r.keys.rows(true, sel, n, r.column); err != nil || none {
			return nil, err
		}
		fb := &batch.Batch{Cols: make([]arrow.Array, len(r.plan.filterCols)), N: n, Sel: sel, Seq: -1}
		for i, c := range r.plan.filterCols {
			arr, err := r.column(c, n)
			if err != nil {
				return nil, err
			}
			cols[c], fb.Cols[i] = arr, arr
		}
		got, err := r.filter.Select(ctx, fb)
		if err != nil {
			return nil, err
		}
		r.keys.filter(fb.Rows(), got.Rows())
		if got.Rows() == 0 {
			return nil, nil
		}
		// Select's selection may be its scratch, or ours.
		if sel = got.Sel; sel != nil {
			sel = slices.Clone(sel)
		}
	}
	if sel, none, err = r.keys.rows(false, sel, n, r.column); err != nil || none {
		return nil, err
	}
	for i := range cols {
		if cols[i] == nil {
			arr, err := r.column(i, n)
			if err != nil {
				return nil, err
			}
			cols[i] = arr
		}
	}
	if r.back != nil {
		for i := range r.cols {
			if r.cols[i] >= 0 {
				cols[i] = r.copied(i, cols[i])
			}
		}
	}
	return &batch.Batch{Cols: cols, N: n, Sel: sel, Seq: RowID(r.ordinal, uint32(r.at))}, nil
}

// column returns column i of the scan's schema for n rows from at on.
func (r *reader) column(i, n int) (arrow.Array, error) {
	if i == len(r.scan.Cols) {
		ids := make([]int64, n)
		first := RowID(r.ordinal, uint32(r.at))
		for j := range ids {
			ids[j] = first + int64(j)
		}
		return batch.FromSlice(arrow.PrimitiveTypes.Int64, ids, nil), nil
	}
	c := r.cols[i]
	if c < 0 && r.scan.Cols[i].Num < 0 {
		return r.system(r.scan.Cols[i].Num, n)
	}
	if c < 0 {
		if m := r.missing[i]; m != nil && m.Len() == n {
			return m, nil
		}
		var d types.Datum
		if i < len(r.scan.Missing) {
			d = r.scan.Missing[i]
		}
		m, err := types.ArrayOf1(r.scan.Cols[i].Type, d, n)
		if err != nil {
			return nil, err
		}
		r.missing[i] = m
		return m, nil
	}
	if r.arrs[i] == nil {
		arr, err := r.seg.array(r.group, c)
		if err != nil {
			return nil, err
		}
		r.arrs[i] = arr
	}
	from := r.at - r.start
	if f := &r.fixed[i]; f.wanted {
		if f.arr == nil || f.at != r.at || f.arr.Len() != n {
			arr, ok := fixedOf(r.arrs[i], int(from), n, r.scan.Cols[i].Type)
			if !ok {
				return nil, r.seg.corrupt("numerics of another scale than their zone says")
			}
			f.arr, f.at = arr, r.at
		}
		return f.arr, nil
	}
	if from == 0 && n == r.arrs[i].Len() {
		return r.arrs[i], nil
	}
	return types.Shareable(array.NewSlice(r.arrs[i], from, from+int64(n))), nil
}

// copied returns rows of column i in memory of its own, over one copy of its dictionary.
func (r *reader) copied(i int, arr arrow.Array) arrow.Array {
	d, ok := arr.(*array.Dictionary)
	if !ok {
		return kernel.Copy(arr)
	}
	if r.dicts == nil {
		r.dicts = make([]arrow.Array, len(r.scan.Cols))
	}
	if r.dicts[i] == nil {
		r.dicts[i] = kernel.Copy(d.Dictionary())
	}
	return kernel.CopyOver(d, r.dicts[i])
}

// Close implements op.BatchReader.
func (r *reader) Close() error {
	giveBack(r.back)
	r.keys.report()
	for _, x := range r.missed {
		x.read.Add(r.read)
	}
	r.missed = nil
	if r.filter != nil {
		r.plan.filters.Put(r.filter)
		r.filter = nil
	}
	r.at = r.to
	return nil
}
