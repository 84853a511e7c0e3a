//go:build !amd64 || noasm

package hist

func add(h []int64, stride int, bins []uint8, width int, rows []uint32, vals []int64) {
	addGo(h, stride, bins, width, rows, vals)
}

func addSome(h []int64, at, cols []int32, bins []uint8, width int, rows []uint32, vals []int64) {
	addSomeGo(h, at, cols, bins, width, rows, vals)
}

func part(rows, other []uint32, col []uint8, width int, goes *[256]uint8) int {
	return partGo(rows, other, col, width, goes)
}
