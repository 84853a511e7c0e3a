package tempfile

import (
	"bufio"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"unsafe"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// File is a file without a name that only grows. Reads are checked against the
// checksums of what was written: a model of damaged rows would look like any other. Its
// methods may be called from any goroutine.
type File struct {
	mu   sync.Mutex
	Dir  string // where it is; "" for the system's
	f    *os.File
	size int64
	// holes are bytes that were never written, which take no disk space.
	holes int64
}

// Extent is a contiguous part of a File.
type Extent struct {
	Off int64
	Len int
	Sum uint32 // CRC-32C
}

// Castagnoli is the table of the checksums.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Check checks bytes that were read against the extent's checksum.
func (e Extent) Check(b []byte) error {
	if crc32.Checksum(b, Castagnoli) != e.Sum {
		return ErrDamaged()
	}
	return nil
}

// ErrDamaged is the error of bytes that do not have their checksum.
func ErrDamaged() error {
	return pgerr.New(pgerr.DataCorrupted, "temporary training data is damaged").
		WithHint("The disk of the directory for temporary files, or the memory of the machine, has a fault.")
}

// PageSize is what mapped extents are aligned to.
const PageSize = 4096

func diskError(err error) error { return disk.Error(err, "could not access temporary training data") }

// reserve returns the place for n bytes, opening the file at first.
func (t *File) reserve(n int, align int64) (Extent, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil {
		f, err := os.CreateTemp(t.Dir, "training-*")
		if err != nil {
			return Extent{}, diskError(err)
		}
		// Gone from the directory at once: nothing is left behind by a crash.
		if err := os.Remove(f.Name()); err != nil {
			return Extent{}, errors.Join(diskError(err), f.Close())
		}
		t.f = f
	}
	off := (t.size + align - 1) / align * align
	t.size = off + int64(n)
	return Extent{Off: off, Len: n}, nil
}

// Write appends parts as one extent.
func (t *File) Write(align int64, parts ...[]byte) (Extent, error) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return t.Stream(n, align, func(w io.Writer) error {
		for _, p := range parts {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		return nil
	})
}

// Stream appends the n bytes that emit writes as one extent.
func (t *File) Stream(n int, align int64, emit func(w io.Writer) error) (Extent, error) {
	e, err := t.reserve(n, align)
	if err != nil {
		return e, err
	}
	sum := crc32.New(Castagnoli)
	w := bufio.NewWriterSize(io.MultiWriter(io.NewOffsetWriter(t.f, e.Off), sum), 1<<20)
	if err := emit(w); err != nil {
		return e, diskError(err)
	}
	if err := w.Flush(); err != nil {
		return e, diskError(err)
	}
	e.Sum = sum.Sum32()
	return e, nil
}

// GiveBack says that of an extent only the first n bytes were written.
func (t *File) GiveBack(e Extent, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size == e.Off+int64(e.Len) {
		t.size = e.Off + int64(n)
	} else {
		t.holes += int64(e.Len - n)
	}
}

// ReadAt implements io.ReaderAt.
func (t *File) ReadAt(dst []byte, off int64) (int, error) {
	n, err := t.f.ReadAt(dst, off)
	if err != nil && err != io.EOF {
		err = diskError(err)
	}
	return n, err
}

// ReadFull reads a part of an extent. The caller checks the extent's checksum.
func (t *File) ReadFull(off int64, dst []byte) error {
	if _, err := t.f.ReadAt(dst, off); err != nil {
		return diskError(err)
	}
	return nil
}

// Size is the size of the file.
func (t *File) Size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size - t.holes
}

// Close frees the disk space.
func (t *File) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil {
		return nil
	}
	f := t.f
	t.f, t.size, t.holes = nil, 0, 0
	return f.Close()
}

// ErrNoMapping says that files cannot be written through memory here.
var ErrNoMapping = errors.New("no writable mappings")

// Bytes views numbers as their bytes in this machine's order; such bytes never
// leave the machine.
func Bytes[T int32 | int64 | float32 | float64 | uint32 | ~[16]byte](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}

// Numbers is the reverse of Bytes; b is aligned to eight bytes.
func Numbers[T uint16 | int32 | int64 | float32 | float64 | uint32 | ~[16]byte](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(z)))
}
