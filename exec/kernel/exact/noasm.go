//go:build !amd64 || noasm

package exact

const wide = false

func addPairs(*uint64, *int64, *uint32, *float64, *float64, int, int, int) int { return 0 }

func addSquareSums(*uint64, *uint32, *float64, int, int) int { return 0 }
