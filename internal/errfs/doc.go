// Package errfs is an in-memory file system with injected failures: the n-th step that
// changes something fails, or is the last one before a power cut. After that, Reboot
// returns what such a disk may hold: everything that was synced, and of the rest any
// part, torn.
//
//	for n := 1; ; n++ {                  every place at which a disk can fail
//	    fs := errfs.New()
//	    fs.CrashAt(n)                    or FailAt(n, syscall.ENOSPC, …)
//	    script(fs)
//	    check(fs.Reboot(rand))
//	    if fs.Steps() < n { break }      the script has fewer steps
//	}
//
// Tested by exec/store/crash_test.go, cluster/repl/crash_test.go.
package errfs
