package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// adam is adamGo in package f32, of n numbers, a multiple of four.
func adam() {
	kernel("adamAVX2", "func(x, grad, m, v *float32, n int, c *[8]float64)")
	var base [4]reg.Register
	for i, name := range []string{"x", "grad", "m", "v"} {
		base[i] = Load(Param(name), GP64())
	}
	n, from := Load(Param("n"), GP64()), Load(Param("c"), GP64())
	var c [8]reg.VecVirtual
	for i := range c {
		c[i] = YMM()
		VBROADCASTSD(Mem{Base: from, Disp: 8 * i}, c[i])
	}
	k := GP64()
	XORQ(k, k)
	Label("loop")
	at := func(i int) Mem { return Mem{Base: base[i], Index: k, Scale: 4} }
	wide := func(i int) reg.VecVirtual { w := YMM(); VCVTPS2PD(at(i), w); return w }
	keep := func(w reg.VecVirtual, i int) {
		narrow := XMM()
		VCVTPD2PSY(w, narrow)
		VMOVUPS(narrow, at(i))
	}
	g, m, v := wide(1), wide(2), wide(3)
	t := YMM()
	VMULPD(c[0], m, m)
	VMULPD(c[1], g, t)
	VADDPD(t, m, m)
	keep(m, 2)
	VMULPD(g, g, g)
	VMULPD(c[3], g, g)
	VMULPD(c[2], v, v)
	VADDPD(g, v, v)
	keep(v, 3)
	VDIVPD(c[4], m, m)
	VMULPD(c[7], m, m)
	VDIVPD(c[5], v, v)
	VSQRTPD(v, v)
	VADDPD(c[6], v, v)
	VDIVPD(v, m, m)
	x := wide(0)
	VSUBPD(m, x, x)
	keep(x, 0)
	ADDQ(Imm(4), k)
	CMPQ(k, n)
	JL(LabelRef("loop"))
	avx2.done()
}
