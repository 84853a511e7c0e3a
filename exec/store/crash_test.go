package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/internal/errfs"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// ledger records what a store has acknowledged, as the catalog does.
type ledger struct {
	t     testing.TB
	fs    *errfs.FS
	s     *store.Store
	segs  map[string]*catalog.Segment // by name
	rows  map[string]rows
	blobs map[string][]byte
}

const crashDir = "/segments"

func newLedger(t testing.TB, fs *errfs.FS) *ledger {
	return &ledger{t: t, fs: fs, segs: map[string]*catalog.Segment{}, rows: map[string]rows{}, blobs: map[string][]byte{}}
}

func (l *ledger) open() (err error) {
	l.s, err = store.Open(store.Options{Dir: crashDir, Node: 1, FS: l.fs})
	return err
}

func (l *ledger) insert(name string, seed uint64, n int) error {
	want := randomRows(rand.New(rand.NewPCG(seed, 1)), n)
	w := l.s.NewWriter(store.WriterOptions{Columns: cols, InlineBytes: -1, GroupRows: 256})
	if err := w.Write(ctx, toBatch(l.t, want, true)); err != nil {
		return errors.Join(err, w.Abort())
	}
	segs, err := w.Finish(ctx)
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	l.segs[name], l.rows[name] = segs[0], want
	return nil
}

func (l *ledger) blob(name string, data []byte) error {
	seg, err := putBlob(l.s, data)
	if err == nil {
		l.segs[name], l.blobs[name] = seg, data
	}
	return err
}

// receive copies a file from another node, in blocks.
func (l *ledger) receive(name string, data []byte, seg *catalog.Segment) error {
	in, err := l.s.Receive(seg)
	if err != nil {
		return err
	}
	for block := range slices.Chunk(data, 100<<10) {
		if _, err := in.Write(block); err != nil {
			in.Abort()
			return err
		}
	}
	if err := in.Commit(); err != nil {
		return err
	}
	l.segs[name], l.blobs[name] = seg, data
	return nil
}

func (l *ledger) compact(name, a, b string) error {
	var rel catalog.Relation
	for _, c := range cols {
		rel.Columns = append(rel.Columns, catalog.Column{Num: c.Num, Name: fmt.Sprint("c", c.Num), Type: c.Type})
	}
	change, err := l.s.Compact(ctx, &rel, 0, []*catalog.Segment{l.segs[a], l.segs[b]}, nil, nil, nil)
	if err != nil {
		return err
	}
	l.segs[name], l.rows[name] = change.New[0], append(append(rows{}, l.rows[a]...), l.rows[b]...)
	l.drop(a)
	l.drop(b)
	return nil
}

// drop commits that a segment is no longer needed; its file may be deleted.
func (l *ledger) drop(name string) {
	id := l.segs[name].ID
	delete(l.segs, name)
	delete(l.rows, name)
	delete(l.blobs, name)
	l.s.Discard(id)
}

// foreign is a blob as another node would send it.
func foreign(t testing.TB) ([]byte, *catalog.Segment) {
	data := bytes.Repeat([]byte("from another node "), 80000)
	s, err := store.Open(store.Options{Dir: crashDir, Node: 2, FS: errfs.New()})
	if err != nil {
		t.Fatal(err)
	}
	seg, err := putBlob(s, data)
	if err != nil {
		t.Fatal(err)
	}
	return data, seg
}

// steps are the operations of a store that change its disk.
func (l *ledger) steps() []func() error {
	data, seg := foreign(l.t)
	return []func() error{
		func() error { return l.insert("a", 1, 500) },
		func() error { return l.blob("model", bytes.Repeat([]byte("weights"), 200000)) },
		func() error { return l.insert("b", 2, 300) },
		func() error { return l.receive("copy", data, seg) },
		func() error { return l.compact("ab", "a", "b") },
		func() error { return l.s.SetScrubMark(store.ScrubMark{At: seg.ID, Started: 3, Completed: 2}) },
		func() error { return l.insert("c", 3, 120) },
		func() error { l.drop("model"); return nil },
		func() error { return l.receive("copy", data, seg) }, // replaces the same file
		func() error { return l.compact("abc", "ab", "c") },
	}
}

