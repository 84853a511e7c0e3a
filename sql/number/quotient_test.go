package number

import (
	"bytes"
	"math"
	"math/rand"
	"testing"
)

// TestAppendQuotient: AppendQuotient writes the same bytes as Div followed by AppendBinary.
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

// TestAppendRounded: AppendRounded writes the same bytes as Round followed by AppendBinary, and
// kernels decode them to the same number.
func TestAppendRounded(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	edge := []int64{0, 1, -1, 5, -5, 49, 50, 127, 128, -128, -129, 999, math.MaxInt64, math.MinInt64}
	var small, big int
	for range 200000 {
		v, from, scale := int64(r.Uint64())>>r.Intn(64), int32(r.Intn(19)), int32(r.Intn(60)-20)
		if r.Intn(3) == 0 {
			v = edge[r.Intn(len(edge))]
		}
		want := DecimalFromInt64(v, from).Round(scale)
		bin := want.AppendBinary(nil)
		if got := AppendRounded([]byte("x"), v, from, scale); !bytes.Equal(got[1:], bin) {
			t.Fatalf("round(%de-%d, %d): % x, want % x", v, from, scale, got[1:], bin)
		}
		if sign, ok := SignOfBytes(bin); !ok || sign != want.Sign() {
			t.Fatalf("sign of %s: %d %v", want, sign, ok)
		}
		if got, ok := ScaleOfBytes(bin); !ok || got != want.Scale() {
			t.Fatalf("scale of %s: %d %v", want, got, ok)
		}
		if want.big == nil {
			small++
		} else {
			big++
		}
	}
	if small < 1000 || big < 1000 {
		t.Errorf("%d small and %d big numbers", small, big)
	}
	for d, want := range map[Decimal]int{DecimalNaN: 1, DecimalInf: 1, DecimalNegInf: -1} {
		b := d.AppendBinary(nil)
		sign, ok := SignOfBytes(b)
		_, finite := ScaleOfBytes(b)
		if !ok || sign != want || finite {
			t.Errorf("%s: sign %d %v, finite %v", d, sign, ok, finite)
		}
	}
	for _, b := range [][]byte{nil, {formBig}, {formSpecial, 0}, make([]byte, 12)} {
		if _, ok := SignOfBytes(b); ok {
			t.Errorf("% x has a sign", b)
		}
		if _, ok := ScaleOfBytes(b); ok {
			t.Errorf("% x has a scale", b)
		}
	}
}

// TestShare compares with the floor of a numeric's quotient.
func TestShare(t *testing.T) {
	r := rand.New(rand.NewSource(19))
	for range 20_000 {
		lo := DecimalFromInt64(r.Int63n(2000)-1000, int32(r.Intn(4)))
		wide := DecimalFromInt64(1+r.Int63n(1<<r.Intn(40)), int32(r.Intn(6)))
		part := DecimalFromInt64(r.Int63n(1000), 3)
		n := 1 + r.Int63n(9999)
		hi, _ := lo.Add(wide)
		at, _ := wide.Mul(part)
		x, _ := lo.Add(at)
		got, ok := Share(x, lo, hi, n)
		if !ok {
			continue
		}
		q, _ := at.Mul(DecimalFromInt64(n, 0))
		q, _ = q.Div(wide)
		if want, _ := q.Floor().Int64(); got != want {
			t.Fatalf("%s from %s to %s, %d: %d, want %d", x, lo, hi, n, got, want)
		}
	}
}
