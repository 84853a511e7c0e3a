package pairs

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Survival is a row: the time of its event, or the time of censoring if there was none, and its
// risk, both as integer keys of the same order.
type Survival struct {
	Time  uint64
	Risk  uint64
	Event bool
}

// SurvivalOf makes a row. NaN is the longest time, and the least risk.
func SurvivalOf(time float64, event bool, risk float64) Survival {
	s := Survival{Time: math.MaxUint64, Event: event, Risk: f64.ScoreKey(risk)}
	if time == time {
		s.Time = f64.ScoreKey(time)
	}
	return s
}

// Survivors counts the pairs of the concordance index (Harrell et al. 1982) over rows in descending
// order of time; of equal times, those without an event come first, as they lasted longer. Each row
// with an event forms a pair with every row before it, except those with an event at the same time.
//
// Rows that do not fit in memory are counted in parts. Pairs within a part are counted here; pairs
// of rows in different parts in a second pass over all rows, sorted by risk (RiskFold):
//
//	in order of time   part 0 │ part 1 │ part 2 …     pairs within each
//	in order of risk   (risk, part, event) …          each with the rows of earlier parts seen so far
//
// Rows with an event at the same time are never divided between parts: if they exceed a part they
// are counted as one part without pairs.
type Survivors struct {
	Most     int // rows of a part
	Distinct bool
	part     int64
	rows     []Survival // of the part
	open     bool       // the part began with rows already returned, all with an event at this time
	last     Survival
	n, tie   int // all rows so far, and the first of those with an event at the time of the last one
	pairs    Counter
	wins     Counter // twice, and once for a tie

	risks, parts []int64 // of rows that are ready for the order of their risks
	events       []bool
}

// Add takes the next row.
func (s *Survivors) Add(r Survival) {
	now := s.n > 0 && s.last.Time == r.Time
	if s.Distinct && now && s.last.Event == r.Event && s.last.Risk == r.Risk {
		return
	}
	if !now || !r.Event || !s.last.Event {
		if s.tie = s.n; s.open {
			s.next(len(s.rows))
		}
	}
	if len(s.rows) == s.Most {
		if k := s.tie - (s.n - len(s.rows)); k > 0 {
			s.next(k)
		} else {
			s.makeReady(len(s.rows))
			s.open = true
		}
	}
	if r.Event {
		s.pairs.Add(1, s.tie)
	}
	s.rows, s.last = append(s.rows, r), r
	s.n++
}

// next ends the part after k rows.
func (s *Survivors) next(k int) {
	if !s.open {
		s.within(s.rows[:k])
	}
	s.makeReady(k)
	s.part++
	s.open = false
}

// makeReady moves the first k rows to those that Take returns.
func (s *Survivors) makeReady(k int) {
	for _, r := range s.rows[:k] {
		s.risks, s.parts, s.events = append(s.risks, int64(r.Risk^1<<63)), append(s.parts, s.part), append(s.events, r.Event)
	}
	s.rows = s.rows[:copy(s.rows, s.rows[k:])]
}

// within counts the pairs of rows.
func (s *Survivors) within(rows []Survival) {
	risks := make([]uint64, len(rows))
	for i, r := range rows {
		risks[i] = r.Risk
	}
	slices.Sort(risks)
	risks = slices.Compact(risks)
	longer := make(fenwick[uint64], len(risks)+1) // rows that lasted longer, by risk
	var wins uint64
	for from, to := 0, 0; from < len(rows); from = to {
		for to = from + 1; rows[from].Event && to < len(rows) && rows[to].Event && rows[to].Time == rows[from].Time; {
			to++
		}
		for _, r := range rows[from:to] {
			if r.Event {
				at, _ := slices.BinarySearch(risks, r.Risk)
				wins += longer.below(at) + longer.below(at+1)
			}
		}
		for _, r := range rows[from:to] {
			at, _ := slices.BinarySearch(risks, r.Risk)
			longer.add(at, 1)
		}
	}
	s.wins.Merge(&Counter{low: wins})
}

// Survived counts the pairs of rows, which it sorts, in one part.
func Survived(rows []Survival, distinct bool) *Survivors {
	slices.SortFunc(rows, func(a, b Survival) int {
		switch {
		case a.Time != b.Time:
			return cmp.Compare(b.Time, a.Time)
		case a.Event == b.Event:
			return cmp.Compare(a.Risk, b.Risk)
		case b.Event:
			return -1
		}
		return 1
	})
	s := &Survivors{Most: len(rows) + 1, Distinct: distinct}
	for _, r := range rows {
		s.Add(r)
	}
	s.within(s.rows)
	return s
}

// Value returns the index, once all pairs are counted; ok is false where there are none.
func (s *Survivors) Value() (v float64, ok bool) {
	if s.pairs.high == 0 && s.pairs.low == 0 {
		return 0, false
	}
	return s.wins.Float() / (2 * s.pairs.Float()), true
}

// Take returns rows to be sorted by risk: their risks as integers, their parts, and whether there
// was an event. With end it also returns those of the last part.
func (s *Survivors) Take(end bool) (risks, parts []int64, events []bool) {
	if end {
		s.next(len(s.rows))
		s.rows, s.Most = nil, 0
	}
	risks, parts, events = s.risks, s.parts, s.events
	s.risks, s.parts, s.events = nil, nil, nil
	return risks, parts, events
}

// ByRisk returns the second pass, which gets the rows in the order of their risks.
func (s *Survivors) ByRisk() *RiskFold {
	return &RiskFold{Survivors: s, came: make(fenwick[uint64], s.part+1)}
}

// Held is the most memory that a part uses, in bytes; 0 after the end.
func (s *Survivors) Held() int64 {
	return int64(s.Most) * int64(unsafe.Sizeof(Survival{})+17+2*unsafe.Sizeof(uint64(0)))
}

// RiskFold counts the pairs of rows in different parts.
type RiskFold struct {
	*Survivors
	came       fenwick[uint64] // how many rows of each part were seen
	risk, part int64           // of the last row
	ties, same int64           // rows with the same risk: in earlier parts, and in its part
}

// Add takes the next row in the order of risks and, of one risk, of parts.
func (f *RiskFold) Add(risk, part int64, event bool) {
	switch {
	case risk != f.risk:
		f.risk, f.part, f.ties, f.same = risk, part, 0, 0
	case part != f.part:
		f.part, f.ties, f.same = part, f.ties+f.same, 0
	}
	if event {
		upTo := f.came.below(int(part))
		f.wins.Merge(&Counter{low: 2*upTo - uint64(f.ties)})
	}
	f.came.add(int(part), 1)
	f.same++
}

// Held is its memory in bytes.
func (f *RiskFold) Held() int64 { return 8 * int64(len(f.came)) }
