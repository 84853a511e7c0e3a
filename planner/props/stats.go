package props

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Statistics is what the optimiser knows of tables.
type Statistics interface {
	// Table returns a table's statistics; nil if nothing is known.
	Table(oid types.OID) *TableStats
}

// TableStats describes a table's rows at a snapshot.
type TableStats struct {
	Rows float64
	Cols map[int16]ColStats // by attnum; see Col
	// Unique are keys over columns that are NOT NULL.
	Unique [][]int16
	// load computes a column that Cols does not have yet: most statements need few columns of a table.
	load func(num int16) (ColStats, bool)
	// notNull, where not nil, has the constraints without loading.
	notNull map[int16]bool
	// proven reports whether the present rows prove a column to be a key; nil where rows prove
	// nothing. known caches the answers.
	proven func(num int16) bool
	known  map[int16]bool
	// Counted: there are exactly Rows rows when the plan runs.
	Counted bool
}

// Key reports whether no row of the snapshot has a column's value twice, nor NULL: by constraint,
// or as its present rows prove.
func (t *TableStats) Key(num int16) bool {
	for _, k := range t.Unique {
		if len(k) == 1 && k[0] == num {
			return true
		}
	}
	if t.proven == nil {
		return false
	}
	is, ok := t.known[num]
	if !ok {
		is = t.proven(num)
		t.known[num] = is
	}
	return is
}

// Col returns a column's statistics.
func (t *TableStats) Col(num int16) (ColStats, bool) {
	if c, ok := t.Cols[num]; ok || t.load == nil {
		return c, ok
	}
	c, ok := t.load(num)
	if ok {
		t.Cols[num] = c
	}
	return c, ok
}

// NotNull reports whether a constraint keeps NULL out of a column.
func (t *TableStats) NotNull(num int16) bool {
	if t.notNull != nil {
		return t.notNull[num]
	}
	return t.Cols[num].NotNull
}

// ColStats describes a column. Bounds marks that Min and Max hold for every
// row of the snapshot, not just for most; Exact that rows of it have them, or that
// there is no value; Counted that exactly Nulls rows of it are NULL.
type ColStats struct {
	Min, Max types.Datum
	Scale    uint8 // as catalog.Zone has it, of every row
	Bounds   bool
	Exact    bool
	Counted  bool
	Nulls    int64
	NDV      float64 // distinct values; 0 for not known
	NullFrac float64
	NotNull  bool // by constraint
	Type     types.Type
	Kept     *catalog.ColumnStatistics // of ANALYZE; may be nil
}

// FromState reads statistics off the catalog: descriptors and the zone maps of the snapshot's
// segments. Each table is read once, on demand.
func FromState(s *catalog.State) Statistics {
	return &stateStats{s: s, tables: map[types.OID]*TableStats{}}
}

// Estimates returns statistics in which the present rows prove nothing: a plan made with them stays
// correct when rows are inserted and deleted.
func Estimates(st Statistics) Statistics { return estimates{st} }

type estimates struct{ of Statistics }

func (e estimates) Table(oid types.OID) *TableStats {
	t := e.of.Table(oid)
	if t == nil {
		return nil
	}
	c := *t
	c.Cols, c.proven, c.Counted = map[int16]ColStats{}, nil, false
	c.load = func(num int16) (ColStats, bool) {
		cs, ok := t.Col(num)
		cs.Bounds, cs.Exact, cs.Counted = false, false, false
		return cs, ok
	}
	if c.notNull == nil {
		c.notNull = map[int16]bool{}
		for num := range t.Cols {
			c.notNull[num] = t.NotNull(num)
		}
	}
	return &c
}

// Constraints returns statistics of what constraints say alone: whose keys a small statement asks for each time.
func Constraints(s *catalog.State) Statistics { return constraints{s} }

type constraints struct{ of *catalog.State }

func (c constraints) Table(oid types.OID) *TableStats {
	if rel := c.of.RelationByOID(oid); rel != nil {
		return constrained(rel)
	}
	return nil
}

type stateStats struct {
	s      *catalog.State
	tables map[types.OID]*TableStats
}

func (st *stateStats) Table(oid types.OID) *TableStats {
	if st.s == nil {
		return nil
	}
	if t, ok := st.tables[oid]; ok {
		return t
	}
	var t *TableStats
	if rel := st.s.RelationByOID(oid); rel != nil {
		t = tableStats(rel, st.s.Manifest(oid), st.s.Statistics(oid))
	}
	st.tables[oid] = t
	return t
}

