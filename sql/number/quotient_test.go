package number

import (
	"bytes"
	"math"
	"math/rand"
	"testing"
)

// TestAppendQuotient: the same bytes as Div and AppendBinary give.
func TestAppendQuotient(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	edge := []int64{0, 1, -1, 2, 3, -7, 9, 10, 9999, 10000, 10001, 99999999, math.MaxInt32, math.MaxInt64, math.MinInt64, math.MinInt64 + 1}
	value := func() int64 {
		if r.Intn(3) == 0 {
			return edge[r.Intn(len(edge))]
		}
		return int64(r.Uint64()) >> r.Intn(64)
	}
	var small, big int
	for range 200000 {
		a, b, as, bs := value(), value(), int32(r.Intn(19)), int32(r.Intn(19))
		want, werr := DecimalFromInt64(a, as).Div(DecimalFromInt64(b, bs))
		got, err := AppendQuotient([]byte("x"), a, as, b, bs)
		if (err == nil) != (werr == nil) {
			t.Fatalf("%de-%d / %de-%d: %v, want %v", a, as, b, bs, err, werr)
		}
		if err != nil {
			continue
		}
		if bin := want.AppendBinary([]byte("x")); !bytes.Equal(got, bin) {
			t.Fatalf("%de-%d / %de-%d: % x, want % x", a, as, b, bs, got, bin)
		}
		if want.big == nil {
			small++
		} else {
			big++
		}
	}
	if small < 1000 || big < 1000 {
		t.Errorf("%d small and %d big quotients", small, big)
	}
}
