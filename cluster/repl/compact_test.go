package repl

import (
	"context"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring"

	"github.com/tributarydb/tributary/sql/catalog"
)

// TestRestless: a large compaction of a table that statements keep changing is postponed until the
// table has not changed for a while, since their commits would invalidate it; but it is not postponed
// indefinitely.
func TestRestless(t *testing.T) {
	const tick = time.Second
	start := time.Unix(1000, 0)
	w := &postponed{}
	if w.due(1, start, tick) {
		t.Error("a table that has just changed is not at rest")
	}
	if w.due(2, start.Add(tick), tick) || w.due(2, start.Add(tick+calm*tick-1), tick) {
		t.Error("it changed again")
	}
	if !w.due(2, start.Add(tick+calm*tick), tick) {
		t.Error("it rests")
	}
	w = &postponed{}
	for i := range patience {
		if w.due(uint64(i), start.Add(time.Duration(i)*tick), tick) {
			t.Fatalf("due after %d changes", i)
		}
	}
	if !w.due(patience, start.Add(patience*tick), tick) {
		t.Error("a table that never rests is never merged")
	}
}

// TestLargeRuns: only a compaction that rewrites many live rows of a table with deletions is
// postponed; after a smaller one was invalidated, so are those of at least its size.
func TestLargeRuns(t *testing.T) {
	w := &postponed{}
	check := func(rows, deleted int64, want bool) {
		t.Helper()
		live, gone := rowsOf([]*catalog.Segment{{Rows: rows, DeletedRows: deleted}, {}})
		if got := w.waits(live, gone); got != want {
			t.Errorf("%d rows, %d deleted: %t", rows, deleted, got)
		}
	}
	check(2*largeRun, 0, false)
	check(2*largeRun, 1, true)
	check(2*largeRun, largeRun, true)
	check(2*largeRun, 2*largeRun, false)
	check(largeRun/2, 50, false)
	w.merged(largeRun/2, false)
	check(largeRun/2, 0, false)
	check(largeRun/2+50, 50, true)
	check(largeRun/2, 50, false)
	w.merged(100, false) // merges of few rows are retried at once
	check(hotRun-1, 50, false)
	check(hotRun+50, 50, true)
	w.merged(100, true)
	check(hotRun+50, 50, true)
	w.merged(2*hotRun, true)
	check(hotRun+50, 50, false)
}

// fixed is a cluster whose catalog does not change.
type fixed struct {
	Cluster
	state *catalog.State
}

func (f *fixed) Current() *catalog.State { return f.state }

// TestOvertaken: a large compaction is abandoned when a statement has deleted rows of a segment that
// it reads, since its commit would be refused. Changes of other segments do not matter.
func TestOvertaken(t *testing.T) {
	const table = 20000
	f := &fixed{state: catalog.New()}
	commit := func(changes ...catalog.Change) {
		t.Helper()
		state, _, err := f.state.Commit(f.state.Version()+1, changes)
		if err != nil {
			t.Fatal(err)
		}
		f.state = state
	}
	segment := func(i byte) *catalog.Segment {
		return &catalog.Segment{ID: catalog.SegmentID{i}, Rows: 2 * largeRun, Bytes: 1, Nodes: []uint64{1}}
	}
	remove := func(i byte, row uint32) catalog.Change {
		rows, err := roaring.BitmapOf(row).ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		return &catalog.DeleteRows{Table: table, Segment: catalog.SegmentID{i}, Rows: rows, ExpectVersion: 1}
	}
	commit(&catalog.PutRelation{Rel: &catalog.Relation{OID: table, Schema: catalog.PublicOID, Name: "t", Kind: catalog.KindTable, Partitions: 1}})
	commit(&catalog.AppendSegments{Table: table, Segments: []*catalog.Segment{segment(1), segment(2), segment(3)}, ExpectVersion: 1})
	y := &activeCompaction{r: &Repl{c: f}, req: compactRequest{Table: table}, segs: f.state.Manifest(table).Partitions[0][1:3]}
	step := func() error {
		y.last = time.Now().Add(-workFor) // as if it had run for that long
		return y.between(context.Background(), largeRun)
	}
	if err := step(); err != nil {
		t.Fatal(err)
	}
	commit(remove(1, 7), &catalog.AppendSegments{Table: table, Segments: []*catalog.Segment{segment(4)}, ExpectVersion: 1})
	if err := step(); err != nil {
		t.Errorf("others changed: %v", err)
	}
	commit(remove(3, 7))
	if step() == nil {
		t.Error("goes on for nothing")
	}
	commit(&catalog.DropRelation{OID: table})
	if step() == nil {
		t.Error("goes on for a table that is gone")
	}
}
