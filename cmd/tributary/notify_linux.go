package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reloading is the state of a server that reads its files again: systemd wants the time by which it can
// tell this from an earlier one.
func reloading() string {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail for this clock
	return fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", t.Nano()/1000)
}
