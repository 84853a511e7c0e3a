package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Take receives a file: read passes its bytes on in blocks. It may be called again with another node's copy.
type Take func(read func(to func([]byte) error) error) error

// Options are how a backup is written. Source is required.
type Options struct {
	// Source gives the bytes of a file to take, which verifies them.
	Source func(ctx context.Context, f *catalog.Segment, take Take) error
	Rate   int64 // bytes a second that are read, 0 for no limit
	// Busy reports whether statements run, to which a backup without a rate leaves most of the time; nil: none do.
	Busy func() bool
	// Total is told before the first file is written how many bytes are needed; nil for nobody.
	Total func(bytes int64)
	// Progress is called at most once a second, by the goroutine that called Write.
	Progress func(Progress)
}

// Progress is how far a backup is.
type Progress struct {
	Files, Bytes int64 // there by now; bytes of files that are being written too
	Of, OfBytes  int64 // that are needed
	Written      int64 // bytes that this backup wrote
}

// parallel is how many files are written at once.
const parallel = 4

// Put writes a file if the directory does not have it yet.
func (d *Dir) Put(ctx context.Context, f *catalog.Segment, o Options) error {
	return (&writer{d: d, o: o}).put(ctx, f)
}

// PutAll writes files that the directory does not have yet; they are on stable storage then.
func (d *Dir) PutAll(ctx context.Context, files []*catalog.Segment, o Options) error {
	return (&writer{d: d, o: o}).putAll(ctx, files)
}

// Write makes a backup of a state, which may have what ends with sessions, and returns its name.
func (d *Dir) Write(ctx context.Context, h Head, state *catalog.State, o Options) (name string, p Progress, err error) {
	if err := d.belongs(h.Cluster); err != nil {
		return "", p, err
	}
	lasting, err := catalog.WithoutSessions(state)
	if err != nil {
		return "", p, err
	}
	files := unique(lasting)
	if isStorage(d, h.Cluster) { // it has these: nobody need ask for each
		files = slices.DeleteFunc(files, (*catalog.Segment).InBucket)
	}
	if h.Micros, h.Whole = max(state.Time().UnixMicro(), 0), !d.owner.IsZero() && h.Objects == ""; !h.Whole {
		state = lasting
	}
	w := &writer{d: d, o: o, pace: pace{rate: o.Rate, busy: o.Busy}}
	w.of, w.ofBytes = int64(len(files)), 0
	for _, f := range files {
		w.ofBytes += f.Bytes
	}
	if o.Total != nil {
		o.Total(w.ofBytes)
	}
	if err := w.putAll(ctx, files); err != nil {
		return "", w.progress(), err
	}
	encoded, err := state.MarshalBinary()
	if err != nil {
		return "", w.progress(), err
	}
	p = w.progress()
	h.Files, h.Bytes = p.Files, p.Bytes
	h.At = h.At.UTC().Add(time.Millisecond - 1).Truncate(time.Millisecond)
	for ; ; h.At = h.At.Add(time.Millisecond) { // two backups in a millisecond
		name = fmt.Sprintf("%s-%d", h.At.Format("20060102T150405.000Z"), h.Version)
		if _, err := d.fs.Size(d.backup(name)); err != nil {
			break
		}
	}
	if err := d.held(); err != nil { // who has the lock now removes files that only this backup names
		return "", p, err
	}
	return name, p, d.replace(filepath.Join("backups", name+backupEnd), encode(magic, codec.Marshal(h), encoded))
}

// unique lists the files of a state, each once.
func unique(state *catalog.State) (out []*catalog.Segment) {
	seen := map[catalog.SegmentID]struct{}{}
	for f := range catalog.FilesOf(state) {
		if _, twice := seen[f.ID]; !twice {
			seen[f.ID] = struct{}{}
			out = append(out, f)
		}
	}
	return out
}

// writer writes the files of one backup.
type writer struct {
	d    *Dir
	o    Options
	pace pace

	of, ofBytes           int64
	files, bytes, written atomic.Int64
}

func (w *writer) progress() Progress {
	return Progress{Files: w.files.Load(), Bytes: w.bytes.Load(), Of: w.of, OfBytes: w.ofBytes, Written: w.written.Load()}
}

// putAll writes the files, several at once.
func (w *writer) putAll(ctx context.Context, files []*catalog.Segment) error {
	done := make(chan error, 1)
	go func() {
		done <- EachOf(ctx, files, func(ctx context.Context, f *catalog.Segment) error {
			err := w.put(ctx, f)
			if err == nil {
				w.files.Add(1)
			}
			return err
		})
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if w.o.Progress != nil {
				w.o.Progress(w.progress())
			}
		case err := <-done:
			if err != nil {
				return err
			}
			return w.syncDirs(files)
		}
	}
}

// syncDirs puts the names of files on stable storage: also of those that a backup has left which was cut off before it
// did.
func (w *writer) syncDirs(files []*catalog.Segment) error {
	dirs := map[string]struct{}{w.d.join("files"): {}}
	for _, f := range files {
		dirs[filepath.Dir(w.d.file(f.ID))] = struct{}{}
	}
	for dir := range dirs {
		if err := w.d.fs.SyncDir(dir); err != nil {
			return ioError(err, w.d.path)
		}
	}
	return nil
}

