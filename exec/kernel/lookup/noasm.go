//go:build !amd64 || noasm

package lookup

import "github.com/tributarydb/tributary/exec/kernel/selection"

func find[T selection.Integer](Table, []T, []int32, int, uint32, []int32, []uint32) (done, k int) {
	return 0, 0
}

func first(Groups, []uint64, []uint64, []uint32, []int32, bool) (done, k int) { return 0, 0 }
