// Package patch builds a program whose clock and whose disk another process can
// spoil, without a hook in the program: it is compiled with a Go library in
// which time.Now adds a shift and fsync waits first. Both numbers lie in a file
// that the process maps; each process has its own.
//
// Go reads the clock without a system call, so nothing outside a process can
// change what it sees but the machine's clock itself, which is not ours; and a
// delay before fsync works on any file system, without root. What is patched is
// checked word for word: another version of Go is an error, not a program
// without faults. Times of files are the kernel's, and are not shifted.
package patch
