package turn

import (
	"sync"

	"golang.org/x/sys/unix"
)

// longSlice and soonSlice are in nanoseconds. What is woken goes before a thread whose slice is longer than its own, by Linux from
// 6.12 on (sched_setattr(2), PREEMPT_SHORT of its scheduler's features); the kernel's own slice is about three milliseconds.
const (
	longSlice = 3_000_000
	soonSlice = 100_000 // the least there is
)

// attr is what the kernel's scheduler knows of the process; nil where that is not one of those that share by weight.
var attr = sync.OnceValue(func() *unix.SchedAttr {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil || a.Policy != unix.SCHED_NORMAL && a.Policy != unix.SCHED_BATCH {
		return nil
	}
	return a
})

// slice asks for slices of that length for this thread of the system. Kernels before 6.12 take it and do nothing.
func slice(ns uint64) {
	if a := attr(); a != nil {
		b := *a
		b.Runtime = ns
		_ = unix.SchedSetAttr(0, &b, 0) // a hint
	}
}
