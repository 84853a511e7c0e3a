package number

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/tributarydb/tributary/sql/checked"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Scales follow PostgreSQL: results of transcendental functions carry at least
// 16 significant digits and never fewer decimals than their arguments.
const (
	minSigDigits    = 16
	maxDisplayMath  = 1000
	log10E          = 0.434294481903252
	guardDigits     = 10
	overflowExpLn   = maxResultScale * 3
	overflowPowerLn = maxResultScale * 3.01
)

func clampScale(s int) int32 { return int32(min(max(s, 0), maxDisplayMath)) }

// weight4 is the position of the first base-10000 digit, counted from the point.
func (d Decimal) weight4() int {
	if d.Sign() == 0 {
		return 0
	}
	return d.leadExp() >> 2
}

// Sqrt is the square root; 2201F for negative numbers.
func (d Decimal) Sqrt() (Decimal, error) {
	w := d.weight4()
	sweight := 0
	if w >= 0 {
		sweight = w*4/2 + 1
	} else {
		sweight = 1 - (1-w*4)/2
	}
	return d.SqrtAt(clampScale(max(minSigDigits-sweight, int(d.scale))))
}

// SqrtAt is the square root rounded to a scale, not less than that of d.
func (d Decimal) SqrtAt(scale int32) (Decimal, error) {
	if d.kind == decNaN || d.kind == decPosInf {
		return d, nil
	}
	if d.Sign() < 0 {
		return Decimal{}, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "cannot take square root of a negative number")
	}
	work := max(scale, d.scale)
	shift := 2*int(work) - int(d.scale)
	if hi, lo, ok := d.words(); ok && shift <= 38 {
		if hi, lo, ok = div192(hi, lo, 1, shift); ok && hi < 1<<62 {
			return decimalOfWords(false, 0, sqrt128(hi, lo), work).Round(scale), nil
		}
	}
	n := new(big.Int).Mul(d.coefBig(), pow10Big(shift))
	s := new(big.Int).Sqrt(n)
	if n.Sub(n, new(big.Int).Mul(s, s)).Cmp(s) > 0 {
		s.Add(s, bigPow10[0])
	}
	return mkDecimal(s, work).Round(scale), nil
}

// sqrt128 is the root of n = hi·2^64 + lo, of at most 126 bits, to the nearest
// integer: that of the nearest float, made exact by Newton's steps.
func sqrt128(hi, lo uint64) uint64 {
	x := uint64(math.Sqrt(math.Ldexp(float64(hi), 64) + float64(lo)))
	for range 2 {
		if x > hi { // so that the quotient is one word
			q, _ := bits.Div64(hi, lo, x)
			x = (x + q) / 2 // both are less than 2^63
		}
	}
	above := func(x uint64) bool { // x² > n
		h, l := bits.Mul64(x, x)
		return h > hi || h == hi && l > lo
	}
	for above(x) {
		x--
	}
	for !above(x + 1) {
		x++
	}
	h, l := bits.Mul64(x, x)
	l, borrow := bits.Sub64(lo, l, 0)
	if h, _ = bits.Sub64(hi, h, borrow); h > 0 || l > x { // n - x² > x: beyond x + 1/2
		x++
	}
	return x
}

// Exp is e to the power d.
func (d Decimal) Exp() (Decimal, error) {
	switch d.kind {
	case decNaN, decPosInf:
		return d, nil
	case decNegInf:
		return Decimal{}, nil
	}
	val := d.Float64() * log10E
	val = max(min(val, maxResultScale), -maxResultScale)
	scale := clampScale(max(minSigDigits-int(val), int(d.scale)))
	return expScaled(d, scale)
}

func expScaled(d Decimal, scale int32) (Decimal, error) {
	val := d.Float64()
	if math.Abs(val) >= overflowExpLn {
		if val > 0 {
			return Decimal{}, errNumericOverflow()
		}
		return Decimal{scale: scale}, nil
	}
	if r, ok := expQuickly(d, scale); ok {
		return r, nil
	}
	digits := int(scale) + max(int(val*log10E), 0) + guardDigits
	prec := bitsFor(digits)
	return fromFloat(expFloat(d.float(prec+16), prec), scale).checked()
}

func errLog(d Decimal) error {
	if d.Sign() == 0 && d.kind == decFinite {
		return pgerr.New(pgerr.InvalidArgumentForLogarithm, "cannot take logarithm of zero")
	}
	return pgerr.New(pgerr.InvalidArgumentForLogarithm, "cannot take logarithm of a negative number")
}

