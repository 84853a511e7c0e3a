package join

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
)

// prober probes a table with batches. One a thread.
//
//	start(batch) ─► next ─► next … nil: the batch is done
//
// A page is a set of candidate pairs (probe row, build row). Keys are compared
// over the page, then the residual is evaluated over what is left. Kinds that
// emit pairs go through all candidates; those that only ask whether there is a
// match stop at a row's first.
type prober struct {
	cfg    *layout
	thread int
	t      *hashTable
	max    int // rows of a page
	h      *kernel.Hasher

	b    *batch.Batch // columns as cfg.lStored says, perhaps with a selection
	keys []arrow.Array
	sel  []int32 // the keys' rows; nil: all
	n    int
	row  int    // cursor: the place in found,
	cur  uint32 // and the candidate
	done bool

	// By probe row: it has a match; the answer is NULL. In deferred mode they belong to the caller,
	// and results that depend on them are left to finish.
	matched  []bool
	unknown  []bool
	deferred bool

	found found
	dict  probeDict
	equal bool    // the keys of what is found are equal
	rows  []int32 // the page
	ids   []uint32
	pairs []int32
	bools []bool

	// Pairs that are results and not yet returned: the page, or a part of it.
	outRows []int32
	outIDs  []uint32

	// Memory for right columns beside left ones that are not copied; nil: allocated.
	reuse []kernel.Room

	// Every row of a batch, and the ids, of an outer join's.
	every    []int32
	everyIDs []uint32

	// Bytes of pairs: see lease.
	acct     *mem.Account
	held     int64
	room     int64
	lSizes   []colSize
	lDicts   []dictWidth
	outSizes pairSizes
	resSizes pairSizes
}

func newProber(cfg *layout, thread int, rows int, acct *mem.Account) *prober {
	p := &prober{cfg: cfg, thread: thread, max: rows, h: kernel.NewHasher(cfg.KeyTypes), acct: acct}
	p.lSizes = make([]colSize, len(cfg.lStoredTypes))
	p.lDicts = make([]dictWidth, len(cfg.lStoredTypes))
	p.outSizes = pairSizes{lAt: cfg.lOutAt, rAt: cfg.rOutAt}
	for _, c := range cfg.residual {
		if c.right {
			p.resSizes.rAt = append(p.resSizes.rAt, c.at)
		} else {
			p.resSizes.lAt = append(p.resSizes.lAt, c.at)
		}
	}
	return p
}

// start begins with a batch and its keys: keys of its selected rows, or, with sel, of all rows of
// its columns, of which those in sel count. matched and unknown are nil unless deferred.
func (p *prober) start(b *batch.Batch, keys []arrow.Array, sel []int32, matched, unknown []bool) {
	p.b, p.keys, p.sel, p.n = b, keys, sel, b.Rows()
	p.row, p.cur, p.done = 0, 0, false
	p.deferred = matched != nil
	p.matched, p.unknown = matched, unknown
	if !p.deferred && p.cfg.tracks() {
		if cap(p.bools) < 2*p.n {
			p.bools = make([]bool, 2*p.n)
		}
		p.bools = p.bools[:2*p.n]
		clear(p.bools)
		p.matched, p.unknown = p.bools[:p.n], p.bools[p.n:]
	}
	p.outRows, p.outIDs = nil, nil
	p.found.less = 0
	if p.t.direct && p.alone() {
		p.found.less = 1
	}
	if p.equal = p.byDict(); !p.equal {
		p.t.find(p.h, keys, sel, p.n, &p.found)
	}
	if p.t.order != nil {
		p.t.narrow(b, &p.found)
	}
	if len(p.found.heads) > 0 {
		p.cur = p.found.heads[0]
	}
	if len(p.found.heads) > 0 || p.cfg.emitsUnmatched() {
		p.measure(b)
	}
}

