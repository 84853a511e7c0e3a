package agg

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/sql/types"
)

// concordance is concordance_index, Harrell's index (pairs.Concordance) of rows of the same
// weight: the number of pairs is counted in integers, so that neither the order of the rows nor
// how many there are at a time matters.
type concordance struct{ *collect }

// MergeFrom implements Merger.
func (c concordance) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	return c.collect.MergeFrom(groups, from.(concordance).collect, ids)
}

// Need implements Holistic.
func (c concordance) Need(from, to int, states bool) int64 {
	if states {
		return c.collect.Need(from, to, true)
	}
	_, _, most := c.values(from, to) // one group after the other
	return int64(most) * int64(unsafe.Sizeof(pairs.Survival{})+2*unsafe.Sizeof(uint64(0)))
}

func (c concordance) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		rows := make([]pairs.Survival, 0, c.rows[g].N)
		if err := c.rows[g].Each(c.layout, func(r types.Row) error {
			rows = append(rows, pairs.SurvivalOf(r[0].(float64), r[1].(bool), r[2].(float64)))
			return nil
		}); err != nil {
			return nil, err
		}
		return index(pairs.Survived(rows, c.call.Distinct).Value()), nil
	})
}

// SortKeys implements Sortable: as survivors want it. Of the same time and risk are equal rows.
func (c concordance) SortKeys() []SortKey {
	return []SortKey{{0, kernel.KeySpec{Type: types.Float8, Desc: true}}, {1, kernel.KeySpec{Type: types.Bool}}, {2, kernel.KeySpec{Type: types.Float8}}}
}

// Sorted implements Sortable.
func (c concordance) Sorted(int64) *Sorted {
	s := &pairs.Survivors{Most: partRows, Distinct: c.call.Distinct}
	return &Sorted{outcome: survivors{s}, ready: survivors{s}.ready, resorted: survivors{s}.resorted, add: func(cols []arrow.Array, i int) error {
		s.Add(pairs.SurvivalOf(cols[0].(*array.Float64).Value(i), cols[1].(*array.Boolean).Value(i), cols[2].(*array.Float64).Value(i)))
		return nil
	}}
}

// ResortTypes implements Resortable: the risk as a number of the same order, the part, and whether
// there was an event.
func (c concordance) ResortTypes() []types.Type {
	return []types.Type{types.Int8, types.Int8, types.Bool}
}

// ResortKeys implements Resortable.
func (c concordance) ResortKeys() []SortKey {
	return []SortKey{{0, kernel.KeySpec{Type: types.Int8}}, {1, kernel.KeySpec{Type: types.Int8}}}
}

// partRows is how many rows a part has in memory.
const partRows = 1 << 10

// survivors is the outcome of rows in order of time, or of those in order of their risks.
type survivors struct{ *pairs.Survivors }

// ready returns rows for the order of their risks, of the last part too at the end of all.
func (s survivors) ready(end bool) ([]arrow.Array, int) {
	risks, parts, events := s.Take(end)
	n := len(risks)
	if n == 0 {
		return nil, 0
	}
	bits := make([]byte, batch.BitmapBytes(n))
	for i, e := range events {
		if e {
			batch.SetBit(bits, i)
		}
	}
	return []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, risks, nil), batch.FromSlice(arrow.PrimitiveTypes.Int64, parts, nil), batch.FromBits(bits, nil, n)}, n
}

// resorted takes the rows in the order of their risks.
func (s survivors) resorted() *Sorted {
	f := s.ByRisk()
	return &Sorted{outcome: byRisk{f}, add: func(cols []arrow.Array, i int) error {
		f.Add(cols[0].(*array.Int64).Value(i), cols[1].(*array.Int64).Value(i), cols[2].(*array.Boolean).Value(i))
		return nil
	}}
}

func (s survivors) result() (types.Datum, error) { return index(s.Value()), nil }

func (s survivors) held() int64 { return s.Held() }

type byRisk struct{ *pairs.RiskFold }

func (f byRisk) result() (types.Datum, error) { return index(f.Value()), nil }

func (f byRisk) held() int64 { return f.Held() }

// index is NULL where there are no pairs.
func index(v float64, ok bool) types.Datum {
	if !ok {
		return nil
	}
	return v
}

var _ Resortable = concordance{}
