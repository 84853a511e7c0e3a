package raftnode

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// writtenLog makes a log with some history, and gives its entries.
func writtenLog(t *testing.T, path string) [][]byte {
	t.Helper()
	l, err := openLog(path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var want [][]byte
	for i := range uint64(120) {
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

// entries reads a log that was opened.
func entries(t *testing.T, l *boltLog) (out [][]byte) {
	t.Helper()
	for _, e := range all(t, l) {
		out = append(out, e.Data)
	}
	return out
}

// TestDamagedLog damages a log in many ways: opening it is an error that says
// where, or gives the entries as they were; never others, never a panic. Damage
// to the newest of the two first pages is a crash that had not ended: what was
// written last is missing.
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
		case 2: // a page of something else
			first = r.IntN(len(b)/4096) * 4096
			copy(b[first:first+4096], b[r.IntN(len(b)/4096)*4096:])
		case 3:
			first = r.IntN(len(b)/4096) * 4096
			clear(b[first : first+4096])
		case 4: // in what a page says of itself
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
	// A log that has lost its beginning without a snapshot, and a snapshot that is
	// cut short.
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

// TestLogBehindASnapshot: a follower that was given a snapshot keeps older
// entries and goes on behind it. What lacks is in the snapshot, or it is damage.
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