func tableStats(rel *catalog.Relation, m *catalog.Manifest, kept *catalog.Statistics) *TableStats {
	t := constrained(rel)
	var segs []*catalog.Segment
	if m != nil {
		t.Rows, t.Counted = float64(m.Rows()), true
		for _, p := range m.Partitions {
			segs = append(segs, p...)
		}
	}
	t.known = map[int16]bool{}
	t.proven = func(num int16) bool {
		c := rel.ColumnNum(num)
		return c != nil && allDifferent(*c, segs)
	}
	t.load = func(num int16) (ColStats, bool) {
		c := rel.ColumnNum(num)
		if c == nil {
			return ColStats{}, false
		}
		cs := columnStats(*c, segs)
		cs.NotNull = t.notNull[num]
		cs.Type = c.Type
		cs.Kept = kept.Of(c)
		if t.Key(num) {
			cs.NDV = t.Rows
		}
		if cs.NDV == 0 && cs.Kept != nil {
			if cs.NDV = cs.Kept.Distinct; cs.NDV < 0 {
				cs.NDV *= -t.Rows
			}
		}
		return cs, true
	}
	return t
}

// constrained are the statistics of a table of which only the constraints are known.
func constrained(rel *catalog.Relation) *TableStats {
	t := &TableStats{Cols: map[int16]ColStats{}}
	notNull := map[int16]bool{}
	for _, c := range rel.Live() {
		notNull[c.Num] = c.NotNull
	}
	for _, c := range rel.Constraints {
		if c.Kind != 'p' && c.Kind != 'u' {
			continue
		}
		ok := true
		for _, num := range c.Columns {
			ok = ok && (notNull[num] || c.Kind == 'p')
			if c.Kind == 'p' {
				notNull[num] = true
			}
		}
		if ok {
			t.Unique = append(t.Unique, c.Columns)
		}
	}
	t.notNull = notNull
	return t
}

// zoneOf returns the place of a column's zone, -1 for none. They are in the order of the columns, each in its place while
// no column before it was dropped: a table of a thousand columns asks for a thousand.
func zoneOf(zones []catalog.Zone, num int16) int {
	if at := int(num) - 1; at >= 0 && at < len(zones) && zones[at].Column == num {
		return at
	}
	return slices.IndexFunc(zones, func(z catalog.Zone) bool { return z.Column == num })
}

// allDifferent reports whether no two rows of the segments have the same value in a
// column, and none NULL: no two of a segment do, and the segments' ranges lie apart.
func allDifferent(c catalog.Column, segs []*catalog.Segment) bool {
	var zones []catalog.Zone
	for _, s := range segs {
		if s.Rows == 0 {
			continue
		}
		i := zoneOf(s.Zones, c.Num)
		if i < 0 || !s.Zones[i].Unique {
			return false
		}
		zones = append(zones, s.Zones[i])
	}
	if len(zones) < 2 {
		return len(zones) == 1
	}
	if slices.ContainsFunc(zones, func(z catalog.Zone) bool { return z.Min == nil || z.Max == nil }) {
		return false
	}
	slices.SortFunc(zones, func(a, b catalog.Zone) int { return types.Compare(c.Type, a.Min, b.Min) })
	for i := 1; i < len(zones); i++ {
		if types.Compare(c.Type, zones[i-1].Max, zones[i].Min) >= 0 {
			return false
		}
	}
	return true
}

type zoneRow struct {
	catalog.Zone
	rows float64
}

// columnStats merges the zones of one column.
func columnStats(c catalog.Column, segs []*catalog.Segment) ColStats {
	cs := ColStats{Bounds: true, Counted: true}
	var zones []zoneRow
	var rows float64
	for _, s := range segs {
		if s.Rows == 0 {
			continue
		}
		rows += float64(s.Rows)
		cs.Counted = cs.Counted && s.DeletedRows == 0
		i := zoneOf(s.Zones, c.Num)
		if i < 0 && len(s.Zones) == 0 {
			cs.Bounds, cs.Counted = false, false
			continue
		}
		if i < 0 {
			// Older than the column: all rows have the missing value.
			if c.Missing == nil {
				cs.Nulls += s.Rows
				continue
			}
			zones = append(zones, zoneRow{catalog.Zone{Min: c.Missing, Max: c.Missing, Distinct: 1, Scale: scaleOf(c.Missing)}, float64(s.Rows)})
			continue
		}
		z := s.Zones[i]
		cs.Nulls += z.Nulls
		if z.Min == nil || z.Max == nil {
			if z.Nulls < s.Rows {
				cs.Bounds = false
			}
			if z.Distinct == 0 {
				continue
			}
		}
		zones = append(zones, zoneRow{z, float64(s.Rows - z.Nulls)})
	}
	if rows > 0 {
		cs.NullFrac = float64(cs.Nulls) / rows
	}
	for _, z := range zones {
		if z.Min == nil || z.Max == nil {
			continue
		}
		if cs.Min == nil {
			cs.Scale = z.Scale
		} else if cs.Scale != z.Scale {
			cs.Scale = 0
		}
		if cs.Min == nil || types.Compare(c.Type, z.Min, cs.Min) < 0 {
			cs.Min = z.Min
		}
		if cs.Max == nil || types.Compare(c.Type, z.Max, cs.Max) > 0 {
			cs.Max = z.Max
		}
	}
	// A zone's bounds are values of rows where they are not cut, as those of long texts are.
	cs.Exact = cs.Counted && cs.Bounds && (c.Type.IsIntegral() || c.Type.IsStamp())
	cs.NDV = distinct(c.Type, zones, cs)
	return cs
}

