package store_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TestEvict: of files that are in the storage those go that nobody has open, the least recently used first; whoever reads one that is
// gone gets it again, which is no damage.
func TestEvict(t *testing.T) {
	d := newDamaged(t)
	d.seg.Nodes = append(d.seg.Nodes, catalog.Bucket)
	segs := []*catalog.Segment{d.seg}
	for i := range 3 {
		w := d.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1})
		if err := w.Write(ctx, toBatch(t, randomRows(rand.New(rand.NewPCG(uint64(i), 1)), 500), true)); err != nil {
			t.Fatal(err)
		}
		more, err := w.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		segs = append(segs, more...)
	}
	present := func(want ...bool) {
		t.Helper()
		var bytes int64
		for i, g := range segs {
			if d.Has(g.ID) != want[i] {
				t.Errorf("file %d: %v", i, !want[i])
			}
			if want[i] {
				bytes += g.Bytes
			}
		}
		if d.Cache.Held() != bytes {
			t.Errorf("%d bytes are held, not %d", d.Cache.Held(), bytes)
		}
	}
	for i, g := range segs[1:] { // the older, the sooner it goes
		at := d.now.AddDate(0, 0, i-5)
		if err := os.Chtimes(d.dir+"/"+g.ID.String()+".seg", at, at); err != nil {
			t.Fatal(err)
		}
	}
	pin := d.Pin(0)
	rows, _ := readSplits(t, pin, scanOf(cols), store.Splits(manifest(d.seg), 0, 0, nil))
	if !same(rows, d.want) {
		t.Error("other rows")
	}
	evict := func(limit int64) {
		t.Helper()
		if _, err := d.Cache.Evict(limit, func(id catalog.SegmentID) bool { return id != segs[3].ID }); err != nil {
			t.Fatal(err)
		}
	}
	present(true, true, true, true)
	evict(d.Cache.Held() - 1)
	present(true, false, true, true)
	evict(0)
	present(true, false, false, true)
	if err := pin.Close(); err != nil {
		t.Fatal(err)
	}
	evict(0)
	present(false, false, false, true)
	if !same(d.read(), d.want) {
		t.Error("other rows than before the file went")
	}
	present(true, false, false, true)
	d.check(0, 0)
	if hits := d.Cache.Hits(); hits != 1 || d.m.calls != 1 {
		t.Errorf("%d hits, %d fetches", hits, d.m.calls)
	}
}