// put writes a file unless it is there, in its full size as all that have their names are.
func (w *writer) put(ctx context.Context, f *catalog.Segment) error {
	path := w.d.file(f.ID)
	if size, err := w.d.fs.Size(path); err == nil && (f.Bytes == 0 || size == f.Bytes) {
		w.bytes.Add(size)
		return nil
	}
	dir := filepath.Dir(path)
	if err := w.d.fs.MkdirAll(dir); err != nil {
		return ioError(err, w.d.path)
	}
	err := w.o.Source(ctx, f, func(read func(func([]byte) error) error) error {
		sum := store.SumOf(f)
		n, last := int64(0), time.Now()
		err := w.d.fs.Write(path, func(to io.Writer) error {
			err := read(func(b []byte) error {
				if err := w.pace.wait(ctx, len(b), time.Since(last)); err != nil {
					return err
				}
				last = time.Now()
				if f.Bytes > 0 && n+int64(len(b)) > f.Bytes {
					return &store.CorruptError{Segment: f.ID, What: "more bytes than it has"}
				}
				n += int64(len(b))
				sum.Write(b)
				_, err := to.Write(b)
				w.bytes.Add(int64(len(b)))
				w.written.Add(int64(len(b)))
				return err
			})
			if err == nil && !sum.Good() {
				err = &store.CorruptError{Segment: f.ID, What: "the file has another hash"}
			}
			return err
		})
		if err != nil { // of a copy that was not good
			w.bytes.Add(-n)
		}
		return err
	})
	if err != nil {
		return ioError(err, w.d.path)
	}
	return nil
}

// Keep removes all but the newest n backups of the same objects of a cluster, of an archive the commits before the first backup that
// stays, and then the files that nothing names. It removes nothing where a backup cannot be read: its files are not known. read is as
// for Choose.
//
// live returns the state of the cluster, with all that was committed before the call, or nil to keep everything; it is used for an archive, to which another
// node may add commits meanwhile. Their files are not removed: one that was there when this began was committed by then. So the
// state names it, or keeps it for the past until its commits are in the archive, and then a file of commits does.
func (d *Dir) Keep(n int, cluster catalog.ClusterID, objects string, read func(name string) (*Backup, error), live func() (*catalog.State, error)) error {
	needed := map[string]struct{}{}
	need := func(f *catalog.Segment) { needed[f.ID.String()] = struct{}{} }
	there, err := d.files()
	if err != nil {
		return err
	}
	if !d.owner.IsZero() {
		now, err := live()
		if err != nil || now == nil {
			return err
		}
		for f := range catalog.FilesOf(now) {
			need(f)
		}
		for _, g := range now.Graves() {
			if g.File != nil {
				need(g.File)
			}
		}
	}
	names, err := d.Names()
	if err != nil {
		return err
	}
	var old []string
	first := uint64(0) // the version of the first backup that commits follow
	for _, name := range slices.Backward(names) {
		b, err := read(name)
		if err != nil {
			return err
		}
		earlier := isStorage(d, cluster) && b.Whole && b.Cluster != cluster // of who had the storage before
		if earlier || b.Cluster == cluster && b.Objects == objects {
			if !earlier {
				n--
			}
			if earlier || n < 0 {
				old = append(old, d.backup(name))
				continue
			}
		}
		if d.base(b.Head) {
			first = b.Version
		}
		state, err := b.Catalog()
		if err != nil {
			return err
		}
		for f := range catalog.FilesOf(state) {
			need(f)
		}
	}
	oldLogs, err := d.neededByLogs(first, needed)
	if err != nil {
		return err
	}
	// A backup must be gone for good before a file of it is.
	for _, x := range []struct {
		paths []string
		dir   string
	}{{old, "backups"}, {oldLogs, "log"}} {
		for _, path := range x.paths {
			if err := d.remove(path); err != nil {
				return err
			}
		}
		if len(x.paths) == 0 && x.dir == "log" {
			continue
		}
		if err := d.fs.SyncDir(d.join(x.dir)); err != nil {
			return ioError(err, d.path)
		}
	}
	for _, f := range there {
		_, ok := needed[f.name]
		if ok || !d.owner.IsZero() && strings.HasSuffix(f.name, tempSuffix) { // another node may write it
			continue
		}
		if err := d.remove(d.fs.Join(f.dir, f.name)); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file, unless another may write here by now.
func (d *Dir) remove(path string) error {
	if err := d.held(); err != nil {
		return err
	}
	return ioError(d.fs.Remove(path), d.path)
}

// present is a file in a directory.
type present struct{ dir, name string }

// files lists the files there are.
func (d *Dir) files() (out []present, _ error) {
	for i := range 256 {
		dir := d.join("files", fmt.Sprintf("%02x", i))
		names, err := d.fs.Names(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, ioError(err, d.path)
		}
		for _, n := range names {
			out = append(out, present{dir, n})
		}
	}
	return out, nil
}

// damagedFile reports a file that a backup names and the directory has not, or has damaged.
func damagedFile(name string, f *catalog.Segment, err error) error {
	return pgerr.Wrap(pgerr.DataCorrupted, err, "file %s of backup %q is damaged or missing", f.ID, name)
}

// Memory is what writing a backup takes beside the state's encoding.
const Memory = 2 * parallel << 20