// Ln is the natural logarithm; 2201E for zero and negative numbers.
func (d Decimal) Ln() (Decimal, error) {
	if d.kind == decNaN || d.kind == decPosInf {
		return d, nil
	}
	if d.Sign() <= 0 {
		return Decimal{}, errLog(d)
	}
	scale := clampScale(max(minSigDigits-lnWeight(d), int(d.scale)))
	if r, ok := lnQuickly(d, scale); ok {
		return r, nil
	}
	prec := bitsFor(int(scale) + guardDigits + 8)
	return fromFloat(lnFloat(d.float(prec+64), prec), scale), nil
}

// lnWeight estimates the decimal exponent of |ln d|, in the way that decides
// the scale PostgreSQL prints.
func lnWeight(d Decimal) int {
	if d.Sign() <= 0 {
		return 0
	}
	if d.Cmp(Decimal{coef: 9, scale: 1}) >= 0 && d.Cmp(Decimal{coef: 11, scale: 1}) <= 0 {
		x, err := d.Sub(Decimal{coef: 1})
		if err != nil || x.Sign() == 0 {
			return 0
		}
		w, f := x.lead4()
		return w*4 + int(math.Log10(float64(f)))
	}
	n := d.numDigits()
	e := d.leadExp()
	take := min(n, e-4*(e>>2)+5) // the first two base-10000 digits
	var lead float64
	if d.big == nil {
		lead = float64(checked.Abs(d.coef) / checked.Pow10[n-take])
	} else {
		lead, _ = new(big.Float).SetInt(new(big.Int).Quo(d.big, pow10Big(n-take))).Float64()
	}
	ln := math.Log(lead) + float64(e-take+1)*2.302585092994046
	return int(math.Log10(math.Abs(ln)))
}

// Log10 is the logarithm to base 10.
func (d Decimal) Log10() (Decimal, error) { return Log(DecimalFromInt64(10, 0), d) }

// Log is the logarithm of d to the given base.
func Log(base, d Decimal) (Decimal, error) {
	if base.kind == decNaN || d.kind == decNaN {
		return DecimalNaN, nil
	}
	if d.Sign() < 0 && d.kind != decFinite {
		return Decimal{}, errLog(d)
	}
	if base.Sign() <= 0 {
		return Decimal{}, errLog(base)
	}
	if d.Sign() <= 0 {
		return Decimal{}, errLog(d)
	}
	if base.kind == decPosInf {
		if d.kind == decPosInf {
			return DecimalNaN, nil
		}
		return Decimal{}, nil
	}
	if d.kind == decPosInf {
		return d, nil
	}
	bw, dw := lnWeight(base), lnWeight(d)
	scale := clampScale(max(minSigDigits-(dw-bw), int(base.scale), int(d.scale)))
	if r, ok := logQuickly(base, d, scale); ok {
		return r, nil
	}
	prec := bitsFor(int(scale) + max(dw-bw, 0) + 2*guardDigits)
	lb := lnFloat(base.float(prec+64), prec)
	if lb.Sign() == 0 {
		return Decimal{}, errDivisionByZero()
	}
	q := new(big.Float).SetPrec(prec).Quo(lnFloat(d.float(prec+64), prec), lb)
	return fromFloat(q, scale), nil
}

// isIntegral reports whether d is a whole number (the infinities count as such).
func (d Decimal) isIntegral() bool {
	switch d.kind {
	case decNaN:
		return false
	case decFinite:
		return d.trimZeros().scale == 0
	}
	return true
}

func (d Decimal) isOdd() bool {
	t := d.trimZeros()
	if t.kind != decFinite || t.scale != 0 {
		return false
	}
	return t.coefBig().Bit(0) == 1
}

var decOne = Decimal{coef: 1}

