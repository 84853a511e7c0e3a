package record

import (
	"encoding/binary"
	"math/bits"
)

// Odd constants of the row hash: digits of √2, √3, √5 and √7.
const (
	k0 = 0x6a09e667f3bcc909
	k1 = 0xbb67ae8584caa73b
	k2 = 0x3c6ef372fe94f82b
	k3 = 0xa54ff53a5f1d36f1
)

// hash128 hashes b, whose length is a multiple of eight: two folded multiplications a
// pair of words, each fed by its own state. It need not resist attacks (records of
// equal hash are still compared); it must be the same on every machine and version,
// since it distributes the rows of every model.
func hash128(b []byte, seed uint64) (hi, lo uint64) {
	x, y := seed^k0, uint64(len(b))^k1
	for len(b) >= 16 {
		v, w := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		x, y = fold(v^k2, w^x), fold(v^y, w^k3)
		b = b[16:]
	}
	if len(b) >= 8 {
		v := binary.LittleEndian.Uint64(b)
		x, y = fold(v^k2, x^k3), fold(v^y, k1)
	}
	return fold(x^k1, y^k2), fold(x^k3, bits.RotateLeft64(y, 32)^k0)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
