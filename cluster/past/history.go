package past

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Others asks other nodes' Tell for what a ticket says, one after the other, until take takes an answer.
type Others func(ctx context.Context, ticket []byte, take func(recv func() ([]byte, error)) error) error

// Options are the options of a History.
type Options struct {
	Dir   string
	Files disk.FS
	Pool  *mem.Pool // for states that were read; nil: they are not charged
	Log   *slog.Logger
	// Room is an error where the disk has so little room that history gives way; nil: it has. Of what an archive lacks ArchiveBytes
	// stay even then (0: 128 MiB): without the commits its files do not come, and those may be what fills the disk.
	Room         func() error
	ArchiveBytes int64
	// StateEvery is after how many bytes of commits a state is written, at least; 0: 16 MiB. Commits is after how many
	// commits; 0: 50,000. MaxBytes bounds all files, but those that an archive lacks; 0: 4 GiB.
	StateEvery, MaxBytes int64
	Commits              int
	Now                  func() time.Time // nil: time.Now
	// Others asks other nodes; nil: there are none.
	Others Others
}

// History writes down what a node applies, and reads it. It implements meta.Recorder.
type History struct {
	o Options

	mu      sync.Mutex
	files   []*file   // the oldest first; of a version commits before the state
	out     disk.File // of the newest commits; nil: the next commit begins one
	writing *file     // that out is
	buf     []byte    // of records, to be written to out
	last    uint64    // the version of the last record; 0: none is known
	cluster catalog.ClusterID
	pending *catalog.State // to be written
	since   int64          // bytes of commits after the last state
	commits int            // the same
	size    int64          // of the last state's file
	full    bool           // the disk is
	gives   bool           // so nothing is written
	of      *catalog.Definitions
	keep    time.Duration    // how long, by the definitions of
	archive *catalog.Archive // that needs the commits after its version; nil for none

	states cache
}

// maxBuf is how much is written at once.
const maxBuf = 64 << 10

// Open reads what there is of a directory, and goes on from it.
func Open(o Options) (*History, error) {
	o.StateEvery, o.MaxBytes, o.ArchiveBytes, o.Commits = cmp.Or(o.StateEvery, 16<<20), cmp.Or(o.MaxBytes, 4<<30), cmp.Or(o.ArchiveBytes, 128<<20), cmp.Or(o.Commits, 50000)
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &History{o: o}
	if o.Pool != nil {
		h.states.begin(o.Pool)
	}
	if err := o.Files.MkdirAll(o.Dir); err != nil {
		return nil, disk.Error(err, "could not make directory "+o.Dir)
	}
	entries, err := o.Files.ReadDir(o.Dir)
	if err != nil {
		return nil, disk.Error(err, "could not read directory "+o.Dir)
	}
	for _, e := range entries {
		path := filepath.Join(o.Dir, e.Name())
		f, err := h.look(path, e)
		if err != nil {
			_ = o.Files.Remove(path)
			continue
		}
		h.files = append(h.files, f)
	}
	h.order()
	h.follow()
	return h, nil
}

// look reads a file's header.
func (h *History) look(path string, e fs.DirEntry) (*file, error) {
	state := strings.HasSuffix(path, stateEnd)
	if !state && !strings.HasSuffix(path, commitsEnd) {
		return nil, errTorn
	}
	st, err := e.Info()
	if err != nil {
		return nil, err
	}
	r, err := h.o.Files.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	head, err := readHeader(r)
	return &file{head, path, state, st.Size()}, err
}

func (h *History) order() {
	slices.SortFunc(h.files, func(a, b *file) int {
		return cmp.Or(cmp.Compare(a.version, b.version), strings.Compare(a.path, b.path))
	})
}

