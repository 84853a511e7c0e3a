package object

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Local is the server's disks. Names are paths, or file:// and one. A file is written in its place, so that devices
// and pipes can be named too, and is not atomic.
var Local Store = local{}

type local struct{}

func path(name string) string { return strings.TrimPrefix(name, "file://") }

// Stat implements Store. Only regular files can be read: a FIFO would be waited for, and read once only.
func (local) Stat(_ context.Context, name string) (Info, error) {
	p := path(name)
	st, err := os.Stat(p)
	switch {
	case err != nil:
		return Info{}, openError(p, "reading", err)
	case st.IsDir():
		return Info{}, pgerr.New(pgerr.WrongObjectType, "%q is a directory", p)
	case !st.Mode().IsRegular():
		return Info{}, pgerr.New(pgerr.WrongObjectType, "%q is not a regular file", p)
	}
	return Info{Name: p, Size: st.Size(), Version: strconv.FormatInt(st.ModTime().UnixNano(), 10)}, nil
}

// List implements Store. Directories that match among several names are left out.
func (l local) List(ctx context.Context, pattern string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		paths, err := filepath.Glob(path(pattern))
		if err != nil {
			yield(Info{}, badPattern(path(pattern)))
			return
		}
		slices.Sort(paths)
		for _, p := range paths {
			if st, err := os.Stat(p); err == nil && st.IsDir() && len(paths) > 1 {
				continue
			}
			if f, err := l.Stat(ctx, p); !yield(f, err) || err != nil {
				return
			}
		}
	}
}

func badPattern(pattern string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid file pattern %q", pattern)
}

type localFile struct{ *os.File }

// Prefetch implements File: the system reads ahead.
func (localFile) Prefetch(...Range) {}

// Open implements Store.
func (local) Open(_ context.Context, f Info) (File, error) {
	in, err := os.Open(path(f.Name))
	if err != nil {
		return nil, openError(path(f.Name), "reading", err)
	}
	return localFile{in}, nil
}

type localWriter struct{ *os.File }

func (w localWriter) Write(b []byte) (int, error) {
	n, err := w.File.Write(b)
	return n, disk.Error(err, "could not write to file "+strconv.Quote(w.Name()))
}

// Commit implements Writer.
func (w localWriter) Commit() error {
	return disk.Error(w.Close(), "could not write to file "+strconv.Quote(w.Name()))
}

// Abort implements Writer.
func (w localWriter) Abort() { _ = w.Close() }

// Create implements Store.
func (local) Create(_ context.Context, name string, _ Charge) (Writer, error) {
	p := path(name)
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, openError(p, "writing", err)
	}
	return localWriter{f}, nil
}

// Remove implements Store.
func (local) Remove(_ context.Context, name string) error {
	if err := os.Remove(path(name)); !errors.Is(err, fs.ErrNotExist) {
		return disk.Error(err, "could not remove file "+strconv.Quote(path(name)))
	}
	return nil
}

// openError returns a file system's error worded as PostgreSQL does.
func openError(path, verb string, err error) error {
	code, reason := pgerr.IOError, err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, reason = pgerr.UndefinedFile, "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		code, reason = pgerr.InsufficientPrivilege, "Permission denied"
	}
	return pgerr.New(code, "could not open file %q for %s: %s", path, verb, reason)
}
