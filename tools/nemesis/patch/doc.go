// Package patch builds a program whose clock and disk another process can tamper with,
// without a hook in the program: it is compiled with a patched Go standard library in
// which time.Now adds a shift and fsync waits first. Both numbers are in a file that
// the process maps; each process has its own.
//
// Go reads the clock without a system call, so nothing outside a process can change
// what it sees except the machine's clock itself, which is shared; and a delay before
// fsync works on any file system, without root. The patched text is checked literally:
// another version of Go is an error, not a program without faults. Times of files are
// the kernel's, and are not shifted.
package patch
