//go:build unix

package raftnode

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/tributarydb/tributary/sql/pgerr"
)

func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, dirError(err, path)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, pgerr.Wrap(pgerr.ObjectInUse, err, "data directory is used by another process (lock file %q)", path)
	}
	return f, nil
}
