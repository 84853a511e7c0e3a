package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// addWhole is addWholeGo.
func addWhole() {
	kernel("addWholeAVX2", "func(sums *int64, x, scale *float64, d, tiles int)")
	sums, x, scale := Load(Param("sums"), GP64()), Load(Param("x"), GP64()), Load(Param("scale"), GP64())
	d, tiles := Load(Param("d"), GP64()), Load(Param("tiles"), GP64())
	stride, p, n := GP64(), GP64(), GP64()
	MOVQ(d, stride)
	SHLQ(Imm(6), stride)
	shift := YMM()
	VMOVUPD(f(0x1.8p52), shift)
	Label("cols")
	s := YMM()
	VBROADCASTSD(Mem{Base: scale}, s)
	acc := [2]reg.VecVirtual{YMM(), YMM()}
	for _, a := range acc {
		VPXOR(a, a, a)
	}
	MOVQ(x, p)
	MOVQ(tiles, n)
	Label("tiles")
	for h, a := range acc {
		v := YMM()
		VMULPD(Mem{Base: p, Disp: 32 * h}, s, v)
		VADDPD(shift, v, v)
		VPADDQ(v, a, a)
	}
	ADDQ(stride, p)
	DECQ(n)
	JNZ(LabelRef("tiles"))
	VPADDQ(acc[1], acc[0], acc[0])
	half, high := XMM(), XMM()
	VEXTRACTI128(Imm(1), acc[0], half)
	VPADDQ(acc[0].AsX(), half, half)
	VPUNPCKHQDQ(half, half, high)
	VPADDQ(high, half, half)
	sum := GP64()
	VMOVQ(half, sum)
	ADDQ(sum, Mem{Base: sums})
	ADDQ(Imm(8), sums)
	ADDQ(Imm(8), scale)
	ADDQ(Imm(64), x)
	DECQ(d)
	JNZ(LabelRef("cols"))
	avx2.done()
}
