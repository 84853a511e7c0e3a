package raftnode

import (
	"os"
	"syscall"
)

// direct is the flag that opens a file for reads and writes that bypass the page cache.
const direct = syscall.O_DIRECT

// datasync is fdatasync(2): it flushes a file's data to disk, and only the metadata
// needed to read it.
func datasync(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
