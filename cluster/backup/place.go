package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// place is where backups lie. What is not there is fs.ErrNotExist.
type place interface {
	Open(path string) (io.ReadCloser, error)
	Size(path string) (int64, error)
	// Names lists what is directly in a directory.
	Names(dir string) ([]string, error)
	Remove(path string) error
	MkdirAll(dir string) error
	// Write writes a file, which is there in full or not at all. On a disk its name is on stable storage after SyncDir
	// of its directory.
	Write(path string, fill func(io.Writer) error) error
	SyncDir(dir string) error
	// Lock fails with disk.ErrLocked where another has it.
	Lock(path string) (object.Lease, error)
	Join(parts ...string) string
}

// directory is a place on a disk.
type directory struct{ disk.FS }

func (directory) Join(parts ...string) string { return filepath.Join(parts...) }

func (d directory) Size(path string) (int64, error) {
	st, err := d.Stat(path)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (d directory) Names(dir string) (out []string, _ error) {
	entries, err := d.ReadDir(dir)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, err
}

func (directory) Lock(path string) (object.Lease, error) {
	f, err := disk.Lock(path)
	if err != nil {
		return nil, err
	}
	return lockedFile{f}, nil
}

// lockedFile is a lock that the system keeps while its file is open.
type lockedFile struct{ file io.Closer }

func (lockedFile) Held() error      { return nil }
func (l lockedFile) Release() error { return l.file.Close() }

// Write implements place: the file gets its name once it is on stable storage. Of two that write it at once each has a file
// of its own before.
func (d directory) Write(path string, fill func(io.Writer) error) error {
	temp := path + "." + rand.Text()[:8] + tempSuffix
	f, err := d.Create(temp)
	if err != nil {
		return err
	}
	w := &syncing{File: f}
	if err = fill(w); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = d.Rename(temp, path)
	}
	if err != nil {
		_ = d.Remove(temp)
	}
	return err
}

// prefix is a place in a bucket: all keys that begin so. It is one statement's, or command's.
type prefix struct {
	ctx    context.Context
	store  object.Store
	charge object.Charge // of parts that are uploaded
}

func (prefix) Join(parts ...string) string { return parts[0] + "/" + path.Join(parts[1:]...) }

func missing(err error) error {
	if pgerr.Is(err, pgerr.UndefinedFile) {
		return errors.Join(fs.ErrNotExist, err)
	}
	return err
}

func (p prefix) Open(path string) (io.ReadCloser, error) {
	f, err := p.store.Stat(p.ctx, path)
	if err != nil {
		return nil, missing(err)
	}
	return p.store.Open(p.ctx, f)
}

func (p prefix) Size(path string) (int64, error) {
	f, err := p.store.Stat(p.ctx, path)
	return f.Size, missing(err)
}

func (p prefix) Names(dir string) (out []string, _ error) {
	for f, err := range p.store.List(p.ctx, dir+"/*") {
		if err != nil {
			return nil, missing(err)
		}
		out = append(out, strings.TrimPrefix(f.Name, dir+"/"))
	}
	return out, nil
}

func (p prefix) Remove(path string) error { return p.store.Remove(p.ctx, path) }

// MkdirAll and SyncDir have nothing to do: there are keys only, and what was written is there.
func (prefix) MkdirAll(string) error { return nil }
func (prefix) SyncDir(string) error  { return nil }

func (p prefix) Write(path string, fill func(io.Writer) error) error {
	w, err := p.store.Create(p.ctx, path, p.charge)
	if err != nil {
		return err
	}
	if err := fill(w); err != nil {
		w.Abort()
		return err
	}
	return w.Commit()
}

func (p prefix) Lock(path string) (object.Lease, error) {
	l, ok := p.store.(object.Leaser)
	if !ok {
		return nil, pgerr.Internal("%q cannot be locked", path)
	}
	lease, err := l.Lease(p.ctx, path)
	if errors.Is(err, object.ErrLeased) {
		err = disk.ErrLocked
	}
	return lease, err
}
