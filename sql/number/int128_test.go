package number

import (
	"math"
	"math/big"
	"math/rand"
	"strconv"
	"testing"
)

// TestWideDecimalBytes reads what AppendBinary writes, of up to 130 bits.
func TestWideDecimalBytes(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 5000 {
		v := new(big.Int).Rand(r, new(big.Int).Lsh(big.NewInt(1), uint(1+r.Intn(130))))
		if r.Intn(2) == 0 {
			v.Neg(v)
		}
		scale := int32(r.Intn(100))
		hi, lo, s, ok := WideDecimalBytes(DecimalFromBig(new(big.Int).Set(v), scale).AppendBinary(nil))
		if fits := v.BitLen() <= 120; ok != fits {
			t.Fatalf("%s of %d bits: read %v", v, v.BitLen(), ok)
		}
		if !ok {
			continue
		}
		got := new(big.Int).Lsh(big.NewInt(hi), 64)
		if got.Add(got, new(big.Int).SetUint64(lo)); got.Cmp(v) != 0 || s != scale {
			t.Fatalf("%s at scale %d is read as %s at %d", v, scale, got, s)
		}
	}
	for _, b := range [][]byte{nil, {formBig}, {formBig, 0, 0}, {formSpecial}, {formBig, 255, 255, 1}, {longScale << 2}} {
		if _, _, _, ok := WideDecimalBytes(b); ok {
			t.Errorf("%v is read", b)
		}
	}
}

// TestSqrt128: square roots of numbers of one and two words equal those of math/big, also at
// squares and halfway between two roots.
func TestSqrt128(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for i := range 100000 {
		n := new(big.Int).Rand(r, new(big.Int).Lsh(big.NewInt(1), uint(1+r.Intn(126))))
		if i%2 == 0 { // x² + x + a little: near (x + ½)², where rounding is decided
			x := big.NewInt(r.Int63() >> r.Intn(63))
			n.Mul(x, x)
			if r.Intn(2) == 0 {
				n.Add(n, x)
			}
			if n.Add(n, big.NewInt(int64(r.Intn(3)-1))); n.Sign() < 0 || n.BitLen() > 126 {
				continue
			}
		}
		want := new(big.Int).Sqrt(n)
		if rest := new(big.Int).Sub(n, new(big.Int).Mul(want, want)); rest.Cmp(want) > 0 {
			want.Add(want, big.NewInt(1))
		}
		hi, lo, _ := mkDecimal(n, 0).words()
		if got := sqrt128(hi, lo); got != want.Uint64() {
			t.Fatalf("the root of %s is %s, found %d", n, want, got)
		}
	}
}

// randomBig returns a number of 1 to limit bits and either sign; every other one is within one of a
// power of two or of ten.
func randomBig(r *rand.Rand, limit int) *big.Int {
	v := new(big.Int)
	switch r.Intn(4) {
	case 0:
		v.Lsh(big.NewInt(1), uint(r.Intn(limit)))
		v.Add(v, big.NewInt(int64(r.Intn(3)-1)))
	case 1:
		v.Set(pow10Big(r.Intn(limit * 3 / 10)))
		v.Add(v, big.NewInt(int64(r.Intn(3)-1)))
	default:
		v.Rand(r, new(big.Int).Lsh(big.NewInt(1), uint(1+r.Intn(limit))))
	}
	if r.Intn(2) == 0 {
		v.Neg(v)
	}
	return v
}

// TestDivAtWide: divisions done in machine words equal those of math/big.
func TestDivAtWide(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	inWords := 0
	for range 200000 {
		a, b := randomBig(r, 140), randomBig(r, 70)
		if b.Sign() == 0 {
			continue
		}
		as, bs, scale := int32(r.Intn(25)), int32(r.Intn(25)), int32(r.Intn(25))
		x, y := new(big.Int).Set(a), new(big.Int).Set(b)
		if shift := int(scale + bs - as); shift >= 0 {
			x.Mul(x, pow10Big(shift))
		} else {
			y.Mul(y, pow10Big(-shift))
		}
		want := DecimalFromBig(divRound(x, y), scale)
		d, e := DecimalFromBig(a, as), DecimalFromBig(b, bs)
		if got := d.divAt(e, scale); got.String() != want.String() || (got.big == nil) != (want.big == nil) {
			t.Fatalf("%s / %s at scale %d is %s, found %s", d, e, scale, want, got)
		}
		if d.big != nil && e.big == nil && want.big != nil && want.big.BitLen() > 64 {
			inWords++
		}
	}
	if inWords < 1000 {
		t.Errorf("%d quotients of more than a word", inWords)
	}
}

// TestLeadingDigits: the leading digits by which the scale of a quotient is chosen are those of the
// decimal text.
func TestLeadingDigits(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for range 100000 {
		v := randomBig(r, 140)
		if v.Sign() == 0 {
			continue
		}
		d := DecimalFromBig(v, int32(r.Intn(50)))
		digits := new(big.Int).Abs(v).String()
		if d.numDigits() != len(digits) {
			t.Fatalf("%s has %d digits, found %d", v, len(digits), d.numDigits())
		}
		weight, take := group4(len(digits), d.scale)
		digits += "000"
		want, err := strconv.Atoi(digits[:take])
		if err != nil {
			t.Fatal(err)
		}
		if w, f := d.lead4(); w != weight || f != want {
			t.Fatalf("%s begins with %d at %d, found %d at %d", d, want, weight, f, w)
		}
	}
}

// TestDecodeWide reads numbers of one, two and more words back as they were.
func TestDecodeWide(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for range 100000 {
		d := DecimalFromBig(randomBig(r, 200), int32(r.Intn(70)))
		got, err := DecodeDecimal(d.AppendBinary(nil))
		if err != nil || got.String() != d.String() || (got.big == nil) != (d.big == nil) {
			t.Fatalf("%s is read as %s (%v)", d, got, err)
		}
	}
}

// TestDecimalFromInt128 converts two-word two's complement integers, the least and the greatest
// included.
func TestDecimalFromInt128(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	ends := []int64{0, -1, 1, math.MaxInt64, math.MinInt64}
	for range 10000 {
		hi, lo := r.Int63()>>r.Intn(64), r.Uint64()
		if r.Intn(2) == 0 {
			hi, lo = ends[r.Intn(len(ends))], uint64(ends[r.Intn(len(ends))])
		}
		v := new(big.Int).Lsh(big.NewInt(hi), 64)
		v.Add(v, new(big.Int).SetUint64(lo))
		scale := int32(r.Intn(30))
		want, got := DecimalFromBig(v, scale), DecimalFromInt128(hi, lo, scale)
		if got.String() != want.String() || (got.big == nil) != (want.big == nil) {
			t.Fatalf("%d, %d at scale %d is %s, found %s", hi, lo, scale, want, got)
		}
	}
}
