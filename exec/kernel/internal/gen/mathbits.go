package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// eachFour writes a loop that computes y of x, four numbers at a time.
func eachFour(name string, body func(x reg.VecVirtual) reg.VecVirtual) {
	kernel(name, "func(y, x *float64, n int)")
	y, x := Load(Param("y"), GP64()), Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	Label("loop")
	v := YMM()
	VMOVUPD(Mem{Base: x}, v)
	VMOVUPD(body(v), Mem{Base: y})
	ADDQ(Imm(32), x)
	ADDQ(Imm(32), y)
	SUBQ(Imm(4), n)
	JNZ(LabelRef("loop"))
	avx2.done()
}

// logs has the steps of the assembly of math.Log, in its order and without fused ones.
func logs() {
	eachFour("logsAVX2", func(x reg.VecVirtual) reg.VecVirtual {
		f1, k, mask, one := YMM(), YMM(), YMM(), YMM()
		VMOVUPD(f(1), one)
		VPSRLQ(Imm(52), x, k)
		VPOR(konst(0x4330000000000000), k, k) // 2^52 + the exponent's bits
		VSUBPD(f(1<<52+0x3fe), k, k)
		VANDPD(konst(1<<52-1), x, f1)
		VORPD(f(0.5), f1, f1)
		VMOVUPD(f(7.07106781186547524401e-01), mask)
		VCMPPD(Imm(5), f1, mask, mask) // where f1 is not above √½
		VANDPD(one, mask, mask)
		VSUBPD(mask, k, k)
		VADDPD(one, mask, mask)
		VMULPD(mask, f1, f1)
		VSUBPD(one, f1, f1)
		s, s2, s4, t1, t2, h := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
		VADDPD(f(2), f1, s)
		VDIVPD(s, f1, s)
		VMULPD(s, s, s2)
		VMULPD(s2, s2, s4)
		VMULPD(f(1.479819860511658591e-01), s4, t1)
		for _, c := range []float64{1.818357216161805012e-01, 2.857142874366239149e-01} {
			VADDPD(f(c), t1, t1)
			VMULPD(s4, t1, t1)
		}
		VADDPD(f(6.666666666666735130e-01), t1, t1)
		VMULPD(s2, t1, t1)
		VMULPD(f(1.531383769920937332e-01), s4, t2)
		VADDPD(f(2.222219843214978396e-01), t2, t2)
		VMULPD(s4, t2, t2)
		VADDPD(f(3.999999999940941908e-01), t2, t2)
		VMULPD(s4, t2, t2)
		VADDPD(t2, t1, t1)
		VMULPD(f(0.5), f1, h)
		VMULPD(f1, h, h)
		VADDPD(h, t1, t1)
		VMULPD(t1, s, s)
		VMULPD(f(1.90821492927058770002e-10), k, t1)
		VADDPD(t1, s, s)
		VSUBPD(s, h, h)
		VSUBPD(f1, h, h)
		VMULPD(f(6.93147180369123816490e-01), k, k)
		VSUBPD(h, k, k)
		return k
	})
}

// exps has the steps of the assembly of math.Exp on processors with FMA, for results that are neither
// infinite nor denormal.
func exps() {
	eachFour("expsAVX2", func(x reg.VecVirtual) reg.VecVirtual {
		n, whole, t, p := XMM(), YMM(), YMM(), YMM()
		VMULPD(f(1.4426950408889634073599246810018920), x, t)
		VCVTPD2DQY(t, n)
		VCVTDQ2PD(n, t)
		VFNMADD231PD(f(0.69314718055966295651160180568695068359375), t, x)
		VFNMADD231PD(f(0.28235290563031577122588448175013436025525412068e-12), t, x)
		VMULPD(f(0.0625), x, x)
		VMOVUPD(f(2.4801587301587301587e-5), p)
		for _, c := range []float64{1.9841269841269841270e-4, 1.3888888888888888889e-3, 8.3333333333333333333e-3, 4.1666666666666666667e-2, 1.6666666666666666667e-1, 0.5, 1} {
			VFMADD213PD(f(c), x, p)
		}
		VMULPD(p, x, x)
		for range 3 {
			VADDPD(f(2), x, p)
			VMULPD(p, x, x)
		}
		VADDPD(f(2), x, p)
		VFMADD213PD(f(1), p, x)
		VPMOVSXDQ(n, whole)
		VPADDQ(konst(0x3ff), whole, whole)
		VPSLLQ(Imm(52), whole, whole)
		VMULPD(whole, x, x)
		return x
	})
}
