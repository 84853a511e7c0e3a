package agg

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// Sortable is a Holistic Agg that memory need not hold a group of: it goes away in partial
// states, and its result comes of the rows in those once they are sorted.
//
//	group ─▶ PartialState, PartialState, …   (of some rows each; MergeStates takes them too)
//	state ─▶ Rows ─▶ sorted by SortKeys within the group ─▶ Sorted ─▶ the result
type Sortable interface {
	Holistic
	// PartialState encodes about size bytes of group g's rows from place at on, which is 0 for the
	// first. next is the place after them, -1 at the end.
	PartialState(g, at, size int) (state []byte, next int, err error)
	// RowTypes are the columns of rows, SortKeys those by which they are sorted.
	RowTypes() []types.Type
	SortKeys() []SortKey
	// Rows are the rows of a state, in columns.
	Rows(state []byte) (cols []arrow.Array, n int, err error)
	// Sorted takes the n rows of a group.
	Sorted(n int64) *Sorted
}

// SortKey is a column of rows and how it is sorted.
type SortKey struct {
	Col int
	kernel.KeySpec
}

// Resortable is a Sortable whose result needs its rows in a second order: what Sorted makes of
// them (Ready) is sorted by ResortKeys within the group, and goes to Resorted.
type Resortable interface {
	Sortable
	ResortTypes() []types.Type
	ResortKeys() []SortKey
}

// Sorted computes the result of a group from its rows in order.
type Sorted struct {
	outcome
	add      func(cols []arrow.Array, i int) error
	ready    func(end bool) ([]arrow.Array, int)
	resorted func() *Sorted
}

// Add takes row i of cols, which are RowTypes, or ResortTypes.
func (s *Sorted) Add(cols []arrow.Array, i int) error { return s.add(cols, i) }

// Ready returns, of a Resortable, rows to be sorted again: after each row, and at the end.
func (s *Sorted) Ready(end bool) (cols []arrow.Array, n int) { return s.ready(end) }

// Resorted takes the rows that are sorted again, after all that are Ready.
func (s *Sorted) Resorted() *Sorted { return s.resorted() }

// Column is the result, after the last row, as a column of one row. Its type is the call's, t.
func (s *Sorted) Column(t types.Type) (arrow.Array, error) {
	if w, ok := s.outcome.(written); ok && len(*w.buffer()) > 0 && t.OID != types.JSONBOID {
		return ended(w, t), nil
	}
	if f, ok := s.outcome.(*listFold); ok {
		return f.column(), nil
	}
	return datumColumn(t, 0, 1, func(int) (types.Datum, error) { return s.result() })
}

// Expect makes room for a result of so many bytes, where that is known of a call (string_agg, array_agg).
func (s *Sorted) Expect(bytes int64) {
	switch f := s.outcome.(type) {
	case *stringFold:
		if bytes <= maxBytes {
			f.out = make([]byte, 0, bytes)
		}
	case *listFold:
		f.list.ValueBuilder().Resize(f.n)
	}
}

// Most is the most bytes that may be kept while n more rows are added, beyond what was expected.
func (s *Sorted) Most(n int) int64 {
	if f, ok := s.outcome.(*listFold); ok {
		return f.most(n)
	}
	return s.held() * 5 / 4 // a buffer that is appended to grows by a quarter
}

// Held is the bytes that are kept of the rows.
func (s *Sorted) Held() int64 { return s.held() }

// RowTypes implements Sortable.
func (c *collect) RowTypes() []types.Type { return c.layout }

// SortKeys implements Sortable: what the call is ordered by, then, where duplicates do
// not count or the order of rows must be determined, the arguments.
func (c *collect) SortKeys() []SortKey {
	var out []SortKey
	for k, o := range c.call.OrderBy {
		out = append(out, SortKey{len(c.args) + k, kernel.KeySpec{Type: c.order[k], Desc: o.Desc, NullsFirst: o.NullsFirst}})
	}
	if c.byValue() {
		for k, t := range c.args {
			out = append(out, SortKey{k, kernel.KeySpec{Type: t}})
		}
	}
	return out
}

// PartialState implements Sortable.
func (c *collect) PartialState(g, at, size int) ([]byte, int, error) {
	dst, next, err := c.rows[g].Part(c.layout, at, size)
	if err == nil && len(dst) > maxBytes {
		err = errTooLong(int64(len(dst)))
	}
	return dst, next, err
}

