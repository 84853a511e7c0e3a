package disk

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Full reports whether an error is a disk's, or a quota's, that has no room left.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || pgerr.Is(err, pgerr.DiskFull)
}

// Error returns an error of a file system the code a client can act on: 53100
// where there is no room, 58P01 where there is no such file, 58030 else. doing
// says what failed, such as `could not write to file "x"`. nil stays nil.
func Error(err error, doing string) error {
	switch {
	case err == nil:
		return nil
	case Full(err):
		return pgerr.Wrap(pgerr.DiskFull, err, "%s: No space left on device", doing).WithHint("Check free disk space.")
	case errors.Is(err, fs.ErrNotExist):
		return pgerr.Wrap(pgerr.UndefinedFile, err, "%s: No such file or directory", doing)
	}
	return pgerr.Wrap(pgerr.IOError, err, "%s", doing)
}
