package raftnode

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// told is the state of a log that raft relies on after a crash: all writes that were confirmed.
type told struct {
	first   uint64
	entries [][]byte // from first on
	term    uint64
	vote    string
}

// tell reads a log as raft does when it starts.
func tell(t *testing.T, l *boltLog) (s told) {
	t.Helper()
	var err error
	if s.first, err = l.FirstIndex(); err != nil {
		t.Fatal(err)
	}
	s.entries = entries(t, l)
	if s.term, err = l.GetUint64([]byte("CurrentTerm")); err != nil {
		s.term = 0
	}
	vote, _ := l.Get([]byte("LastVoteCand"))
	s.vote = string(vote)
	return s
}

func (s told) same(o told) bool {
	if s.first != o.first || len(s.entries) != len(o.entries) || s.term != o.term || s.vote != o.vote {
		return false
	}
	for i := range s.entries {
		if !bytes.Equal(s.entries[i], o.entries[i]) {
			return false
		}
	}
	return true
}

// logScript returns writes such as raft's, each of which is one commit of the file.
func logScript(r *rand.Rand) (out []func(l *boltLog) error) {
	data := func(most int) []byte {
		b := make([]byte, r.IntN(most))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	index := uint64(0)
	store := func(n, most int) {
		var es []*raft.Log
		for range n {
			index++
			es = append(es, &raft.Log{Index: index, Term: index/10 + 1, Data: data(most)})
		}
		out = append(out, func(l *boltLog) error { return l.StoreLogs(es) })
	}
	for i := range 6 {
		term, vote := uint64(i+1), data(20)
		out = append(out, func(l *boltLog) error { return l.SetUint64([]byte("CurrentTerm"), term) },
			func(l *boltLog) error { return l.Set([]byte("LastVoteCand"), vote) })
		store(1, 500)
		store(5, 3000)
		store(2, 20000) // more than a page each
		if i%2 == 1 {   // a leader of a later term overwrites entries
			from, to := index-2, index
			out = append(out, func(l *boltLog) error { return l.DeleteRange(from, to) })
			index = from - 1
		}
		if i == 3 { // entries that a snapshot contains are removed
			to := index - 8
			out = append(out, func(l *boltLog) error { return l.DeleteRange(1, to) })
		}
	}
	return out
}

const pageBytes = 4096

// torn returns the file as a power failure during a write may leave it: some blocks have the contents
// from before the write, the others those after it.
func torn(before, after []byte, pages []int, r *rand.Rand) []byte {
	b := make([]byte, len(after))
	copy(b, before)
	for _, p := range pages {
		for at := p * pageBytes; at < (p+1)*pageBytes; at += 512 {
			if r.IntN(2) == 0 {
				copy(b[at:at+512], after[at:at+512])
			}
		}
	}
	if r.IntN(2) == 0 && len(before) < len(after) { // the new length was not written
		end := len(before)
		for _, p := range pages {
			end = max(end, (p+1)*pageBytes)
		}
		b = b[:end]
	}
	return b
}

// TestLogCrash simulates a power failure during every write of a log. To commit, bbolt writes the
// changed pages, syncs, writes one of the two meta pages, and syncs. As long as that meta page is not
// on the disk, the log must be as before the write, whatever is left of the other pages; with it, all
// confirmed writes must be there. A disk that has the meta page without the pages written before it
// has violated the order of the syncs. This cannot always be detected, since pages are reused: opening
// the log is then an error, or each entry is one that was once written at that index.
func TestLogCrash(t *testing.T) {
	dir := t.TempDir()
	path, crashed := filepath.Join(dir, "log.db"), filepath.Join(dir, "crashed.db")
	l, err := openLog(path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	image := func() []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	r := rand.New(rand.NewPCG(5, 6))
	before, was := image(), tell(t, l)
	states, lies, refused := 0, 0, 0
	once := map[uint64][][]byte{} // what was written, by index
	for step, write := range logScript(r) {
		if err := write(l); err != nil {
			t.Fatal(step, err)
		}
		after, is := image(), tell(t, l)
		for i, e := range is.entries {
			once[is.first+uint64(i)] = append(once[is.first+uint64(i)], e)
		}
		var pages, heads []int
		for p := range len(after) / pageBytes {
			at := p * pageBytes
			old := make([]byte, pageBytes)
			if at < len(before) {
				copy(old, before[at:])
			}
			switch {
			case bytes.Equal(old, after[at:at+pageBytes]):
			case p < 2:
				heads = append(heads, p)
			default:
				pages = append(pages, p)
			}
		}
		if len(heads) != 1 || len(pages) == 0 {
			t.Fatalf("step %d changed the first pages %v and the others %v", step, heads, pages)
		}
		open := func(what string, b []byte, lie bool, may ...told) {
			t.Helper()
			states++
			_ = os.Remove(crashed) // bbolt may still hold a lock on it
			if err := os.WriteFile(crashed, b, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := openLog(crashed, nil, 0)
			if err != nil {
				if refused++; !lie || !pgerr.Is(err, pgerr.DataCorrupted) {
					t.Fatalf("step %d, %s: %v", step, what, err)
				}
				return
			}
			got := tell(t, c)
			ok := lie
			for i, e := range got.entries {
				ok = ok && slices.ContainsFunc(once[got.first+uint64(i)], func(o []byte) bool { return bytes.Equal(o, e) })
			}
			for _, m := range may {
				ok = ok || got.same(m)
			}
			if !ok {
				t.Fatalf("step %d, %s: %d entries from %d, term %d", step, what, len(got.entries), got.first, got.term)
			}
			// Writing continues from there.
			if !lie {
				next := &raft.Log{Index: got.first + uint64(len(got.entries)), Term: 99, Data: []byte("more")}
				if got.first == 0 {
					next.Index = 1
				}
				if err := c.StoreLog(next); err != nil {
					t.Fatal(step, what, err)
				}
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if lie {
				return
			}
			if c, err = openLog(crashed, nil, 0); err != nil {
				t.Fatalf("step %d, %s, written to and opened again: %v", step, what, err)
			}
			if n := len(tell(t, c).entries); n != len(got.entries)+1 {
				t.Fatalf("step %d, %s: %d entries and one more are %d", step, what, len(got.entries), n)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			open("torn pages", torn(before, after, pages, r), false, was)
		}
		all := bytes.Clone(after)
		head := heads[0] * pageBytes
		copy(all[head:head+pageBytes], before[head:])
		open("all but the first page", all, false, was)
		for range 2 { // torn within a block, which a disk should not do
			part := bytes.Clone(all)
			at := head + 16 + r.IntN(64)
			copy(part[head:at], after[head:at])
			open("a part of the first page", part, false, was, is)
		}
		open("everything", after, false, is)
		for range 2 {
			lie := torn(before, after, pages, r)
			copy(lie[head:head+pageBytes], after[head:])
			lies++
			open("the first page alone", lie, true)
		}
		before, was = after, is
	}
	if refused < lies/3 {
		t.Errorf("of %d disks that lie %d were found out", lies, refused)
	}
	t.Logf("%d states, %d disks that lie, %d found out", states, lies, refused)
}

// TestSnapshotCrash simulates a power failure at each step of writing a second snapshot and of
// removing an older one: the newest complete snapshot is restored, the log continues after it, and
// another snapshot can be made.
func TestSnapshotCrash(t *testing.T) {
	dir := t.TempDir()
	d := &Dir{Path: dir, ID: 7}
	log := newHlog(slog.New(slog.DiscardHandler))
	st, err := openStores(d, log)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(100) {
		if err := st.logs.StoreLog(&raft.Log{Index: i + 1, Term: 1, Data: []byte{byte(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	state := func(index uint64) []byte { return bytes.Repeat([]byte{byte(index)}, 9000) }
	take := func(s *stores, index uint64, step func(stage string, sink raft.SnapshotSink)) {
		t.Helper()
		sink, err := s.snaps.Create(1, index, 1, raft.Configuration{}, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		step("created", sink)
		for b := state(index); len(b) > 0; b = b[3000:] {
			if _, err := sink.Write(b[:3000]); err != nil {
				t.Fatal(err)
			}
			step("written", sink)
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
		step("closed", sink)
	}
	none := func(string, raft.SnapshotSink) {}
	take(st, 40, none)
	if err := st.bolt.DeleteRange(1, 30); err != nil {
		t.Fatal(err)
	}
	n := 0
	// check opens what a crash left in a copy of the directory.
	check := func(what string, want uint64, spoil func(snapshots string) error) {
		t.Helper()
		n++
		at := filepath.Join(t.TempDir(), fmt.Sprint(n))
		if err := os.CopyFS(at, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := spoil(filepath.Join(at, "raft", "snapshots")); err != nil {
			t.Fatal(what, err)
		}
		s, err := openStores(&Dir{Path: at, ID: 7}, log)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer s.bolt.Close()
		// A snapshot's name has its index and the time in milliseconds, so the next one needs another
		// index.
		for _, next := range []uint64{95, 96} {
			list, err := s.snaps.List()
			if err != nil || len(list) == 0 {
				t.Fatal(what, err)
			}
			var newest uint64 // as raft restores: the newest that can be read
			for _, m := range list {
				if _, r, err := s.snaps.Open(m.ID); err == nil {
					newest = m.Index
					var b bytes.Buffer
					if _, err := b.ReadFrom(r); err != nil || !bytes.Equal(b.Bytes(), state(newest)) {
						t.Fatal(what, "the snapshot has other bytes", err)
					}
					_ = r.Close()
					break
				}
			}
			if first, err := s.bolt.FirstIndex(); newest != want || err != nil || first > newest+1 {
				t.Fatalf("%s: the newest snapshot is of %d, not %d; the log begins at %d, %v", what, newest, want, first, err)
			}
			take(s, next, none)
			want = next
		}
	}
	leave := func(string) error { return nil }
	take(st, 90, func(stage string, sink raft.SnapshotSink) {
		want := uint64(40)
		if stage == "closed" {
			want = 90
		}
		check(stage, want, leave)
		if stage == "closed" {
			return
		}
		for _, file := range []string{"state.bin", "meta.json"} {
			in := func(snapshots string) string { return filepath.Join(snapshots, sink.ID()+".tmp", file) }
			check(stage+", without "+file, want, func(s string) error { return os.Remove(in(s)) })
			check(stage+", nothing of "+file, want, func(s string) error { return os.Truncate(in(s), 0) })
		}
	})
	list, err := st.snaps.List()
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	newer, older := list[0].ID, list[1].ID
	check("all is there but the name", 40, func(s string) error {
		return os.Rename(filepath.Join(s, newer), filepath.Join(s, newer+".tmp"))
	})
	// A snapshot gets its name when it is complete; only then are the older ones removed, file by
	// file.
	check("the older one without its state", 90, func(s string) error { return os.Remove(filepath.Join(s, older, "state.bin")) })
	check("the older one without what says what it is", 90, func(s string) error { return os.Remove(filepath.Join(s, older, "meta.json")) })
	check("the older one empty", 90, func(s string) error {
		if err := os.RemoveAll(filepath.Join(s, older)); err != nil {
			return err
		}
		return os.Mkdir(filepath.Join(s, older), 0o700)
	})
	if err := st.bolt.Close(); err != nil {
		t.Fatal(err)
	}
}
