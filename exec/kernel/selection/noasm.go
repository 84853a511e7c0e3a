//go:build !amd64 || noasm

package selection

func mask32[T ~int32 | ~uint32](m []uint16, v []T, r Range, and bool) int {
	return maskFrom(0, m, v, r, and)
}

func mask64(m []uint16, v []int64, r Range, and bool) int { return maskFrom(0, m, v, r, and) }

func rows(m []uint16, out []int32) int { return rowsGo(m, out) }

func less32(m []uint16, a, b []int32, not, and bool) int {
	return lessFrom(0, m, a, b, not, and)
}

func less64(m []uint16, a, b []int64, not, and bool) int { return lessFrom(0, m, a, b, not, and) }

func equal32[T ~int32 | ~uint32](m []uint16, a, b []T, not, and bool) int {
	return equalFrom(0, m, a, b, not, and)
}

func equal64(m []uint16, a, b []int64, not, and bool) int { return equalFrom(0, m, a, b, not, and) }

func entries(m []uint16, v []int32, flags *Table, and bool) int {
	return entriesFrom(0, m, v, flags, and)
}
