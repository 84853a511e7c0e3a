package canon

// Hash is FNV-1a of 64 bits, whose upper half is xored to the lower. Models depend on it.
func Hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h ^ h>>32
}
