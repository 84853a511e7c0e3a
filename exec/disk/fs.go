package disk

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FS is a file system. Paths are as package os has them.
type FS interface {
	// Create makes a file that is not there yet.
	Create(path string) (File, error)
	Open(path string) (io.ReadCloser, error)
	// OpenDirect opens a file for a reader that wants the bytes of the device and
	// not those the system remembers of it, where the system can do that.
	OpenDirect(path string) (io.ReadCloser, error)
	Map(path string) (*Mapping, error)
	Stat(path string) (fs.FileInfo, error)
	ReadDir(dir string) ([]fs.DirEntry, error)
	Rename(from, to string) error
	Remove(path string) error
	MkdirAll(dir string) error
	// SyncDir puts what was made, renamed and removed in a directory on stable
	// storage.
	SyncDir(dir string) error
}

// Mapping is a file's bytes, to be read only, until Unmap is called.
type Mapping struct {
	Data []byte
	// Stat returns the size and the time of the last write, in nanoseconds since 1970, of the file that is mapped,
	// whatever has its name by now. It takes a fifth of FS.Stat's time. It is nil where the file is not open any more.
	Stat  func() (size, modified int64, err error)
	Unmap func()

	advise func(b []byte, random bool) // tells the system how pages of Data will be read; nil: it need not know
}

// Random says that parts of the file are read, and not what lies around them. Systems read up to 8 MiB around a page that is
// missing, of which a scan of a few columns needs little. Without Prefetch each page is then read on its own.
func (m *Mapping) Random() {
	if m.advise != nil {
		m.advise(m.Data, true)
	}
}

// Prefetch has the system begin to read bytes that are needed soon, of a mapping that is not empty. It does not wait for them.
func (m *Mapping) Prefetch(off, n int64) {
	if m.advise != nil {
		m.advise(m.Data[off:off+n], false)
	}
}

// File is a file being written.
type File interface {
	io.WriteCloser
	Sync() error
}

// OS is the system's own.
var OS FS = system{}

type system struct{}

func (system) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}
func (system) Open(path string) (io.ReadCloser, error)       { return os.Open(path) }
func (system) Stat(path string) (fs.FileInfo, error)         { return os.Stat(path) }
func (system) ReadDir(dir string) ([]fs.DirEntry, error)     { return os.ReadDir(dir) }
func (system) Rename(from, to string) error                  { return os.Rename(from, to) }
func (system) Remove(path string) error                      { return os.Remove(path) }
func (system) MkdirAll(dir string) error                     { return os.MkdirAll(dir, 0o700) }
func (system) Map(path string) (*Mapping, error)             { return mapFile(path) }
func (system) OpenDirect(path string) (io.ReadCloser, error) { return openDirect(path) }

func (system) SyncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
