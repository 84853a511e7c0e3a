package copyfmt

// SetPieces has Readers cut their streams into pieces of a size.
func SetPieces(size int) (restore func()) {
	was := [2]int{pieceBytes, firstBytes}
	pieceBytes, firstBytes = size, size
	return func() { pieceBytes, firstBytes = was[0], was[1] }
}
