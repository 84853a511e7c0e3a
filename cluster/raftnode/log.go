package raftnode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// boltLog is raft's log and votes: a bbolt file in which each entry carries a checksum,
// and whose faults and panics are returned as errors. It implements raft.LogStore and
// raft.StableStore.
type boltLog struct {
	path string
	bolt bolt
	room *disk.Reserve // released for the log when the disk is full; may be nil

	mu  sync.Mutex
	bad error // after a panic: bbolt may hold its locks
}

// damaged returns the error for a damaged file of raft's, with a hint what to do.
func damaged(path, what string) error {
	return pgerr.New(pgerr.DataCorrupted, "file %q is damaged: %s", path, what).
		WithDetail("It holds what the node has agreed to; without it the node must not take part under its name. Nothing was changed.").
		WithHint("If the other nodes have a majority, keep the data directory aside, start the node with an empty one, another name and --join, and remove the old one. " +
			"A cluster of one is restored from a backup. See \"A damaged log\" in docs/operations/damage.md.")
}

// openLog checks the whole log and opens it. Entries up to upTo are in a snapshot:
// after installing one from the leader, raft keeps its earlier entries and continues
// after the snapshot, so that the log may have a gap before upTo.
func openLog(path string, room *disk.Reserve, upTo uint64) (_ *boltLog, err error) {
	l := &boltLog{path: path, room: room}
	if _, err := os.Stat(path); err == nil {
		m, err := disk.OS.Map(path)
		if err != nil {
			return nil, disk.Error(err, fmt.Sprintf("could not read file %q", path))
		}
		err = l.guard(func() error { return checkBolt(m.Data) })
		m.Unmap()
		if err != nil {
			return nil, damaged(path, err.Error())
		}
	}
	err = l.guard(func() (err error) { l.bolt, err = openBolt(path); return err })
	if err != nil {
		return nil, disk.Error(err, fmt.Sprintf("could not open file %q", path))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	first, err := l.FirstIndex()
	if err != nil {
		return nil, damaged(path, err.Error())
	}
	last, err := l.LastIndex()
	if err != nil {
		return nil, damaged(path, err.Error())
	}
	for i := first; i <= last && first > 0; i++ {
		if err := l.GetLog(i, &raft.Log{}); err != nil && !(i <= upTo && errors.Is(err, raft.ErrLogNotFound)) {
			return nil, damaged(path, err.Error())
		}
	}
	if _, _, err := l.flushed(); err != nil {
		return nil, damaged(path, err.Error())
	}
	for _, key := range []string{"CurrentTerm", "LastVoteTerm", "LastVoteCand"} { // raft's names
		if _, err := l.Get([]byte(key)); err != nil && !errors.Is(err, errNoKey) {
			return nil, damaged(path, err.Error())
		}
	}
	return l, nil
}

// guard turns a panic, or a fault in the file's mapping, into an error. After one bbolt
// is not used again.
func (l *boltLog) guard(f func() error) (err error) {
	l.mu.Lock()
	bad := l.bad
	l.mu.Unlock()
	if bad != nil {
		return bad
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = damaged(l.path, fmt.Sprint(p))
			l.mu.Lock()
			l.bad = err
			l.mu.Unlock()
		}
	}()
	return f()
}

