package raftnode

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/sql/pgerr"
)

func openBoth(dir string) (*journal, error) {
	l, err := openLog(filepath.Join(dir, "log.db"), nil, 0)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(filepath.Join(dir, "journal"), l)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return j, nil
}

// copyOf copies the files of an open log, which is what a crash of the process leaves.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	for _, f := range []string{"log.db", "journal"} {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, f), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// all reads the log from its first entry to its last, as raft does.
func all(t *testing.T, l raft.LogStore) (out []raft.Log) {
	t.Helper()
	first, err := l.FirstIndex()
	if err != nil {
		t.Fatal(err)
	}
	last, err := l.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	for i := first; i <= last && first > 0; i++ {
		var e raft.Log
		if err := l.GetLog(i, &e); err != nil || e.Extensions != nil {
			t.Fatal(i, err)
		}
		out = append(out, e)
	}
	return out
}

func sameLogs(a, b []raft.Log) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Index != b[i].Index || a[i].Term != b[i].Term || a[i].Type != b[i].Type || !bytes.Equal(a[i].Data, b[i].Data) {
			return false
		}
	}
	return true
}

// TestJournal writes to the log as raft does, with crashes of the process in between: confirmed
// entries are there, in order, and removed ones are not.
func TestJournal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	dir := t.TempDir()
	j, err := openBoth(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want []raft.Log
	next := uint64(1)
	for step := range 150 {
		var err error
		switch n := r.IntN(20); {
		case n == 0 && len(want) > 5: // another leader overwrites entries
			k := 1 + r.IntN(min(len(want)-1, 20))
			err = j.DeleteRange(next-uint64(k), next-1)
			want, next = want[:len(want)-k], next-uint64(k)
		case n == 1 && len(want) > 50: // a snapshot
			err = j.DeleteRange(want[0].Index, want[20].Index)
			want = want[21:]
		case n == 2 && step%3 == 0: // a snapshot sent by the leader: a gap
			if err = j.DeleteRange(1, next-1); err == nil {
				want, next = nil, next+1000
			}
		case n == 3:
			if err = j.SetUint64([]byte("CurrentTerm"), uint64(step)); err == nil {
				var v uint64
				if v, err = j.GetUint64([]byte("CurrentTerm")); v != uint64(step) {
					t.Fatal(v, err)
				}
			}
		default:
			var es []*raft.Log
			for range 1 + r.IntN(6) {
				size := r.IntN(200)
				if r.IntN(60) == 0 {
					size = r.IntN(journalBytes + journalBytes/2)
				}
				e := &raft.Log{Index: next, Term: uint64(step), Type: raft.LogType(r.IntN(3)), Data: bytes.Repeat([]byte{byte(next)}, size), Extensions: []byte("x")}
				es = append(es, e)
				want = append(want, *e)
				next++
			}
			err = j.StoreLogs(es)
		}
		if err != nil {
			t.Fatal(step, err)
		}
		if got := all(t, j); !sameLogs(got, want) {
			t.Fatalf("step %d: %d entries, not %d", step, len(got), len(want))
		}
		if r.IntN(10) > 0 {
			continue
		}
		c, err := openBoth(copyOf(t, dir)) // after a crash
		if err != nil {
			t.Fatal(step, err)
		}
		if got := all(t, c); !sameLogs(got, want) {
			t.Fatalf("step %d: after a crash %d entries, not %d", step, len(got), len(want))
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if r.IntN(4) == 0 {
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			if j, err = openBoth(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	// Then all entries are in bbolt.
	l, err := openLog(filepath.Join(dir, "log.db"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := all(t, l); !sameLogs(got, want) {
		t.Errorf("%d entries in bbolt, not %d", len(got), len(want))
	}
}

// TestTornJournal cuts the last record off at every kind of position: the entries before it are all
// there. Damage before the last record, and a missing journal, are detected.
func TestTornJournal(t *testing.T) {
	dir := t.TempDir()
	j, err := openBoth(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	// The file still has records of an earlier generation after the current ones, which must not be
	// read.
	var index uint64
	store := func(n, size int) {
		t.Helper()
		var es []*raft.Log
		for range n {
			index++
			es = append(es, &raft.Log{Index: index, Term: 1, Data: bytes.Repeat([]byte{byte(index)}, size)})
		}
		if err := j.StoreLogs(es); err != nil {
			t.Fatal(err)
		}
	}
	for range 40 {
		store(1, 100)
	}
	if err := j.DeleteRange(1, 3); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		store(2, 150)
	}
	last := j.at
	before := all(t, j)
	store(3, 200)
	end := j.at
	crashed := copyOf(t, dir)
	good, err := os.ReadFile(filepath.Join(crashed, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	bolt, err := os.ReadFile(filepath.Join(crashed, "log.db"))
	if err != nil {
		t.Fatal(err)
	}
	try := func(b []byte) (*journal, error) {
		at := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(at, "journal"), b, 0o600), os.WriteFile(filepath.Join(at, "log.db"), bolt, 0o600)); err != nil {
			t.Fatal(err)
		}
		return openBoth(at)
	}
	for at := last; at < end-recordAlign; at += 59 {
		b := bytes.Clone(good)
		clear(b[at:end])
		c, err := try(b)
		if err != nil {
			t.Fatal(at, err)
		}
		if got := all(t, c); !sameLogs(got, before) {
			t.Fatalf("torn at %d: %d entries, not %d", at, len(got), len(before))
		}
		// Writing continues from there.
		next := &raft.Log{Index: before[len(before)-1].Index + 1, Term: 2, Data: []byte("more")}
		if err := c.StoreLog(next); err != nil {
			t.Fatal(err)
		}
		if got := all(t, c); len(got) != len(before)+1 {
			t.Fatal(len(got))
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for at := int64(0); at < last; at += 41 {
		b := bytes.Clone(good)
		b[at] ^= 0x10
		c, err := try(b)
		if err == nil { // padding
			if got := all(t, c); len(got) != len(before)+3 {
				t.Fatalf("damage at %d: %d entries", at, len(got))
			}
			_ = c.Close()
			continue
		}
		if !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Fatal(at, err)
		}
	}
	if err := os.Remove(filepath.Join(crashed, "journal")); err != nil {
		t.Fatal(err)
	}
	if _, err := openBoth(crashed); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Error(err)
	}
}
