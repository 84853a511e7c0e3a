package catalog_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func del(id catalog.SegmentID, rows ...uint32) catalog.Change {
	b, _ := roaring.BitmapOf(rows...).ToBytes()
	return &catalog.DeleteRows{Table: 20000, Segment: id, Rows: b}
}

func TestDeleteRows(t *testing.T) {
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")}, &catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{seg(1, 10), seg(2, 10)}})
	one := catalog.SegmentID{1}
	d.do("", del(one, 1, 2))
	d.do("", del(one, 5))
	d.do(pgerr.SerializationFailure, del(one, 4, 5))
	d.do(pgerr.InternalError, del(one, 10))
	if n := d.s.Manifest(20000).Rows(); n != 17 {
		t.Fatal(n)
	}
	d.do("", del(one, 0, 3, 4, 6, 7, 8, 9), del(catalog.SegmentID{2}, 0))
	if m := d.s.Manifest(20000); m.Rows() != 9 || len(m.Partitions[0]) != 1 {
		t.Fatal("an empty segment stays")
	}
	d.do(pgerr.SerializationFailure, del(one, 0))
}

// TestDeleteOneByOne deletes the rows of a segment one by one, as UPDATEs do. Deleting or locking a
// row that is already deleted is a serialization failure, however long ago that was. A node that
// restores a snapshot half way and applies the rest of the log ends with the same bytes as one that
// applied the whole log.
func TestDeleteOneByOne(t *testing.T) {
	const n = 2000
	rnd := rand.New(rand.NewPCG(9, 9))
	d := &db{t, catalog.New()}
	id := catalog.SegmentID{1}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")}, &catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{seg(1, n)}})
	lock := func(row uint32) catalog.Change {
		b, _ := roaring.BitmapOf(row).ToBytes()
		return &catalog.LockRows{Table: 20000, Segment: id, Rows: b}
	}
	var restored *db
	order := rnd.Perm(n)
	for i, row := range order[:n-1] {
		d.do("", lock(uint32(row)), del(id, uint32(row)))
		if restored != nil {
			restored.do("", lock(uint32(row)), del(id, uint32(row)))
		}
		if i == 700 {
			b, err := d.s.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			s, err := catalog.UnmarshalState(b)
			if err != nil {
				t.Fatal(err)
			}
			restored = &db{t, s}
		}
		gone := uint32(order[rnd.IntN(i+1)])
		d.do(pgerr.SerializationFailure, del(id, gone))
		d.do(pgerr.SerializationFailure, lock(gone))
		if left := d.s.Manifest(20000).Rows(); left != int64(n-i-1) {
			t.Fatalf("%d rows are left, want %d", left, n-i-1)
		}
	}
	a, _ := d.s.MarshalBinary()
	b, _ := restored.s.MarshalBinary()
	if !bytes.Equal(a, b) || d.s.Manifest(20000).Digest() != restored.s.Manifest(20000).Digest() {
		t.Fatal("a node that restored a snapshot half way has other bytes")
	}
}

// TestCompactMany: one compaction of more segments than the catalog remembers replacements of.
// Deleting by a remembered old row number works; by one that was forgotten it is a serialization
// failure.
func TestCompactMany(t *testing.T) {
	const n = 3000
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")})
	id := func(i int) catalog.SegmentID { return catalog.SegmentID{1, byte(i), byte(i >> 8)} }
	c := &catalog.ReplaceSegments{Table: 20000, New: []*catalog.Segment{seg(9, n)}}
	var list []*catalog.Segment
	for i := range n {
		s := *seg(1, 1)
		s.ID = id(i)
		list = append(list, &s)
		c.Old = append(c.Old, catalog.SegmentRef{ID: s.ID})
	}
	d.do("", &catalog.AppendSegments{Table: 20000, Segments: list})
	d.do("", c)
	d.do("", del(id(n-1), 0), del(id(n-2048), 0))
	d.do(pgerr.SerializationFailure, del(id(n-2049), 0)) // its replacement is forgotten: the last 2048 are remembered
	if got := d.s.Manifest(20000).Rows(); got != n-2 {
		t.Errorf("%d rows", got)
	}
}

// TestDeleteAcrossCompaction deletes by old row numbers while compaction goes on, and compares with
// a simple model that gives each row a number.
func TestDeleteAcrossCompaction(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	type place struct {
		id  catalog.SegmentID
		row uint32
	}
	d := &db{t, catalog.New()}
	d.do("", &catalog.PutRelation{Rel: table(20000, "t")})
	live := map[int]bool{}
	old := map[int]place{} // where each row was at some time
	names := map[catalog.SegmentID][]int{}
	next := byte(0)
	for range 20 {
		next++
		s := seg(next, 8)
		for i := range 8 {
			n := len(live)
			live[n], old[n] = true, place{s.ID, uint32(i)}
			names[s.ID] = append(names[s.ID], n)
		}
		d.do("", &catalog.AppendSegments{Table: 20000, Segments: []*catalog.Segment{s}})
	}
	rowsOf := func(s *catalog.Segment) (out []int) { // the live rows, in order
		gone := roaring.New()
		if !s.Deleted.Empty() {
			gone.UnmarshalBinary(s.Deleted.Portable())
		}
		for i, n := range names[s.ID] {
			if !gone.Contains(uint32(i)) {
				out = append(out, n)
			}
		}
		return out
	}
	for range 300 {
		segs := d.s.Manifest(20000).Partitions[0]
		if rnd.IntN(4) == 0 && len(segs) > 3 { // compact a run into two segments
			from := rnd.IntN(len(segs) - 2)
			run := segs[from : from+2+rnd.IntN(min(3, len(segs)-from-1))]
			var all []int
			c := &catalog.ReplaceSegments{Table: 20000}
			for _, s := range run {
				all = append(all, rowsOf(s)...)
				c.Old = append(c.Old, catalog.SegmentRef{ID: s.ID, DeletedRows: s.DeletedRows})
			}
			for _, part := range [][]int{all[:len(all)/2], all[len(all)/2:]} {
				if len(part) > 0 {
					next++
					n := seg(next, int64(len(part)))
					names[n.ID] = part
					c.New = append(c.New, n)
				}
			}
			d.do("", c)
			continue
		}
		n := rnd.IntN(160)
		want := pgerr.Code("")
		if !live[n] {
			want = pgerr.SerializationFailure
		}
		d.do(want, del(old[n].id, old[n].row))
		live[n] = false
		var got int
		for _, s := range d.s.Manifest(20000).Partitions[0] {
			for _, x := range rowsOf(s) {
				got++
				if !live[x] {
					t.Fatalf("row %d is still there", x)
				}
			}
		}
		count := 0
		for _, l := range live {
			if l {
				count++
			}
		}
		if got != count {
			t.Fatalf("%d rows, want %d", got, count)
		}
		if count < 20 {
			break
		}
	}
}