// write runs f, which may make the file grow. On a full disk it releases the reserve
// and tries once more.
func (l *boltLog) write(f func() error) error {
	err := l.guard(f)
	if disk.Full(err) && l.room != nil && l.room.Release() {
		err = l.guard(f)
	}
	if disk.Full(err) {
		return disk.Error(err, "could not write the commit to the log")
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(e *raft.Log) []byte {
	var head [17]byte
	le.PutUint64(head[:], e.Index)
	le.PutUint64(head[8:], e.Term)
	head[16] = byte(e.Type)
	return le.AppendUint32(nil, crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, e.Data))
}

// GetLog implements raft.LogStore.
func (l *boltLog) GetLog(index uint64, e *raft.Log) error {
	err := l.guard(func() error { return l.bolt.entry(index, e) })
	switch {
	case errors.Is(err, raft.ErrLogNotFound):
		return err
	case err != nil:
		return fmt.Errorf("entry %d cannot be read: %w", index, err)
	case e.Index != index || len(e.Extensions) > 0 && string(e.Extensions) != string(sumOf(e)):
		return fmt.Errorf("entry %d has changed", index)
	}
	e.Extensions = nil
	return nil
}

// StoreLogs implements raft.LogStore.
func (l *boltLog) StoreLogs(entries []*raft.Log) error {
	return l.write(func() error { return l.bolt.store(entries, nil, nil) })
}

// storeWith is StoreLogs and Set in one transaction.
func (l *boltLog) storeWith(entries []*raft.Log, k, v []byte) error {
	return l.write(func() error { return l.bolt.store(entries, k, summed(k, v)) })
}

// StoreLog implements raft.LogStore.
func (l *boltLog) StoreLog(e *raft.Log) error { return l.StoreLogs([]*raft.Log{e}) }

// FirstIndex implements raft.LogStore.
func (l *boltLog) FirstIndex() (i uint64, err error) {
	err = l.guard(func() (err error) { i, _, err = l.bolt.ends(); return err })
	return i, err
}

// LastIndex implements raft.LogStore.
func (l *boltLog) LastIndex() (i uint64, err error) {
	err = l.guard(func() (err error) { _, i, err = l.bolt.ends(); return err })
	return i, err
}

// DeleteRange implements raft.LogStore.
func (l *boltLog) DeleteRange(from, to uint64) error {
	return l.write(func() error { return l.bolt.remove(from, to) })
}

// Set implements raft.StableStore.
func (l *boltLog) Set(k, v []byte) error {
	return l.storeWith(nil, k, v)
}

// Get implements raft.StableStore.
func (l *boltLog) Get(k []byte) (v []byte, err error) {
	err = l.guard(func() (err error) { v, err = l.bolt.value(k); return err })
	if err != nil || len(v) < valueHead || le.Uint32(v) != valueMagic {
		return v, err // written before values had a checksum
	}
	if sum := summed(k, v[valueHead:]); string(sum) != string(v) {
		return nil, fmt.Errorf("the value of %q has changed", k)
	}
	return v[valueHead:], nil
}

// A value of the stable store begins with a magic and the CRC-32C of its key and
// itself: a damaged vote could become a second vote in a term.
const (
	valueMagic = 0x56425254
	valueHead  = 8
)

func summed(k, v []byte) []byte {
	b := le.AppendUint32(make([]byte, 0, valueHead+len(v)), valueMagic)
	b = le.AppendUint32(b, crc32.Update(crc32.Checksum(k, castagnoli), castagnoli, v))
	return append(b, v...)
}

// SetUint64 implements raft.StableStore.
func (l *boltLog) SetUint64(k []byte, v uint64) error {
	return l.Set(k, binary.BigEndian.AppendUint64(nil, v))
}

// GetUint64 implements raft.StableStore.
func (l *boltLog) GetUint64(k []byte) (uint64, error) {
	v, err := l.Get(k)
	if err == nil && len(v) != 8 {
		err = fmt.Errorf("the value of %q has %d bytes", k, len(v))
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(v), nil
}

// Close closes the file.
func (l *boltLog) Close() error {
	if l.bolt.db == nil || l.guard(func() error { return nil }) != nil {
		return nil // bbolt's locks may never be released; the process is about to end
	}
	return l.bolt.db.Close()
}

// cached is a log with its newest entries in memory. raft's LogCache reduces an error
// to its text; this one keeps the error value.
type cached struct {
	*raft.LogCache
	err error // of the last write; raft writes from one goroutine
	// stored, if not nil, is called with entries that were written.
	stored func(entries []*raft.Log)
}

func newCached(f *journal) (c *cached, err error) {
	c = &cached{}
	c.LogCache, err = raft.NewLogCache(1024, failureLog{f, c})
	return c, err
}

// StoreLogs implements raft.LogStore.
func (c *cached) StoreLogs(entries []*raft.Log) error {
	if c.LogCache.StoreLogs(entries) != nil {
		return c.err
	}
	if c.stored != nil {
		c.stored(entries)
	}
	return nil
}

// StoreLog implements raft.LogStore.
func (c *cached) StoreLog(e *raft.Log) error { return c.StoreLogs([]*raft.Log{e}) }

// failureLog is a log that keeps the error of a write.
type failureLog struct {
	*journal
	c *cached
}

func (n failureLog) StoreLogs(entries []*raft.Log) error {
	n.c.err = n.journal.StoreLogs(entries)
	return n.c.err
}

// newestSnapshot returns the last entry of the newest snapshot that can be read; 0 for none.
func newestSnapshot(snaps raft.SnapshotStore, list []*raft.SnapshotMeta) (upTo uint64) {
	for _, m := range list {
		if _, r, err := snaps.Open(m.ID); err == nil {
			_ = r.Close()
			upTo = max(upTo, m.Index)
		}
	}
	return upTo
}

// unfinishedSuffix ends the name of a snapshot that raft has not finished.
const unfinishedSuffix = ".tmp"

// removeUnfinished removes what a crash left of snapshots. Raft does not, and the room is wanted most
// on a disk that is full.
func removeUnfinished(dir string, log hclog.Logger) {
	root := filepath.Join(dir, "snapshots")
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), unfinishedSuffix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, e.Name())))
		}
	}
	if err != nil {
		log.Warn("could not remove unfinished snapshots", "err", err)
	}
}

// checkSnapshots checks that the newest readable snapshot and the log have no gap
// between them: raft skips a snapshot that it cannot read, even where there is no
// other.
func checkSnapshots(dir string, snaps raft.SnapshotStore, log *boltLog) error {
	root := filepath.Join(dir, "snapshots")
	entries, err := os.ReadDir(root)
	if err != nil {
		return disk.Error(err, fmt.Sprintf("could not read directory %q", root))
	}
	var newest string
	for _, e := range entries {
		if e.IsDir() && !strings.HasSuffix(e.Name(), unfinishedSuffix) {
			newest = filepath.Join(root, e.Name())
		}
	}
	list, err := snaps.List()
	if err != nil {
		return damaged(root, err.Error())
	}
	upTo := newestSnapshot(snaps, list)
	if newest != "" && upTo == 0 {
		return damaged(newest, "the snapshot cannot be read, and there is no other")
	}
	first, err := log.FirstIndex()
	if err != nil {
		return damaged(log.path, err.Error())
	}
	if first > upTo+1 {
		return damaged(log.path, fmt.Sprintf("it begins at entry %d, and the newest good snapshot ends at %d", first, upTo))
	}
	return nil
}
