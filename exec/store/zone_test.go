package store_test

import (
	"runtime"
	"testing"

	"github.com/tributarydb/tributary/exec/store"
)

// TestLongBoundsAreCut: what a segment's zones keep of long texts is not the texts.
func TestLongBoundsAreCut(t *testing.T) {
	s := open(t, nil)
	w := s.NewWriter(store.WriterOptions{Columns: textColumns, GroupRows: 1, InlineBytes: -1})
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	for i := range 40 {
		if err := w.Write(ctx, batchOf(t, textColumns, wideRows(1, 1<<20, func(int) int { return i }), false)); err != nil {
			t.Fatal(err)
		}
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if after := live(); after > before+8<<20 {
		t.Errorf("%d segments hold %d bytes", len(segs), after-before)
	}
	if z := segs[0].Zones[1]; z.Min == nil || len(z.Min.(string)) != 64 {
		t.Errorf("the least text is %q", z.Min)
	}
	runtime.KeepAlive(w)
}
