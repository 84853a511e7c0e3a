package number

import (
	"math"
	"math/big"
	"math/bits"
	"sync"

	"github.com/tributarydb/tributary/sql/checked"
)

// Logarithms, exponentials and powers have some seventeen digits, one or two more than a float64 tells. Pairs of
// floats tell thirty. What they give is rounded to the scale, and is right where it is not as near to a half as
// the pairs may be off (rounded); else, and outside of usual sizes, math/big decides.

// double is the sum of two floats, the second at most half a last digit of the first.
type double struct{ hi, lo float64 }

var (
	doubleLn2   = double{math.Ln2, 2.3190468138462996e-17}
	doubleSixth = double{1.0 / 6, 9.25185853854297e-18}
	doubleLn10  = double{math.Ln10, -2.1707562233822494e-16}
)

// normal is a + b, where b is not the greater.
func normal(a, b float64) double {
	s := a + b
	return double{s, b - (s - a)}
}

// addExactly is a + b.
func addExactly(a, b float64) double {
	s := a + b
	v := s - a
	return double{s, (a - (s - v)) + (b - v)}
}

func (x double) add(y double) double {
	s, t := addExactly(x.hi, y.hi), addExactly(x.lo, y.lo)
	s = normal(s.hi, s.lo+t.hi)
	return normal(s.hi, s.lo+t.lo)
}

func (x double) mul(y double) double {
	p := x.hi * y.hi
	return normal(p, math.FMA(x.hi, y.hi, -p)+(float64(x.hi*y.lo)+float64(x.lo*y.hi)))
}

func (x double) neg() double { return double{-x.hi, -x.lo} }

func (x double) quo(y double) double {
	q1 := x.hi / y.hi
	r := x.add(y.mul(double{q1, 0}).neg())
	q2 := r.hi / y.hi
	r = r.add(y.mul(double{q2, 0}).neg())
	q := normal(q1, q2)
	return q.add(double{r.hi / y.hi, 0})
}

// times is x times a power of two.
func (x double) times(p float64) double { return double{x.hi * p, x.lo * p} }

// doublePow10 is 10^n, exactly: for n up to 44, five to it has 103 bits.
func doublePow10(n int32) double {
	if n <= 22 {
		return double{float64Pow10[n], 0}
	}
	a, b := float64Pow10[22], float64Pow10[n-22]
	p := a * b
	return double{p, math.FMA(a, b, -p)}
}

// tenths are 10^-n.
var tenths = func() (t [45]double) {
	for n := range t {
		t[n] = double{1, 0}.quo(doublePow10(int32(n)))
	}
	return t
}()

// doubleOf is a number of no more than 128 bits and 44 digits after the point.
func doubleOf(d Decimal) (double, bool) {
	hi, lo, ok := d.words()
	if d.kind != decFinite || !ok || d.scale > 44 || d.scale < 0 {
		return double{}, false
	}
	low := normal(float64(lo>>32)*(1<<32), float64(uint32(lo)))
	x := double{float64(hi>>32) * (1 << 32), float64(uint32(hi))}
	x = normal(x.hi, x.lo).times(1 << 64).add(low)
	if d.Sign() < 0 {
		x = x.neg()
	}
	if d.scale > 0 {
		x = x.mul(tenths[d.scale])
	}
	return x, true
}

// exps are e to the powers of j/64 and of j/4096, for j from -32 to 32.
var exps = sync.OnceValue(func() *[2][65]double {
	t := new([2][65]double)
	for i, scale := range []int{6, 12} {
		for j := range t[i] {
			x := big.NewFloat(float64(j - 32)).SetPrec(160)
			e := expFloat(x.SetMantExp(x, -scale), 160)
			t[i][j].hi, _ = e.Float64()
			t[i][j].lo, _ = e.Sub(e, big.NewFloat(t[i][j].hi)).Float64()
		}
	}
	return t
})

// exp is e to x, for x between -45 and 45, with a relative error below 2^-96. x is taken apart: a multiple of ln 2,
// one of 1/64, one of 1/4096, and what is left, at most 2^-13, whose series is short.
func (x double) exp() double {
	k := math.Round(x.hi / math.Ln2)
	r := x.add(doubleLn2.mul(double{-k, 0}))
	j := math.Round(r.hi * 64)
	r = r.add(double{-j / 64, 0})
	i := math.Round(r.hi * 4096)
	r = r.add(double{-i / 4096, 0})
	r2 := r.mul(r)
	h := r.hi
	s := r2.mul(r).mul(doubleSixth).add(double{h * h * h * h / 24 * (1 + h/5*(1+h/6)), 0})
	s = double{1, 0}.add(r.add(r2.times(0.5).add(s)))
	t := exps()
	s = s.mul(t[0][int(j)+32]).mul(t[1][int(i)+32])
	p := math.Float64frombits(uint64(int64(k)+1023) << 52) // 2^k
	return s.times(p)
}