// next returns the next batch of results, nil when the batch is done.
func (p *prober) next(ctx context.Context) (*batch.Batch, error) {
	p.release()
	if len(p.outRows) > 0 {
		return p.waiting()
	}
	for !p.done {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p.cfg.rightOnly() {
			for {
				if more, err := p.page(); !more || err != nil {
					p.done = true
					return nil, err
				}
				if err := p.verify(ctx); err != nil {
					return nil, err
				}
				p.t.mark(p.ids)
				if err := ctx.Err(); err != nil {
					return nil, err
				}
			}
		}
		if !p.cfg.emitsPairs() {
			if err := p.exists(ctx); err != nil {
				return nil, err
			}
			p.done = true
			if p.deferred {
				return nil, nil
			}
			return p.finish(p.b, p.matched, p.unknown), nil
		}
		if p.row == 0 && p.alone() {
			p.single()
			if len(p.outRows) == 0 {
				return nil, nil
			}
			return p.waiting()
		}
		if more, err := p.page(); err != nil {
			return nil, err
		} else if !more {
			p.done = true
			if p.deferred || !p.cfg.emitsUnmatched() {
				return nil, nil
			}
			return p.finish(p.b, p.matched, p.unknown), nil
		}
		if err := p.verify(ctx); err != nil {
			return nil, err
		}
		if len(p.rows) == 0 {
			continue
		}
		if err := p.note(); err != nil {
			return nil, err
		}
		p.outRows, p.outIDs = p.rows, p.ids
		return p.waiting()
	}
	return nil, nil
}

// waiting returns the next of the pairs that wait.
func (p *prober) waiting() (*batch.Batch, error) {
	n := len(p.outRows)
	if !p.outSizes.narrow(max(n, p.max)) {
		at := func(i int) int64 { return p.outSizes.at(p.outRows[i], p.outIDs[i]) }
		first := at(0)
		want, k := first, 1
		for ; k < n && want <= pairBytes; k++ {
			want += at(k)
		}
		granted, err := p.lease(want, first)
		if err != nil {
			return nil, err
		}
		for n = k; n > 1 && want > granted; n-- {
			want -= at(n - 1)
		}
	}
	rows, ids := p.outRows[:n], p.outIDs[:n]
	p.outRows, p.outIDs = p.outRows[n:], p.outIDs[n:]
	return p.emit(rows, ids), nil
}

// step returns the cursor after one of the row at a place of what was found; 0 at the end.
func (p *prober) step(at int, c uint32) uint32 {
	if p.t.order == nil {
		return p.t.step(c)
	}
	s := p.found.spans[at]
	if next := p.t.order.next(int(c), s); next < s.to {
		return uint32(next) + 1
	}
	return 0
}

// page fills rows and ids from the cursor on; false at the end.
func (p *prober) page() (bool, error) {
	p.rows, p.ids = p.rows[:0], p.ids[:0]
	t := p.t
	rows, heads := p.found.rows, p.found.heads
	if p.row < len(heads) && !p.resSizes.narrow(p.max) {
		return true, p.widePage()
	}
	for p.row < len(heads) && len(p.rows) < p.max {
		row := rows[p.row]
		switch {
		case t.all != nil:
			for p.cur != 0 && len(p.rows) < p.max {
				p.rows = append(p.rows, row)
				p.ids = append(p.ids, t.all[p.cur-1])
				p.cur = p.step(p.row, p.cur)
			}
		case t.next == nil:
			p.rows = append(p.rows, row)
			p.ids = append(p.ids, p.cur-1)
			p.cur = 0
		default:
			for p.cur != 0 && len(p.rows) < p.max {
				p.rows = append(p.rows, row)
				p.ids = append(p.ids, p.cur-1)
				p.cur = t.next[p.cur-1]
			}
		}
		if p.cur == 0 {
			if p.row++; p.row < len(heads) {
				p.cur = heads[p.row]
			}
		}
	}
	return len(p.rows) > 0, nil
}