// check reads everything that was acknowledged, and looks for incomplete files.
func (l *ledger) check(what string) {
	l.t.Helper()
	for name, seg := range l.segs {
		if err := l.s.Scrub(ctx, seg, func(context.Context, int) error { return nil }); err != nil {
			l.t.Fatalf("%s: %s: %v", what, name, err)
		}
		if want, ok := l.blobs[name]; ok {
			if b, err := readBlob(l.s, seg); err != nil || !bytes.Equal(b, want) {
				l.t.Fatalf("%s: %s: %v", what, name, err)
			}
		} else if got, _ := readAll(l.t, l.s, scanOf(cols), manifest(seg), 0, 0); !same(got, l.rows[name]) {
			l.t.Fatalf("%s: %s has other rows", what, name)
		}
	}
	entries, err := l.fs.ReadDir(crashDir)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			l.t.Fatalf("%s: %s is left", what, e.Name())
		}
		if !strings.HasSuffix(e.Name(), ".seg") {
			continue
		}
		// A file with the name of a segment must be complete, whether it is needed or not.
		b := l.bytes(e.Name())
		segment := bytes.HasPrefix(b, []byte("TRIBSEG")) && bytes.HasSuffix(b, []byte("GESBIRT"))
		blob := bytes.HasSuffix(b, []byte("weights")) || bytes.HasSuffix(b, []byte("another node "))
		if !segment && !blob {
			l.t.Fatalf("%s: %s is half", what, e.Name())
		}
	}
}

func (l *ledger) bytes(name string) []byte {
	f, err := l.fs.Open(filepath.Join(crashDir, name))
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// TestCrashAtEveryStep cuts the power at each file operation in turn, and checks what a store finds
// that opens the files that were synced.
func TestCrashAtEveryStep(t *testing.T) {
	for n := 1; ; n++ {
		var steps int
		for seed := range uint64(2) {
			if testing.Short() && seed != uint64(n%2) {
				continue
			}
			l := newLedger(t, errfs.New())
			l.fs.CrashAt(n)
			err := l.open()
			for _, step := range l.steps() {
				if err == nil {
					err = step()
				}
			}
			steps = l.fs.Steps()
			if steps < n && err != nil {
				t.Fatal(err)
			}
			l.fs = l.fs.Reboot(rand.New(rand.NewPCG(seed, uint64(n))))
			if err := l.open(); err != nil {
				t.Fatal(n, err)
			}
			l.check(fmt.Sprintf("crash at %d, seed %d", n, seed))
			if err := l.insert("after", 9, 50); err != nil {
				t.Fatal(n, err)
			}
			if err := l.s.Close(); err != nil {
				t.Fatal(n, err)
			}
		}
		if steps < n {
			if n < 30 {
				t.Fatal("the script is too short to prove anything:", n)
			}
			return
		}
	}
}

// TestFailAtEveryStep makes each file operation fail, once or from then on, because the disk is
// full or broken: the error says which, acknowledged data is intact, and the operation succeeds
// when there is space again.
func TestFailAtEveryStep(t *testing.T) {
	for _, c := range []struct {
		err   error
		code  pgerr.Code
		lasts bool
	}{{syscall.ENOSPC, pgerr.DiskFull, false}, {syscall.ENOSPC, pgerr.DiskFull, true}, {syscall.EIO, pgerr.IOError, false}} {
		for n := 1; ; n++ {
			l := newLedger(t, errfs.New())
			l.fs.FailAt(n, c.err, c.lasts)
			if err := l.open(); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%v at %d", c.err, n)
			for i, step := range l.steps() {
				err := step()
				if err == nil {
					continue
				}
				if pgerr.CodeOf(err) != c.code {
					t.Fatalf("%s, step %d: %v", what, i, err)
				}
				if c.err != syscall.EIO { // an I/O error may come from the removal of a file
					l.check(what)
				}
				l.fs.Heal()
				if err := step(); err != nil {
					t.Fatalf("%s, step %d, once it is over: %v", what, i, err)
				}
			}
			// Files that could not be removed are removed at the next start.
			if err := l.s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := l.open(); err != nil {
				t.Fatal(err)
			}
			l.check(what)
			if err := l.s.Close(); err != nil {
				t.Fatal(err)
			}
			if l.fs.Steps() < n {
				break
			}
		}
	}
}
