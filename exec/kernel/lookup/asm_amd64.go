//go:build amd64 && !noasm

package lookup

import (
	"math"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/tributarydb/tributary/exec/kernel/selection"
)

//go:generate go run ./internal/gen -out find_amd64.s -stubs stubs_amd64.go -pkg lookup

var wide = cpu.X86.HasAVX512F && cpu.X86.HasPOPCNT

// find is findFrom of 16 keys at a time, as far as they go.
func find[T selection.Integer](t Table, keys []T, sel []int32, n int, less uint32, rows []int32, heads []uint32) (done, k int) {
	done = n &^ 15
	if !wide || done == 0 || len(keys) == 0 || len(t.Heads) > math.MaxInt32 {
		return 0, 0
	}
	at, table := unsafe.Pointer(unsafe.SliceData(keys)), &t.Heads[0]
	switch size := unsafe.Sizeof(keys[0]); {
	case size == 4 && sel == nil:
		k = heads32x16(&rows[0], &heads[0], (*int32)(at), done, int32(t.Lo), table, uint32(len(t.Heads)), less)
	case size == 4:
		k = selected32x16(&rows[0], &heads[0], (*int32)(at), &sel[0], done, int32(t.Lo), table, uint32(len(t.Heads)), less)
	case size == 8 && sel == nil:
		k = heads64x16(&rows[0], &heads[0], (*int64)(at), done, t.Lo, table, uint64(len(t.Heads)), less)
	case size == 8:
		k = selected64x16(&rows[0], &heads[0], (*int64)(at), &sel[0], done, t.Lo, table, uint64(len(t.Heads)), less)
	default:
		return 0, 0
	}
	return done, k
}

// first is firstFrom of 16 rows at a time, as far as they go.
func first(t Groups, rows, hashes []uint64, groups []uint32, misses []int32, known bool) (done, k int) {
	done = len(hashes) &^ 15
	if !wide || done == 0 {
		return 0, 0
	}
	f := groupsx16
	switch t.Width {
	case 1:
		f = groups1x16
	case 2:
		f = groups2x16
	}
	all := uint64(1<<16 - 1)
	if known {
		all = 0
	}
	return done, f(&groups[0], &misses[0], &rows[0], &hashes[0], done, &t.Slots[0], uint64(len(t.Slots)-1), &t.Words[0], t.Width, all)
}
