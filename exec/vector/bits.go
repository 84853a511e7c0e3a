package vector

import (
	"encoding/binary"
	"math/bits"

	"github.com/tributarydb/tributary/exec/batch"
)

// Booleans are bytes 0 and 1 while they are computed, and bits where they are kept. Eight at a time are a word.

// oneBits has bit 0 of each byte.
const oneBits = 0x0101010101010101

// spread are the bytes of eight bits.
var spread = func() (t [256]uint64) {
	for b := range t {
		for k := range 8 {
			t[b] |= uint64(b) >> k & 1 << (8 * k)
		}
	}
	return t
}()

// unpackBits writes bits from off on as bytes 0 and 1.
func unpackBits(out []uint8, b []byte, off int) {
	i := 0
	if off&7 == 0 {
		b = b[off>>3:]
		off = 0
		for ; i+8 <= len(out); i += 8 {
			binary.LittleEndian.PutUint64(out[i:], spread[b[i>>3]])
		}
	}
	for ; i < len(out); i++ {
		j := i + off
		out[i] = b[j>>3] >> (j & 7) & 1
	}
}

// PackBits makes a bitmap of bytes 0 and 1.
func PackBits(a *Arena, v []uint8) []byte {
	out := Alloc[byte](a, batch.BitmapBytes(len(v)))
	packBits(out, v)
	return out
}

// packBits writes bytes 0 and 1 as a bitmap. A NULL row's byte is arbitrary and must not affect the bits of the rows
// beside it.
func packBits(out []byte, v []uint8) {
	i := 0
	for ; i+8 <= len(v); i += 8 {
		// Byte k's bit moves to bit 56 + k.
		out[i>>3] = byte(binary.LittleEndian.Uint64(v[i:]) & oneBits * 0x0102040810204080 >> 56)
	}
	if i < len(v) {
		last := byte(0)
		for k, x := range v[i:] {
			last |= x & 1 << k
		}
		out[i>>3] = last
	}
}

// CountBytes counts the ones among bytes 0 and 1.
func CountBytes(v []uint8) int {
	n, i := 0, 0
	for ; i+8 <= len(v); i += 8 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(v[i:]))
	}
	for ; i < len(v); i++ {
		n += int(v[i])
	}
	return n
}

// known writes bytes 0 and 1 that count where a bitmap has a one: those that are 1 to t, the others to f, if that is not nil.
func known(t, f, x []uint8, valid []byte) {
	i := 0
	for ; i+8 <= len(x); i += 8 {
		ok, w := spread[valid[i>>3]], binary.LittleEndian.Uint64(x[i:])
		binary.LittleEndian.PutUint64(t[i:], w&ok)
		if f != nil {
			binary.LittleEndian.PutUint64(f[i:], ^w&ok)
		}
	}
	for ; i < len(x); i++ {
		ok := valid[i>>3] >> (i & 7) & 1
		t[i] = x[i] & ok
		if f != nil {
			f[i] = ^x[i] & ok
		}
	}
}