// Fixed returns the scale in which a column is represented in fixed point, and what its digits must be below for that: of a
// numeric whose type says so, or all of whose values have one scale, as a scan reads them then. 0 for others.
func (cs ColStats) Fixed(t types.Type) (scale, below uint8) {
	switch {
	case t.IsFixed():
		return t.Scale, t.Prec
	case t.OID == types.NumericOID && cs.Scale > 0:
		return cs.Scale - 1, types.MaxFixedDigits + 1
	}
	return 0, 0
}

// scaleOf is a zone's scale of one value.
func scaleOf(d types.Datum) uint8 {
	if v, ok := d.(number.Decimal); ok && v.IsFinite() && v.Scale() <= types.MaxFixedDigits {
		return 1 + uint8(v.Scale())
	}
	return 0
}

// distinct estimates the distinct values of a column from those of its segments. Segments with
// ranges apart have different values, so they add up; where the ranges overlap each segment is
// taken as a sample: of d distinct values among n rows drawn from N values, N follows by d = N(1 -
// e^(-n/N)).
func distinct(t types.Type, zones []zoneRow, cs ColStats) float64 {
	var sum, most, rows float64
	known := false
	for _, z := range zones {
		d := float64(z.Distinct)
		if d <= 0 {
			continue
		}
		known = true
		sum += d
		rows += z.rows
		most = max(most, d)
	}
	if !known {
		return 0
	}
	span := integerSpan(cs.Min, cs.Max)
	if len(zones) == 1 {
		return sum
	}
	sorted := slices.Clone(zones)
	apart := !slices.ContainsFunc(zones, func(z zoneRow) bool { return z.Min == nil || z.Max == nil })
	if apart {
		slices.SortStableFunc(sorted, func(a, b zoneRow) int { return types.Compare(t, a.Min, b.Min) })
	}
	for i := 1; i < len(sorted) && apart; i++ {
		apart = types.Compare(t, sorted[i].Min, sorted[i-1].Max) >= 0
	}
	if apart {
		return min(sum, span)
	}
	var weighted float64
	for _, z := range zones {
		if d := float64(z.Distinct); d > 0 {
			n := population(d, z.rows)
			weighted += z.rows * min(n, span)
		}
	}
	if math.IsInf(weighted, 1) {
		return min(rows, span)
	}
	pop := weighted / rows
	est := pop * (1 - math.Exp(-rows/pop))
	return min(max(est, most, clustered(sorted)), sum, span)
}

// layers is how many segments may have a value in their ranges for a column to be
// taken as clustered.
const layers = 64

// clustered returns how many values there are at least if those of each segment lie evenly in its
// range: where ranges overlap the densest counts. Rows in the order of a column that were
// distributed to partitions in turn have ranges which overlap in pairs, and far more values than
// any segment. 0 where it is not known; zones are sorted by Min.
func clustered(zones []zoneRow) float64 {
	type layer struct{ hi, density float64 }
	var on []layer
	at, n := math.Inf(-1), 0.0
	upTo := func(x float64) { // counts the values from at to x
		for at < x && len(on) > 0 {
			next, dense := x, 0.0
			for _, l := range on {
				next, dense = min(next, l.hi), max(dense, l.density)
			}
			n += dense * (next - at)
			at = next
			on = slices.DeleteFunc(on, func(l layer) bool { return l.hi <= at })
		}
		at = x
	}
	for _, z := range zones {
		lo, ok := z.Min.(int64)
		hi, ok2 := z.Max.(int64)
		if !ok || !ok2 || len(on) == layers {
			return 0
		}
		upTo(float64(lo))
		end := float64(hi) + 1
		on = append(on, layer{end, float64(z.Distinct) / (end - float64(lo))})
	}
	upTo(math.Inf(1))
	return n
}

// population solves d = N(1 - e^(-n/N)) for N.
func population(d, n float64) float64 {
	if d >= 0.98*n {
		return math.Inf(1)
	}
	lo, hi := d, n*64
	for range 50 {
		mid := (lo + hi) / 2
		if mid*(1-math.Exp(-n/mid)) < d {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// integerSpan returns how many values there can be from a to b.
func integerSpan(a, b types.Datum) float64 {
	x, ok := a.(int64)
	y, ok2 := b.(int64)
	if !ok || !ok2 {
		return math.Inf(1)
	}
	return float64(y) - float64(x) + 1
}

// scalar maps a value to a number so that ranges can be measured; ok is false for types without
// such a map.
func scalar(d types.Datum) (float64, bool) {
	switch v := d.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case number.Decimal:
		return v.Float64(), v.IsFinite()
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case string:
		// The first bytes as a fraction.
		var x float64
		scale := 1.0
		for i := 0; i < len(v) && i < 8; i++ {
			scale /= 256
			x += float64(v[i]) * scale
		}
		return x, true
	case datetime.TimeTZ:
		return float64(v.Micros), true
	}
	return 0, false
}