// Pow is d to the power e.
func (d Decimal) Pow(e Decimal) (Decimal, error) {
	if d.kind != decFinite || e.kind != decFinite {
		return d.powSpecial(e)
	}
	s1, s2 := d.Sign(), e.Sign()
	if s1 == 0 && s2 < 0 {
		return Decimal{}, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "zero raised to a negative power is undefined")
	}
	if s1 < 0 && !e.isIntegral() {
		return Decimal{}, pgerr.New(pgerr.InvalidArgumentForPowerFunction,
			"a negative number raised to a non-integer power yields a complex result")
	}
	if e.isIntegral() {
		if n, ok := e.Int64(); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
			return d.powInt(int(n), clampScale(max(minSigDigits, int(d.scale))))
		}
	}
	if s1 == 0 {
		return Decimal{scale: minSigDigits}, nil
	}
	neg := s1 < 0 && e.isOdd()
	d = d.Abs()
	if r, ok := powQuickly(d, e); ok && !neg {
		return r, nil
	}
	lw := lnWeight(d)
	ln := lnFloat(d.float(256), 128)
	approx, _ := new(big.Float).Mul(ln, e.float(128)).Float64()
	if math.Abs(approx) > overflowPowerLn {
		if approx > 0 {
			return Decimal{}, errNumericOverflow()
		}
		return Decimal{scale: maxDisplayMath}, nil
	}
	val := approx * log10E
	scale := powScale(d, e, val)
	digits := int(scale) + max(int(val), 0) + max(-lw, 0) + max(e.leadExp(), 0) + 2*guardDigits
	prec := bitsFor(digits)
	x := new(big.Float).SetPrec(prec).Mul(lnFloat(d.float(prec+64), prec), e.float(prec))
	r := fromFloat(expFloat(x, prec), scale)
	if neg {
		r = r.Neg()
	}
	return r.checked()
}

// powScale is the scale of d to the power e, where the result has val digits before the point.
func powScale(d, e Decimal, val float64) int32 {
	return clampScale(max(minSigDigits-int(val), int(d.scale), int(e.scale)))
}

// powInt is d^n rounded to scale.
func (d Decimal) powInt(n int, scale int32) (Decimal, error) {
	switch {
	case n == 0:
		return decOne.Round(scale), nil
	case d.Sign() == 0:
		return Decimal{scale: scale}, nil
	case n == 1:
		return d.Round(scale), nil
	case n == -1:
		return decOne.divAt(d, scale).checked()
	}
	if r, ok := powIntQuickly(d, n, scale); ok {
		return r, nil
	}
	// log10 of the result determines the digits that matter.
	lead := float64(d.leadExp())
	m := d.float(64)
	m.Quo(m, new(big.Float).SetInt(pow10Big(max(d.leadExp(), 0))))
	if d.leadExp() < 0 {
		m.Mul(m, new(big.Float).SetInt(pow10Big(-d.leadExp())))
	}
	mf, _ := m.Abs(m).Float64()
	log := (lead + math.Log10(mf)) * float64(n)
	if log > maxIntDigits {
		return Decimal{}, errNumericOverflow()
	}
	if log+1 < -float64(scale) {
		return Decimal{scale: scale}, nil
	}
	digits := int(math.Max(log, 0)) + int(scale) + guardDigits + 12
	prec := bitsFor(digits)
	base := d.float(prec)
	acc := new(big.Float).SetPrec(prec).SetInt64(1)
	for k := uint(max(n, -n)); k > 0; k >>= 1 {
		if k&1 == 1 {
			acc.Mul(acc, base)
		}
		if k > 1 {
			base.Mul(base, base)
		}
	}
	if n < 0 {
		acc.Quo(new(big.Float).SetPrec(prec).SetInt64(1), acc)
	}
	return fromFloat(acc, scale).checked()
}

// powSpecial is Pow where an operand is NaN or infinite.
func (d Decimal) powSpecial(e Decimal) (Decimal, error) {
	switch {
	case d.kind == decNaN:
		if e.kind == decFinite && e.Sign() == 0 {
			return decOne, nil
		}
		return DecimalNaN, nil
	case e.kind == decNaN:
		if d.kind == decFinite && d.Cmp(decOne) == 0 {
			return decOne, nil
		}
		return DecimalNaN, nil
	}
	s1, s2 := d.Sign(), e.Sign()
	switch {
	case s1 == 0 && s2 < 0:
		return Decimal{}, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "zero raised to a negative power is undefined")
	case s1 < 0 && !e.isIntegral():
		return Decimal{}, pgerr.New(pgerr.InvalidArgumentForPowerFunction,
			"a negative number raised to a non-integer power yields a complex result")
	case d.Cmp(decOne) == 0 || s2 == 0:
		return decOne, nil
	case s1 == 0:
		return Decimal{}, nil
	}
	if e.kind != decFinite {
		c := d.Abs().Cmp(decOne)
		switch {
		case c == 0:
			return decOne, nil
		case (c > 0) == (s2 > 0):
			return DecimalInf, nil
		}
		return Decimal{}, nil
	}
	switch {
	case s2 < 0:
		return Decimal{}, nil
	case d.kind == decNegInf && e.isOdd():
		return DecimalNegInf, nil
	}
	return DecimalInf, nil
}
