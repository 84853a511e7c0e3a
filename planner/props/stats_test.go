package props

import (
	"math"
	"testing"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

func zone(lo, hi, nulls, distinct int64) catalog.Zone {
	return catalog.Zone{Column: 1, Min: lo, Max: hi, Nulls: nulls, Distinct: distinct}
}

func TestColumnStats(t *testing.T) {
	seg := func(rows int64, z ...catalog.Zone) *catalog.Segment { return &catalog.Segment{Rows: rows, Zones: z} }
	col := catalog.Column{Num: 1, Type: types.Int8}
	other := catalog.Zone{Column: 2, Min: int64(1), Max: int64(1), Distinct: 1}
	for _, c := range []struct {
		name     string
		col      catalog.Column
		segs     []*catalog.Segment
		min, max types.Datum
		bounds   bool
		lo, hi   float64 // NDV between
		null     float64
	}{
		{"no segments", col, nil, nil, nil, true, 0, 0, 0},
		{"one", col, []*catalog.Segment{seg(100, zone(1, 50, 20, 40))}, int64(1), int64(50), true, 40, 40, 0.2},
		{"ranges apart add up", col, []*catalog.Segment{seg(1000, zone(1, 1000, 0, 1000)), seg(1000, zone(1001, 2000, 0, 1000))},
			int64(1), int64(2000), true, 2000, 2000, 0},
		{"the same few values", col, []*catalog.Segment{seg(10000, zone(1, 7, 0, 7)), seg(10000, zone(1, 7, 0, 7)), seg(10000, zone(1, 7, 0, 7))},
			int64(1), int64(7), true, 7, 7, 0},
		{"in order, dealt to two partitions", col, []*catalog.Segment{seg(10000, zone(1, 100, 0, 100)), seg(10000, zone(101, 200, 0, 100)),
			seg(10000, zone(1, 110, 0, 100)), seg(10000, zone(111, 210, 0, 90))}, int64(1), int64(210), true, 190, 210, 0},
		{"few values at a time", col, []*catalog.Segment{seg(10000, zone(1, 70, 0, 10)), seg(10000, zone(36, 105, 0, 10)), seg(10000, zone(71, 140, 0, 10))},
			int64(1), int64(140), true, 19, 21, 0},
		{"samples of many", col, []*catalog.Segment{seg(1000, zone(1, 1<<40, 0, 632)), seg(1000, zone(1, 1<<40, 0, 632))},
			int64(1), int64(1 << 40), true, 800, 900, 0},
		{"unique", col, []*catalog.Segment{seg(1000, zone(1, 1<<40, 0, 1000)), seg(1000, zone(1, 1<<40, 0, 1000))},
			int64(1), int64(1 << 40), true, 2000, 2000, 0},
		{"zones unknown", col, []*catalog.Segment{seg(10, zone(1, 2, 0, 2)), seg(10)}, int64(1), int64(2), false, 2, 2, 0},
		{"all null", col, []*catalog.Segment{seg(10, catalog.Zone{Column: 1, Nulls: 10})}, nil, nil, true, 0, 0, 1},
		{"added later", col, []*catalog.Segment{seg(10, other), seg(10, zone(3, 4, 0, 2))}, int64(3), int64(4), true, 2, 2, 0.5},
		{"added later with a default", catalog.Column{Num: 1, Type: types.Int8, Missing: int64(9)},
			[]*catalog.Segment{seg(10, other), seg(10, zone(3, 4, 0, 2))}, int64(3), int64(9), true, 3, 3, 0},
	} {
		got := columnStats(c.col, c.segs)
		if got.Min != c.min || got.Max != c.max || got.Bounds != c.bounds || math.Abs(got.NullFrac-c.null) > 1e-9 || got.NDV < c.lo || got.NDV > c.hi {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestTableStatsKeys(t *testing.T) {
	rel := &catalog.Relation{Columns: []catalog.Column{
		{Name: "a", Num: 1, Type: types.Int4}, {Name: "b", Num: 2, Type: types.Int4, NotNull: true}, {Name: "c", Num: 3, Type: types.Int4}},
		Constraints: []catalog.Constraint{{Kind: 'p', Columns: []int16{1}}, {Kind: 'u', Columns: []int16{2}}, {Kind: 'u', Columns: []int16{3}}}}
	st := tableStats(rel, &catalog.Manifest{Partitions: [][]*catalog.Segment{{{Rows: 50}}}}, nil)
	if len(st.Unique) != 2 || !st.NotNull(1) || !st.NotNull(2) || st.NotNull(3) {
		t.Errorf("keys %v, not null %v", st.Unique, st.notNull)
	}
	if c, ok := st.Col(1); !ok || c.NDV != 50 {
		t.Errorf("primary key: %+v", c)
	}
	if _, ok := st.Col(9); ok {
		t.Error("a column that is not there")
	}
}

// TestProvenKeys: a column is a key where its values are unique within each segment and the ranges
// of the segments do not overlap. For a cached plan that proves nothing, since rows may be added.
func TestProvenKeys(t *testing.T) {
	rel := &catalog.Relation{Columns: []catalog.Column{{Name: "a", Num: 1, Type: types.Int8}}}
	once := func(lo, hi int64) *catalog.Segment {
		return &catalog.Segment{Rows: 10, Zones: []catalog.Zone{{Column: 1, Min: lo, Max: hi, Distinct: 10, Unique: true}}}
	}
	for _, c := range []struct {
		name string
		segs []*catalog.Segment
		key  bool
	}{
		{"none", nil, false},
		{"one", []*catalog.Segment{once(1, 10)}, true},
		{"not known", []*catalog.Segment{{Rows: 10, Zones: []catalog.Zone{zone(1, 10, 0, 10)}}}, false},
		{"apart", []*catalog.Segment{once(21, 30), once(1, 10), once(11, 20)}, true},
		{"one of them not known", []*catalog.Segment{once(1, 10), {Rows: 10, Zones: []catalog.Zone{zone(11, 20, 0, 10)}}}, false},
		{"they touch", []*catalog.Segment{once(10, 20), once(1, 10)}, false},
		{"one within another", []*catalog.Segment{once(1, 100), once(10, 20)}, false},
		{"no bounds", []*catalog.Segment{once(1, 10), {Rows: 1, Zones: []catalog.Zone{{Column: 1, Unique: true}}}}, false},
		{"an empty one", []*catalog.Segment{once(1, 10), {}}, true},
		{"older than the column", []*catalog.Segment{once(1, 10), {Rows: 10, Zones: []catalog.Zone{{Column: 2, Unique: true}}}}, false},
	} {
		st := tableStats(rel, &catalog.Manifest{Partitions: [][]*catalog.Segment{c.segs}}, nil)
		if got := st.Key(1); got != c.key {
			t.Errorf("%s: a key: %v", c.name, got)
		}
		scan := &plan.Scan{Table: 1, Cols: []plan.Column{{ID: 7, Num: 1, Type: types.Int8}}}
		if got := len(UniqueKeys(scan, fixedStats{st})); got > 0 != c.key {
			t.Errorf("%s: %d keys of a scan", c.name, got)
		}
		if len(UniqueKeys(scan, Estimates(fixedStats{st}))) > 0 {
			t.Errorf("%s: the rows there are taken for those there will be", c.name)
		}
	}
}

// TestScale: a numeric column is read in fixed point only if all rows have one scale, those too that are older than it.
func TestScale(t *testing.T) {
	dec := func(c int64, scale int32) types.Datum { return number.DecimalFromInt64(c, scale) }
	seg := func(scale uint8) *catalog.Segment {
		return &catalog.Segment{Rows: 10, Zones: []catalog.Zone{{Column: 1, Min: dec(1, 2), Max: dec(900, 2), Scale: scale}}}
	}
	older := &catalog.Segment{Rows: 10, Zones: []catalog.Zone{{Column: 2}}}
	none := &catalog.Segment{Rows: 10, Zones: []catalog.Zone{{Column: 1, Nulls: 10}}}
	for _, c := range []struct {
		name    string
		segs    []*catalog.Segment
		missing types.Datum
		scale   uint8
		below   uint8
	}{
		{"one", []*catalog.Segment{seg(3)}, nil, 2, 19},
		{"two alike, and NULLs", []*catalog.Segment{none, seg(3), none, seg(3), older}, nil, 2, 19},
		{"two that differ", []*catalog.Segment{seg(3), seg(2), seg(3)}, nil, 0, 0},
		{"one not known", []*catalog.Segment{seg(3), seg(0)}, nil, 0, 0},
		{"not known first", []*catalog.Segment{seg(0), seg(3), seg(3)}, nil, 0, 0},
		{"older rows alike", []*catalog.Segment{seg(3), older}, dec(100, 2), 2, 19},
		{"older rows that differ", []*catalog.Segment{seg(3), older}, dec(1, 0), 0, 0},
		{"older rows without number", []*catalog.Segment{older}, number.DecimalNaN, 0, 0},
	} {
		cs := columnStats(catalog.Column{Num: 1, Type: types.Numeric, Missing: c.missing}, c.segs)
		if scale, below := cs.Fixed(types.Numeric); scale != c.scale || below != c.below {
			t.Errorf("%s: scale %d, below %d digits", c.name, scale, below)
		}
		if scale, below := cs.Fixed(types.FixedNumeric(9, 4, true)); scale != 4 || below != 9 {
			t.Errorf("%s: a numeric(9,4) has scale %d, below %d digits", c.name, scale, below)
		}
	}
}

type fixedStats struct{ t *TableStats }

func (g fixedStats) Table(types.OID) *TableStats { return g.t }

// TestJoinDomain: a condition that keeps a share of the keys of a table is estimated to keep that
// share of the rows that refer to them, even if these refer to few different keys.
func TestJoinDomain(t *testing.T) {
	key := func(id expr.ColID, ndv, of float64, lo, hi int64) (*expr.Col, map[expr.ColID]Column) {
		return &expr.Col{ID: id, Typ: types.Int8}, map[expr.ColID]Column{id: {ndv: ndv, of: of, min: lo, max: hi, typ: types.Int8}}
	}
	for _, c := range []struct {
		name     string
		of       float64
		lo, hi   int64
		min, max float64
	}{
		{"weeks of five years, days of two months", 73000, 1000, 2820, 30000, 35000},
		{"no more keys than are left", 60, 1000, 2820, 200000, 240000},
		{"all keys in the range", 1000, 1, 1000000, 55000, 65000},
	} {
		fact, lc := key(1, 261, 261, c.lo, c.hi)
		dim, rc := key(2, 60, c.of, 1, 73000)
		l, r := &Relation{Rows: 1e6, cols: lc}, &Relation{Rows: 60, cols: rc}
		if got := New(FromState(nil)).Join(plan.Inner, l, r, []expr.Expr{rewrite.Equals(fact, dim)}, 0).Rows; got < c.min || got > c.max {
			t.Errorf("%s: %g rows", c.name, got)
		}
	}
}

// TestKept: shares of rows are those of the commonest values and the histogram that ANALYZE kept, while a
// value that came since is not taken for absent.
func TestKept(t *testing.T) {
	kept := &catalog.ColumnStatistics{Column: 1, Type: types.Int4OID, Common: []types.Datum{int64(7), int64(50)}, Freqs: []float64{0.5, 0.1},
		Bounds: []types.Datum{int64(0), int64(1), int64(2), int64(3), int64(100)}}
	rel := &catalog.Relation{OID: 9, Columns: []catalog.Column{{Name: "a", Num: 1, Type: types.Int4}}}
	seg := &catalog.Segment{Rows: 1000, Zones: []catalog.Zone{{Column: 1, Min: int64(0), Max: int64(200), Distinct: 102}}}
	st := tableStats(rel, &catalog.Manifest{Partitions: [][]*catalog.Segment{{seg}}}, &catalog.Statistics{Columns: []catalog.ColumnStatistics{*kept}})
	cs, _ := st.Col(1)
	r := &Relation{Rows: 1000, cols: map[expr.ColID]Column{1: {ndv: cs.NDV, min: cs.Min, max: cs.Max, typ: types.Int4, kept: cs.Kept}}}
	col := &expr.Col{ID: 1, Typ: types.Int4}
	for _, c := range []struct {
		op   string
		v    int64
		want float64
	}{
		{"=", 7, 0.5}, {"=", 50, 0.1}, {"=", 8, 0.4 / 100},
		{"<", 2, 0.2}, {"<", 8, 0.5 + 0.4*(3+5.0/97)/4}, {">", 3, 1 - 0.3},
		{"<", 150, 0.75}, // after the histogram: as far as the extremes reach now
	} {
		got := r.cond(&expr.Call{Op: c.op, Args: []expr.Expr{col, &expr.Const{Val: c.v, Typ: types.Int4}}})
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("a %s %d: %g of the rows, not %g", c.op, c.v, got, c.want)
		}
	}
	rel.Columns[0].Type = types.Int8
	if cs, _ = tableStats(rel, &catalog.Manifest{Partitions: [][]*catalog.Segment{{seg}}}, &catalog.Statistics{Columns: []catalog.ColumnStatistics{*kept}}).Col(1); cs.Kept != nil {
		t.Error("statistics of another type")
	}
}
