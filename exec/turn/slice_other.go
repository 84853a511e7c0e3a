//go:build !linux

package turn

const longSlice, soonSlice = 0, 0

func slice(uint64) {}
