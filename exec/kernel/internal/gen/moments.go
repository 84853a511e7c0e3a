package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// classMoments512 is classMomentsGo, of one class after the other, whose rows a mask tells. What is some tiles ahead is
// fetched: the processor does not guess large strides.
func classMoments512(elem int) {
	kernel("classMoments"+elemName(elem)+"AVX512", "func(to *int64, x *"+elemType(elem)+", stride int, shift, scale float64, class *uint8, tiles, classes, squares int) (odd int)")
	to, x := Load(Param("to"), GP64()), Load(Param("x"), GP64()).(reg.GPVirtual)
	stride, class := tileStride(Load(Param("stride"), GP64()).(reg.GPVirtual), elem), Load(Param("class"), GP64())
	tiles, left := Load(Param("tiles"), GP64()), Load(Param("classes"), GP64())
	shift, scale, magic, low, one, now := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	VBROADCASTSD(NewParamAddr("shift", 24), shift)
	VBROADCASTSD(NewParamAddr("scale", 32), scale)
	VMOVUPD(f(0x1.8p52), magic)
	VMOVDQU64(konst(1<<25-1), low)
	VMOVDQU64(konst(1), one)
	VPXORQ(now, now, now)
	odd, squares := GP32(), Load(Param("squares"), GP64())
	XORL(odd, odd)
	Label("classes")
	var acc [4]reg.VecVirtual
	for i := range acc {
		acc[i] = ZMM()
		VPXORQ(acc[i], acc[i], acc[i])
	}
	p, c, t := GP64(), GP64(), GP64()
	MOVQ(x, p)
	MOVQ(class, c)
	MOVQ(tiles, t)
	Label("tiles")
	PREFETCHT0(Mem{Base: p, Index: stride, Scale: 8})
	v, of := ZMM(), ZMM()
	is, bad := K(), K()
	VPMOVZXBQ(Mem{Base: c}, of)
	VPCMPEQQ(now, of, is)
	avx512.loadElem(elem, Mem{Base: p}, v)
	VSUBPD(shift, v, v)
	VMULPD(scale, v, v)
	VCMPPD(Imm(3), v, v, is, bad)
	bits := GP32()
	KMOVW(bad, bits)
	ORL(bits, odd)
	VADDPD(magic, v, v)
	VPSUBQ(magic, v, v)
	l, h, product := ZMM(), ZMM(), ZMM()
	VPADDQ(v, acc[0], is, acc[0])
	TESTQ(squares, squares)
	JZ(LabelRef("next"))
	VPANDQ(low, v, l)
	VPSRAQ(Imm(25), v, h)
	VPMULDQ(l, l, product)
	VPADDQ(product, acc[1], is, acc[1])
	VPMULDQ(l, h, product)
	VPADDQ(product, acc[2], is, acc[2])
	VPMULDQ(h, h, product)
	VPADDQ(product, acc[3], is, acc[3])
	Label("next")
	ADDQ(stride, p)
	ADDQ(Imm(8), c)
	DECQ(t)
	JNZ(LabelRef("tiles"))
	for i, a := range acc {
		half, x := YMM(), XMM()
		VEXTRACTI64X4(Imm(1), a, half)
		VPADDQ(half, a.AsY(), half)
		VEXTRACTI128(Imm(1), half, x)
		VPADDQ(half.AsX(), x, x)
		high, sum := XMM(), GP64()
		VPUNPCKHQDQ(x, x, high)
		VPADDQ(high, x, x)
		VMOVQ(x, sum)
		ADDQ(sum, Mem{Base: to, Disp: 8 * i})
	}
	ADDQ(Imm(32), to)
	VPADDQ(one, now, now)
	DECQ(left)
	JNZ(LabelRef("classes"))
	Store(odd.As64(), ReturnIndex(0))
	avx512.done()
}

