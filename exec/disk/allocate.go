package disk

import (
	"errors"
	"os"
	"syscall"
)

// Allocate sets n bytes of a file aside from off on, its end, so that they can be
// written through memory. Where the file system cannot, they are only in its
// length.
func Allocate(f *os.File, off, n int64) error {
	if err := fallocate(f, off, n); err == nil || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return f.Truncate(off + n)
}

// allocate makes a file for which the disk has set n bytes aside.
func allocate(path string, n int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err = fallocate(f, 0, n); err != nil {
		zeros := make([]byte, 1<<20)
		for err = nil; n > 0 && err == nil; n -= int64(len(zeros)) {
			_, err = f.Write(zeros[:min(int64(len(zeros)), n)])
		}
		if err == nil {
			err = f.Sync()
		}
	}
	return errors.Join(err, f.Close())
}
