package main

import (
	"math"

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

// sines has the steps of math.Sin, or of math.Cos, in their order and without fused ones, for sizes below 2^29.
func sines(name string, cosine bool) {
	eachFour(name, func(x reg.VecVirtual) reg.VecVirtual {
		octant, j, odd, size, n, t := XMM(), YMM(), XMM(), YMM(), YMM(), YMM()
		VANDPD(konst(1<<63-1), x, size)
		VMULPD(f(4/math.Pi), size, t)
		VCVTTPD2DQY(t, octant)
		VPSLLD(Imm(31), octant, odd)
		VPSRLD(Imm(31), odd, odd)
		VPADDD(odd, octant, octant)
		VCVTDQ2PD(octant, n)
		for _, c := range []float64{7.85398125648498535156e-1, 3.77489470793079817668e-8, 2.69515142907905952645e-15} {
			VMULPD(f(c), n, t)
			VSUBPD(t, size, size)
		}
		VPMOVSXDQ(octant, j)
		zz, s, c, swap, sign := YMM(), YMM(), YMM(), YMM(), YMM()
		VMULPD(size, size, zz)
		polynomial := func(to reg.VecVirtual, coefficients ...float64) {
			VMULPD(f(coefficients[0]), zz, to)
			for i, k := range coefficients[1:] {
				if i > 0 {
					VMULPD(zz, to, to)
				}
				VADDPD(f(k), to, to)
			}
		}
		polynomial(s, 1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6, -1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1)
		VMULPD(zz, size, t)
		VMULPD(s, t, s)
		VADDPD(s, size, s)
		polynomial(c, -1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7, 2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2)
		VMULPD(zz, zz, t)
		VMULPD(c, t, c)
		VMULPD(f(0.5), zz, zz)
		VMOVUPD(f(1), t)
		VSUBPD(zz, t, t)
		VADDPD(c, t, c)
		VPSLLQ(Imm(62), j, swap) // of octants 2 and 6
		VPSLLQ(Imm(61), j, sign) // of 4 and 6
		if cosine {
			VXORPD(swap, sign, sign)
			s, c = c, s
		} else {
			VXORPD(x, sign, sign)
		}
		VBLENDVPD(swap, c, s, s)
		VANDPD(konst(1<<63), sign, sign)
		VXORPD(sign, s, s)
		return s
	})
}
