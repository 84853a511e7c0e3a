// Package errfs is a disk in memory that fails where a test says: the n-th step
// that changes something is refused, or is the last one before the power goes.
// After that, Reboot gives what such a disk may hold then: what was synced, and
// of the rest any part, torn.
//
//	for n := 1; ; n++ {                  every place at which a disk can fail
//	    fs := errfs.New()
//	    fs.CrashAt(n)                    or FailAt(n, syscall.ENOSPC, …)
//	    script(fs)
//	    check(fs.Reboot(rand))
//	    if fs.Steps() < n { break }      the script has fewer steps
//	}
package errfs
