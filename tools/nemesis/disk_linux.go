package main

import (
	"fmt"
	"strconv"
	"syscall"
)

// mountDisk mounts a small file system on a directory; it needs root.
func mountDisk(dir string) (*disk, error) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(diskBytes)); err != nil {
		return nil, fmt.Errorf("a disk that can be filled needs root: %w", err)
	}
	return &disk{dir}, nil
}

func (d *disk) unmount() error { return syscall.Unmount(d.dir, syscall.MNT_DETACH) }
