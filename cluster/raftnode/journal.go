package raftnode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unsafe"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// journal is a write-ahead file in front of the log. bbolt writes pages and syncs twice
// for each commit; here a batch of entries is one record at the end of a preallocated
// file, and one sync. When the file is full, and when the node stops, its entries are
// moved to bbolt together, and the file is written from its start again. So bbolt has
// the log except for the newest entries, and everything else (votes, removals) is only
// in bbolt.
//
// It is written with direct I/O where the file system allows it: a sync then need not
// look for dirty pages, and a commit costs a third less. Direct writes are whole
// blocks, so a block that is partly filled is rewritten with the same records in front,
// as the page cache would do.
//
//	record   magic │ CRC-32C │ generation │ number │ length │ applied │ entries …   padded to 64
//
// A generation is one filling of the file. bbolt stores the last generation whose
// entries it has, and its last entry: bbolt's pages carry no checksum, and a damaged
// root may be that of an earlier log, intact but shorter. Records up to that one are
// old. A file that begins with a newer one is read as far as its records follow each
// other; the last may have been cut off by a crash, and was then acknowledged to
// nobody. A newer record after a bad one is damage, and so is a file of another length,
// or one that does not begin with a record: a generation begins where the one before
// did, and a crash while its first record is written leaves the magic of either.
type journal struct {
	*boltLog
	path string

	mu      sync.RWMutex
	file    *os.File
	gen     uint64
	records uint32
	at      int64
	block   []byte      // aligned for direct I/O; its first at%journalBlock bytes are the file's last block
	newest  []*raft.Log // in the file and not in bbolt, consecutive
	ahead   [2]uint64   // the first and the last entry that raft has not stored yet (solevoter.go); 0 for none
	unused  bool        // entries go to bbolt (Journal)
	broken  error       // a write failed, and the file's contents are unknown
	// floor is the greatest index that the records say this node had applied; applied, if
	// not nil, is that of now, for the next record.
	floor   uint64
	applied func() uint64
	syncs   prometheus.Observer // of the seconds that they take; nil: nobody counts them
}

const (
	journalFile  = "raft/journal"
	journalBytes = 4 << 20
	// Writes are multiples of this size: no disk has larger sectors.
	journalBlock = 4096
	keptBlocks   = 64
	recordMagic  = 0x4a425254
	recordHead   = 32
	recordAlign  = 64
	entryHead    = 8 + 8 + 1 + 4
)

// flushedKey is the last generation that is in bbolt, and an entry that the log has at
// least up to, 0 for none: two numbers of 8 bytes, big-endian. Earlier versions wrote
// the first alone.
var flushedKey = []byte("tributary-journal")

// begunKey is set once the journal begins with a record. Earlier versions began it with
// zeros.
var begunKey = []byte("tributary-journal-begun")

// openJournal moves the entries in a log's journal into the log and starts a new
// generation. The journal of a log that had one must exist, whole. Where the log had
// none, what there is of it is what a crash or a full disk left when it was made.
func openJournal(path string, l *boltLog) (_ *journal, err error) {
	j := &journal{boltLog: l, path: path}
	done, had, err := l.flushed()
	if err != nil {
		return nil, damaged(l.path, err.Error())
	}
	_, err = l.Get(begunKey)
	begun := err == nil
	if err != nil && !errors.Is(err, errNoKey) {
		return nil, damaged(l.path, err.Error())
	}
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && had:
		return nil, damaged(path, "it is not there")
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, disk.Error(err, fmt.Sprintf("could not read file %q", path))
	case had && len(b) != journalBytes:
		return nil, damaged(path, fmt.Sprintf("it has %d bytes instead of %d", len(b), journalBytes))
	case had && begun && le.Uint32(b) != recordMagic:
		return nil, damaged(path, "it does not begin with a record")
	}
	entries, gen, floor, err := readJournal(b, done)
	if err == nil && !had && len(entries) > 0 {
		err = fmt.Errorf("it has entries, and %q knows of no journal", filepath.Base(l.path))
	}
	if err != nil {
		return nil, damaged(path, err.Error())
	}
	j.newest, j.gen, j.floor = entries, max(gen, done), floor
	if !had {
		if err := j.create(); err != nil {
			return nil, err
		}
	}
	if err := j.flush(); err != nil {
		return nil, err
	}
	if err := j.open(); err != nil {
		return nil, err
	}
	if !begun {
		if err := j.Set(begunKey, []byte{1}); err != nil {
			return nil, errors.Join(err, j.file.Close())
		}
	}
	return j, nil
}

