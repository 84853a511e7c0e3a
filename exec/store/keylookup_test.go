package store_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/types"
)

// TestIndexForWhatWasRead: an index is built when look-ups have read about as many rows as building
// it reads, not after many look-ups for which zone maps left few rows to read; a statement builds
// at most one index of a large segment.
func TestIndexForWhatWasRead(t *testing.T) {
	const segment, group = 70_000, 10_000
	s, err := store.Open(store.Options{Dir: t.TempDir(), Node: 7, Pool: mem.NewPool("n", 64<<20)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cs := []store.WriterColumn{{Num: 1, Type: types.Int4}, {Num: 2, Type: types.Date}}
	var all rows
	for _, v := range rand.New(rand.NewPCG(5, 5)).Perm(2 * segment) {
		all = append(all, []types.Datum{int64(v), int64(len(all) / group)})
	}
	w := s.NewWriter(store.WriterOptions{Columns: cs, InlineBytes: -1, GroupRows: group, SegmentRows: segment})
	if err := w.Write(ctx, batchOf(t, cs, all, false)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil || len(segs) != 2 {
		t.Fatal(len(segs), err)
	}
	number := keysOf(t, types.Int4, []types.Datum{all[5][0], all[2*segment-1][0]})
	look := func(keys ...op.ScanKeys) int {
		pin := s.Pin(0)
		defer pin.Close()
		return len(rowsRead(t, pin, manifest(segs...), scanOf(cs), group, append(keys, op.ScanKeys{Col: 0, Rows: true, Filter: number})))
	}
	day := keysOf(t, types.Date, []types.Datum{int64(0)})
	for range 30 {
		if n := look(op.ScanKeys{Col: 1, Filter: day}); n != 1 {
			t.Fatalf("%d rows", n)
		}
	}
	if b := s.IndexBytes(); b != 0 {
		t.Errorf("after reading a seventh of a segment 30 times, its index takes %d bytes", b)
	}
	most, made := int64(0), 0
	for range 12 {
		before := s.IndexBytes()
		if n := look(); n != 2 {
			t.Fatalf("%d rows", n)
		}
		if b := s.IndexBytes() - before; b > 0 {
			most, made = max(most, b), made+1
		}
	}
	if made != 2 || most != s.IndexBytes()/2 {
		t.Errorf("%d looks made indexes, one of them %d bytes of %d", made, most, s.IndexBytes())
	}
}
