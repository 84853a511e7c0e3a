package agg

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/sql/types"
)

// concordance is concordance_index, Harrell's index (kernel.Concordance) of rows of the same
// weight: the number of pairs is counted in integers, so that neither the order of the rows nor
// how many there are at a time matters.
type concordance struct{ *collect }

// survival is a row: the time of its event, or until when there was none, and the key of its risk.
type survival struct {
	time  float64
	risk  uint64
	event bool
}

func survivalOf(time float64, event bool, risk float64) survival {
	return survival{time: time, event: event, risk: f64.ScoreKey(risk)}
}

// survivors counts the pairs of rows that come in an order: those with the longest time first, and
// of one time those without an event, who lasted longer. Each row with an event is the first of its
// pair with all rows before it, but for those with an event at the same time.
//
// Rows that memory does not hold are counted in parts. The pairs within a part are counted here,
// those of rows of two parts once all rows come again in the order of their risks (riskFold):
//
//	in order of time   part 0 │ part 1 │ part 2 …     pairs within each
//	in order of risk   (risk, part, event) …          of each, the rows of parts before that came already
//
// Rows with an event at the same time are never in two parts. If they are more than a part holds they
// are one, without pairs.
type survivors struct {
	most     int // rows of a part
	distinct bool
	part     int64
	rows     []survival // of the part
	open     bool       // the part began with rows that are gone, all with an event at this time
	last     survival
	n, tie   int // all rows so far, and the first of those with an event at the time of the last one
	pairs    pairCounter
	wins     pairCounter // twice, and once for a tie

	risks, parts []int64 // of rows that are ready for the order of their risks
	events       []bool
}

func (s *survivors) add(r survival) {
	now := s.n > 0 && cmp.Compare(s.last.time, r.time) == 0
	if s.distinct && now && s.last.event == r.event && s.last.risk == r.risk {
		return
	}
	if !now || !r.event || !s.last.event {
		if s.tie = s.n; s.open {
			s.next(len(s.rows))
		}
	}
	if len(s.rows) == s.most {
		if k := s.tie - (s.n - len(s.rows)); k > 0 {
			s.next(k)
		} else {
			s.give(len(s.rows))
			s.open = true
		}
	}
	if r.event {
		s.pairs.add(1, s.tie)
	}
	s.rows, s.last = append(s.rows, r), r
	s.n++
}

// next ends the part after k rows.
func (s *survivors) next(k int) {
	if !s.open {
		s.within(s.rows[:k])
	}
	s.give(k)
	s.part++
	s.open = false
}

// give makes the first k rows ready.
func (s *survivors) give(k int) {
	for _, r := range s.rows[:k] {
		s.risks, s.parts, s.events = append(s.risks, int64(r.risk^signBit)), append(s.parts, s.part), append(s.events, r.event)
	}
	s.rows = s.rows[:copy(s.rows, s.rows[k:])]
}

// within counts the pairs of rows.
func (s *survivors) within(rows []survival) {
	risks := make([]uint64, len(rows))
	for i, r := range rows {
		risks[i] = r.risk
	}
	slices.Sort(risks)
	risks = slices.Compact(risks)
	longer := make(tally, len(risks)+1) // rows that lasted longer, by risk
	var wins uint64
	for from, to := 0, 0; from < len(rows); from = to {
		for to = from + 1; rows[from].event && to < len(rows) && rows[to].event && cmp.Compare(rows[to].time, rows[from].time) == 0; {
			to++
		}
		for _, r := range rows[from:to] {
			if r.event {
				at, _ := slices.BinarySearch(risks, r.risk)
				wins += longer.below(at) + longer.below(at+1)
			}
		}
		for _, r := range rows[from:to] {
			at, _ := slices.BinarySearch(risks, r.risk)
			longer.add(at)
		}
	}
	s.wins.merge(&pairCounter{low: wins})
}

func (s *survivors) value() types.Datum {
	if s.pairs.high == 0 && s.pairs.low == 0 {
		return nil
	}
	return s.wins.float() / (2 * s.pairs.float())
}

// tally is a binary indexed tree of counts (Fenwick 1994).
type tally []uint64

func (s tally) add(i int) {
	for i++; i < len(s); i += i & -i {
		s[i]++
	}
}

// below returns the sum of the first n.
func (s tally) below(n int) (v uint64) {
	for ; n > 0; n -= n & -n {
		v += s[n]
	}
	return v
}

// MergeFrom implements Merger.
func (c concordance) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	return c.collect.MergeFrom(groups, from.(concordance).collect, ids)
}

