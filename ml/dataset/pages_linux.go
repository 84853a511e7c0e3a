package dataset

import "golang.org/x/sys/unix"

// largePages asks the kernel to back a long buffer with large pages: touching
// it for the first time costs a third then. A refusal costs speed only.
func largePages(b []byte) []byte {
	if len(b) >= 2<<20 {
		_ = unix.Madvise(b[:len(b)&^4095], unix.MADV_HUGEPAGE)
	}
	return b
}