// open opens a file whose records are all in bbolt, and begins the generation with a
// record without entries.
func (j *journal) open() (err error) {
	j.block = aligned(journalBlock)
	j.file, err = os.OpenFile(j.path, os.O_RDWR|direct, 0)
	var end int64
	if err == nil {
		if end, err = j.write(recordHead+recordAlign, nil); err != nil { // some file systems refuse direct I/O only here
			err = errors.Join(err, j.file.Close())
		}
	}
	if err != nil && direct != 0 {
		if j.file, err = os.OpenFile(j.path, os.O_RDWR, 0); err == nil {
			if end, err = j.write(recordHead+recordAlign, nil); err != nil {
				err = errors.Join(err, j.file.Close())
			}
		}
	}
	if err != nil {
		return disk.Error(err, fmt.Sprintf("could not open file %q", j.path))
	}
	j.at, j.records = end, 1
	return nil
}

// aligned returns a buffer that is aligned to blocks, as direct I/O requires.
func aligned(n int) []byte {
	b := make([]byte, n+journalBlock)
	from := -int(uintptr(unsafe.Pointer(&b[0]))) & (journalBlock - 1)
	return b[from : from+n : from+n]
}

// flushed returns the generation whose entries are in the log; had is whether there was
// a journal.
func (l *boltLog) flushed() (gen uint64, had bool, err error) {
	v, err := l.Get(flushedKey)
	switch {
	case errors.Is(err, errNoKey):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case len(v) != 8 && len(v) != 16:
		return 0, false, fmt.Errorf("the value of %q has %d bytes", flushedKey, len(v))
	}
	gen = binary.BigEndian.Uint64(v)
	if len(v) == 16 {
		want := binary.BigEndian.Uint64(v[8:])
		last, err := l.LastIndex()
		if err == nil && last < want {
			err = fmt.Errorf("it ends at entry %d, and entry %d was there", last, want)
		}
		if err != nil {
			return 0, false, err
		}
	}
	return gen, true, nil
}

// create writes the file in its full length, so that later writes change no metadata.
func (j *journal) create() error {
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.Write(make([]byte, journalBytes))
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = disk.OS.SyncDir(filepath.Dir(j.path))
	}
	if err != nil {
		return disk.Error(err, fmt.Sprintf("could not write file %q", j.path))
	}
	return nil
}

// appendRecord appends a record of entries to b.
func appendRecord(b []byte, gen uint64, number uint32, applied uint64, entries []*raft.Log) []byte {
	from := len(b)
	b = append(b, make([]byte, recordHead)...)
	for _, e := range entries {
		b = le.AppendUint64(b, e.Index)
		b = le.AppendUint64(b, e.Term)
		b = append(b, byte(e.Type))
		b = le.AppendUint32(b, uint32(len(e.Data)))
		b = append(b, e.Data...)
	}
	r := b[from:]
	le.PutUint32(r, recordMagic)
	le.PutUint64(r[8:], gen)
	le.PutUint32(r[16:], number)
	le.PutUint32(r[20:], uint32(len(r)-recordHead))
	le.PutUint64(r[24:], applied)
	le.PutUint32(r[4:], crc32.Checksum(r[8:], castagnoli))
	for (len(b)-from)%recordAlign != 0 {
		b = append(b, 0)
	}
	return b
}