// Need implements Heavy.
func (c concordance) Need(from, to int, states bool) int64 {
	if states {
		return c.collect.Need(from, to, true)
	}
	most := 0 // one group after the other
	for _, rows := range c.rows[from:to] {
		most = max(most, len(rows))
	}
	return int64(most) * int64(unsafe.Sizeof(survival{})+2*unsafe.Sizeof(uint64(0)))
}

func (c concordance) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Float8, from, to, func(g int) (types.Datum, error) {
		rows := make([]survival, len(c.rows[g]))
		for i, r := range c.rows[g] {
			rows[i] = survivalOf(r[0].(float64), r[1].(bool), r[2].(float64))
		}
		slices.SortFunc(rows, func(a, b survival) int {
			if x := types.Compare(types.Float8, b.time, a.time); x != 0 {
				return x
			}
			switch {
			case a.event == b.event:
				return cmp.Compare(a.risk, b.risk)
			case b.event:
				return -1
			}
			return 1
		})
		s := &survivors{most: len(rows) + 1, distinct: c.call.Distinct}
		for _, r := range rows {
			s.add(r)
		}
		s.within(s.rows)
		return s.value(), nil
	})
}

// SortKeys implements Sortable: as survivors want it. Of the same time and risk are equal rows.
func (c concordance) SortKeys() []SortKey {
	return []SortKey{{0, kernel.KeySpec{Type: types.Float8, Desc: true}}, {1, kernel.KeySpec{Type: types.Bool}}, {2, kernel.KeySpec{Type: types.Float8}}}
}

// Sorted implements Sortable.
func (c concordance) Sorted(int64) *Sorted {
	s := &survivors{most: partRows, distinct: c.call.Distinct}
	return &Sorted{outcome: s, ready: s.ready, again: s.byRisk, add: func(cols []arrow.Array, i int) error {
		s.add(survivalOf(cols[0].(*array.Float64).Value(i), cols[1].(*array.Boolean).Value(i), cols[2].(*array.Float64).Value(i)))
		return nil
	}}
}

// AgainTypes implements Resortable: the risk as a number of the same order, the part, and whether
// there was an event.
func (c concordance) AgainTypes() []types.Type {
	return []types.Type{types.Int8, types.Int8, types.Bool}
}

// AgainKeys implements Resortable.
func (c concordance) AgainKeys() []SortKey {
	return []SortKey{{0, kernel.KeySpec{Type: types.Int8}}, {1, kernel.KeySpec{Type: types.Int8}}}
}

// partRows is how many rows a part has in memory.
const partRows = 1 << 10

// ready returns rows for the order of their risks, of the last part too at the end of all.
func (s *survivors) ready(end bool) ([]arrow.Array, int) {
	if end {
		s.next(len(s.rows))
		s.rows, s.most = nil, 0
	}
	n := len(s.risks)
	if n == 0 {
		return nil, 0
	}
	bits := make([]byte, batch.BitmapBytes(n))
	for i, e := range s.events {
		if e {
			batch.SetBit(bits, i)
		}
	}
	cols := []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, s.risks, nil), batch.FromSlice(arrow.PrimitiveTypes.Int64, s.parts, nil), batch.FromBits(bits, nil, n)}
	s.risks, s.parts, s.events = nil, nil, nil
	return cols, n
}

// byRisk takes the rows in the order of their risks.
func (s *survivors) byRisk() *Sorted {
	f := &riskFold{survivors: s, came: make(tally, s.part+1)}
	return &Sorted{outcome: f, add: func(cols []arrow.Array, i int) error {
		f.add(cols[0].(*array.Int64).Value(i), cols[1].(*array.Int64).Value(i), cols[2].(*array.Boolean).Value(i))
		return nil
	}}
}

func (s *survivors) result() (types.Datum, error) { return s.value(), nil }

// held is what a part takes at most, and nothing after the end.
func (s *survivors) held() int64 {
	return int64(s.most) * int64(unsafe.Sizeof(survival{})+17+2*unsafe.Sizeof(uint64(0)))
}

// riskFold counts the pairs of rows of two parts.
type riskFold struct {
	*survivors
	came       tally // rows of each part
	risk, part int64 // of the last row
	ties, same int64 // rows of its risk: in parts before its own, and in that
}

func (f *riskFold) add(risk, part int64, event bool) {
	switch {
	case risk != f.risk:
		f.risk, f.part, f.ties, f.same = risk, part, 0, 0
	case part != f.part:
		f.part, f.ties, f.same = part, f.ties+f.same, 0
	}
	if event {
		upTo := f.came.below(int(part))
		f.wins.merge(&pairCounter{low: 2*upTo - uint64(f.ties)})
	}
	f.came.add(int(part))
	f.same++
}

func (f *riskFold) held() int64 { return 8 * int64(len(f.came)) }

var _ Resortable = concordance{}
