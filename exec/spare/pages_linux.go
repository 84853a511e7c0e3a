package spare

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// LargePages asks the kernel to back a long buffer with large pages: touching it for the first time
// then costs a third. That includes the pages that it shares with its neighbours, which are mostly
// buffers like it. A refusal costs speed only.
func LargePages(b []byte) []byte {
	const page = 2 << 20
	if len(b) >= page {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		from, to := at&^(page-1), (at+uintptr(len(b))+page-1)&^(page-1)
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_HUGEPAGE)
	}
	return b
}
