package hash

import (
	"encoding/binary"
	"math/bits"
)

// Mix folds a word into a hash by a full 128-bit multiply.
func Mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^v^0xa0761d6478bd642f, v^0xe7037ed1a0b428db)
	hi2, lo2 := bits.Mul64(hi^lo^h, 0x8ebc6af09c88c6e3)
	return hi2 ^ lo2
}

// Bytes folds a run of bytes into a hash; its length counts.
func Bytes(h uint64, b []byte) uint64 {
	h = Mix(h, uint64(len(b)))
	for len(b) >= 8 {
		h = Mix(h, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if len(b) > 0 {
		var w [8]byte
		copy(w[:], b)
		h = Mix(h, binary.LittleEndian.Uint64(w[:]))
	}
	return h
}