// widePage is page where the columns that the residual reads may be large.
func (p *prober) widePage() error {
	rows, heads := p.found.rows, p.found.heads
	left := int64(-1)
	for p.row < len(heads) && len(p.rows) < p.max {
		row, id := rows[p.row], p.t.id(p.cur)
		size := p.resSizes.at(row, id)
		if left < 0 {
			var err error
			if left, err = p.lease(pairBytes, size); err != nil {
				return err
			}
		}
		if left -= size; left < 0 && len(p.rows) > 0 {
			return nil
		}
		p.rows, p.ids = append(p.rows, row), append(p.ids, id)
		if p.cur = p.step(p.row, p.cur); p.cur == 0 {
			if p.row++; p.row < len(heads) {
				p.cur = heads[p.row]
			}
		}
	}
	return nil
}

// verify keeps the pairs of the page whose keys agree and whose residual is
// true.
func (p *prober) verify(ctx context.Context) error {
	p.matchKeys()
	if p.cfg.Residual == nil || len(p.rows) == 0 {
		return nil
	}
	b := p.pairBatch()
	sel, err := p.cfg.Residual[p.thread].Select(ctx, b)
	if op.TooLong(err, b.N) {
		var pass []int32
		if pass, err = p.selectPairs(ctx, b, 0, nil); err == nil {
			p.keep(pass)
		}
	}
	if err != nil || sel == nil {
		return err
	}
	if sel.Sel != nil {
		p.keep(sel.Sel)
	}
	return nil
}

// selectPairs adds the pairs that the residual passes to pass, half of them at a
// time where they are too much at once. b is the page from a place on.
func (p *prober) selectPairs(ctx context.Context, b *batch.Batch, from int, pass []int32) ([]int32, error) {
	sel, err := p.cfg.Residual[p.thread].Select(ctx, b)
	if op.TooLong(err, b.N) {
		half := b.N / 2
		if pass, err = p.selectPairs(ctx, b.Slice(0, half), from, pass); err != nil {
			return nil, err
		}
		return p.selectPairs(ctx, b.Slice(half, b.N), from+half, pass)
	}
	if err != nil {
		return nil, err
	}
	for k := range sel.Rows() {
		row := k
		if sel.Sel != nil {
			row = int(sel.Sel[k])
		}
		pass = append(pass, int32(from+row))
	}
	return pass, nil
}

func (p *prober) matchKeys() {
	if p.t.direct || p.equal || len(p.t.keys) == 0 {
		return
	}
	if cap(p.pairs) < len(p.rows) {
		p.pairs = make([]int32, len(p.rows), max(len(p.rows), p.max)) // a whole batch may be more than a page
	}
	pairs := p.pairs[:len(p.rows)]
	for i := range pairs {
		pairs[i] = int32(i)
	}
	rows := p.rows
	if p.sel != nil {
		rows = p.b.SourceRows(rows)
	}
	for k, col := range p.t.keys {
		pairs = col.Match(p.keys[k], rows, p.ids, p.cfg.NullSafe[k], pairs)
	}
	if len(pairs) < len(p.rows) {
		p.keep(pairs)
	}
}

// keep narrows the page to the given positions, which ascend.
func (p *prober) keep(pairs []int32) {
	for i, at := range pairs {
		p.rows[i], p.ids[i] = p.rows[at], p.ids[at]
	}
	p.rows, p.ids = p.rows[:len(pairs)], p.ids[:len(pairs)]
}

// pairBatch returns the columns that the residual reads, over the page.
func (p *prober) pairBatch() *batch.Batch {
	cols := make([]arrow.Array, len(p.cfg.residual))
	src := p.b.SourceRows(p.rows)
	for i, c := range p.cfg.residual {
		if c.right {
			cols[i] = p.t.rows.Column(c.at).Gather(p.ids)
		} else {
			cols[i] = kernel.Take(p.b.Cols[c.at], src)
		}
	}
	return batch.New(cols, len(p.rows))
}

