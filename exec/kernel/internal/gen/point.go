package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants of math.go in package f64, which explains them.
const (
	log2e   = 1.4426950408889634
	ln2Hi   = 6.93147180369123816490e-01
	ln2Lo   = 1.90821492927058770002e-10
	ln2     = 0.6931471805599453
	magic   = 0x1.8p52
	expMin  = -708.0
	expMax  = 709.782712893384
	sqrt2m1 = 0.41421356237309503
)

var expC = [12]float64{
	1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
	1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5,
}

var logC = [9]float64{1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3}

// Predicates of VCMPPD.
const (
	cmpLT  = 0x11
	cmpNLT = 5
	cmpORD = 7
	cmpGE  = 0x1d
	cmpGT  = 0x1e
)

// pick returns cond(a pred b) ? yes : no, no being zero where it is nil.
func (s isa) pick(pred uint64, a reg.VecVirtual, b Op, yes, no Op) reg.VecVirtual {
	out := s.vec()
	if s.parts == 1 {
		k := K()
		VCMPPD(Imm(pred), b, a, k)
		if no == nil {
			VMOVUPD_Z(yes, k, out)
			return out
		}
		VMOVUPD(no, out)
		VMOVUPD(yes, k, out)
		return out
	}
	m := s.vec()
	VCMPPD(Imm(pred), b, a, m)
	if no == nil {
		VANDPD(yes, m, out)
		return out
	}
	VBLENDVPD(m, yes, no, out)
	return out
}

// expCore is Exp1 for x ≤ expMax (or NaN).
func (s isa) expCore(x reg.VecVirtual) reg.VecVirtual {
	x1, t, n, p := s.vec(), s.vec(), s.vec(), s.vec()
	VMOVUPD(f(expMin), x1)
	VMAXPD(x, x1, x1) // the second source, x, where either is NaN
	VMOVUPD(f(magic), t)
	VFMADD231PD(f(log2e), x1, t)
	VSUBPD(f(magic), t, n)
	VFMADD231PD(f(-ln2Hi), n, x1)
	VFMADD231PD(f(-ln2Lo), n, x1)
	VMOVUPD(f(expC[0]), p)
	for _, c := range expC[1:] {
		VFMADD213PD(f(c), x1, p)
	}
	VFMADD213PD(f(1), x1, p)
	VFMADD213PD(f(1), x1, p)
	t = s.pick(cmpORD, x, x, t, nil) // a NaN's payload must not reach the exponent
	VPSLLQ(Imm(52), t, t)
	VPADDQ(t, p, p)
	return s.pick(cmpNLT, x, f(expMin), p, nil)
}

// log1p is log1p01.
func (s isa) log1p(t reg.VecVirtual) reg.VecVirtual {
	u := s.vec()
	VSUBPD(f(1), t, u)
	VMULPD(f(0.5), u, u)
	q := s.atanh2(s.pick(cmpGT, t, f(sqrt2m1), u, t))
	ln := s.vec()
	VMOVUPD(f(ln2), ln)
	base := s.pick(cmpGT, t, f(sqrt2m1), ln, nil)
	VADDPD(q, base, base)
	return base
}

// atanh2 is atanh2 of a, which it changes.
func (s isa) atanh2(a reg.VecVirtual) reg.VecVirtual {
	den, s2, q := s.vec(), s.vec(), s.vec()
	VADDPD(f(2), a, den)
	VDIVPD(den, a, a)
	VMULPD(a, a, s2)
	VMOVUPD(f(logC[0]), q)
	for _, c := range logC[1:] {
		VFMADD213PD(f(c), s2, q)
	}
	VMULPD(s2, q, q)
	VADDPD(a, a, a)
	VFMADD213PD(a, a, q)
	return q
}

func (s isa) or(m Mem, v, out reg.VecVirtual) {
	if s.parts == 1 {
		VPORQ(m, v, out)
	} else {
		VORPD(m, v, out)
	}
}

func (s isa) and(m Mem, v, out reg.VecVirtual) {
	if s.parts == 1 {
		VPANDQ(m, v, out)
	} else {
		VANDPD(m, v, out)
	}
}

// logistic is the pointwise pass; each part of a tile is worked alone, so that
// AVX2 has registers enough.
func logistic(s isa) {
	kernel("logistic"+s.suffix, "func(z []float64, h []float64, l []float64, y []float64, w []float64)")
	z, n := Load(Param("z").Base(), GP64()), Load(Param("z").Len(), GP64())
	h := Load(Param("h").Base(), GP64())
	lp := Load(Param("l").Base(), GP64())
	y := Load(Param("y").Base(), GP64())
	w := Load(Param("w").Base(), GP64())
	i := GP64()
	for part := range s.parts {
		off := part * s.width
		XORQ(i, i)
		loop := fmt.Sprintf("loop%d", part)
		Label(loop)
		at := func(base reg.Register) Mem { return Mem{Base: base, Index: i, Scale: 8, Disp: off} }
		zv, x := s.vec(), s.vec()
		VMOVUPD(at(z), zv)
		s.or(konst(math.Float64bits(math.Copysign(0, -1))), zv, x)
		t := s.expCore(x)
		l := s.log1p(t)
		inv, ti, den, zero := s.vec(), s.vec(), s.vec(), s.vec()
		VADDPD(f(1), t, den)
		VMOVUPD(f(1), inv)
		VDIVPD(den, inv, inv)
		VMULPD(t, inv, ti)
		p := s.pick(cmpGE, zv, f(0), inv, ti)
		VMOVUPD(f(0), zero)
		m := s.vec()
		VMAXPD(zero, zv, m)
		yv, wv := s.vec(), s.vec()
		VMOVUPD(at(y), yv)
		VMOVUPD(at(w), wv)
		VFNMADD231PD(zv, yv, m)
		VADDPD(l, m, m)
		VMULPD(wv, m, m)
		VSUBPD(yv, p, p)
		VMULPD(wv, p, p)
		VMULPD(inv, ti, ti)
		VMULPD(wv, ti, ti)
		VMOVUPD(m, at(lp))
		VMOVUPD(p, at(z))
		VMOVUPD(ti, at(h))
		ADDQ(Imm(8), i)
		CMPQ(i, n)
		JL(LabelRef(loop))
	}
	s.done()
}

// exp replaces each x by e^x.
func exp(s isa) {
	kernel("exp"+s.suffix, "func(x []float64)")
	p, n := Load(Param("x").Base(), GP64()), Load(Param("x").Len(), GP64())
	Label("loop")
	for part := range s.parts {
		m := Mem{Base: p, Disp: part * s.width}
		x, c, inf := s.vec(), s.vec(), s.vec()
		VMOVUPD(m, x)
		VMOVUPD(f(expMax), c)
		VMINPD(x, c, c) // x where NaN
		e := s.expCore(c)
		VMOVUPD(konst(math.Float64bits(math.Inf(1))), inf)
		VMOVUPD(s.pick(cmpGT, x, f(expMax), inf, e), m)
	}
	ADDQ(Imm(64), p)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	s.done()
}
