package kernel

import "unsafe"

// pageBytes is the size of the system's smallest pages.
const pageBytes = 4096

// Fresh returns n zeros, with room for as many as most, for a table whose places are
// read before they are written, in no order: a hash table's slots, or sums by group.
//
// It writes to every page once. A page that is read first is mapped to the system's shared page of
// zeros, and the first write is a second fault, which invalidates the TLB entries of all cores.
// That was a tenth of the time of grouping customers by their names (TPC-DS 11).
func Fresh[T any](n, most int) []T {
	s := make([]T, n, most)
	var zero T
	size := int(unsafe.Sizeof(zero))
	if size == 0 || most*size < 16*pageBytes {
		return s
	}
	all := s[:most]
	for i, step := 0, max(pageBytes/size, 1); i < most; i += step {
		all[i] = zero
	}
	return s
}
