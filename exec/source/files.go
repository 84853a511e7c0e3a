package source

import (
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/exec/copyfmt"
	"github.com/tributarydb/tributary/sql/charset"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// file is one file that a pattern names.
type file struct {
	path string
	name string // in errors; "" for the path
	size int64
	key  string // path, size and time of change: cached facts are valid for it
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

// expand finds the files that patterns name: those of one pattern by name, the
// patterns in their order.
func expand(patterns []string) ([]file, error) {
	var out []file
	for _, p := range patterns {
		if i := strings.Index(p, "://"); i > 0 {
			if !strings.HasPrefix(p, "file://") {
				return nil, pgerr.Unsupported("reading from %s is not supported", p[:i+3])
			}
			p = strings.TrimPrefix(p, "file://")
		}
		paths := []string{p}
		if strings.ContainsAny(p, "*?[") {
			var err error
			if paths, err = filepath.Glob(p); err != nil {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid file pattern %q", p)
			}
			if len(paths) == 0 {
				return nil, pgerr.New(pgerr.UndefinedFile, "no files match the pattern %q", p)
			}
			slices.Sort(paths)
		}
		for _, path := range paths {
			st, err := os.Stat(path)
			if err != nil {
				return nil, fileError(path, err)
			}
			if st.IsDir() {
				if len(paths) > 1 {
					continue
				}
				return nil, pgerr.New(pgerr.WrongObjectType, "%q is a directory", path)
			}
			if !st.Mode().IsRegular() { // a FIFO would be waited for, and read once only
				return nil, pgerr.New(pgerr.WrongObjectType, "%q is not a regular file", path)
			}
			out = append(out, file{path: path, size: st.Size(), packing: copyfmt.Packing(path),
				key: path + "\x00" + strconv.FormatInt(st.Size(), 10) + "\x00" + strconv.FormatInt(st.ModTime().UnixNano(), 10)})
		}
	}
	if len(out) == 0 {
		return nil, pgerr.New(pgerr.UndefinedFile, "no files are given")
	}
	return out, nil
}

// below reports whether all files lie below some of the directories.
func below(files []file, directories []string) bool {
	for _, f := range files {
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

// fileError returns a file system error worded as PostgreSQL does.
func fileError(path string, err error) error {
	code, reason := pgerr.IOError, err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, reason = pgerr.UndefinedFile, "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		code, reason = pgerr.InsufficientPrivilege, "Permission denied"
	}
	return pgerr.New(code, "could not open file %q for reading: %s", path, reason)
}

func readError(path string, err error) error {
	return pgerr.New(pgerr.IOError, "could not read file %q: %v", path, err)
}

// openText opens a file's text, uncompressed, as UTF8.
func openText(f file) (io.ReadCloser, error) {
	h, err := os.Open(f.path)
	if err != nil {
		return nil, fileError(f.path, err)
	}
	r, err := copyfmt.Unpack(h, f.packing)
	if err != nil {
		_ = h.Close()
		return nil, readError(f.path, err)
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
	var told *pgerr.Error // of the encoding
	if err != nil && err != io.EOF && !errors.As(err, &told) {
		err = readError(n.path, err)
	}
	return k, err
}
