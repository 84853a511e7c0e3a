package dataset

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

// tempFile is a file without a name that only grows. Reads are checked against the
// checksums of what was written: a model of damaged rows would look like any other. Its
// methods may be called from any goroutine.
type tempFile struct {
	mu   sync.Mutex
	dir  string
	f    *os.File
	size int64
	// holes are bytes that were never written, which take no disk space.
	holes int64
}

// extent is a contiguous part of a tempFile.
type extent struct {
	off int64
	len int
	sum uint32 // CRC-32C
	raw int    // bytes of the records, for an extent of a run
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// check checks bytes that were read against the extent's checksum.
func (e extent) check(b []byte) error {
	if crc32.Checksum(b, castagnoli) != e.sum {
		return errDamaged()
	}
	return nil
}

func errDamaged() error {
	return pgerr.New(pgerr.DataCorrupted, "temporary training data is damaged").
		WithHint("The disk of the directory for temporary files, or the memory of the machine, has a fault.")
}

const fileAlign = 4096 // mapped extents start at a page

func diskError(err error) error { return disk.Error(err, "could not access temporary training data") }

// reserve returns the place for n bytes, opening the file at first.
func (t *tempFile) reserve(n int, align int64) (extent, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil {
		f, err := os.CreateTemp(t.dir, "training-*")
		if err != nil {
			return extent{}, diskError(err)
		}
		// Gone from the directory at once: nothing is left behind by a crash.
		if err := os.Remove(f.Name()); err != nil {
			return extent{}, errors.Join(diskError(err), f.Close())
		}
		t.f = f
	}
	off := (t.size + align - 1) / align * align
	t.size = off + int64(n)
	return extent{off: off, len: n}, nil
}

// write appends parts as one extent.
func (t *tempFile) write(align int64, parts ...[]byte) (extent, error) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return t.stream(n, align, func(w io.Writer) error {
		for _, p := range parts {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		return nil
	})
}

// stream appends the n bytes that emit writes as one extent.
func (t *tempFile) stream(n int, align int64, emit func(w io.Writer) error) (extent, error) {
	e, err := t.reserve(n, align)
	if err != nil {
		return e, err
	}
	sum := crc32.New(castagnoli)
	w := bufio.NewWriterSize(io.MultiWriter(io.NewOffsetWriter(t.f, e.off), sum), 1<<20)
	if err := emit(w); err != nil {
		return e, diskError(err)
	}
	if err := w.Flush(); err != nil {
		return e, diskError(err)
	}
	e.sum = sum.Sum32()
	return e, nil
}

// giveBack says that of an extent only the first n bytes were written.
func (t *tempFile) giveBack(e extent, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size == e.off+int64(e.len) {
		t.size = e.off + int64(n)
	} else {
		t.holes += int64(e.len - n)
	}
}

// ReadAt implements io.ReaderAt.
func (t *tempFile) ReadAt(dst []byte, off int64) (int, error) {
	n, err := t.f.ReadAt(dst, off)
	if err != nil && err != io.EOF {
		err = diskError(err)
	}
	return n, err
}

// readAt reads a part of an extent. The caller checks the extent's checksum.
func (t *tempFile) readAt(off int64, dst []byte) error {
	if _, err := t.f.ReadAt(dst, off); err != nil {
		return diskError(err)
	}
	return nil
}

// bytes is the size of the file.
func (t *tempFile) bytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size - t.holes
}

// Close frees the disk space.
func (t *tempFile) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil {
		return nil
	}
	f := t.f
	t.f, t.size, t.holes = nil, 0, 0
	return f.Close()
}

func bytesOfString(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// raw views numbers as their bytes in this machine's order; such bytes never
// leave the machine.
func raw[T int32 | float32 | float64 | uint32 | RowHash](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}

// cooked is the reverse of raw; b is aligned to eight bytes.
func cooked[T uint16 | int32 | float32 | float64 | uint32 | RowHash](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(z)))
}
