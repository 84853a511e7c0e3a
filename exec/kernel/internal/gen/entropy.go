package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// entropy is crossEntropyGo, and labelEntropyGo of labels.
func entropy(s isa, name string, labels bool) {
	const least = 0x1p-52
	signature := "func(loss *float64, p *float64, y *float64, n int)"
	if labels {
		signature = "func(loss *float64, p *float64, label *uint32, hit uint32, n int)"
	}
	kernel(name+s.suffix, signature)
	loss, p, n := Load(Param("loss"), GP64()), Load(Param("p"), GP64()), Load(Param("n"), GP64())
	y, size, hit := GP64(), s.width, YMM()
	if labels {
		Load(Param("label"), y)
		VMOVD(Load(Param("hit"), GP32()), hit.AsX())
		VPBROADCASTD(hit.AsX(), hit)
		size /= 2
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
	zero := s.vec()
	VXORPD(zero, zero, zero)
	switch {
	case s.parts == 1:
		is := K()
		if labels {
			VPCMPEQD(Mem{Base: y}, hit, is)
		} else {
			VCMPPD(Imm(4), Mem{Base: y}, zero, is)
		}
		VMOVAPD(v, is, u)
		VMOVAPD(none, is, rest)
	case labels:
		is, wide := XMM(), s.vec()
		VPCMPEQD(Mem{Base: y}, hit.AsX(), is)
		VPMOVSXDQ(is, wide)
		VBLENDVPD(wide, v, u, u)
		VBLENDVPD(wide, none, rest, rest)
	default:
		miss := s.vec()
		VCMPPD(Imm(0), Mem{Base: y}, zero, miss)
		VBLENDVPD(miss, u, v, u)
		VBLENDVPD(miss, rest, none, rest)
	}
	m, e := s.vec(), s.vec()
	s.and(konst(1<<52-1), u, m)
	s.or(konst(1022<<52), m, m)
	VPSRLQ(Imm(52), u, e)
	s.or(f(0x1p52), e, e)
	VSUBPD(f(0x1p52+1022), e, e)
	t := s.pick(1, m, f(math.Sqrt2/2), m, nil)
	c = s.pick(1, m, f(math.Sqrt2/2), one, nil)
	VADDPD(t, m, m)
	VSUBPD(c, e, e)
	VSUBPD(one, m, m)
	l := s.atanh2(m)
	VADDPD(rest, l, l)
	VFMADD231PD(f(ln2Lo), e, l)
	VFMADD231PD(f(ln2Hi), e, l)
	VSUBPD(l, zero, l)
	VMOVUPD(l, Mem{Base: loss})
	ADDQ(Imm(uint64(s.width)), p)
	ADDQ(Imm(uint64(size)), y)
	ADDQ(Imm(uint64(s.width)), loss)
	SUBQ(Imm(uint64(s.width/8)), n)
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