// follow finds the version of the last record, from which commits go on.
func (h *History) follow() {
	at := -1
	for i, f := range h.files {
		if f.state {
			h.since, h.commits, h.size = 0, 0, f.bytes
		} else {
			at = i
			h.since += f.bytes
		}
	}
	if at < 0 || !slices.ContainsFunc(h.files, func(f *file) bool { return f.state }) {
		return // nothing to go on from
	}
	f := h.files[at]
	h.cluster, h.last = f.cluster, f.version
	r, err := h.o.Files.Open(f.path)
	if err != nil {
		return
	}
	defer r.Close()
	in := bufio.NewReaderSize(r, 1<<20)
	if _, err := readHeader(in); err != nil {
		return
	}
	var buf []byte
	for {
		var rec Record
		if rec, buf, err = ReadRecord(in, buf); err != nil || rec.Before != h.last {
			return
		}
		h.last = rec.Version
		h.commits++
	}
}

// Began implements meta.Recorder: what was is not known of a state that came from elsewhere, unless it is one that has been
// written down.
func (h *History) Began(with *catalog.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.belong(with)
	if with.Version() > h.last {
		h.stop()
	}
}

// belong forgets what is another cluster's.
func (h *History) belong(s *catalog.State) {
	if s.Cluster() == h.cluster {
		return
	}
	h.stop()
	for _, f := range h.files {
		_ = h.o.Files.Remove(f.path)
	}
	h.files, h.last, h.cluster, h.pending = nil, 0, s.Cluster(), nil
	h.states.clear()
}

// stop ends the file of commits.
func (h *History) stop() {
	if h.out == nil {
		return
	}
	h.flush()
	if h.out != nil {
		_ = h.out.Close()
	}
	h.out = nil
}

// Applied implements meta.Recorder.
func (h *History) Applied(before, after *catalog.State, command []byte) {
	if after.Cluster().IsZero() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.belong(after)
	if after.Version() <= h.last {
		return // it was before the process ended
	}
	if d := after.Definitions(); d != h.of {
		h.of, h.keep = d, catalog.LongestRetention(after)
	}
	if h.archive = catalog.KeptFor(after); h.gives || !h.wanted() {
		h.stop()
		return
	}
	if h.out == nil || before.Version() != h.last {
		h.begin(before, h.last == 0 || before.Version() != h.last)
	}
	if h.out == nil {
		return
	}
	n := len(h.buf)
	h.buf = Record{before.Version(), after.Version(), after.Time().UnixMicro(), command}.Append(h.buf)
	n = len(h.buf) - n
	h.last, h.since, h.commits = after.Version(), h.since+int64(n), h.commits+1
	h.writing.bytes += int64(n)
	if len(h.buf) >= maxBuf {
		h.flush()
	}
	if h.pending == nil && (h.since > max(h.o.StateEvery, 2*h.size) || h.commits >= h.o.Commits) {
		h.begin(after, true)
	}
}

// wanted reports whether anything is to be written down.
func (h *History) wanted() bool { return h.keep > 0 || h.archive != nil }

// begin begins a file of commits after a state, which is written too if that is asked for.
func (h *History) begin(s *catalog.State, state bool) {
	h.stop()
	head := headerOf(s, h.cluster)
	f := &file{header: head, path: filepath.Join(h.o.Dir, nameOf(head.version, commitsEnd)), bytes: int64(headerSize)}
	_ = h.o.Files.Remove(f.path) // of a start after which nothing was committed
	out, err := h.o.Files.Create(f.path)
	if err != nil {
		h.failed(err)
		return
	}
	h.out, h.writing, h.buf, h.last = out, f, head.append(h.buf[:0]), head.version
	h.files = slices.DeleteFunc(h.files, func(x *file) bool { return x.path == f.path })
	h.files = append(h.files, f)
	if state {
		h.pending, h.since, h.commits = s, 0, 0
	}
}

// flush writes what is to be written.
func (h *History) flush() {
	if h.out == nil || len(h.buf) == 0 {
		return
	}
	_, err := h.out.Write(h.buf)
	if h.buf = h.buf[:0]; err != nil {
		h.failed(err)
	}
}

// failed ends the file of commits: what follows is not known.
func (h *History) failed(err error) {
	h.o.Log.Warn("the past is not written down: there is a gap", "err", err)
	if h.out != nil {
		_ = h.out.Close()
	}
	h.out, h.buf, h.last = nil, h.buf[:0], 0
}

// Run writes and removes files until ctx ends.
func (h *History) Run(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.write()
		if n%50 == 0 {
			h.Trim()
		}
	}
}

