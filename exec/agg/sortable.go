package agg

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// Sortable is a Heavy Agg that memory need not hold a group of: its state goes away in
// pieces, and its result comes of the rows in those once they are sorted.
//
//	group ─▶ Piece, Piece, …   (states of some rows each; MergeStates takes them too)
//	piece ─▶ Rows ─▶ sorted by SortKeys within the group ─▶ Sorted ─▶ the result
type Sortable interface {
	Heavy
	// Piece encodes about size bytes of group g's rows from row at on. next is the row
	// after them, -1 at the end.
	Piece(g, at, size int) (state []byte, next int, err error)
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

// Sorted computes the result of a group from its rows in order.
type Sorted struct {
	of   *collect
	fold fold
	row  func(cols []arrow.Array, i int) types.Row
	last types.Row
}

// Add takes row i of cols, which are RowTypes.
func (s *Sorted) Add(cols []arrow.Array, i int) error {
	row := s.row(cols, i)
	if s.of.call.Distinct {
		if s.last != nil && s.of.byArgs(s.last, row) == 0 {
			return nil
		}
		s.last = row
	}
	return s.fold.add(row)
}

// Result comes after the last row. Its type is the call's.
func (s *Sorted) Result() (types.Datum, error) { return s.fold.result() }

// Held is the bytes that are kept of the rows.
func (s *Sorted) Held() int64 { return s.fold.held() }

// RowTypes implements Sortable.
func (c *collect) RowTypes() []types.Type { return slices.Concat(c.args, c.order) }

// SortKeys implements Sortable: what the call is ordered by, then, where duplicates do
// not count, the arguments.
func (c *collect) SortKeys() []SortKey {
	var out []SortKey
	for k, o := range c.call.OrderBy {
		out = append(out, SortKey{len(c.args) + k, kernel.KeySpec{Type: c.order[k], Desc: o.Desc, NullsFirst: o.NullsFirst}})
	}
	if c.call.Distinct {
		for k, t := range c.args {
			out = append(out, SortKey{k, kernel.KeySpec{Type: t}})
		}
	}
	return out
}

// Piece implements Sortable.
func (c *collect) Piece(g, at, size int) ([]byte, int, error) {
	rows := c.rows[g]
	var dst []byte
	for ; at < len(rows) && len(dst) < size; at++ {
		dst = c.encode(dst, rows[at])
	}
	if len(dst) > maxBytes {
		return nil, 0, errTooLong(int64(len(dst)))
	}
	if at == len(rows) {
		at = -1
	}
	return dst, at, nil
}

// Rows implements Sortable.
func (c *collect) Rows(state []byte) ([]arrow.Array, int, error) {
	var rows []types.Row
	if err := c.decode(state, func(row types.Row) { rows = append(rows, row) }); err != nil {
		return nil, 0, err
	}
	ts := c.RowTypes()
	cols := make([]arrow.Array, len(ts))
	for k, t := range ts {
		var err error
		if cols[k], err = datumColumn(t, 0, len(rows), func(i int) (types.Datum, error) { return rows[i][k], nil }); err != nil {
			return nil, 0, err
		}
	}
	return cols, len(rows), nil
}

// Sorted implements Sortable.
func (c *collect) Sorted(n int64) *Sorted {
	ts := c.RowTypes()
	return &Sorted{of: c, fold: c.newFold(n), row: func(cols []arrow.Array, i int) types.Row {
		row := make(types.Row, len(cols))
		for k, col := range cols {
			row[k] = keep(types.DatumAt(ts[k], col, i))
		}
		return row
	}}
}

// RowTypes implements Sortable: the fraction, and the value as a number whose order is
// the value's.
func (s *percentile) RowTypes() []types.Type { return []types.Type{types.Float8, types.Int8} }

// SortKeys implements Sortable.
func (s *percentile) SortKeys() []SortKey {
	return []SortKey{{1, kernel.KeySpec{Type: types.Int8, Desc: s.desc()}}}
}

// Piece implements Sortable.
func (s *percentile) Piece(g, at, size int) ([]byte, int, error) {
	s.settle()
	p := &s.keys[g]
	end := min(at+max(size/8, 1), p.n())
	dst := s.appendFraction(make([]byte, 0, 9+8*(end-at)), g)
	skip, left := at, end-at
	for i := 0; i <= len(p.full) && left > 0; i++ {
		list := p.last
		if i < len(p.full) {
			list = p.full[i]
		}
		if skip >= len(list) {
			skip -= len(list)
			continue
		}
		list = list[skip:min(skip+left, len(list))]
		skip, left = 0, left-len(list)
		for _, k := range list {
			dst = binary.LittleEndian.AppendUint64(dst, k)
		}
	}
	if end == p.n() {
		end = -1
	}
	return dst, end, nil
}

// Rows implements Sortable.
func (s *percentile) Rows(state []byte) ([]arrow.Array, int, error) {
	le := binary.LittleEndian
	if len(state) == 0 {
		state = make([]byte, 9)
	}
	if len(state) < 9 || (len(state)-9)%8 != 0 {
		return nil, 0, badState()
	}
	n := (len(state) - 9) / 8
	fractions, keys := make([]float64, n), make([]int64, n)
	valid := make([]byte, batch.BitmapBytes(n))
	for i := range n {
		if fractions[i] = math.Float64frombits(le.Uint64(state[1:])); state[0] == 1 {
			batch.SetBit(valid, i)
		}
		keys[i] = int64(le.Uint64(state[9+8*i:]) ^ signBit)
	}
	return []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Float64, fractions, valid), batch.FromSlice(arrow.PrimitiveTypes.Int64, keys, nil)}, n, nil
}

// Sorted implements Sortable.
func (s *percentile) Sorted(n int64) *Sorted {
	c := &collect{call: s.call, args: []types.Type{types.Float8}, order: []types.Type{types.Float8}}
	return &Sorted{of: c, fold: c.newFold(n), row: func(cols []arrow.Array, i int) types.Row {
		key := uint64(types.DatumAt(types.Int8, cols[1], i).(int64)) ^ signBit
		return types.Row{types.DatumAt(types.Float8, cols[0], i), orderedFloat(key)}
	}}
}

var _, _ Sortable = (*collect)(nil), (*percentile)(nil)

// IsSortable reports whether a call's aggregate is Sortable.
func IsSortable(call expr.AggCall) bool {
	a, err := New(call, nil)
	_, ok := a.(Sortable)
	return ok && err == nil
}
