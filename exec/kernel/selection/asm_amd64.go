//go:build amd64 && !noasm

package selection

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./internal/gen -out mask_amd64.s -stubs stubs_amd64.go -pkg selection

var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasPOPCNT

func mask32[T ~int32 | ~uint32](m []uint16, v []T, r Range, and bool) int {
	i, k := 0, 0
	if n := len(v) &^ 15; wide && n > 0 {
		i, k = n, mask32x16(&m[0], (*int32)(unsafe.Pointer(&v[0])), n, int32(r.Lo), uint32(r.Width), -bit(r.Not), bit(and)-1)
	}
	return k + maskFrom(i, m, v, r, and)
}

func mask64(m []uint16, v []int64, r Range, and bool) int {
	i, k := 0, 0
	if n := len(v) &^ 15; wide && n > 0 {
		i, k = n, mask64x16(&m[0], &v[0], n, r.Lo, r.Width, -bit(r.Not), bit(and)-1)
	}
	return k + maskFrom(i, m, v, r, and)
}

func rows(m []uint16, out []int32) int {
	if wide && len(m) > 0 {
		return rowsx16(&m[0], len(m), &out[0])
	}
	return rowsGo(m, out)
}

func less32(m []uint16, a, b []int32, not, and bool) int {
	i, k := 0, 0
	if n := len(a) &^ 15; wide && n > 0 {
		_ = b[len(a)-1]
		i, k = n, less32x16(&m[0], &a[0], &b[0], n, -bit(not), bit(and)-1)
	}
	return k + lessFrom(i, m, a, b, not, and)
}

func less64(m []uint16, a, b []int64, not, and bool) int {
	i, k := 0, 0
	if n := len(a) &^ 15; wide && n > 0 {
		_ = b[len(a)-1]
		i, k = n, less64x16(&m[0], &a[0], &b[0], n, -bit(not), bit(and)-1)
	}
	return k + lessFrom(i, m, a, b, not, and)
}

func equal32[T ~int32 | ~uint32](m []uint16, a, b []T, not, and bool) int {
	i, k := 0, 0
	if n := len(a) &^ 15; wide && n > 0 {
		_ = b[len(a)-1]
		i, k = n, equal32x16(&m[0], (*int32)(unsafe.Pointer(&a[0])), (*int32)(unsafe.Pointer(&b[0])), n, -bit(not), bit(and)-1)
	}
	return k + equalFrom(i, m, a, b, not, and)
}

func equal64(m []uint16, a, b []int64, not, and bool) int {
	i, k := 0, 0
	if n := len(a) &^ 15; wide && n > 0 {
		_ = b[len(a)-1]
		i, k = n, equal64x16(&m[0], &a[0], &b[0], n, -bit(not), bit(and)-1)
	}
	return k + equalFrom(i, m, a, b, not, and)
}

func entries(m []uint16, v []int32, flags *Table, and bool) int {
	i, k := 0, 0
	if n := len(v) &^ 15; wide && n > 0 {
		i, k = n, entriesx16(&m[0], &v[0], n, &flags[0], bit(and)-1)
	}
	return k + entriesFrom(i, m, v, flags, and)
}