// write writes what waits for it.
func (h *History) write() {
	h.mu.Lock()
	h.flush()
	s, of := h.pending, h.cluster
	h.mu.Unlock()
	if s == nil {
		return
	}
	f, err := writeState(h.o.Files, h.o.Dir, s, of)
	h.mu.Lock()
	defer h.mu.Unlock()
	wanted := h.pending == s
	if wanted {
		h.pending = nil
	}
	switch {
	case err != nil:
		h.o.Log.Warn("a state of the past is not written down", "err", err)
	case !wanted:
		_ = h.o.Files.Remove(f.path)
	default:
		h.size = f.bytes
		h.files = append(slices.DeleteFunc(h.files, func(x *file) bool { return x.path == f.path }), f)
		h.order()
	}
}

// Trim removes what is older than is kept, and more where there is no room for it.
func (h *History) Trim() {
	var room error
	if h.o.Room != nil {
		room = h.o.Room()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if (room != nil) != h.full {
		if h.full = room != nil; h.full {
			h.o.Log.Warn("the disk is nearly full: the history of the catalog is removed, the oldest first", "files", len(h.files))
		}
	}
	if h.of != nil && !h.wanted() {
		h.removeBefore(len(h.files))
		return
	}
	horizon := h.o.Now().Add(-h.keep).UnixMicro()
	if h.archive != nil {
		horizon = min(horizon, h.archive.Micros-1)
	}
	first, bytes := 0, int64(0)
	lacked, lackedBytes := 0, int64(0) // from which file on an archive lacks commits, and how much that is
	for i, f := range h.files {
		if f.state && f.micros <= horizon && h.of != nil {
			first = i
		}
		if f.state && h.archive != nil && f.micros < h.archive.Micros {
			lacked, lackedBytes = i, 0
		}
		bytes += f.bytes
		lackedBytes += f.bytes
	}
	// From the next state on, but what an archive lacks stays. What that is, is not known before the first commit.
	for i := first; bytes > h.o.MaxBytes && i < len(h.files) && h.of != nil; i++ {
		if h.archive != nil && h.files[i].version > h.archive.Version {
			break
		}
		if bytes -= h.files[i].bytes; h.files[i].state {
			first = i
		}
	}
	if h.full { // half of it each time
		if first = first + (len(h.files)-first+1)/2; len(h.files)-first <= 2 {
			first = len(h.files)
		}
	}
	if h.gives = h.full && (h.archive == nil || lackedBytes > h.o.ArchiveBytes); h.full && !h.gives {
		first = min(first, lacked)
	}
	h.removeBefore(first)
}

// removeBefore removes the files before that number that a state from there on does not need.
func (h *History) removeBefore(first int) {
	if first == 0 {
		return
	}
	gone := h.files[:first]
	h.files = slices.Clone(h.files[first:])
	if len(h.files) > 0 && h.files[0].state { // the commits that begin with this state come before it
		i := slices.IndexFunc(gone, func(f *file) bool { return !f.state && f.version == h.files[0].version })
		if i >= 0 {
			h.files = slices.Insert(h.files, 0, gone[i])
			gone = slices.Delete(slices.Clone(gone), i, i+1)
		}
	}
	for _, f := range gone {
		if err := h.o.Files.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.o.Log.Debug("removing a file of the past", "err", err)
		}
	}
	if len(h.files) == 0 {
		h.stop()
		h.last, h.pending = 0, nil
	}
}

// Usage is how many bytes the files have, and the earliest time that can be read; zero for none.
func (h *History) Usage() (bytes int64, from time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.files {
		bytes += f.bytes
	}
	return bytes, h.from()
}

// from is the time of the first state.
func (h *History) from() time.Time {
	for _, f := range h.files {
		if f.state && f.micros > 0 {
			return time.UnixMicro(f.micros).UTC()
		}
	}
	if h.pending != nil {
		return h.pending.Time()
	}
	return time.Time{}
}

// Close ends writing. Run has ended.
func (h *History) Close() {
	h.write()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stop()
	h.states.clear()
}
