package aggregate

import (
	"cmp"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// Several integer keys that lie close together are one, their code, by which a range
// (groupRange) finds their group:
//
//	item 17 of 1 to 100, warehouse 3 of 1 to 5, month 2 of 1 to 12   ─▶   16 + 100·(1 + 12·2)
//
// The ranges of values are learnt from the rows. The key with the most values has the smallest step
// in the code, as it changes from row to row, whatever their order. Where a key leaves its range
// there is a new layout, and the groups are recoded. The threads share layouts, so that they can
// divide the codes for merging.

// codeSpan is the range of a key's values, and its factor in a code.
type codeSpan struct {
	lo, hi int64
	null   bool  // NULL is one of them, after hi
	by     int64 // what a step of the key is in the code
}

// maxKey is how far from 0 keys are that have codes.
const maxKey = 1 << 61

// maxSpan is how many codes there may be: a range has no more.
const maxSpan = rangeReach << rangeShift

// size is how many values there are.
func (s codeSpan) size() int64 {
	n := s.hi - s.lo + 1
	if s.null {
		n++
	}
	return n
}

// codeLayout says how keys are written as codes. It does not change.
type codeLayout []codeSpan

// codeLayouts are those of all threads' tables.
type codeLayouts struct {
	mu     sync.Mutex
	newest codeLayout
}

// newCodeLayouts returns nil where keys of the types ts have no codes.
func newCodeLayouts(ts []types.Type) *codeLayouts {
	for _, t := range ts {
		if !isRangeKey(t) {
			return nil
		}
	}
	if len(ts) < 2 {
		return nil
	}
	return &codeLayouts{}
}

// last returns the newest layout.
func (s *codeLayouts) last() codeLayout {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// holding returns a layout that has codes for keys of these spans, those of a batch; nil if
// none has.
func (s *codeLayouts) holding(batch []codeSpan) codeLayout {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil || !s.newest.holds(batch) {
		next := s.newest.widened(batch)
		if next == nil {
			return nil
		}
		s.newest = next
	}
	return s.newest
}

// holds reports whether keys of these spans have codes.
func (l codeLayout) holds(batch []codeSpan) bool {
	for k, b := range batch {
		if s := &l[k]; b.null && !s.null || b.lo <= b.hi && (b.lo < s.lo || b.hi > s.hi) {
			return false
		}
	}
	return true
}

// widened returns a layout that holds what l does, nil for nothing, and keys of these spans;
// nil if there is none. A span that grows is doubled, so that it seldom does.
func (l codeLayout) widened(batch []codeSpan) codeLayout {
	next := slices.Clone(codeLayout(batch))
	for k := range next {
		s := &next[k]
		if s.lo < -maxKey || s.hi > maxKey {
			return nil
		}
		if l == nil {
			continue
		}
		was := l[k]
		s.null = s.null || was.null
		switch size := was.hi - was.lo + 1; {
		case s.lo > s.hi:
			s.lo, s.hi = was.lo, was.hi
		case size > 0:
			if s.lo < was.lo {
				s.lo = min(s.lo, was.lo-size)
			} else {
				s.lo = was.lo
			}
			if s.hi > was.hi {
				s.hi = max(s.hi, was.hi+size)
			} else {
				s.hi = was.hi
			}
		}
	}
	order := upTo(len(next))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(next[b].size(), next[a].size()) })
	by := int64(1)
	for _, k := range order {
		s := &next[k]
		n := s.size()
		if s.by = by; n > maxSpan/by {
			return nil
		}
		by *= max(n, 1)
	}
	return next
}

// spansOf returns what there is in columns of keys. A column of NULLs alone has lo above hi.
func spansOf(cols []arrow.Array, out []codeSpan) []codeSpan {
	out = out[:0]
	for _, c := range cols {
		lo, hi, some := kernel.IntRange(c)
		if !some {
			lo, hi = 0, -1
		}
		out = append(out, codeSpan{lo: lo, hi: hi, null: c.NullN() > 0})
	}
	return out
}

// codes writes the codes of rows, whose keys the layout holds.
func (l codeLayout) codes(cols []arrow.Array, out []int64) {
	clear(out)
	for k, c := range cols {
		s := &l[k]
		switch a := c.(type) {
		case *array.Int64:
			addCodes(s, a.Int64Values(), c, out)
		case *array.Int32:
			addCodes(s, a.Int32Values(), c, out)
		case *array.Int16:
			addCodes(s, a.Int16Values(), c, out)
		case *array.Date32:
			addCodes(s, a.Date32Values(), c, out)
		}
	}
}

func addCodes[T kernel.Integer](s *codeSpan, vals []T, arr arrow.Array, out []int64) {
	lo, by := s.lo, s.by
	out = out[:len(vals)]
	if arr.NullN() == 0 {
		for i, v := range vals {
			out[i] += (int64(v) - lo) * by
		}
		return
	}
	null := (s.hi - lo + 1) * by
	for i, v := range vals {
		if arr.IsNull(i) {
			out[i] += null
		} else {
			out[i] += (int64(v) - lo) * by
		}
	}
}

// coverCodes is cover for several keys.
func (t *groupTable) coverCodes(cols []arrow.Array) bool {
	for _, c := range cols {
		if c.DataType().ID() == arrow.NULL {
			return false
		}
	}
	t.spans = spansOf(cols, t.spans)
	if t.layout == nil || !t.layout.holds(t.spans) {
		l := t.layouts.holding(t.spans)
		if l == nil || !t.relayout(l) {
			return false
		}
	}
	return t.code(cols, t.count+cols[0].Len())
}

// code computes the codes of rows and makes the range hold them, for so many groups.
func (t *groupTable) code(cols []arrow.Array, groups int) bool {
	n := cols[0].Len()
	if cap(t.coded) < n {
		t.coded = make([]int64, n)
	}
	t.coded = t.coded[:n]
	t.layout.codes(cols, t.coded)
	if n == 0 {
		return true
	}
	lo, hi := t.coded[0], t.coded[0]
	for _, v := range t.coded {
		lo, hi = min(lo, v), max(hi, v)
	}
	return coverKeys(t.rng, t.coded, nil, lo, hi, groups, t.grant)
}

// relayout changes the groups' codes to those of layout l; it returns false where the range may not
// have them.
func (t *groupTable) relayout(l codeLayout) bool {
	t.layout, t.rng = l, &groupRange{}
	for from := 0; from < t.count; from += kernel.ChunkRows {
		to := min(from+kernel.ChunkRows, t.count)
		if !t.code(t.keyColumns(from, to), t.count) {
			return false
		}
		blocks, first := t.rng.blocks, t.rng.first
		for i, v := range t.coded {
			blocks[v>>rangeShift-first][v&(1<<rangeShift-1)] = uint32(from + i + 1)
		}
	}
	return true
}

// sameCodes brings all threads' tables to one layout, the newest, or to hashes.
func (s *aggShared) sameCodes() {
	if s.layouts == nil {
		return
	}
	l := s.layouts.last()
	for _, o := range s.with {
		if o.t.rng != nil && !slices.Equal(o.t.layout, l) && !o.t.relayout(l) {
			o.t.leaveRange()
		}
	}
}
