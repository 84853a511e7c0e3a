package catalog_test

import (
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
)

// TestRowNumbers: committed rows are numbered in the order of commits, and no number is given twice,
// whatever becomes of the rows; those of a transaction have numbers of their own, which stay while
// others commit; segments without an xmin, of an earlier version's log, have none.
func TestRowNumbers(t *testing.T) {
	d := &db{t, catalog.New()}
	with := func(n byte, rows int64) *catalog.Segment {
		g := seg(n, rows)
		g.Xmin = 3
		return g
	}
	add := func(segs ...*catalog.Segment) catalog.Change {
		return &catalog.AppendSegments{Table: 20000, Segments: segs}
	}
	first := func(s *catalog.State, n byte) uint64 {
		for _, p := range s.Manifest(20000).Partitions {
			for _, g := range p {
				if g.ID[0] == n {
					return g.First
				}
			}
		}
		t.Fatalf("no segment %d", n)
		return 0
	}
	want := func(s *catalog.State, n byte, at uint64) {
		t.Helper()
		if got := first(s, n); got != at {
			t.Errorf("segment %d begins at %d, not %d", n, got, at)
		}
	}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")}, add(with(1, 10)))
	own := []catalog.Change{add(with(50, 4), with(51, 2)), add(with(52, 1))}
	view, err := d.s.Apply(own)
	if err != nil {
		t.Fatal(err)
	}
	mine := first(view, 50)
	d.do("", add(with(2, 5), with(3, 7)), add(seg(9, 100)))
	want(d.s, 1, 1)
	want(d.s, 2, 11)
	want(d.s, 3, 16)
	want(d.s, 9, 0)
	later, err := d.s.Apply(own)
	if err != nil {
		t.Fatal(err)
	}
	if mine <= 1<<40 {
		t.Errorf("a transaction's own rows have the number %d", mine)
	}
	want(view, 51, mine+4)
	want(later, 50, mine)
	want(later, 51, mine+4)
	want(later, 52, mine+6)
	d.do("", own...)
	want(d.s, 50, 23)
	d.do("", &catalog.ReplaceSegments{Table: 20000, Old: []catalog.SegmentRef{{ID: catalog.SegmentID{2}}, {ID: catalog.SegmentID{3}}}, New: []*catalog.Segment{with(4, 12)}})
	want(d.s, 4, 30)
	d.do("", &catalog.Truncate{Table: 20000}, add(with(5, 1)))
	want(d.s, 5, 42)
	if mine = d.s.Manifest(20000).Next; mine != 42 {
		t.Errorf("the next number is %d", mine)
	}
}