// readRecord reads the record at the beginning of b; ok is false if there is none.
func readRecord(b []byte) (entries []*raft.Log, gen uint64, number uint32, size int, ok bool) {
	if len(b) < recordHead || le.Uint32(b) != recordMagic {
		return nil, 0, 0, 0, false
	}
	n := int64(le.Uint32(b[20:]))
	if n > int64(len(b)-recordHead) {
		return nil, 0, 0, 0, false
	}
	end := recordHead + int(n)
	if crc32.Checksum(b[8:end], castagnoli) != le.Uint32(b[4:]) {
		return nil, 0, 0, 0, false
	}
	for p := b[recordHead:end]; len(p) > 0; {
		if len(p) < entryHead {
			return nil, 0, 0, 0, false
		}
		e := &raft.Log{Index: le.Uint64(p), Term: le.Uint64(p[8:]), Type: raft.LogType(p[16])}
		k := int64(le.Uint32(p[17:]))
		if k > int64(len(p)-entryHead) {
			return nil, 0, 0, 0, false
		}
		e.Data = p[entryHead : entryHead+k : entryHead+k]
		entries = append(entries, e)
		p = p[entryHead+k:]
	}
	return entries, le.Uint64(b[8:]), le.Uint32(b[16:]), (end + recordAlign - 1) / recordAlign * recordAlign, true
}

// readJournal returns the entries of a file that are of a generation later than done,
// that generation, 0 for none, and the greatest index that they say was applied.
func readJournal(b []byte, done uint64) (out []*raft.Log, gen, applied uint64, err error) {
	at := 0
	for number := uint32(0); at < len(b); number++ {
		entries, g, n, size, ok := readRecord(b[at:])
		if !ok || g <= done || gen != 0 && g != gen || n != number {
			break
		}
		gen, applied = g, max(applied, le.Uint64(b[at+24:]))
		out = append(out, entries...)
		at += size
	}
	for next := at + recordAlign; next < len(b); next += recordAlign {
		if _, g, _, _, ok := readRecord(b[next:]); ok && g > done {
			return nil, 0, 0, fmt.Errorf("there is no record at byte %d, and one behind it", at)
		}
	}
	return out, gen, applied, nil
}

// flush moves the newest entries into bbolt, after which the file may be written from
// its start. mu is held.
func (j *journal) flush() error {
	last := uint64(0)
	if n := len(j.newest); n > 0 {
		last = j.newest[n-1].Index
	} else if i, err := j.boltLog.LastIndex(); err != nil {
		return err
	} else {
		last = i
	}
	// This is done even without entries: a record that was not acknowledged may be in the
	// file.
	if err := j.storeWith(j.newest, flushedKey, flushedValue(j.gen, last)); err != nil {
		return err
	}
	j.gen++
	j.newest, j.at, j.records = nil, 0, 0
	return nil
}

// flushedValue returns flushedKey's value for a log that has all of a generation, and
// ends at last or later.
func flushedValue(gen, last uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, gen), last)
}

// StoreLogs implements raft.LogStore. Entries that were stored ahead of raft must be
// the same.
func (j *journal) StoreLogs(entries []*raft.Log) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(entries) > 0 && j.ahead[0] != 0 {
		var has raft.Log
		e := entries[0]
		if err := j.get(j.ahead[0], &has); err != nil {
			return err
		}
		if e.Index != has.Index || e.Term != has.Term || e.Type != has.Type || !bytes.Equal(e.Data, has.Data) {
			return pgerr.Internal("raft gives entry %d of term %d a place in the log that another has", e.Index, e.Term)
		}
		if j.ahead[0]++; j.ahead[0] > j.ahead[1] {
			j.ahead = [2]uint64{}
		}
		entries = entries[1:]
	}
	return j.put(entries)
}

// storeAhead stores entries that raft will store later.
func (j *journal) storeAhead(entries []*raft.Log) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.put(entries); err != nil {
		return err
	}
	if j.ahead[0] == 0 {
		j.ahead[0] = entries[0].Index
	}
	j.ahead[1] = entries[len(entries)-1].Index
	return nil
}

