//go:build amd64 && !noasm

package hist

//go:generate go run ./internal/gen -out add_amd64.s -stubs stubs_amd64.go -pkg hist

func add(h []int64, stride int, bins []uint8, width int, rows []uint32, vals []int64) {
	addRows(&h[0], 8*stride, &bins[0], width, &rows[0], len(rows), &vals[0])
}

func addSome(h []int64, at, cols []int32, bins []uint8, width int, rows []uint32, vals []int64) {
	addSomeRows(&h[0], &at[0], &cols[0], len(cols), &bins[0], width, &rows[0], len(rows), &vals[0])
}

func part(rows, other []uint32, col []uint8, width int, goes *[256]uint8) int {
	return partRows(&rows[0], &other[0], len(rows), &col[0], width, goes)
}
