package disk

import (
	"errors"
	"os"
)

// allocate makes a file for which the disk has set n bytes aside.
func allocate(path string, n int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err = fallocate(f, n); err != nil {
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
