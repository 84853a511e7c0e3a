package errfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/tributarydb/tributary/exec/disk"
)

// ErrCrashed is the error of every call after a crash.
var ErrCrashed = errors.New("the power is off")

// block is the size that a disk writes atomically.
const block = 512

// FS implements disk.FS. Its methods may be called from any goroutine.
type FS struct {
	mu    sync.Mutex
	files map[string]*file // as programs see it
	after map[string]*file // as it is on the disk
	late  []change         // made and not synced, in order
	steps int
	clock int64

	at    int
	crash bool
	err   error
	lasts bool
	dead  bool
}

// file is an inode.
type file struct {
	data   []byte
	synced int // so much of data is on the disk
	mtime  int64
}

// change is a change of a directory.
type change struct {
	dir    string
	remove string // a name that is gone, "" for none
	add    string
	file   *file
}

var _ disk.FS = (*FS)(nil)

// New returns an empty file system without failures.
func New() *FS { return &FS{files: map[string]*file{}, after: map[string]*file{}} }

// CrashAt makes step n the last one: it is carried out in part.
func (f *FS) CrashAt(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.crash = n, true
}

// FailAt fails step n with err; with lasts also all later steps that need space, until
// Heal.
func (f *FS) FailAt(n int, err error, lasts bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.err, f.lasts = n, err, lasts
}

// Heal ends all failures.
func (f *FS) Heal() { f.FailAt(0, nil, false) }

// Steps returns how many steps were requested.
func (f *FS) Steps() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.steps
}

// step counts a change; last reports whether the crash comes with it. fills says that
// it needs space. The lock is held.
func (f *FS) step(fills bool) (last bool, err error) {
	if f.dead {
		return false, ErrCrashed
	}
	f.steps++
	switch {
	case f.at == 0:
	case f.crash && f.steps == f.at:
		f.dead = true
		return true, ErrCrashed
	case f.err != nil && (f.steps == f.at || f.lasts && fills && f.steps > f.at):
		return false, f.err
	}
	return false, nil
}

// Reboot returns a file system with what may be on the disk after the crash.
func (f *FS) Reboot(r *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := New()
	out.clock = f.clock + 1
	// A file system may write directories back in any order.
	for _, c := range f.late {
		if r.IntN(2) == 0 {
			c.apply(f.after)
		}
	}
	f.late = nil
	seen := map[*file]*file{}
	for _, name := range sorted(f.after) {
		old := f.after[name]
		if seen[old] == nil {
			seen[old] = old.torn(r)
		}
		out.files[name], out.after[name] = seen[old], seen[old]
	}
	return out
}

// torn returns what may be left of a file after the crash.
func (x *file) torn(r *rand.Rand) *file {
	n := x.synced + r.IntN(len(x.data)-x.synced+1)
	data := bytes.Clone(x.data[:n])
	for at := x.synced; at < n; at += block - at%block {
		if r.IntN(3) == 0 {
			clear(data[at:min(n, at+block-at%block)])
		}
	}
	return &file{data: data, synced: n, mtime: x.mtime}
}

func sorted(m map[string]*file) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (c change) apply(to map[string]*file) {
	if c.remove != "" {
		delete(to, c.remove)
	}
	if c.add != "" {
		to[c.add] = c.file
	}
}

// enter makes a change of a directory, which is durable after SyncDir.
func (f *FS) enter(c change) {
	c.apply(f.files)
	f.late = append(f.late, c)
}

// Create implements disk.FS.
func (f *FS) Create(path string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, err := f.step(true)
	if err != nil && !last {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	if f.files[path] != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	f.clock++
	x := &file{mtime: f.clock}
	f.enter(change{dir: filepath.Dir(path), add: path, file: x})
	return &writer{f, x, path}, err
}

type writer struct {
	f    *FS
	x    *file
	path string
}

func (w *writer) Write(b []byte) (int, error) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	last, err := w.f.step(true)
	w.f.clock++
	w.x.mtime = w.f.clock
	switch {
	case err == nil || last:
		w.x.data = append(w.x.data, b...) // how much of it stays, Reboot decides
		return len(b), err
	case errors.Is(err, ErrCrashed):
		return 0, err
	}
	// A full disk writes what it has room for.
	w.x.data = append(w.x.data, b[:len(b)/2]...)
	return len(b) / 2, &fs.PathError{Op: "write", Path: w.path, Err: err}
}

func (w *writer) Sync() error {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	if _, err := w.f.step(true); err != nil {
		return &fs.PathError{Op: "sync", Path: w.path, Err: err}
	}
	w.x.synced = len(w.x.data)
	return nil
}

func (w *writer) Close() error { return nil }

// Rename implements disk.FS.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, err := f.step(true)
	if err != nil && !last {
		return &fs.PathError{Op: "rename", Path: from, Err: err}
	}
	x := f.files[from]
	if x == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	f.enter(change{dir: filepath.Dir(to), remove: from, add: to, file: x})
	return err
}

// Remove implements disk.FS.
func (f *FS) Remove(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, err := f.step(false)
	if err != nil && !last {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	if f.files[path] == nil {
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrNotExist}
	}
	f.enter(change{dir: filepath.Dir(path), remove: path})
	return err
}

// SyncDir implements disk.FS.
func (f *FS) SyncDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.step(true); err != nil {
		return &fs.PathError{Op: "sync", Path: dir, Err: err}
	}
	dir = filepath.Clean(dir)
	f.late = slices.DeleteFunc(f.late, func(c change) bool {
		if c.dir == dir {
			c.apply(f.after)
			return true
		}
		return false
	})
	return nil
}

// MkdirAll implements disk.FS: directories are there.
func (f *FS) MkdirAll(string) error { return nil }

func (f *FS) get(op, path string) (*file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, &fs.PathError{Op: op, Path: path, Err: ErrCrashed}
	}
	x := f.files[path]
	if x == nil {
		return nil, &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist}
	}
	return &file{data: x.data[:len(x.data):len(x.data)], mtime: x.mtime}, nil // files only grow
}

// Open implements disk.FS.
func (f *FS) Open(path string) (io.ReadCloser, error) {
	x, err := f.get("open", path)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(x.data)), nil
}

// OpenDirect implements disk.FS.
func (f *FS) OpenDirect(path string) (io.ReadCloser, error) { return f.Open(path) }

// Map implements disk.FS.
func (f *FS) Map(path string) (*disk.Mapping, error) {
	x, err := f.get("map", path)
	if err != nil {
		return nil, err
	}
	m := &disk.Mapping{Unmap: func() {}}
	if len(x.data) > 0 {
		words := make([]uint64, (len(x.data)+7)/8) // for 8-byte alignment
		m.Data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(x.data))
		copy(m.Data, x.data)
	}
	return m, nil
}

// Stat implements disk.FS.
func (f *FS) Stat(path string) (fs.FileInfo, error) {
	x, err := f.get("stat", path)
	if err != nil {
		return nil, err
	}
	return info{filepath.Base(path), x}, nil
}

// ReadDir implements disk.FS.
func (f *FS) ReadDir(dir string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, ErrCrashed
	}
	var out []fs.DirEntry
	for _, name := range sorted(f.files) {
		if rest, ok := strings.CutPrefix(name, filepath.Clean(dir)+"/"); ok && !strings.Contains(rest, "/") {
			out = append(out, fs.FileInfoToDirEntry(info{rest, f.files[name]}))
		}
	}
	return out, nil
}

type info struct {
	name string
	x    *file
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.x.data)) }
func (i info) Mode() fs.FileMode  { return 0o600 }
func (i info) ModTime() time.Time { return time.Unix(0, i.x.mtime) }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }
