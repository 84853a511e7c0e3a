package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// entropy is crossEntropyGo.
func entropy() {
	const least = 0x1p-52
	s := avx2
	kernel("crossEntropyAVX2", "func(loss *float64, p *float64, y *float64, n int)")
	loss, p, y := Load(Param("loss"), GP64()), Load(Param("p"), GP64()), Load(Param("y"), GP64())
	n := Load(Param("n"), GP64())
	Label("loop")
	v, one, c := s.vec(), s.vec(), s.vec()
	VMOVUPD(Mem{Base: p}, v)
	VMOVUPD(f(least), c)
	VMAXPD(v, c, v) // the second source, v, where it is NaN
	VMOVUPD(f(1-least), c)
	VMINPD(v, c, v)
	VMOVUPD(f(1), one)
	u, rest, none := s.vec(), s.vec(), s.vec()
	VSUBPD(v, one, u)
	VSUBPD(u, one, rest)
	VSUBPD(v, rest, rest)
	VSUBPD(v, v, none)
	miss, zero := s.vec(), s.vec()
	VXORPD(zero, zero, zero)
	VCMPPD(Imm(0), Mem{Base: y}, zero, miss)
	VBLENDVPD(miss, u, v, u)
	VBLENDVPD(miss, rest, none, rest)
	m, e, small := s.vec(), s.vec(), s.vec()
	VANDPD(konst(1<<52-1), u, m)
	VORPD(konst(1022<<52), m, m)
	VPSRLQ(Imm(52), u, e)
	VORPD(f(0x1p52), e, e)
	VSUBPD(f(0x1p52+1022), e, e)
	VMOVUPD(f(math.Sqrt2/2), c)
	VCMPPD(Imm(1), c, m, small) // m < c
	t := s.vec()
	VANDPD(m, small, t)
	VADDPD(t, m, m)
	VANDPD(one, small, t)
	VSUBPD(t, e, e)
	VSUBPD(one, m, m)
	l := s.atanh2(m)
	VADDPD(rest, l, l)
	VFMADD231PD(f(ln2Lo), e, l)
	VFMADD231PD(f(ln2Hi), e, l)
	VSUBPD(l, zero, l)
	VMOVUPD(l, Mem{Base: loss})
	for _, r := range []Op{p, y, loss} {
		ADDQ(Imm(32), r)
	}
	SUBQ(Imm(4), n)
	JNZ(LabelRef("loop"))
	s.done()
}
