package catalog

import (
	"testing"

	"github.com/RoaringBitmap/roaring"
)

// TestOrigin: rows of two segments were moved together, and then with others once more.
func TestOrigin(t *testing.T) {
	gone := func(rows ...uint32) []byte {
		b, err := roaring.BitmapOf(rows...).ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a, b, c, d, e := SegmentID{1}, SegmentID{2}, SegmentID{3}, SegmentID{4}, SegmentID{5}
	m := &Manifest{Moved: []*Move{
		{Old: a, Deleted: gone(0, 1, 4), To: []MoveTo{{c, 3}, {d, 2}}},    // 2 3 5
		{Old: b, Deleted: gone(1), From: 3, To: []MoveTo{{c, 3}, {d, 2}}}, // 0 2
		{Old: d, Deleted: gone(0), To: []MoveTo{{e, 9}}}, {Old: SegmentID{9}, From: 1, To: []MoveTo{{e, 9}}},
	}}
	for _, x := range []struct {
		at   SegmentID
		row  uint32
		was  SegmentID
		then uint32
	}{{c, 0, a, 2}, {c, 1, a, 3}, {c, 2, a, 5}, {d, 0, b, 0}, {d, 1, b, 2}, {e, 0, b, 2}, {e, 3, SegmentID{9}, 2}, {a, 7, a, 7}} {
		if id, row := m.Origin(x.at, x.row); id != x.was || row != x.then {
			t.Errorf("row %d of %v was row %d of %v, not %d of %v", x.row, x.at, row, id, x.then, x.was)
		}
	}
}
