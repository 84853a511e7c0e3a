package catalog_test

import (
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/sql/catalog"
)

// TestDeletesFollowMovedRows merges two segments with deleted rows into two others, twice, and then
// deletes rows by their first places: the same rows are deleted in the new segments.
func TestDeletesFollowMovedRows(t *testing.T) {
	const table = 20000
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		s := catalog.New()
		commit := func(changes ...catalog.Change) {
			t.Helper()
			next, _, err := s.Commit(s.Version()+1, changes)
			if err != nil {
				t.Fatal(err)
			}
			s = next
		}
		next := byte(0)
		segment := func(rows int64) *catalog.Segment {
			next++
			return &catalog.Segment{ID: catalog.SegmentID{next}, Rows: rows, Bytes: 1, Nodes: []uint64{1}}
		}
		remove := func(id catalog.SegmentID, rows *roaring.Bitmap) catalog.Change {
			enc, err := rows.ToBytes()
			if err != nil {
				t.Fatal(err)
			}
			return &catalog.DeleteRows{Table: table, Segment: id, Rows: enc}
		}
		commit(&catalog.PutRelation{Rel: &catalog.Relation{OID: table, Schema: catalog.PublicOID, Name: "t", Kind: catalog.KindTable, Partitions: 1}})
		first := []*catalog.Segment{segment(1 + r.Int64N(300)), segment(1 + r.Int64N(300))}
		commit(&catalog.AppendSegments{Table: table, Segments: first})
		// Rows are numbered. rows[segment] lists the numbers of the rows left in it, by place.
		rows, live, n := map[catalog.SegmentID][]int{}, map[int]bool{}, 0
		for _, g := range first {
			for range g.Rows {
				rows[g.ID] = append(rows[g.ID], n)
				live[n] = true
				n++
			}
		}
		some := func(id catalog.SegmentID, share int) {
			b := roaring.New()
			for at, row := range rows[id] {
				if live[row] && r.IntN(share) == 0 {
					b.Add(uint32(at))
					live[row] = false
				}
			}
			if !b.IsEmpty() {
				commit(remove(id, b))
			}
		}
		for _, g := range first {
			some(g.ID, 3)
		}
		merge := func() {
			change := &catalog.ReplaceSegments{Table: table}
			var left []int
			for _, g := range s.Manifest(table).Partitions[0] {
				change.Old = append(change.Old, catalog.SegmentRef{ID: g.ID, DeletedRows: g.DeletedRows})
				for _, row := range rows[g.ID] {
					if live[row] {
						left = append(left, row)
					}
				}
			}
			for cut := r.IntN(len(left) + 1); len(left) > 0; cut = len(left) {
				if cut > 0 {
					g := segment(int64(cut))
					rows[g.ID], left = left[:cut], left[cut:]
					change.New = append(change.New, g)
				}
			}
			commit(change)
		}
		merge()
		some(first[r.IntN(2)].ID, 4)
		merge()
		some(first[0].ID, 4)
		some(first[1].ID, 4)
		for _, g := range s.Manifest(table).Partitions[0] {
			gone := roaring.New()
			if !g.Deleted.Empty() {
				if err := gone.UnmarshalBinary(g.Deleted.Portable()); err != nil {
					t.Fatal(err)
				}
			}
			for at, row := range rows[g.ID] {
				if gone.Contains(uint32(at)) == live[row] {
					t.Fatalf("row %d, at %d of a segment of %d rows: left %t", row, at, g.Rows, live[row])
				}
			}
		}
	}
}
