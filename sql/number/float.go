package number

import (
	"math"
	"math/big"
	"sync"
)

// The transcendental functions run in big.Float with enough guard bits that
// the rounding to the printed scale is the true one.

// bitsFor is a precision of so many decimal digits.
func bitsFor(digits int) uint { return uint(float64(max(digits, 16))*3.33) + 64 }

func (d Decimal) float(prec uint) *big.Float {
	f := new(big.Float).SetPrec(prec)
	if d.big != nil {
		f.SetInt(d.big)
	} else {
		f.SetInt64(d.coef)
	}
	if d.scale > 0 {
		f.Quo(f, new(big.Float).SetPrec(prec+8).SetInt(pow10Big(int(d.scale))))
	}
	return f
}

// fromFloat rounds to scale, halves away from zero.
func fromFloat(f *big.Float, scale int32) Decimal {
	prec := f.Prec() + 16
	p := new(big.Float).SetPrec(prec).SetInt(pow10Big(int(scale)))
	p.Mul(p, f)
	half := big.NewFloat(0.5)
	if p.Sign() < 0 {
		half.Neg(half)
	}
	p.Add(p, half)
	i, _ := p.Int(nil)
	return mkDecimal(i, scale)
}

const ln2Bits = 4096

var ln2Const = sync.OnceValue(func() *big.Float { return computeLn2(ln2Bits) })

func ln2(prec uint) *big.Float {
	if prec <= ln2Bits {
		return new(big.Float).SetPrec(prec).Set(ln2Const())
	}
	return computeLn2(prec)
}

// computeLn2 uses ln 2 = 2 atanh(1/3).
func computeLn2(prec uint) *big.Float {
	third := new(big.Float).SetPrec(prec+16).Quo(big.NewFloat(1), big.NewFloat(3))
	r := atanh(third, prec+16)
	return r.SetMantExp(r, 1)
}

// atanh sums y + y^3/3 + y^5/5 ... for small y.
func atanh(y *big.Float, prec uint) *big.Float {
	sum := new(big.Float).SetPrec(prec).Set(y)
	if y.Sign() == 0 {
		return sum
	}
	y2 := new(big.Float).SetPrec(prec).Mul(y, y)
	pow := new(big.Float).SetPrec(prec).Set(y)
	term, div := new(big.Float).SetPrec(prec), new(big.Float).SetPrec(64)
	for k := int64(3); ; k += 2 {
		pow.Mul(pow, y2)
		term.Quo(pow, div.SetInt64(k))
		if term.MantExp(nil) < sum.MantExp(nil)-int(prec) {
			return sum
		}
		sum.Add(sum, term)
	}
}

// lnFloat is the natural logarithm of x > 0.
func lnFloat(x *big.Float, prec uint) *big.Float {
	work := prec + 64
	m := new(big.Float).SetPrec(max(work, x.Prec()))
	e := x.MantExp(m)
	if f, _ := m.Float64(); f < math.Sqrt2/2 {
		m.SetMantExp(m, 1)
		e--
	}
	one := big.NewFloat(1)
	dist := new(big.Float).SetPrec(m.Prec()).Sub(m, one)
	roots := 0
	if dist.Sign() != 0 && dist.MantExp(nil) > -8 {
		// Square roots bring the argument near 1, where the series is short;
		// each costs one bit.
		roots = min(int(math.Sqrt(float64(prec))/2), 48)
		for range roots {
			m.Sqrt(m)
		}
	}
	num := new(big.Float).SetPrec(m.Prec()).Sub(m, one)
	den := new(big.Float).SetPrec(m.Prec()).Add(m, one)
	r := atanh(num.Quo(num, den), work)
	r.SetMantExp(r, 1+roots)
	if e != 0 {
		l := ln2(work)
		r.Add(r, l.Mul(l, new(big.Float).SetInt64(int64(e))))
	}
	return r.SetPrec(prec)
}

// expFloat is e^x for |x| below about 10^5.
func expFloat(x *big.Float, prec uint) *big.Float {
	halvings := int(math.Sqrt(float64(prec))/2) + 4
	work := prec + uint(halvings) + 64
	f, _ := x.Float64()
	k := int64(math.Round(f / math.Ln2))
	r := new(big.Float).SetPrec(work).Set(x)
	if k != 0 {
		l := ln2(work)
		r.Sub(r, l.Mul(l, new(big.Float).SetInt64(k)))
	}
	r.SetMantExp(r, -halvings)
	sum := new(big.Float).SetPrec(work).SetInt64(1)
	term := new(big.Float).SetPrec(work).SetInt64(1)
	div := new(big.Float).SetPrec(64)
	for i := int64(1); r.Sign() != 0; i++ {
		term.Mul(term, r)
		term.Quo(term, div.SetInt64(i))
		if term.Sign() == 0 || term.MantExp(nil) < -int(work) {
			break
		}
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	sum.SetMantExp(sum, int(k))
	return sum.SetPrec(prec)
}