// Rows implements Sortable.
func (c *collect) Rows(state []byte) ([]arrow.Array, int, error) {
	to, n := make([]array.Builder, len(c.layout)), 0
	for k, t := range c.layout {
		to[k] = array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	}
	if err := c.layout.Each(state, func(row types.Row) error {
		for k, d := range row {
			if err := types.AppendDatum(to[k], c.layout[k], d); err != nil {
				return err
			}
		}
		n++
		return nil
	}); err != nil {
		return nil, 0, err
	}
	out := make([]arrow.Array, len(to))
	for k, b := range to {
		out[k] = b.NewArray()
	}
	return out, n, nil
}

// Sorted implements Sortable.
func (c *collect) Sorted(n int64) *Sorted {
	ts, f := c.RowTypes(), c.newFold(n)
	pass := func() bool { return false }
	if p, ok := f.(*percentileFold); ok && !c.call.Distinct {
		pass = p.pass
	}
	var last types.Row
	return &Sorted{outcome: f, add: func(cols []arrow.Array, i int) error {
		if pass() {
			return nil
		}
		row := make(types.Row, len(cols))
		for k, col := range cols {
			row[k] = types.DatumAt(ts[k], col, i)
		}
		if c.call.Distinct {
			if last != nil && c.byArgs(last, row) == 0 {
				return nil
			}
			last = row
		}
		return f.add(row)
	}}
}

// RowTypes implements Sortable: the fraction, and the value as a number whose order is
// the value's.
func (s *percentile) RowTypes() []types.Type { return []types.Type{types.Float8, types.Int8} }

// SortKeys implements Sortable.
func (s *percentile) SortKeys() []SortKey {
	return []SortKey{{1, kernel.KeySpec{Type: types.Int8, Desc: s.desc()}}}
}

// PartialState implements Sortable.
func (s *percentile) PartialState(g, at, size int) ([]byte, int, error) {
	s.flush()
	p := &s.keys[g]
	end := min(at+max(size/8, 1), p.n())
	dst := s.appendFraction(make([]byte, 0, 9+8*(end-at)), g)
	dst = appendKeys(dst, append(slices.Clip(p.full), p.last), at, end-at)
	if end == p.n() {
		end = -1
	}
	return dst, end, nil
}

// appendKeys appends n keys of lists from one on.
func appendKeys(dst []byte, lists [][]uint64, from, n int) []byte {
	for _, l := range lists {
		if n == 0 {
			break
		}
		if from >= len(l) {
			from -= len(l)
			continue
		}
		l = l[from:min(from+n, len(l))]
		from, n = 0, n-len(l)
		for _, k := range l {
			dst = binary.LittleEndian.AppendUint64(dst, k)
		}
	}
	return dst
}

// signedKeys appends, as numbers of the same order, the keys that appendKeys wrote.
func signedKeys(to []int64, b []byte) []int64 {
	for ; len(b) > 0; b = b[8:] {
		to = append(to, int64(binary.LittleEndian.Uint64(b)^signBit))
	}
	return to
}

// Rows implements Sortable.
func (s *percentile) Rows(state []byte) ([]arrow.Array, int, error) {
	if len(state) == 0 {
		state = make([]byte, 9)
	}
	if len(state) < 9 || (len(state)-9)%8 != 0 {
		return nil, 0, badState()
	}
	n := (len(state) - 9) / 8
	fractions, keys := make([]float64, n), signedKeys(nil, state[9:])
	valid := make([]byte, batch.BitmapBytes(n))
	for i := range n {
		if fractions[i] = math.Float64frombits(binary.LittleEndian.Uint64(state[1:])); state[0] == 1 {
			batch.SetBit(valid, i)
		}
	}
	return []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Float64, fractions, valid), batch.FromSlice(arrow.PrimitiveTypes.Int64, keys, nil)}, n, nil
}

// Sorted implements Sortable.
func (s *percentile) Sorted(n int64) *Sorted {
	f := &percentileFold{c: &collect{call: s.call, args: []types.Type{types.Float8}, order: []types.Type{types.Float8}}, n: n}
	return &Sorted{outcome: f, add: func(cols []arrow.Array, i int) error {
		if f.pass() {
			return nil
		}
		key := uint64(cols[1].(*array.Int64).Value(i)) ^ signBit
		return f.add(types.Row{types.DatumAt(types.Float8, cols[0], i), orderedFloat(key)})
	}}
}

var _, _ Sortable = (*collect)(nil), (*percentile)(nil)
