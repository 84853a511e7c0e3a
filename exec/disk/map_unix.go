//go:build unix

package disk

import (
	"errors"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostOpen is how many mapped files stay open: few beside what a process may have open, and more than a
// statement reads whose time is a matter of microseconds.
const mostOpen = 256

var kept atomic.Int64 // files that stay open

// mapFile maps a file read-only. The kernel may drop its pages at any time and
// read them again: they are not part of the process's memory limit.
func mapFile(path string) (*Mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return &Mapping{Unmap: func() {}}, errors.Join(err, f.Close())
	}
	fd := int(f.Fd())
	data, err := unix.Mmap(fd, 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if kept.Add(1) > mostOpen {
		kept.Add(-1)
		return &Mapping{Data: data, Unmap: func() { unix.Munmap(data) }, advise: advise}, f.Close()
	}
	return &Mapping{
		Data: data,
		Stat: func() (size, modified int64, err error) {
			var st unix.Stat_t
			err = unix.Fstat(fd, &st)
			return st.Size, st.Mtim.Nano(), err
		},
		Unmap: func() {
			unix.Munmap(data)
			f.Close()
			kept.Add(-1)
		},
		advise: advise,
	}, nil
}

// advise tells the kernel how mapped bytes will be read, from the page on in which they begin. It is a hint.
func advise(b []byte, random bool) {
	advice := unix.MADV_WILLNEED
	if random {
		advice = unix.MADV_RANDOM
	}
	if len(b) == 0 {
		return
	}
	before := int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(os.Getpagesize()-1))
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), -before)), len(b)+before), advice)
}

// Free is the bytes that a process without privileges may still write to the
// file system of a directory.
func Free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// Total is the bytes of the file system of a directory.
func Total(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Blocks) * int64(st.Bsize), nil
}
