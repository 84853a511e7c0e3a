package store_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// damaged is a store with one segment, of which another replica (its Remote) has a good copy.
type damaged struct {
	*store.Store
	t    *testing.T
	dir  string
	m    *repairer
	want rows
	seg  *catalog.Segment
	good []byte
	now  time.Time
}

func newDamaged(t *testing.T) *damaged {
	d := &damaged{t: t, dir: t.TempDir(), m: &repairer{good: map[catalog.SegmentID][]byte{}}, now: time.Now()}
	var err error
	if d.Store, err = store.Open(store.Options{Dir: d.dir, Node: 1, Remote: d.m, Now: func() time.Time { return d.now }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	d.m.s = d.Store
	d.want = randomRows(rand.New(rand.NewPCG(5, 5)), 3000)
	w := d.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1, GroupRows: 256})
	if err := w.Write(ctx, toBatch(t, d.want, true)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d.seg = segs[0]
	if d.good, err = os.ReadFile(d.path()); err != nil {
		t.Fatal(err)
	}
	d.m.good[d.seg.ID] = d.good
	return d
}

func (d *damaged) path() string { return filepath.Join(d.dir, d.seg.ID.String()+".seg") }

func (d *damaged) read() rows {
	d.t.Helper()
	got, _ := readAll(d.t, d.Store, scanOf(cols), manifest(d.seg), 0, 100)
	return got
}

// flip changes a byte of the file on disk.
func (d *damaged) flip(at int64) {
	d.t.Helper()
	f, err := os.OpenFile(d.path(), os.O_RDWR, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{d.good[at] ^ 0x10}, at); err != nil {
		d.t.Fatal(err)
	}
}

func (d *damaged) check(found, repaired int64) {
	d.t.Helper()
	if got := d.Damage(); got.Found != found || got.Repaired != repaired {
		d.t.Errorf("%+v, want %d and %d", got, found, repaired)
	}
}

// TestFaultUnderMapping: reading a file through its mapping after it was truncated is an error in
// the goroutine that reads, if it guards against faults, and succeeds after the repair.
func TestFaultUnderMapping(t *testing.T) {
	d := newDamaged(t)
	pin := d.Pin(100)
	defer pin.Close()
	r, err := pin.Open(ctx, scanOf(cols), &op.Split{Segment: d.seg, To: d.seg.Rows}, &function.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.path(), 0); err != nil {
		t.Fatal(err)
	}
	use := func() error {
		for j := range b.Cols {
			_, _ = io.WriteString(io.Discard, b.Cols[j].ValueStr(1)+b.Cols[j].ValueStr(0))
		}
		return nil
	}
	for name, guard := range map[string]func() error{"batch": func() error { return batch.Guard(use) }, "op": func() error { return op.Guard("test", use) }} {
		var bad *store.CorruptError
		if err := guard(); !errors.As(err, &bad) || bad.Segment != d.seg.ID || !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Fatal(name, err)
		}
	}
	fault := op.Guard("test", use)
	var mended *store.RepairedError
	if err = d.Repair(ctx, fault); !errors.As(err, &mended) || !strings.Contains(err.Error(), d.seg.ID.String()) {
		t.Fatal(err)
	}
	// The same reader continues over the repaired file, and so does a new one of the same pin.
	n := b.N
	for {
		if b, err = r.Next(ctx); err != nil {
			break
		}
		n += b.N
	}
	if err != io.EOF || n != len(d.want) {
		t.Fatal(n, err)
	}
	if !same(d.read(), d.want) {
		t.Error("wrong rows after the repair")
	}
	// A second report of the same damage does nothing.
	calls := d.m.calls
	if err := d.Repair(ctx, fault); !errors.As(err, &mended) || d.m.calls != calls {
		t.Error(err)
	}
	d.check(1, 1)
	if b, err := os.ReadFile(d.path() + ".damaged"); err != nil || len(b) != 0 {
		t.Error("the damaged file is not kept", err)
	}
	if err := batch.Guard(func() error { return errors.New("mine") }); err == nil || err.Error() != "mine" {
		t.Error(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("another panic is swallowed")
			}
		}()
		_ = batch.Guard(func() error { var p *int; *p = 1; return nil })
	}()
}

