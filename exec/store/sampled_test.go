package store_test

import (
	"testing"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TestSampled: the parts of a sample are some of the table's, at equal distances, and all of them where
// there are few rows, however many segments have them.
func TestSampled(t *testing.T) {
	small := &catalog.Manifest{Partitions: [][]*catalog.Segment{{}}}
	large := &catalog.Manifest{Partitions: [][]*catalog.Segment{{}, {}}}
	for i := range 100 {
		small.Partitions[0] = append(small.Partitions[0], &catalog.Segment{Rows: 10})
		large.Partitions[i%2] = append(large.Partitions[i%2], &catalog.Segment{Rows: 3*store.GroupRows + 1})
	}
	if n := len(store.Sampled(small, 0, 4096, nil)); n != 100 {
		t.Errorf("%d parts of 100 segments of 10 rows", n)
	}
	if n := len(store.Sampled(small, 0, 100, nil)); n != 10 {
		t.Errorf("%d parts of 100 segments of 10 rows for 100 rows", n)
	}
	if n := len(store.Sampled(nil, 0, 100, nil)); n != 0 {
		t.Errorf("%d parts of no table", n)
	}
	const want = 30 * store.GroupRows
	parts := store.Sampled(large, 7, want, nil)
	rows, last := int64(0), uint32(0)
	for i, p := range parts {
		if rows += p.To - p.From; p.Scan != 7 || i > 0 && (p.Ordinal < last || p.Ordinal > last+3) {
			t.Errorf("part %d is %d, %d of segment %d after %d", i, p.From, p.To, p.Ordinal, last)
		}
		last = p.Ordinal
	}
	if rows < want/2 || rows > want*3/2 {
		t.Errorf("%d rows, not about %d", rows, want)
	}
}
