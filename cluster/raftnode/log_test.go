package raftnode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// writtenLog makes a log with some history and returns its entries.
func writtenLog(t *testing.T, path string) [][]byte {
	t.Helper()
	b, err := openLog(path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := openJournal(path+".journal", b)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var want [][]byte
	for i := range uint64(120) {
		if i%4 == 0 {
			if err := l.flush(); err != nil {
				t.Fatal(err)
			}
		}
		data := make([]byte, r.IntN(3000))
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		want = append(want, data)
		if err := l.StoreLogs([]*raft.Log{{Index: i + 1, Term: i/50 + 1, Data: data}}); err != nil {
			t.Fatal(err)
		}
		if err := l.SetUint64([]byte("CurrentTerm"), i/50+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.DeleteRange(1, 40); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return want[40:]
}

// entries reads all entries of an open log.
func entries(t *testing.T, l *boltLog) (out [][]byte) {
	t.Helper()
	for _, e := range all(t, l) {
		out = append(out, e.Data)
	}
	return out
}

// TestDamagedLog damages a log in many ways: opening it is an error that names the position, or the
// entries are unchanged; they are never others, and nothing panics. Damage to the newer of the two
// meta pages cannot be told from a crash during the last write, which is then missing.
func TestDamagedLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log.db")
	want := writtenLog(t, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for i := range 150 {
		b := bytes.Clone(good)
		first := 0 // where the damage begins
		switch i % 5 {
		case 0:
			first = r.IntN(len(b))
			b = b[:first]
		case 1:
			first = r.IntN(len(b))
			b[first] ^= byte(1 + r.IntN(255))
		case 2: // another page's content
			first = r.IntN(len(b)/4096) * 4096
			copy(b[first:first+4096], b[r.IntN(len(b)/4096)*4096:])
		case 3:
			first = r.IntN(len(b)/4096) * 4096
			clear(b[first : first+4096])
		case 4: // in a page's header
			first = r.IntN(len(b)/4096)*4096 + r.IntN(64)
			b[first] ^= 1 << r.IntN(8)
		}
		at := filepath.Join(dir, "bad.db")
		_ = os.Remove(at)
		if err := os.WriteFile(at, b, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := openLog(at, nil, 0)
		if err != nil {
			refused++
			if !pgerr.Is(err, pgerr.DataCorrupted) || !bytes.Contains([]byte(err.Error()), []byte(at)) {
				t.Fatal(i, err)
			}
			continue
		}
		term, err := l.GetUint64([]byte("CurrentTerm"))
		if err != nil || first >= 8192 && term != 3 {
			t.Fatalf("%d: term %d after damage at %d: %v", i, term, first, err)
		}
		got := entries(t, l)
		if first >= 8192 && len(got) != len(want) {
			t.Fatalf("%d: %d entries of %d after damage at %d", i, len(got), len(want), first)
		}
		for j := range min(len(got), len(want)) {
			if len(got) == len(want) && !bytes.Equal(got[j], want[j]) {
				t.Fatalf("%d: another entry %d after damage at %d", i, j, first)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if refused < 30 {
		t.Errorf("only %d kinds of damage were seen", refused)
	}
	// A log whose beginning is missing without a snapshot, and a truncated
	// snapshot.
	snaps, err := raft.NewFileSnapshotStoreWithLogger(dir, 2, newHlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	l, err := openLog(path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := checkSnapshots(dir, snaps, l); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Fatal(err)
	}
	sink, err := snaps.Create(1, 60, 2, raft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Write(make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkSnapshots(dir, snaps, l); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "snapshots", sink.ID(), "state.bin")
	if err := os.Truncate(state, 4000); err != nil {
		t.Fatal(err)
	}
	if err := checkSnapshots(dir, snaps, l); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Fatal(err)
	}
}

// TestEarlierRoot: a root that points to an earlier state of the log is detected.
// bbolt leaves pages as they were when it stops using them.
func TestEarlierRoot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log.db")
	want := writtenLog(t, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := good[boltHeader:]
	if o := good[4096+boltHeader:]; le.Uint64(o[48:]) > le.Uint64(m[48:]) {
		m = o
	}
	root := good[4096*le.Uint64(m[16:]):]
	at := bytes.Index(root, []byte("logs")) + 4 // the root page of the bucket
	refused := 0
	for page := range uint64(len(good) / 4096) {
		b := bytes.Clone(good)
		le.PutUint64(b[cap(good)-cap(root)+at:], page)
		if bytes.Equal(b, good) || checkBolt(b) != nil {
			continue
		}
		bad := filepath.Join(dir, fmt.Sprintf("%d.db", page)) // a file in which bbolt panicked stays locked
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := openLog(bad, nil, 0)
		if err != nil {
			refused++
			if !pgerr.Is(err, pgerr.DataCorrupted) {
				t.Errorf("page %d as a root: %v", page, err)
			}
			continue
		}
		// A missing beginning is detected by checkSnapshots.
		got := entries(t, l)
		for k := range min(len(got), len(want)) {
			if !bytes.Equal(got[len(got)-1-k], want[len(want)-1-k]) {
				t.Errorf("page %d as a root: %d entries, and the log does not end with them", page, len(got))
				break
			}
		}
		if len(got) == 0 {
			t.Errorf("page %d as a root: no entries", page)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if refused < 5 {
		t.Errorf("only %d pages looked like a root", refused)
	}
}

// TestLogBehindASnapshot: a follower that received a snapshot keeps older
// entries and continues after the snapshot. Missing entries are in the snapshot,
// or the log is damaged.
func TestLogBehindASnapshot(t *testing.T) {
	d := &Dir{Path: t.TempDir(), ID: 7}
	log := newHlog(slog.New(slog.DiscardHandler))
	st, err := openStores(d, log)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []uint64{1, 2, 3, 91, 92} {
		if err := st.logs.StoreLog(&raft.Log{Index: i, Term: 1, Data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	sink, err := st.snaps.Create(1, 90, 1, raft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	open := func() error {
		t.Helper()
		if err := st.bolt.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := openStores(d, log)
		if err == nil {
			st = s
		}
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	if err := st.bolt.DeleteRange(91, 91); err != nil {
		t.Fatal(err)
	}
	if err := open(); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Fatal("an entry lacks that is in no snapshot:", err)
	}
}

// TestChangedVote: a damaged vote is detected, whichever byte is changed, and one
// without a checksum, of an earlier version, is read.
func TestChangedVote(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log.db")
	l, err := openLog(path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.SetUint64([]byte("CurrentTerm"), 0x0123456789abcdef); err != nil {
		t.Fatal(err)
	}
	if err := l.bolt.store(nil, []byte("LastVoteTerm"), binary.BigEndian.AppendUint64(nil, 7)); err != nil {
		t.Fatal(err)
	}
	if term, err := l.GetUint64([]byte("LastVoteTerm")); err != nil || term != 7 {
		t.Fatal(term, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("\x01\x23\x45\x67\x89\xab\xcd\xef")
	if !bytes.Contains(good, key) {
		t.Fatal("the term is not in the file")
	}
	bad := bytes.ReplaceAll(good, key, []byte("\x01\x23\x45\x67\x89\xab\xcd\xee"))
	path = filepath.Join(dir, "bad.db")
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openLog(path, nil, 0); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Error(err)
	}
}
