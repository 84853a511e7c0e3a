package vector

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
)

// TestBits: bytes and bits, eight at a time, are what they are one by one, at every length and where NULL rows have any byte.
func TestBits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		x, valid := make([]uint8, n), make([]byte, batch.BitmapBytes(n))
		for i := range x {
			if x[i] = uint8(rnd.IntN(2)); rnd.IntN(3) > 0 {
				batch.SetBit(valid, i)
			} else {
				x[i] = uint8(rnd.IntN(256))
			}
		}
		v := NewBool(x, valid)
		yes, no := Truth(nil, v)
		alone := True(nil, v)
		back := FromTruth(nil, yes, no)
		bits := PackBits(nil, x)
		for i := range x {
			ok := !v.Null(i)
			if yes[i] != ByteOf(ok && x[i] == 1) || alone[i] != yes[i] || no[i] != ByteOf(ok && x[i] == 0) || back.Null(i) == ok || ok && Values[uint8](back)[i] != x[i] {
				t.Fatalf("row %d of %d: %d, valid %t: true %d and %d, false %d", i, n, x[i], ok, yes[i], alone[i], no[i])
			}
			if bits[i>>3]>>(i&7)&1 != x[i]&1 {
				t.Fatalf("bit %d of %d", i, n)
			}
		}
		for off := range n {
			out := make([]uint8, n-off)
			unpackBits(out, bits, off)
			for i, y := range out {
				if y != x[off+i]&1 {
					t.Fatalf("bit %d from %d on", i, off)
				}
			}
		}
	}
}
