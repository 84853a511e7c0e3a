package store_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// TestRanges: when readers divide the values of a column into ranges, each reads the rows of its
// range, so that every row is read once, whatever the order of rows. If rows are sorted by the
// column, readers read few zones twice and about the same number of rows each.
func TestRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	s := open(t, nil)
	cs := []store.WriterColumn{cols[0], cols[13]} // int8, date
	for round := range 60 {
		col, sorted := round%2, round%3 > 0
		n, group, segment := 1+r.IntN(3000), 64, int64(100)
		if round == 1 { // one segment, so that its row groups are divided
			n, group, segment = 150_000, 0, 0
		}
		var in rows
		for i := range n {
			v := int64(i) * 3
			switch {
			case round%10 == 9: // the least and greatest values that there are
				v = []int64{math.MinInt64, 0, math.MaxInt64}[r.IntN(3)]
				if col == 1 {
					v >>= 33
				}
			case !sorted:
				v = r.Int64N(500)
			}
			row := make(types.Row, 2)
			row[col], row[1-col] = v, int64(i)
			if round%5 == 4 && r.IntN(10) == 0 {
				row[col] = nil
			}
			in = append(in, row)
		}
		w := s.NewWriter(store.WriterOptions{Columns: cs, InlineBytes: -1, GroupRows: group, SegmentRows: segment})
		if err := w.Write(ctx, batchOf(t, cs, in, false)); err != nil {
			t.Fatal(err)
		}
		segs, err := w.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		gone := map[int64]bool{}
		if round%4 == 1 {
			seg := *segs[0]
			if seg.Deleted, seg.DeletedRows, err = store.AddDeleted(&seg, []uint32{0}); err != nil {
				t.Fatal(err)
			}
			segs[0], gone[0] = &seg, true
		}
		m := &catalog.Manifest{Partitions: [][]*catalog.Segment{segs[:1], segs[1:]}}
		readers := 1 + r.IntN(5)
		if round == 1 {
			readers = 2
		}
		pin := s.Pin(max(50, n/100))
		spans, ok := pin.Spans(ctx, m, cs[col].Num, nil)
		if !ok {
			t.Fatal("the zones do not tell")
		}
		ranges := store.Ranges(spans, cs[col].Num, readers)
		if ranges[0].From != math.MinInt64 || ranges[readers-1].To != math.MaxInt64 {
			t.Fatal(ranges)
		}
		scan, read, most := scanOf(cs), map[int64]int{}, 0
		for i, part := range ranges {
			got, ids := readSplits(t, pin, scan, store.RangeSplits(spans, 0, int64(1+r.IntN(300)), part))
			for j, row := range got {
				read[ids[j]]++
				if v, ok := row[col].(int64); ok && (v < part.From || v > part.To) || !ok && i > 0 {
					t.Fatalf("round %d: %v in %v", round, row[col], part)
				}
			}
			most = max(most, len(got))
		}
		if len(read) != n-len(gone) {
			t.Fatalf("round %d: %d of %d rows are read", round, len(read), n)
		}
		for id, times := range read {
			if times != 1 || gone[id] {
				t.Fatalf("round %d: row %d is read %d times", round, id, times)
			}
		}
		if repeated := store.Repeated(spans, ranges); sorted && round%5 < 4 && (repeated > int64(readers-1)*int64(max(group, 128)) && round != 1 || repeated > int64(readers-1)*store.GroupRows || most > n/readers+128) {
			t.Errorf("round %d: %d rows are read again, and %d of %d by one of %d", round, repeated, most, n, readers)
		}
		pin.Close()
	}
}

// TestHashParts: when readers divide rows by the hash of columns, each reads the rows that an
// exchange by the same hash would send to it, with deleted rows and NULLs.
func TestHashParts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	s := open(t, nil)
	cs := []store.WriterColumn{cols[0], cols[13]} // int8, date
	for round := range 20 {
		n := r.IntN(3000)
		var in rows
		for range n {
			row := types.Row{r.Int64N(1 + int64(n)/3), r.Int64N(50)}
			if r.IntN(10) == 0 {
				row[r.IntN(2)] = nil
			}
			in = append(in, row)
		}
		w := s.NewWriter(store.WriterOptions{Columns: cs, InlineBytes: -1, GroupRows: 64, SegmentRows: 500})
		if err := w.Write(ctx, batchOf(t, cs, in, false)); err != nil {
			t.Fatal(err)
		}
		segs, err := w.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		gone := 0
		if len(segs) > 0 && round%2 == 1 {
			seg := *segs[0]
			if seg.Deleted, seg.DeletedRows, err = store.AddDeleted(&seg, []uint32{0, 1}); err != nil {
				t.Fatal(err)
			}
			segs[0], gone = &seg, int(seg.DeletedRows)
		}
		nums, ts := []int16{cs[0].Num}, []types.Type{cs[0].Type}
		if round%3 == 0 {
			nums, ts = append(nums, cs[1].Num), append(ts, cs[1].Type)
		}
		of := 1 + r.IntN(4)
		pin, read := s.Pin(70), map[int64]bool{}
		for part := range of {
			splits := store.Splits(manifest(segs...), 0, 200, nil)
			for i := range splits {
				splits[i].HashBy, splits[i].Part, splits[i].Of = nums, part, of
			}
			got, ids := readSplits(t, pin, scanOf(cs), splits)
			for i, row := range got {
				if read[ids[i]] {
					t.Fatalf("round %d: row %d is read twice", round, ids[i])
				}
				read[ids[i]] = true
				b := batchOf(t, cs, rows{row}, false)
				if h := kernel.NewHasher(ts).Hash(b.Cols[:len(nums)], 1, nil); kernel.Dest(h[0], of) != part {
					t.Fatalf("round %d: part %d of %d has %v", round, part, of, row)
				}
			}
		}
		if len(read) != n-gone {
			t.Fatalf("round %d: %d of %d rows are read", round, len(read), n-gone)
		}
		pin.Close()
	}
}

// TestSpansUnknown: a column without zone maps cannot be divided into ranges.
func TestSpansUnknown(t *testing.T) {
	s := open(t, nil)
	w := s.NewWriter(store.WriterOptions{Columns: cols[:1], InlineBytes: -1})
	if err := w.Write(ctx, batchOf(t, cols[:1], rows{{int64(1)}}, false)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pin := s.Pin(0)
	defer pin.Close()
	if _, ok := pin.Spans(ctx, manifest(segs...), 99, nil); ok {
		t.Error("a column that the segment is older than")
	}
	if spans, ok := pin.Spans(ctx, nil, 99, nil); !ok || len(spans) != 0 {
		t.Error("an empty table")
	}
	if got := store.RangeSplits(nil, 0, 0, op.Range{}); len(got) > 0 {
		t.Error(got)
	}
}