// put stores entries; mu is held.
func (j *journal) put(entries []*raft.Log) error {
	if j.broken != nil || len(entries) == 0 {
		return j.broken
	}
	size := int64(recordHead + recordAlign)
	for _, e := range entries {
		size += entryHead + int64(len(e.Data))
	}
	n := len(j.newest)
	if j.at+size > journalBytes || n > 0 && entries[0].Index != j.newest[n-1].Index+1 { // after a snapshot
		if err := j.flush(); err != nil {
			return err
		}
	}
	if size > journalBytes || j.unused {
		return j.boltLog.StoreLogs(entries)
	}
	at, err := j.write(size, entries)
	if err != nil {
		// Part of the record may be there, and after a failed sync another one proves
		// nothing.
		j.broken = disk.Error(err, fmt.Sprintf("could not write file %q", j.path))
		return j.broken
	}
	for _, e := range entries {
		c := *e
		c.Extensions = nil
		j.newest = append(j.newest, &c)
	}
	j.at = at
	j.records++
	return nil
}

// write writes a record of at most size bytes after the last and syncs it; it returns
// the record's end.
func (j *journal) write(size int64, entries []*raft.Log) (end int64, err error) {
	before := int(j.at % journalBlock)
	room := (before + int(size) + journalBlock - 1) &^ (journalBlock - 1)
	b := j.block
	if len(b) < room {
		b = aligned(room)
		copy(b, j.block[:before])
		if room <= keptBlocks*journalBlock {
			j.block = b
		}
	}
	applied := j.floor
	if j.applied != nil {
		applied = max(applied, j.applied())
	}
	n := len(appendRecord(b[:before], j.gen, j.records, applied, entries))
	whole := (n + journalBlock - 1) &^ (journalBlock - 1)
	clear(b[n:whole])
	if _, err = j.file.WriteAt(b[:whole], j.at-int64(before)); err == nil {
		since := time.Now()
		err = datasync(j.file)
		if j.syncs != nil {
			j.syncs.Observe(time.Since(since).Seconds())
		}
	}
	copy(j.block, b[n&^(journalBlock-1):n])
	return j.at - int64(before) + int64(n), err
}

// StoreLog implements raft.LogStore.
func (j *journal) StoreLog(e *raft.Log) error { return j.StoreLogs([]*raft.Log{e}) }

// GetLog implements raft.LogStore.
func (j *journal) GetLog(index uint64, e *raft.Log) error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.get(index, e)
}

// get is GetLog; mu is held.
func (j *journal) get(index uint64, e *raft.Log) error {
	if n := len(j.newest); n > 0 && index >= j.newest[0].Index && index-j.newest[0].Index < uint64(n) {
		*e = *j.newest[index-j.newest[0].Index]
		return nil
	}
	return j.boltLog.GetLog(index, e)
}

// FirstIndex implements raft.LogStore.
func (j *journal) FirstIndex() (uint64, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	i, err := j.boltLog.FirstIndex()
	if err == nil && i == 0 && len(j.newest) > 0 {
		i = j.newest[0].Index
	}
	return i, err
}

// LastIndex implements raft.LogStore.
func (j *journal) LastIndex() (uint64, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if n := len(j.newest); n > 0 {
		return j.newest[n-1].Index, nil
	}
	return j.boltLog.LastIndex()
}

// DeleteRange implements raft.LogStore. Removed entries must not come back from the
// file.
func (j *journal) DeleteRange(from, to uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return j.broken
	}
	if j.ahead[0] != 0 && to >= j.ahead[0] {
		return pgerr.Internal("raft removes entries %d to %d, and entry %d is committed", from, to, j.ahead[0])
	}
	if err := j.flush(); err != nil {
		return err
	}
	first, err := j.boltLog.FirstIndex()
	if err != nil {
		return err
	}
	last, err := j.boltLog.LastIndex()
	if err != nil {
		return err
	}
	if to >= last { // the end of the log is removed: update the stored last entry first
		end := uint64(0)
		if from > first {
			end = from - 1
		}
		if err := j.Set(flushedKey, flushedValue(j.gen-1, end)); err != nil {
			return err
		}
	}
	return j.boltLog.DeleteRange(from, to)
}

// Close moves all entries to bbolt, if it can, and closes the files.
func (j *journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if len(j.newest) > 0 && j.broken == nil {
		if err = j.flush(); pgerr.CodeOf(err) == pgerr.DiskFull {
			err = nil // they are in the journal
		}
	}
	return errors.Join(err, j.file.Close(), j.boltLog.Close())
}