// note records the matches of a page.
func (p *prober) note() error {
	if p.t.matched != nil {
		p.t.mark(p.ids)
	}
	if p.matched == nil {
		return nil
	}
	for _, r := range p.rows {
		if p.matched[r] && p.cfg.Kind == plan.Single {
			return op.ErrSecondRow()
		}
		p.matched[r] = true
	}
	return nil
}

// emit returns the page's pairs as rows. ids may hold kernel.NoRow. Where a probe row has one pair
// at most, its columns are passed on under a selection, without copying, if most rows have one: the
// next operator skips the others, and of many columns not all are read.
func (p *prober) emit(rows []int32, ids []uint32) *batch.Batch {
	left, right, b := p.cfg.lOutAt, p.cfg.rOutAt, p.b
	cols := make([]arrow.Array, 0, len(left)+len(right))
	once := p.t.next == nil && p.t.all == nil
	switch {
	case once && b.Sel == nil && len(rows) == p.n: // every row
		cols = append(pickCols(b.Cols, left), p.gather(ids)...)
		return batch.New(cols, len(rows))
	case once && (len(right) == 0 || len(rows) >= b.N-b.N/4):
		src := b.SourceRows(rows)
		if b.Sel == nil && p.reuse == nil {
			src = slices.Clone(rows) // the page is reused
		}
		cols = append(pickCols(b.Cols, left), p.spread(ids, src, b.N)...)
		return &batch.Batch{Cols: cols, N: b.N, Sel: src, Seq: -1}
	}
	src := b.SourceRows(rows)
	for _, at := range left {
		cols = append(cols, kernel.Take(b.Cols[at], src))
	}
	cols = append(cols, p.gather(ids)...)
	return batch.New(cols, len(rows))
}

// alone reports whether a probe row has at most one candidate and only the keys decide.
func (p *prober) alone() bool {
	return p.t.next == nil && p.t.all == nil && p.cfg.Residual == nil && !p.deferred && p.cfg.emitsPairs()
}

// single finds a whole batch's results at once, where rows are alone.
func (p *prober) single() {
	p.done = true
	p.rows, p.found.rows = p.found.rows, p.rows
	p.ids, p.found.heads = p.found.heads, p.ids
	if p.found.less == 0 {
		for i := range p.ids {
			p.ids[i]--
		}
	}
	p.matchKeys()
	if p.t.matched != nil {
		p.t.mark(p.ids)
	}
	if !p.cfg.emitsUnmatched() {
		p.outRows, p.outIDs = p.rows, p.ids
		return
	}
	for i := len(p.every); i < p.n; i++ {
		p.every, p.everyIDs = append(p.every, int32(i)), append(p.everyIDs, 0)
	}
	ids := p.everyIDs[:p.n]
	for i := range ids {
		ids[i] = kernel.NoRow
	}
	for i, r := range p.rows {
		ids[r] = p.ids[i]
	}
	p.outRows, p.outIDs = p.every[:p.n], ids
}

// exists fills matched (and unknown) for kinds that emit no pairs.
func (p *prober) exists(ctx context.Context) error {
	if p.t.direct && p.cfg.Residual == nil && p.cfg.ResidualValue == nil {
		for _, r := range p.found.rows {
			p.matched[r] = true
		}
		if p.cfg.nullAware {
			p.nulls()
		}
		return nil
	}
	type cursor struct {
		row int32
		at  int // of row in what was found
		cur uint32
	}
	active := make([]cursor, 0, len(p.found.rows))
	for i, r := range p.found.rows {
		if !p.matched[r] {
			active = append(active, cursor{r, i, p.found.heads[i]})
		}
	}
	wide := !p.resSizes.narrow(p.max)
	for per := 1; len(active) > 0; per = max(1, p.max/max(len(active), 1)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		for from := 0; from < len(active); {
			p.rows, p.ids = p.rows[:0], p.ids[:0]
			to := from
			left := int64(-1)
		fill:
			for ; to < len(active) && len(p.rows)+per <= max(p.max, per); to++ {
				a := &active[to]
				for k := 0; k < per && a.cur != 0; k++ {
					id := p.t.id(a.cur)
					if wide {
						size := p.resSizes.at(a.row, id)
						if left < 0 {
							var err error
							if left, err = p.lease(pairBytes, size); err != nil {
								return err
							}
						}
						if left -= size; left < 0 && len(p.rows) > 0 {
							to += min(k, 1) // its first candidates are in the page; the others wait for the next round
							break fill
						}
					}
					p.rows = append(p.rows, a.row)
					p.ids = append(p.ids, id)
					a.cur = p.step(a.at, a.cur)
				}
			}
			if err := p.decide(ctx); err != nil {
				return err
			}
			from = to
		}
		left := active[:0]
		for _, a := range active {
			if a.cur != 0 && !p.matched[a.row] {
				left = append(left, a)
			}
		}
		active = left
	}
	if p.cfg.nullAware {
		p.nulls()
	}
	return nil
}