// TestFaultWhileReading: a reader that hits the fault itself repairs the file and continues; the
// statement does not fail.
func TestFaultWhileReading(t *testing.T) {
	for _, size := range []int64{0, 1, 5000, 70000} {
		d := newDamaged(t)
		pin := d.Pin(100)
		r, err := pin.Open(ctx, scanOf(cols), &op.Split{Segment: d.seg, To: d.seg.Rows}, &function.Env{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(d.path(), size); err != nil {
			t.Fatal(err)
		}
		n := 0
		for {
			b, err := r.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			n += b.N
		}
		if n != len(d.want) {
			t.Fatal(n)
		}
		d.check(1, 1)
		pin.Close()
		if !same(d.read(), d.want) {
			t.Fatal("wrong rows")
		}
	}
}

// TestFlippedAfterVerification: a byte changed after the checksum was verified is found by the next
// statement if a program wrote to the file (its modification time changes), and after a while if
// the disk is at fault.
func TestFlippedAfterVerification(t *testing.T) {
	d := newDamaged(t)
	st, err := os.Stat(d.path())
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range []int64{100, int64(len(d.good)) / 2, int64(len(d.good)) / 3} {
		if !same(d.read(), d.want) {
			t.Fatal("wrong rows before")
		}
		d.flip(at)
		if i > 0 {
			// Without a change of the modification time, as if the disk were at fault.
			if err := os.Chtimes(d.path(), st.ModTime(), st.ModTime()); err != nil {
				t.Fatal(err)
			}
			d.now = d.now.Add(2 * time.Minute)
		}
		if !same(d.read(), d.want) {
			t.Fatal("wrong rows after the flip")
		}
		d.check(int64(i+1), int64(i+1))
		if b, err := os.ReadFile(d.path()); err != nil || string(b) != string(d.good) {
			t.Fatal("the file was not replaced", err)
		}
		if st, err = os.Stat(d.path()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamageWithoutReplica: without a good replica the statement fails with an error that names the
// segment; other segments can be read. Few damaged files are kept aside.
func TestDamageWithoutReplica(t *testing.T) {
	d := newDamaged(t)
	other, err := putBlob(d.Store, []byte("other"))
	if err != nil {
		t.Fatal(err)
	}
	d.m.good[d.seg.ID] = []byte("nobody has it")
	d.flip(200)
	pin := d.Pin(0)
	defer pin.Close()
	r, err := pin.Open(ctx, scanOf(cols), &op.Split{Segment: d.seg, To: d.seg.Rows}, &function.Env{}, nil)
	if err == nil {
		_, err = r.Next(ctx)
	}
	if !pgerr.Is(err, pgerr.DataCorrupted) || !strings.Contains(err.Error(), d.seg.ID.String()) {
		t.Fatal(err)
	}
	if b, err := readBlob(d.Store, other); err != nil || string(b) != "other" {
		t.Fatal(err)
	}
	d.check(1, 0)
	if _, err := os.Stat(d.path()); err != nil {
		t.Error("the only copy, damaged as it is, was put aside", err)
	}
	d.m.good[d.seg.ID] = d.good
	for i := range 12 {
		d.flip(int64(300 + i))
		if !same(d.read(), d.want) {
			t.Fatal("wrong rows")
		}
		b, err := putBlob(d.Store, []byte{byte(i)})
		if err != nil {
			t.Fatal(err)
		}
		d.m.good[b.ID] = []byte{byte(i)}
		if err := os.WriteFile(filepath.Join(d.dir, b.ID.String()+".seg"), []byte("bad"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readBlob(d.Store, b); err != nil || len(got) != 1 {
			t.Fatal(err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(d.dir, "*.damaged"))
	if err != nil || len(kept) == 0 || len(kept) > 8 {
		t.Error(kept, err)
	}
}

// TestStatEvery: a file whose state was checked is not checked again for a while, and then is.
func TestStatEvery(t *testing.T) {
	now := time.Unix(1000, 0)
	dir := t.TempDir()
	s, err := store.Open(store.Options{Dir: dir, Now: func() time.Time { return now }, StatEvery: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := s.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1})
	if err := w.Write(ctx, toBatch(t, randomRows(rand.New(rand.NewPCG(5, 5)), 50), true)); err != nil {
		t.Fatal(err)
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	seg := segs[0]
	read := func() error {
		pin := s.Pin(100)
		defer pin.Close()
		r, err := pin.Open(ctx, scanOf(cols), &op.Split{Segment: seg, To: seg.Rows}, &function.Env{}, nil)
		if err == nil {
			err = r.Close()
		}
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, seg.ID.String()+".seg")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second / 2)
	if err := read(); err != nil {
		t.Error(err) // it is mapped
	}
	now = now.Add(time.Second)
	var gone *store.CorruptError
	if err := read(); !errors.As(err, &gone) || !gone.Missing {
		t.Error(err)
	}
}

// TestIntactByFile: what a statement reads is the file that it has mapped. If another one has its name by
// the end, nothing wrong was read; if the mapped one was written to, whatever has its name now, it was.
func TestIntactByFile(t *testing.T) {
	for _, written := range []bool{false, true} {
		d := newDamaged(t)
		pin := d.Pin(100)
		r, err := pin.Open(ctx, scanOf(cols), &op.Split{Segment: d.seg, To: d.seg.Rows}, &function.Env{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if written {
			d.flip(1000)
			// The clock of a file system may stand still for some milliseconds.
			if err := os.Chtimes(d.path(), time.Time{}, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		other := d.path() + ".other"
		if err := os.WriteFile(other, []byte("another file"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(other, d.path()); err != nil {
			t.Fatal(err)
		}
		var bad *store.CorruptError
		if err := pin.Intact(); errors.As(err, &bad) != written {
			t.Errorf("written to: %v, but %v", written, err)
		}
		if err := errors.Join(r.Close(), pin.Close()); err != nil {
			t.Error(err)
		}
	}
}
