package raftnode

import (
	"os"
	"syscall"
)

// direct opens a file so that it is read and written past the kernel's cache.
const direct = syscall.O_DIRECT

// datasync brings a file's bytes to the disk, and of what is known of it as much as
// reading them takes.
func datasync(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
