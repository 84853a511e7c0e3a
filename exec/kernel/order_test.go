package kernel_test

import (
	"bytes"
	"math/rand"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel"
)

// TestOrderOfBytes: keys of one width and of several, with bytes that are the same in all, that have few values, that
// depend on each other and that differ late, are in the order of a stable sort by all bytes.
func TestOrderOfBytes(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	for try := range 300 {
		width, n := 1+r.Intn(40), []int{1, 20, 100, 250, 3000, 40000}[r.Intn(6)]
		if n == 40000 && try > 60 {
			continue
		}
		spread := make([]int, width) // of each byte: how many values it has
		for i := range spread {
			spread[i] = []int{1, 1, 2, 5, 256}[r.Intn(5)]
		}
		pool := 1 + r.Intn(n) // few different keys, or many
		if try%2 == 0 {
			pool = n
		}
		keys := make([][]byte, pool)
		for i := range keys {
			key := make([]byte, width)
			for j := range key {
				key[j] = byte(r.Intn(spread[j]) * 37)
			}
			if try%3 == 0 && width > 3 {
				copy(key[width/2:], key[:width/2]) // says nothing new
				key[width-1] = byte(r.Intn(3))
			}
			keys[i] = key
		}
		k := &kernel.Keys{Width: width, N: n}
		if try%5 == 4 {
			k.Width, k.Offs = 0, make([]uint64, 1, n+1)
		}
		for range n {
			key := keys[r.Intn(pool)]
			if k.Data = append(k.Data, key...); k.Width == 0 {
				last := &k.Data[len(k.Data)-1]
				if *last &= 0x7f; r.Intn(4) == 0 { // one byte more, so that none is another's prefix
					*last = 255
					k.Data = append(k.Data, byte(r.Intn(5)))
				}
				k.Offs = append(k.Offs, uint64(len(k.Data)))
			}
		}
		want := make([]uint32, n)
		for i := range want {
			want[i] = uint32(i)
		}
		slices.SortStableFunc(want, func(a, b uint32) int { return bytes.Compare(k.At(int(a)), k.At(int(b))) })
		if got := kernel.Order(k, nil); !slices.Equal(got, want) {
			t.Fatalf("try %d: %d keys of %d bytes are not in order", try, n, width)
		}
	}
}
