//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// kernel names the operating system's version; "" where it is not known.
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// openFiles is how many files the process may have open.
func openFiles() (uint64, bool) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return uint64(l.Max), err == nil // Go raises the limit to the hard one
}

// owned returns the owner of a file, and whether it is the process's user.
func owned(info os.FileInfo) (uint32, bool) {
	st := info.Sys().(*syscall.Stat_t) // os.Stat gives nothing else
	return st.Uid, int(st.Uid) == os.Geteuid()
}