// squareMargins: z += Σ (x-m)²·w, four tiles side by side as margins.
func squareMargins(s isa, elem int) {
	kernel("squareMargins"+elemName(elem)+s.suffix, "func(z []float64, x []"+elemType(elem)+", m, w []float64)")
	z, tiles := Load(Param("z").Base(), GP64()), Load(Param("z").Len(), GP64()).(reg.GPVirtual)
	x := Load(Param("x").Base(), GP64()).(reg.GPVirtual)
	m := Load(Param("m").Base(), GP64())
	w, d := Load(Param("w").Base(), GP64()), Load(Param("w").Len(), GP64()).(reg.GPVirtual)
	SHRQ(Imm(3), tiles)
	stride := tileStride(d, elem)
	tileLoop("tiles", tiles, func(n int) {
		acc := s.vecs(n * s.parts)
		for i, a := range acc {
			VMOVUPD(Mem{Base: z, Disp: i * s.width}, a)
		}
		p, p3, at := GP64(), GP64(), GP64()
		MOVQ(x, p)
		LEAQ(Mem{Base: x, Index: stride, Scale: 2}, p3)
		ADDQ(stride, p3)
		XORQ(at, at)
		loop := "cols_1"
		if n == 4 {
			loop = "cols_4"
		}
		Label(loop)
		mj, wj := s.vec(), s.vec()
		VBROADCASTSD(Mem{Base: m, Index: at, Scale: 8}, mj)
		VBROADCASTSD(Mem{Base: w, Index: at, Scale: 8}, wj)
		for t, from := range rows(n, p, p3, stride) {
			for h := range s.parts {
				v := s.vec()
				s.loadElem(elem, from.Offset(h*s.width*elem/8), v)
				VSUBPD(mj, v, v)
				VMULPD(v, v, v)
				VFMADD231PD(v, wj, acc[t*s.parts+h])
			}
		}
		ADDQ(U32(uint32(8*elem)), p)
		ADDQ(U32(uint32(8*elem)), p3)
		INCQ(at)
		CMPQ(at, d)
		JL(LabelRef(loop))
		for i, a := range acc {
			VMOVUPD(a, Mem{Base: z, Disp: i * s.width})
		}
		ADDQ(U32(uint32(n*64)), z)
		for range n {
			ADDQ(stride, x)
		}
	})
	s.done()
}

// centeredKeys is centeredKeysGo. What is some tiles ahead is fetched: the processor does not guess large strides.
func centeredKeys(s isa, elem int) {
	kernel("centeredKeys"+elemName(elem)+s.suffix, "func(keys *uint32, x *"+elemType(elem)+", stride int, center float64, tiles int)")
	keys, x := Load(Param("keys"), GP64()), Load(Param("x"), GP64()).(reg.GPVirtual)
	stride, tiles := tileStride(Load(Param("stride"), GP64()).(reg.GPVirtual), elem), Load(Param("tiles"), GP64())
	center, zero, top := s.vec(), YMM(), YMM()
	VBROADCASTSD(NewParamAddr("center", 24), center)
	VXORPS(zero, zero, zero)
	VMOVUPS(konst(1<<63|1<<31), top)
	Label("tiles")
	PREFETCHT0(Mem{Base: x, Index: stride, Scale: 8})
	v := YMM()
	for h := range s.parts {
		wide := s.vec()
		s.loadElem(elem, Mem{Base: x, Disp: h * s.width * elem / 8}, wide)
		VSUBPD(center, wide, wide)
		switch {
		case s.parts == 1:
			VCVTPD2PS(wide, v)
		case h == 0:
			VCVTPD2PSY(wide, v.AsX())
		default:
			half := XMM()
			VCVTPD2PSY(wide, half)
			VINSERTF128(Imm(1), half, v, v)
		}
	}
	sign := YMM()
	VADDPS(zero, v, v)
	VPSRAD(Imm(31), v, sign)
	VPOR(top, sign, sign)
	VPXOR(sign, v, v)
	VMOVDQU(v, Mem{Base: keys})
	ADDQ(stride, x)
	ADDQ(Imm(32), keys)
	DECQ(tiles)
	JNZ(LabelRef("tiles"))
	s.done()
}
