package store_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
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

// TestPass: a statement that reads more than the disk is to hold gives each file back as soon as it has read it. Its batches stay as
// they are when the file is unmapped, and it finds nevertheless that a file was written to while it was read.
func TestPass(t *testing.T) {
	d := newDamaged(t)
	d.seg.Nodes = append(d.seg.Nodes, catalog.Bucket)
	segs, want := []*catalog.Segment{d.seg}, slices.Clone(d.want)
	for i := range 4 {
		more := randomRows(rand.New(rand.NewPCG(uint64(i), 1)), 700)
		w := d.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1, GroupRows: 256})
		if err := w.Write(ctx, toBatch(t, more, true)); err != nil {
			t.Fatal(err)
		}
		files, err := w.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range files {
			g.Nodes = append(g.Nodes, catalog.Bucket)
			if d.m.good[g.ID], err = os.ReadFile(d.dir + "/" + g.ID.String() + ".seg"); err != nil {
				t.Fatal(err)
			}
		}
		segs, want = append(segs, files...), append(want, more...)
	}
	var most int64
	d.Cache.Tight = func(inUse int64) bool {
		most = max(most, inUse)
		return inUse > d.seg.Bytes/2
	}
	pin, scan := d.Pin(100), scanOf(cols)
	var kept []*batch.Batch
	for _, sp := range store.Splits(manifest(segs...), 0, 0, nil) {
		r, err := pin.Open(ctx, scan, &sp, &function.Env{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := r.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, b)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if sp.Segment == segs[0] { // the first, which is held, is all that the disk is to have
			continue
		}
		if !d.Cache.Passed() {
			t.Error("no file was given back")
		}
		if _, err := d.Cache.Evict(0, func(catalog.SegmentID) bool { return true }); err != nil {
			t.Fatal(err)
		}
		if d.Has(sp.Segment.ID) || !d.Has(segs[0].ID) {
			t.Error("the file that was read stays, or the one that is held goes")
		}
	}
	var got rows
	for _, b := range kept {
		more, _ := rowsOf(scan, b)
		got = append(got, more...)
	}
	if !same(got, want) {
		t.Error("other rows once the files are unmapped")
	}
	if most > d.seg.Bytes {
		t.Errorf("%d bytes were in use before a file was opened", most)
	}
	if err := pin.Intact(); err != nil {
		t.Error(err)
	}
	if err := pin.Close(); err != nil {
		t.Fatal(err)
	}

	d.Cache.Tight = func(int64) bool { return true }
	pin = d.Pin(100)
	r, err := pin.Open(ctx, scan, &store.Splits(manifest(d.seg), 0, 0, nil)[0], &function.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(ctx); err != nil {
		t.Fatal(err)
	}
	d.flip(d.seg.Bytes / 2)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := pin.Intact(); err == nil {
		t.Error("a file that was written to counts as whole")
	}
	if err := pin.Close(); err != nil {
		t.Fatal(err)
	}
}
