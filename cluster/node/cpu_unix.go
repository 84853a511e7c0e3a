//go:build unix

package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime is the time of processors that the process has taken so far.
func processTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
