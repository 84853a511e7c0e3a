package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// entropy is crossEntropyGo, and labelEntropyGo of labels.
func entropy(name string, labels bool) {
	const least = 0x1p-52
	s := avx2
	signature := "func(loss *float64, p *float64, y *float64, n int)"
	if labels {
		signature = "func(loss *float64, p *float64, label *uint32, hit uint32, n int)"
	}
	kernel(name, signature)
	loss, p, n := Load(Param("loss"), GP64()), Load(Param("p"), GP64()), Load(Param("n"), GP64())
	y, size, hit := GP64(), 32, XMM()
	if labels {
		Load(Param("label"), y)
		VMOVD(Load(Param("hit"), GP32()), hit)
		VPBROADCASTD(hit, hit)
		size = 16
	} else {
		Load(Param("y"), y)
	}
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
	if labels {
		is := XMM()
		VPCMPEQD(Mem{Base: y}, hit, is)
		VPMOVSXDQ(is, miss)
		VBLENDVPD(miss, v, u, u)
		VBLENDVPD(miss, none, rest, rest)
	} else {
		VCMPPD(Imm(0), Mem{Base: y}, zero, miss)
		VBLENDVPD(miss, u, v, u)
		VBLENDVPD(miss, rest, none, rest)
	}
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
	ADDQ(Imm(32), p)
	ADDQ(Imm(uint64(size)), y)
	ADDQ(Imm(32), loss)
	SUBQ(Imm(4), n)
	JNZ(LabelRef("loop"))
	s.done()
}

// lossParts is lossPartsGo: a lane each of three sums.
func lossParts() {
	kernel("lossPartsAVX2", "func(sums *[24]float64, loss *float64, n int)")
	sums, loss, n := Load(Param("sums"), GP64()), Load(Param("loss"), GP64()), Load(Param("n"), GP64())
	var acc [3][2]reg.VecVirtual
	for i := range acc {
		for h := range acc[i] {
			acc[i][h] = YMM()
			VXORPD(acc[i][h], acc[i][h], acc[i][h])
		}
	}
	high, low := YMM(), YMM()
	VMOVUPD(f(0x1.8p22), high)
	VMOVUPD(f(0x1.8p-18), low)
	Label("loop")
	for h := range 2 {
		v, t := YMM(), YMM()
		VMOVUPD(Mem{Base: loss, Disp: 32 * h}, v)
		for i, g := range []reg.VecVirtual{high, low} {
			VADDPD(g, v, t)
			VSUBPD(g, t, t)
			VADDPD(t, acc[i][h], acc[i][h])
			VSUBPD(t, v, v)
		}
		VADDPD(v, acc[2][h], acc[2][h])
	}
	ADDQ(Imm(64), loss)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	for i := range acc {
		for h, a := range acc[i] {
			VMOVUPD(a, Mem{Base: sums, Disp: 64*i + 32*h})
		}
	}
	avx2.done()
}
