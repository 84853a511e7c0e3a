//go:build amd64 && !noasm

package sketch

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./internal/gen -out changes_amd64.s -stubs stubs_amd64.go -pkg sketch

var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasPOPCNT

// changes writes the hashes of the first done numbers, of those that are valid, which may change a
// register, and returns how many they are. off is a multiple of 8, and maybe as long as vals.
func changes[T uint32 | uint64](s *Sketch, vals []T, valid []byte, off int, maybe []uint64) (k, done int) {
	if done = len(vals) &^ 7; !wide || done == 0 {
		return 0, 0
	}
	var bits *byte
	if valid != nil {
		bits = &valid[off/8 : (off+done)/8][0]
	}
	_ = maybe[done-1]
	if unsafe.Sizeof(vals[0]) == 4 {
		return changes32(&s.reg[0], (*uint32)(unsafe.Pointer(&vals[0])), bits, done, &maybe[0]), done
	}
	return changes64(&s.reg[0], (*uint64)(unsafe.Pointer(&vals[0])), bits, done, &maybe[0]), done
}
