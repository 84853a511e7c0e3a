package source

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"path/filepath"
	"slices"

	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// file is one file that a pattern names.
type file struct {
	store object.Store
	info  object.Info
	path  string
	name  string // in errors; "" for the path
	size  int64
	key   string // path, size and time of change: cached facts are valid for it
	// packing is how it is compressed, "none", "gzip" or "zstd", and charset its encoding, nil for UTF8.
	packing string
	charset *charset.Charset
}

// shown is what errors call the file.
func (f file) shown() string {
	if f.name != "" {
		return f.name
	}
	return f.path
}

// packed reports whether it is a compressed file, which can be read from its beginning only.
func (f file) packed() bool { return f.packing == "gzip" || f.packing == "zstd" }

// open opens it, for reads that end with ctx.
func (f file) open(ctx context.Context) (object.File, error) { return f.store.Open(ctx, f.info) }

// everywhere reports whether all nodes can read all files: they lie in buckets, or below some of the directories.
func everywhere(files []file, directories []string) bool {
	for _, f := range files {
		if object.Remote(f.path) {
			continue
		}
		path := filepath.Clean(f.path)
		if !slices.ContainsFunc(directories, func(d string) bool {
			rel, err := filepath.Rel(d, path)
			return err == nil && filepath.IsLocal(rel)
		}) {
			return false
		}
	}
	return true
}

// digest returns a digest of files: their paths, sizes and times of change; never 0.
func digest(files []file) uint64 {
	h := fnv.New64a()
	for _, f := range files {
		_, _ = io.WriteString(h, f.key)
		_, _ = h.Write([]byte{0})
	}
	return max(h.Sum64(), 1)
}

// fileOf returns the file that has a unit: starts has each file's first unit, and the number of
// all.
func fileOf(starts []int64, unit int64) int {
	i, found := slices.BinarySearch(starts, unit)
	for found && i+1 < len(starts) && starts[i+1] == unit { // files without units
		i++
	}
	if !found {
		i--
	}
	return i
}

// ReadError is an error of reading a file, with its name.
func ReadError(path string, err error) error {
	var told *pgerr.Error
	if errors.As(err, &told) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return pgerr.New(pgerr.IOError, "could not read file %q: %v", path, err)
}

// openText opens a file's text, uncompressed, as UTF8.
func openText(ctx context.Context, f file) (io.ReadCloser, error) {
	h, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := copyfmt.Unpack(h, f.packing)
	if err != nil {
		_ = h.Close()
		return nil, ReadError(f.path, err)
	}
	if f.charset == nil {
		return r, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{f.charset.Reader(r), r}, nil
}

// Named returns a reader whose errors have a file's name.
func Named(r io.Reader, path string) io.Reader { return named{r, path} }

// named adds the file's name to errors of reading.
type named struct {
	r    io.Reader
	path string
}

func (n named) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil && err != io.EOF {
		err = ReadError(n.path, err)
	}
	return k, err
}
