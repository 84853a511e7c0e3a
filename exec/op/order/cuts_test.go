package order

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel"
)

// TestCuts: a key's bin is the number of cuts that are not above it, and bins are in the order of keys.
func TestCuts(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for _, width := range []int{0, 1, 5, 8, 14} { // 0: they vary
		for _, spread := range []int{1, 3, 256} { // values of a byte
			for _, same := range []int{0, 9} { // bytes that all keys begin with
				key := func() []byte {
					n := width
					if n == 0 {
						n = 2 + r.Intn(12)
					}
					b := make([]byte, n)
					for i := min(same, n); i < n; i++ {
						b[i] = byte(r.Intn(spread))
					}
					if width == 0 { // no key is another's prefix
						for i := range b {
							b[i] = max(b[i], 1)
						}
						b = append(b, 0, 0)
					}
					return b
				}
				fill := func(n int) *kernel.Keys {
					k := &kernel.Keys{Width: width, N: n}
					if width == 0 {
						k.Offs = []uint64{0}
					}
					for range n {
						k.Data = append(k.Data, key()...)
						if width == 0 {
							k.Offs = append(k.Offs, uint64(len(k.Data)))
						}
					}
					return k
				}
				for _, bins := range []int{1, 2, 40, 700} {
					t.Run(fmt.Sprintf("%d/%d/%d/%d", width, spread, same, bins), func(t *testing.T) {
						c := newCuts(fill(1+r.Intn(2000)), bins)
						if c.n() > bins {
							t.Fatalf("%d bins, at most %d are wanted", c.n(), bins)
						}
						keys := fill(3000)
						for i, bin := range c.find(keys, nil) {
							want := 0
							for _, cut := range c.keys {
								if bytes.Compare(cut, keys.At(i)) <= 0 {
									want++
								}
							}
							if int(bin) != want {
								t.Fatalf("%x is in bin %d, want %d", keys.At(i), bin, want)
							}
						}
					})
				}
			}
		}
	}
}
