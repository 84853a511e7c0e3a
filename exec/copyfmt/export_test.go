package copyfmt

// SetChunks makes Readers divide their streams into chunks of a size.
func SetChunks(size int) (restore func()) {
	was := [2]int{chunkBytes, firstBytes}
	chunkBytes, firstBytes = size, size
	return func() { chunkBytes, firstBytes = was[0], was[1] }
}
