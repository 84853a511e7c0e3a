package textfn

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/types"
)

// addHash registers PostgreSQL's hashes: of text, by which clients choose the keys of advisory locks, and of rows'
// addresses with a seed, by which TABLESAMPLE … REPEATABLE chooses rows.
func addHash(t function.Table) {
	t.Put("hashtext(text)", function.Always(function.Loose(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil {
			return nil, nil
		}
		_, c := hashBytes(a[0].(string), 0)
		return int64(int32(c)), nil
	})))
	t.Put("hashtextextended(text,int8)", function.Always(function.Loose(func(_ *function.Call, a []types.Datum) (types.Datum, error) {
		if a[0] == nil || a[1] == nil {
			return nil, nil
		}
		b, c := hashBytes(a[0].(string), uint64(a[1].(int64)))
		return int64(uint64(b)<<32 | uint64(c)), nil
	})))
	t.Put("hashtidextended(tid,int8)", function.Always(function.Strict2(func(at, seed int64) int64 {
		var key [6]byte // the block's high and low half, and the place in it
		for i, part := range [3]int64{at >> 32, at >> 16, at} {
			binary.LittleEndian.PutUint16(key[2*i:], uint16(part))
		}
		return hashExtended(key[:], seed)
	})))
	t.Put("hashfloat8extended(float8,int8)", function.Always(function.Strict2(func(x float64, seed int64) int64 {
		switch {
		case x == 0: // and -0
			return seed
		case x != x:
			x = math.Float64frombits(0x7ff8 << 48)
		}
		var key [8]byte
		binary.LittleEndian.PutUint64(key[:], math.Float64bits(x))
		return hashExtended(key[:], seed)
	})))
}

func hashExtended(key []byte, seed int64) int64 {
	b, c := hashBytes(string(key), uint64(seed))
	return int64(uint64(b)<<32 | uint64(c))
}

// hashBytes is PostgreSQL's hash_bytes_extended (common/hashfn.c), of Bob Jenkins' lookup3.
func hashBytes(s string, seed uint64) (b, c uint32) {
	a := 0x9e3779b9 + uint32(len(s)) + 3923095
	b, c = a, a
	mix := func() {
		a = (a - c) ^ bits.RotateLeft32(c, 4)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 6)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 8)
		b += a
		a = (a - c) ^ bits.RotateLeft32(c, 16)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 19)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 4)
		b += a
	}
	if seed != 0 {
		a, b = a+uint32(seed>>32), b+uint32(seed)
		mix()
	}
	var k [12]byte
	for ; len(s) >= 12; s = s[12:] {
		copy(k[:], s)
		a, b, c = a+binary.LittleEndian.Uint32(k[:]), b+binary.LittleEndian.Uint32(k[4:]), c+binary.LittleEndian.Uint32(k[8:])
		mix()
	}
	// The lowest byte of the last word is the length's.
	k = [12]byte{}
	copy(k[:], s)
	a, b, c = a+binary.LittleEndian.Uint32(k[:]), b+binary.LittleEndian.Uint32(k[4:]), c+binary.LittleEndian.Uint32(k[8:])<<8
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	c = (c ^ b) - bits.RotateLeft32(b, 24)
	return b, c
}
