package define

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// keptValues is how many common values, and parts of a histogram, are kept of a column: PostgreSQL's
// default_statistics_target.
const keptValues = 100

// sample is what a sample of a table has in a column. What follows from it is what PostgreSQL's ANALYZE
// makes of the same rows (compute_scalar_stats).
type sample struct {
	typ    types.Type
	total  float64 // rows of the table
	whole  bool    // all of them are in the sample
	groups []group // by value
	rows   float64 // of the sample
	filled float64 // rows that are not NULL
	values float64 // and not too wide to be kept
	width  float64 // bytes of the rows that are not NULL
	placed float64 // the sum of the places of values by value and as they lie, multiplied
}

type group struct {
	v types.Datum
	n float64
}

// add adds the next row by value: nil for NULL and, where filled, for a value that is too wide; at is its
// place among the values as they lie, from 1.
func (s *sample) add(v types.Datum, filled bool, width, at int64) {
	s.rows++
	if !filled {
		return
	}
	s.filled++
	s.width += float64(stored(s.typ, width))
	if v == nil {
		return
	}
	s.placed += s.values * float64(at-1)
	s.values++
	if last := len(s.groups) - 1; last >= 0 && types.Equal(s.typ, s.groups[last].v, v) {
		s.groups[last].n++
		return
	}
	s.groups = append(s.groups, group{v, 1})
}

// stored is how many bytes PostgreSQL stores for a value of a length: strings have a header.
func stored(t types.Type, n int64) int64 {
	switch t.OID {
	case types.TextOID, types.VarcharOID, types.BpcharOID, types.ByteaOID:
		if n < 127 {
			return n + 1
		}
		return n + 4
	}
	return n
}

// statistics returns what is kept: fewer values where they are wide.
func (s *sample) statistics() *catalog.ColumnStatistics {
	out := &catalog.ColumnStatistics{Distinct: s.distinct(), Whole: s.whole}
	if s.filled > 0 {
		out.Width = int(s.width / s.filled)
	}
	if n := s.values; n > 1 {
		sum := n * (n - 1) / 2
		squares := n * (n - 1) * (2*n - 1) / 6
		out.Correlation, out.Correlated = (n*s.placed-sum*sum)/(n*squares-sum*sum), true
	}
	for most := keptValues; most > 0; most /= 2 {
		out.Common, out.Freqs, out.Bounds = nil, nil, nil
		common := s.common(out.Distinct, most)
		for _, i := range common {
			out.Common = append(out.Common, s.groups[i].v)
			out.Freqs = append(out.Freqs, s.groups[i].n/s.rows)
		}
		out.Bounds = s.bounds(common, most)
		size := int64(0)
		for _, v := range slices.Concat(out.Common, out.Bounds) {
			size += types.DatumBytes(v)
		}
		if size <= keptBytes {
			break
		}
	}
	return out
}

// repeated counts the values that more than one row has.
func (s *sample) repeated() (n float64) {
	for _, g := range s.groups {
		if g.n > 1 {
			n++
		}
	}
	return n
}

// distinct is pg_stats.n_distinct of the whole table, by Haas and Stokes where the sample cannot have all.
func (s *sample) distinct() float64 {
	d, many := float64(len(s.groups)), s.repeated()
	notNull := s.filled / max(s.rows, 1)
	wide := s.filled - s.values
	var out float64
	switch {
	case s.filled == 0:
		return 0
	case many == 0:
		return -notNull // as many as there are rows
	case wide == 0 && many == d:
		out = d
	default:
		once := d - many + wide
		d = once + many
		all := s.total * notNull
		out = math.Floor(min(max(s.filled*d/((s.filled-once)+once*s.filled/all), d), all) + 0.5)
	}
	if out > 0.1*s.total {
		return -out / s.total
	}
	return out
}

// common returns the indexes of at most most groups that are kept as common values, the commonest first.
func (s *sample) common(distinct float64, most int) []int {
	var by []int
	for i, g := range s.groups {
		if g.n > 1 {
			by = append(by, i)
		}
	}
	slices.SortStableFunc(by, func(a, b int) int { return cmp.Compare(s.groups[b].n, s.groups[a].n) })
	if len(by) == len(s.groups) && s.filled == s.values && distinct > 0 && len(by) <= most {
		return by
	}
	by = by[:min(len(by), most)]
	if s.whole {
		return by
	}
	// Of a sample only those that are commoner than the others by more than chance.
	if distinct < 0 {
		distinct *= -s.total
	}
	sum := 0.0
	for _, i := range by {
		sum += s.groups[i].n
	}
	for n := len(by); n > 0; n-- {
		last := s.groups[by[n-1]].n
		sum -= last
		expect := min(max((s.filled-sum)/s.rows, 0), 1) // of the values that are not commoner
		if others := distinct - float64(n-1); others > 1 {
			expect /= others
		}
		k := s.total * last / s.rows
		variance := s.rows * k * (s.total - k) * (s.total - s.rows) / (s.total * s.total * (s.total - 1))
		if last > expect*s.rows+2*math.Sqrt(max(variance, 0))+0.5 {
			return by[:n]
		}
	}
	return nil
}

// bounds divides the rows of the groups that are not common into at most parts parts of as many rows each.
func (s *sample) bounds(common []int, parts int) []types.Datum {
	n := min(len(s.groups)-len(common), parts+1)
	if n < 2 {
		return nil
	}
	rest := s.values
	skip := make(map[int]bool, len(common))
	for _, i := range common {
		rest -= s.groups[i].n
		skip[i] = true
	}
	out := make([]types.Datum, 0, n)
	through := 0.0 // rows of the groups so far
	for i, g := range s.groups {
		if skip[i] {
			continue
		}
		through += g.n
		for len(out) < n && math.Floor(float64(len(out))*(rest-1)/float64(n-1)) < through {
			out = append(out, g.v)
		}
	}
	return out
}
