package number

import (
	"bytes"
	"math/rand"
	"testing"
)

// TestWide: sums, differences and products of two words are those of Decimal, or are refused.
func TestWide(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	word := func() int64 { return int64(r.Uint64()) >> r.Intn(64) }
	one := func() Decimal {
		d := DecimalFromInt128(word(), r.Uint64(), int32(r.Intn(30)))
		if r.Intn(2) == 0 {
			d = DecimalFromInt64(word(), int32(r.Intn(30)))
		}
		return d
	}
	done := 0
	for range 200_000 {
		x, y := one(), one()
		a, oka := WideOf(x.AppendBinary(nil))
		b, okb := WideOf(y.AppendBinary(nil))
		if !oka || !okb {
			continue
		}
		for op, f := range map[string]func() (Wide, bool, Decimal, error){
			"+": func() (Wide, bool, Decimal, error) { w, ok := a.Add(b); d, err := x.Add(y); return w, ok, d, err },
			"-": func() (Wide, bool, Decimal, error) { w, ok := a.Add(b.Neg()); d, err := x.Sub(y); return w, ok, d, err },
			"/": func() (Wide, bool, Decimal, error) {
				if y.Sign() == 0 {
					return Wide{}, false, Decimal{}, nil
				}
				w, ok := a.Div(b)
				d, err := x.Div(y)
				return w, ok, d, err
			},
			"*": func() (Wide, bool, Decimal, error) { w, ok := a.Mul(b); d, err := x.Mul(y); return w, ok, d, err },
		} {
			w, ok, want, err := f()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			done++
			if got := w.Append(nil); !bytes.Equal(got, want.AppendBinary(nil)) {
				back, _ := DecodeDecimal(got)
				t.Fatalf("%v %s %v is %v, want %v", x, op, y, back, want)
			}
		}
	}
	if done < 100_000 {
		t.Errorf("only %d were computed", done)
	}
}
