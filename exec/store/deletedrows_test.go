package store

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/sql/catalog"
)

// TestGoneRows reads random bitmaps of deleted rows, few and many, in one container and in two,
// split by split and batch by batch, and compares the rows left with testing each row.
func TestGoneRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		rows := 1 + r.Int64N(200_000)
		deleted := roaring.New()
		for share, row := []int64{1, 2, 10, 1000, 100_000}[r.IntN(5)], int64(0); row < rows; row++ {
			if r.Int64N(share) == 0 {
				deleted.Add(uint32(row))
			}
		}
		if from := r.Int64N(rows); r.IntN(2) == 0 {
			deleted.AddRange(uint64(from), uint64(from+r.Int64N(rows-from)+1))
		}
		if r.IntN(2) == 0 {
			deleted.RunOptimize()
		}
		from := r.Int64N(rows)
		to := from + 1 + r.Int64N(min(rows-from, []int64{3, 5000, 200_000}[r.IntN(3)]))
		two := deletedRows{older: deleted.Clone()}
		for it := deleted.Iterator(); r.IntN(4) > 0 && it.HasNext() && len(two.late) < 256; it.AdvanceIfNeeded(it.PeekNext() + r.Uint32N(2000)) {
			row := it.Next()
			two.older.Remove(row)
			two.late = append(two.late, row)
			if !it.HasNext() {
				break
			}
		}
		rd := reader{deleted: two, at: from, to: to}
		for rd.at < to {
			if rd.at > from && r.IntN(4) == 0 { // start further on, as after rows that zone maps or an index skip
				rd.at = min(rd.at+r.Int64N(70_000), to-1)
			}
			n := int(min(1+r.Int64N(8192), to-rd.at))
			var want []int32
			for i := range n {
				if !deleted.ContainsInt(int(rd.at) + i) {
					want = append(want, int32(i))
				}
			}
			sel, none := rd.live(n, r.IntN(2) == 0)
			switch {
			case none != (len(want) == 0), none && sel != nil, !none && (sel == nil) != (len(want) == n):
				t.Fatalf("rows %d to %d of %d: none %t, %d rows, want %d", rd.at, rd.at+int64(n), rows, none, len(sel), len(want))
			case sel != nil && !slices.Equal(sel, want):
				t.Fatalf("rows %d to %d of %d: %v, want %v", rd.at, rd.at+int64(n), rows, sel, want)
			}
			rd.at += int64(n)
		}
	}
}

// AddDeleted returns the deleted rows of the segment with more rows added, and how many there are
// then. Rows may be in any order.
func AddDeleted(s *catalog.Segment, rows []uint32) (all catalog.RowSet, n int64, err error) {
	b := roaring.New()
	if !s.Deleted.Empty() {
		old, err := readDeleted(s)
		if err != nil {
			return all, 0, err
		}
		b.Or(old.older)
		b.AddMany(old.late)
	}
	b.AddMany(rows)
	b.RunOptimize()
	out, err := b.ToBytes()
	return catalog.RowSetOf(out), int64(b.GetCardinality()), err
}
