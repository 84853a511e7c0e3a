//go:build !amd64 || noasm

package sketch

func changes[T uint32 | uint64](*Sketch, []T, []byte, int, []uint64) (k, done int) { return 0, 0 }
