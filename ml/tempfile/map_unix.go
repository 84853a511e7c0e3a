//go:build unix

package tempfile

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/disk"
)

// Mapped returns the bytes of e, which starts at a page, without copying them.
// release must be called once; the bytes are gone then.
func (t *File) Mapped(e Extent) (b []byte, release func(), err error) {
	if e.Len == 0 {
		return nil, func() {}, nil
	}
	b, err = unix.Mmap(int(t.f.Fd()), e.Off, e.Len, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, diskError(err)
	}
	// Read ahead from the first touch on; a refusal costs speed only.
	_ = unix.Madvise(b, unix.MADV_SEQUENTIAL)
	_ = unix.Madvise(b, unix.MADV_WILLNEED)
	forget := batch.Mapped(b, func(int64) error { return diskError(syscall.EIO) })
	release = func() { forget(); _ = unix.Munmap(b) }
	if err := batch.Guard(func() error { return e.Check(b) }); err != nil {
		release()
		return nil, nil, err
	}
	return b, release, nil
}

// Space returns n bytes of zeros that are written to the file. release must be
// called once; the bytes are gone then.
func (t *File) Space(n int) (b []byte, release func(), err error) {
	e, err := t.reserve(n, PageSize)
	if err != nil {
		return nil, nil, err
	}
	// Room that the disk has not is an error here, and not a fault later.
	if err := disk.Allocate(t.f, e.Off, int64(n)); err != nil {
		return nil, nil, diskError(err)
	}
	b, err = unix.Mmap(int(t.f.Fd()), e.Off, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, diskError(err)
	}
	forget := batch.Mapped(b, func(int64) error { return diskError(syscall.EIO) })
	return b, func() { forget(); _ = unix.Munmap(b) }, nil
}
