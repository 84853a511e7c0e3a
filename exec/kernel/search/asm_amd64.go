//go:build amd64 && !noasm

package search

//go:generate go run ./internal/gen -out pair_amd64.s -stubs stubs_amd64.go -pkg search

const repeat = 0x0101010101010101

func next(s []byte, first, second byte, gap int) int {
	blocks := (len(s) - gap) / 16
	if blocks <= 0 {
		return nextGo(s, first, second, gap)
	}
	if at := pairBlocks(&s[0], blocks, uint64(first)*repeat, uint64(second)*repeat, gap); at < 16*blocks {
		return at
	}
	if at := nextGo(s[16*blocks:], first, second, gap); at >= 0 {
		return 16*blocks + at
	}
	return -1
}
