package sketch

import (
	"math"
	"math/rand/v2"
	"testing"
)

// add adds numbers to a sketch one by one.
func add[T uint32 | uint64](s *Sketch, vals []T, valid []byte, off int) {
	for i, v := range vals {
		if valid == nil || valid[(off+i)>>3]>>((off+i)&7)&1 == 1 {
			s.Add(mix(uint64(v)))
		}
	}
}

func check[T uint32 | uint64](t *testing.T, r *rand.Rand, from, width T) {
	t.Helper()
	var got, want Sketch
	for range 3 {
		vals := make([]T, r.IntN(3000))
		least, most := from+width, from
		off := []int{0, 8, 3}[r.IntN(3)]
		valid := make([]byte, (off+len(vals))/8+1)
		for i := range valid {
			some := r.Uint32()
			valid[i] = byte(some) | byte(some>>8) // three in four
		}
		if r.IntN(2) == 0 {
			valid = nil
		}
		for i := range vals {
			x := T(r.Uint64())
			if width+1 != 0 {
				x %= width + 1
			}
			if vals[i] = from + x; valid != nil && valid[(off+i)>>3]>>((off+i)&7)&1 == 0 {
				vals[i] = T(r.Uint64()) // under a NULL there may be any value
				continue
			}
			if x < least-from {
				least = from + x
			}
			if x > most-from {
				most = from + x
			}
		}
		AddNumbers(&got, vals, valid, off, least, most)
		add(&want, vals, valid, off)
	}
	if got != want {
		t.Fatalf("%d numbers from %d on: another sketch than one by one", width, from)
	}
}

// TestAddNumbers: the sketch equals one to which the numbers were added one by one, whether they
// are close together or not, with and without NULLs.
func TestAddNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		for _, width := range []uint32{0, 9, 300, nearby - 1, nearby, 1 << 20, math.MaxUint32} {
			check(t, r, r.Uint32(), width)
		}
		for _, width := range []uint64{0, 9, 300, nearby - 1, nearby, 1 << 40, math.MaxUint64} {
			check(t, r, r.Uint64(), width)
		}
	}
}

func BenchmarkAddNumbers(b *testing.B) {
	vals := make([]uint64, 64<<10)
	r := rand.New(rand.NewPCG(1, 2))
	for _, width := range []uint64{10_000, 1 << 40} {
		for i := range vals {
			vals[i] = r.Uint64N(width)
		}
		b.Run(map[bool]string{true: "nearby", false: "far"}[width < nearby], func(b *testing.B) {
			var s Sketch
			b.SetBytes(int64(8 * len(vals)))
			for range b.N {
				AddNumbers(&s, vals, nil, 0, 0, width)
			}
		})
	}
	b.Run("one by one", func(b *testing.B) {
		var s Sketch
		b.SetBytes(int64(8 * len(vals)))
		for range b.N {
			add(&s, vals, nil, 0)
		}
	})
}
