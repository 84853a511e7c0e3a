package main

import "golang.org/x/sys/unix"

// cpuNanos returns the CPU time that a process has used, in ns. The CPU clock of a
// process is exact, whereas /proc/PID/stat has steps of 10 ms, as long as a small query
// takes.
func cpuNanos(pid int) int64 {
	const scheduled = 2 // CPUCLOCK_SCHED: the time that all its threads ran, of <linux/posix-timers.h>
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &t); err != nil {
		return 0
	}
	return t.Nano()
}