// log is the natural logarithm of x > 0, between e^-45 and e^45, with an error below 2^-98 of it or of 1.
func (x double) log() double {
	y := math.Log(x.hi)
	z := x.mul(double{-y, 0}.exp()).add(double{-1, 0}) // ln x = y + ln(x / e^y), and z is 2^-46 at most
	return double{y, 0}.add(z).add(double{-z.hi * z.hi / 2, 0})
}

// rounded is x with a scale, halves away from zero, if an error of 2^-sure of x cannot change it.
func (x double) rounded(scale int32, sure int) (Decimal, bool) {
	if scale > 40 {
		return Decimal{}, false
	}
	neg := x.hi < 0
	if neg {
		x = x.neg()
	}
	p := x.mul(doublePow10(scale))
	if !(p.hi < math.Ldexp(1, sure-22)) { // more than 2^-22 off, a fourth of what is allowed below
		return Decimal{}, false
	}
	whole := math.Floor(p.hi)
	part := p.hi - whole + p.lo + 0.5
	more := math.Floor(part)
	if part -= more; part < 1e-6 || part > 1-1e-6 {
		return Decimal{}, false
	}
	const word = 1 << 64
	high := math.Floor(whole / word)
	lo, carry := bits.Add64(uint64(whole-high*word), uint64(max(more, 0)), 0)
	lo, borrow := bits.Sub64(lo, uint64(max(-more, 0)), 0)
	return decimalOfWords(neg, uint64(high)+carry-borrow, lo, scale), true
}

// within reports whether x is so near to 1 or far from it that its logarithm is one of double.log.
func (x double) within() bool { return x.hi > 1e-19 && x.hi < 1e19 }

// lnQuickly is Ln at a scale.
func lnQuickly(d Decimal, scale int32) (Decimal, bool) {
	x, ok := doubleOf(d)
	if !ok || !x.within() || scale > 22 {
		return Decimal{}, false
	}
	return x.log().rounded(scale, 98)
}

// expQuickly is Exp at a scale.
func expQuickly(d Decimal, scale int32) (Decimal, bool) {
	x, ok := doubleOf(d)
	if !ok || !(math.Abs(x.hi) < 45) {
		return Decimal{}, false
	}
	return x.exp().rounded(scale, 96)
}

// logQuickly is Log at a scale.
func logQuickly(base, d Decimal, scale int32) (Decimal, bool) {
	x, ok := doubleOf(d)
	b, known := doubleOf(base)
	if !ok || !known || !x.within() || !b.within() || scale > 22 || math.Abs(b.hi-1) < 0.01 {
		return Decimal{}, false
	}
	l := doubleLn10
	if b.hi != 10 || b.lo != 0 {
		l = b.log()
	}
	return x.log().quo(l).rounded(scale, 96)
}

// powQuickly is d > 0 to the power e, at the scale of Pow.
func powQuickly(d, e Decimal) (Decimal, bool) {
	x, ok := doubleOf(d)
	y, known := doubleOf(e)
	if !ok || !known || !x.within() || !(math.Abs(y.hi) < 64) {
		return Decimal{}, false
	}
	p := x.log().mul(y)
	if !(math.Abs(p.hi) < 45) {
		return Decimal{}, false
	}
	return p.exp().rounded(powScale(d, e, p.hi*log10E), 90)
}

// powIntQuickly is d to the power n, rounded to scale.
func powIntQuickly(d Decimal, n int, scale int32) (Decimal, bool) {
	x, ok := doubleOf(d)
	if !ok || n > 64 || n < -64 || x.hi == 0 {
		return Decimal{}, false
	}
	if 1 < n && n <= 4 && d.big == nil && checked.Abs(d.coef) < 1<<31 {
		r := d
		for range n - 1 {
			r, _ = r.Mul(d) // cannot fail of so few digits
		}
		return r.Round(scale), true
	}
	r := double{1, 0}
	for k := uint(max(n, -n)); k > 0; k >>= 1 {
		if k&1 == 1 {
			r = r.mul(x)
		}
		x = x.mul(x)
	}
	if a := math.Abs(r.hi); !(a > 1e-30 && a < 1e30) {
		return Decimal{}, false
	}
	if n < 0 {
		r = double{1, 0}.quo(r)
	}
	return r.rounded(scale, 96)
}
