package gram

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
)

// TestPackedWidths: numbers up to the least and the greatest of each bit width round-trip, in runs
// of any length between zeros, in as many bytes as their bits take, or in the long form beyond
// that.
func TestPackedWidths(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for width := 1; width <= 62; width++ {
		for n := 1; n <= 40; n++ {
			s := NewSums(n + 20)
			for i := range n {
				s.Low[10+i] = r.Int64() >> r.IntN(64) >> (64 - width) // below 2^(width-1)
				if r.IntN(2) == 0 {
					s.Low[10+i] = ^s.Low[10+i]
				}
			}
			s.Low[10], s.Low[10+n-1] = 1<<(width-1)-1, -1<<(width-1)
			var e canon.E
			s.Encode(&e)
			d := canon.Read(e.B)
			got := DecodeSums(d)
			if err := d.Done("sums"); err != nil || got.High != nil && width < 60 {
				t.Fatalf("%d sums of %d bits: %v", n, width, err)
			}
			for i := range s.Low {
				if value(&got, i).Cmp(value(&s, i)) != 0 {
					t.Fatalf("%d sums of %d bits: %v became %v", n, width, s.Low, got.Low)
				}
			}
			if limit := 16 + packed(n, uint8(width)); width <= maxWidth && len(e.B) > limit {
				t.Fatalf("%d sums of %d bits took %d bytes, not %d", n, width, len(e.B), limit)
			}
		}
	}
}

// TestPackedOneWay: each sum has exactly one valid encoding. An encoding that uses more bits than
// needed, more than there are, or has bytes behind the last number is refused.
func TestPackedOneWay(t *testing.T) {
	s := NewSums(5)
	copy(s.Low, []int64{3, -4, 1, 2, 3})
	var e canon.E
	s.Encode(&e)
	wide := func(width uint8) []byte {
		b := canon.E{B: []byte{width}}
		b.Sparse(5, func(at int) (int, int) { return canon.Run(s.Low, at) }, func(from, to int) {
			if width == long {
				s.long(&b, from, to)
			} else {
				pack(&b, s.Low[from:to], width)
			}
		})
		return b.B
	}
	if !slices.Equal(wide(3), e.B) {
		t.Fatal("the same sums have other bytes")
	}
	bad := map[string][]byte{"a bit behind": slices.Clone(e.B)}
	bad["a bit behind"][len(e.B)-1] |= 0x80
	for _, width := range []uint8{long, 4, 40, maxWidth} {
		bad[fmt.Sprint(width, " bits")] = wide(width)
	}
	bad["too many bits"] = append([]byte{maxWidth + 1}, wide(maxWidth)[1:]...)
	for what, b := range bad {
		d := canon.Read(b)
		DecodeSums(d)
		if d.Done("sums") == nil {
			t.Errorf("%s: taken for sums", what)
		}
	}
}