// decide verifies the page and notes the matches, and for Mark the pairs whose
// residual is NULL.
func (p *prober) decide(ctx context.Context) error {
	if p.cfg.ResidualValue == nil {
		if err := p.verify(ctx); err != nil {
			return err
		}
		for _, r := range p.rows {
			p.matched[r] = true
		}
		return nil
	}
	p.matchKeys()
	if len(p.rows) == 0 {
		return nil
	}
	at := 0
	return op.InHalves(p.pairBatch(), func(b *batch.Batch) error {
		arr, err := p.cfg.ResidualValue[p.thread].EvalScratch(ctx, b)
		if err != nil {
			return err
		}
		v, _ := arr.(*array.Boolean)
		for i, r := range p.rows[at : at+b.N] {
			if arr.IsNull(i) {
				p.unknown[r] = true
			} else if v.Value(i) {
				p.matched[r] = true
			}
		}
		at += b.N
		return nil
	})
}

// finish returns what a batch's matched and unknown decide: the rows of kinds
// that emit no pairs, the unmatched rows of outer joins. nil for no rows.
func (p *prober) finish(b *batch.Batch, matched, unknown []bool) *batch.Batch {
	n := b.Rows()
	cols := make([]arrow.Array, 0, len(p.cfg.lOutAt)+1)
	for _, at := range p.cfg.lOutAt {
		cols = append(cols, b.Cols[at])
	}
	if p.cfg.Kind == plan.Mark {
		if b.Sel != nil {
			for i, c := range cols {
				cols[i] = kernel.Take(c, b.Sel)
			}
		}
		return batch.New(append(cols, markColumn(matched[:n], unknown[:n])), n)
	}
	rows := make([]int32, 0, n)
	for i := 0; i < n; i++ {
		keep := false
		switch p.cfg.Kind {
		case plan.Semi:
			keep = matched[i]
		case plan.AntiNull:
			keep = !matched[i] && !unknown[i]
		default: // Anti and the unmatched rows of Left, Full, Single
			keep = !matched[i]
		}
		if keep {
			rows = append(rows, int32(i))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	src := b.SourceRows(rows)
	if !p.cfg.emitsPairs() {
		out := b.With(cols)
		if len(rows) < n {
			out.Sel = src
		}
		return out
	}
	for i, c := range cols {
		cols[i] = kernel.Take(c, src)
	}
	for _, at := range p.cfg.rOutAt {
		cols = append(cols, batch.Nulls(p.cfg.rStoredTypes[at].Arrow(), len(rows)))
	}
	return batch.New(cols, len(rows))
}

func markColumn(matched, unknown []bool) arrow.Array {
	n := len(matched)
	vals := make([]byte, batch.BitmapBytes(n))
	var valid []byte
	for i := range matched {
		if matched[i] {
			batch.SetBit(vals, i)
		} else if unknown[i] {
			if valid == nil {
				valid = batch.AllOnes(n)
			}
			batch.ClearBit(valid, i)
		}
	}
	return batch.FromBits(vals, valid, n)
}
