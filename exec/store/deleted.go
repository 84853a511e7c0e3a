package store

import (
	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/sql/catalog"
)

// readDeleted decodes a segment's bitmap. It aliases the segment's bytes.
func readDeleted(s *catalog.Segment) (*roaring.Bitmap, error) {
	b := roaring.New()
	if _, err := b.FromBuffer(s.Deleted); err != nil || int64(b.GetCardinality()) != s.DeletedRows {
		return nil, &CorruptError{Segment: s.ID, What: "bitmap of deleted rows"}
	}
	return b, nil
}

// AddDeleted returns the segment's bitmap with rows added, and how many rows are
// deleted then: what a catalog.SetDeleted carries. Rows may come in any order.
func AddDeleted(s *catalog.Segment, rows []uint32) (bitmap []byte, n int64, err error) {
	b := roaring.New()
	if len(s.Deleted) > 0 {
		old, err := readDeleted(s)
		if err != nil {
			return nil, 0, err
		}
		b.Or(old)
	}
	b.AddMany(rows)
	b.RunOptimize()
	out, err := b.ToBytes()
	return out, int64(b.GetCardinality()), err
}
