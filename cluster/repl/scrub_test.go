package repl_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/repl"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TestScrub damages files that no statement reads: each node finds its own damaged files and replaces
// them with intact copies, whatever the damage.
func TestScrub(t *testing.T) {
	tune = func(o *repl.Options) {
		o.Audit, o.ScrubEvery, o.ScrubRate = 20*time.Millisecond, 20*time.Millisecond, 1<<30
	}
	defer func() { tune = nil }()
	n := startCluster(t, 3, false)
	n[0].createTable()
	var segs []*catalog.Segment
	for i := range int64(6) {
		segs = append(segs, n[i%3].write(i*100, i*100+100, false))
	}
	path := func(x *node, s *catalog.Segment) string {
		return filepath.Join(x.dir, "segments", s.ID.String()+".seg")
	}
	flip := func(x *node, s *catalog.Segment) {
		t.Helper()
		st, err := os.Stat(path(x, s))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path(x, s))
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path(x, s), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		at := st.Size() / 2
		if _, err := f.WriteAt([]byte{b[at] ^ 1}, at); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		// The modification time does not change when a disk damages a file.
		if err := os.Chtimes(path(x, s), st.ModTime(), st.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(path(n[0], segs[0])); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path(n[1], segs[1]), 70); err != nil {
		t.Fatal(err)
	}
	flip(n[2], segs[2])
	flip(n[2], segs[3])
	eventually(t, "everything is good again", func() bool {
		for _, x := range n {
			for _, s := range segs {
				if x.store.Verify(ctx, s) != nil {
					return false
				}
			}
		}
		return true
	})
	for i, want := range []int64{1, 1, 2} {
		eventually(t, "counted", func() bool { d := n[i].store.Damage(); return d.Found == want && d.Repaired == want })
		eventually(t, "a pass ended", func() bool { return !n[i].repl.ScrubState().Completed.IsZero() })
		n[i].mustRead(600)
	}
	// A file that is damaged on all replicas is kept, and the other files are repaired.
	for _, x := range n {
		flip(x, segs[4])
	}
	flip(n[0], segs[5])
	eventually(t, "what can be repaired", func() bool {
		return n[0].store.Verify(ctx, segs[5]) == nil && n[0].store.Damage() == store.Damage{Found: 3, Repaired: 2}
	})
	// The time of the last complete pass survives a restart.
	n[1].stop()
	if m := n[1].store.ScrubMark(); m.Completed == 0 {
		t.Errorf("%+v", m)
	}
	n[1].srv = nil
}

// TestScrubGoesOn: a pass continues after a restart where it was interrupted.
func TestScrubGoesOn(t *testing.T) {
	dir := t.TempDir()
	n := start(t, dir, "", "n", false)
	n.createTable()
	var segs []*catalog.Segment
	for i := range int64(4) {
		segs = append(segs, n.write(i*10, i*10+10, false))
	}
	slices.SortFunc(segs, func(a, b *catalog.Segment) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	if err := n.store.SetScrubMark(store.ScrubMark{At: segs[1].ID, Started: time.Now().Unix(), Completed: 2}); err != nil {
		t.Fatal(err)
	}
	n.stop()
	for _, s := range []*catalog.Segment{segs[1], segs[2]} {
		path := filepath.Join(dir, "segments", s.ID.String()+".seg")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tune = func(o *repl.Options) { o.Audit, o.ScrubRate = 20*time.Millisecond, 1<<30 }
	defer func() { tune = nil }()
	n = start(t, dir, n.addr, "n", false)
	defer n.stop()
	eventually(t, "the rest of the pass", func() bool { return n.repl.ScrubState().Completed.Unix() > 2 })
	if d := n.store.Damage(); d != (store.Damage{Found: 1}) {
		t.Errorf("%+v: one of the two lies behind the mark", d)
	}
	if err := os.WriteFile(filepath.Join(dir, "segments", "scrub"), []byte("what is this"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := n.store.ScrubMark(); got != (store.ScrubMark{}) {
		t.Errorf("%+v", got)
	}
}

// TestScrubAfterClockSetBack: the last pass ended while the clock was hours ahead. Files are read
// nevertheless, and the end of the new pass is recorded with the current time.
func TestScrubAfterClockSetBack(t *testing.T) {
	dir := t.TempDir()
	n := start(t, dir, "", "n", false)
	n.createTable()
	seg := n.write(0, 10, false)
	ahead := time.Now().Add(6 * time.Hour).Unix()
	if err := n.store.SetScrubMark(store.ScrubMark{Started: ahead - 5, Completed: ahead}); err != nil {
		t.Fatal(err)
	}
	n.stop()
	path := filepath.Join(dir, "segments", seg.ID.String()+".seg")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	tune = func(o *repl.Options) { o.Audit, o.ScrubRate = 20*time.Millisecond, 1<<30 }
	defer func() { tune = nil }()
	n = start(t, dir, n.addr, "n", false)
	defer n.stop()
	eventually(t, "the damage is found", func() bool { return n.store.Damage().Found == 1 })
	eventually(t, "a mark of now", func() bool {
		m := n.store.ScrubMark()
		return m.Completed < ahead && m.Completed >= m.Started
	})
}
