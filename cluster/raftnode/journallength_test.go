package raftnode

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestJournalOfAnotherLength: a journal that is shorter or longer than it was made, or whose
// beginning is gone, is damage, not an empty journal.
func TestJournalOfAnotherLength(t *testing.T) {
	dir := t.TempDir()
	j, err := openBoth(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for i := range uint64(100) {
		if err := j.StoreLog(&raft.Log{Index: i + 1, Term: 1, Data: make([]byte, 200)}); err != nil {
			t.Fatal(err)
		}
	}
	opens := func(what string, hurt func(path string) error) {
		t.Helper()
		at := copyOf(t, dir)
		if err := hurt(filepath.Join(at, "journal")); err != nil {
			t.Fatal(err)
		}
		if c, err := openBoth(at); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Errorf("%s: %v", what, err)
			if err == nil {
				_ = c.Close()
			}
		}
	}
	for _, n := range []int64{0, 1, 64, 4096, 8192, journalBytes - 1, journalBytes + 1, journalBytes * 2} {
		opens("another length", func(path string) error { return os.Truncate(path, n) })
	}
	for _, n := range []int{4096, 8192, journalBytes} {
		opens("zeros", func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.Write(make([]byte, n))
			return errors.Join(err, f.Close())
		})
	}
}

// TestUnfinishedStart: whatever a crash or a full disk left of the log's files while they were made
// for the first time, the node starts; a journal with entries of which the log knows nothing is
// another log's.
func TestUnfinishedStart(t *testing.T) {
	for _, n := range []int64{-1, 0, 1, 8192, journalBytes} {
		dir := t.TempDir()
		l, err := openLog(filepath.Join(dir, "log.db"), nil, 0)
		if err == nil {
			err = l.Close()
		}
		if err == nil && n >= 0 {
			err = os.WriteFile(filepath.Join(dir, "journal"), make([]byte, n), 0o600)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "log.db.new"), make([]byte, max(n, 0)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if err := os.Remove(filepath.Join(dir, "log.db")); err != nil {
				t.Fatal(err)
			}
		}
		j, err := openBoth(dir)
		if err != nil {
			t.Fatal(n, err)
		}
		if err := j.StoreLog(&raft.Log{Index: 1, Term: 1, Data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		crashed := copyOf(t, dir)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if c, err := openBoth(crashed); err != nil || len(all(t, c)) != 1 {
			t.Error(n, err)
		} else if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	// A journal beside a log that was made anew.
	dir := t.TempDir()
	j, err := openBoth(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.StoreLog(&raft.Log{Index: 1, Term: 1}); err != nil {
		t.Fatal(err)
	}
	crashed := copyOf(t, dir)
	if err := errors.Join(j.Close(), os.Remove(filepath.Join(crashed, "log.db"))); err != nil {
		t.Fatal(err)
	}
	if _, err := openBoth(crashed); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Error(err)
	}
}

// TestEarlierJournal: a journal of an earlier version begins with zeros until its first record is
// written.
func TestEarlierJournal(t *testing.T) {
	dir := t.TempDir()
	j, err := openBoth(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.StoreLog(&raft.Log{Index: 1, Term: 1}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := openBolt(filepath.Join(dir, "log.db"))
	if err == nil {
		err = b.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(boltConf).Delete(begunKey) })
	}
	if err = errors.Join(err, b.db.Close(), os.WriteFile(filepath.Join(dir, "journal"), make([]byte, journalBytes), 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if j, err = openBoth(dir); err != nil || len(all(t, j)) != 1 {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "journal"), make([]byte, journalBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openBoth(dir); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Error("zeros where a record was:", err)
	}
}
