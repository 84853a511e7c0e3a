//go:build !amd64 || noasm

package hist

func add(h []int64, stride int, bins []uint8, width int, rows []uint32, vals []int64) {
	addGo(h, stride, bins, width, rows, vals)
}

func addSome(h []int64, at, cols []int32, bins []uint8, width int, rows []uint32, vals []int64) {
	addSomeGo(h, at, cols, bins, width, rows, vals)
}
