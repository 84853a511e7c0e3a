package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columnBounds: the least and greatest values of each column, by lanes, which
// pass through registers once for four tiles. Processors with AVX-512 run it too.
func columnBounds(elem int) {
	kernel("columnBounds"+elemName(elem)+"AVX2", "func(low, high, x *"+elemType(elem)+", d, tiles int)")
	low, high, x := Load(Param("low"), GP64()), Load(Param("high"), GP64()), Load(Param("x"), GP64())
	d, tiles := Load(Param("d"), GP64()).(reg.GPVirtual), Load(Param("tiles"), GP64()).(reg.GPVirtual)
	stride := tileStride(d, elem)
	move, least, most := VMOVUPS, VMINPS, VMAXPS
	if elem == 8 {
		move, least, most = VMOVUPD, VMINPD, VMAXPD
	}
	tileLoop("tiles", tiles, func(n int) {
		p, p3, lp, hp, left := GP64(), GP64(), GP64(), GP64(), GP64()
		MOVQ(x, p)
		LEAQ(Mem{Base: x, Index: stride, Scale: 2}, p3)
		ADDQ(stride, p3)
		MOVQ(low, lp)
		MOVQ(high, hp)
		MOVQ(d, left)
		loop := fmt.Sprintf("cols_%d", n)
		Label(loop)
		for h := range elem / 4 {
			lo, hi := YMM(), YMM()
			move(Mem{Base: lp, Disp: 32 * h}, lo)
			move(Mem{Base: hp, Disp: 32 * h}, hi)
			for _, m := range rows(n, p, p3, stride) {
				v := YMM()
				move(m.Offset(32*h), v)
				least(v, lo, lo)
				most(v, hi, hi)
			}
			move(lo, Mem{Base: lp, Disp: 32 * h})
			move(hi, Mem{Base: hp, Disp: 32 * h})
		}
		for _, r := range []reg.Register{p, p3, lp, hp} {
			ADDQ(U32(uint32(8*elem)), r)
		}
		DECQ(left)
		JNZ(LabelRef(loop))
		for range n {
			ADDQ(stride, x)
		}
	})
	avx2.done()
}

// axpy2: y += a·u + b·v over n values, a multiple of eight.
func axpy2() {
	kernel("axpy2AVX2", "func(y, u, v *float64, a, b float64, n int)")
	y, u, v := Load(Param("y"), GP64()), Load(Param("u"), GP64()), Load(Param("v"), GP64())
	a, b := YMM(), YMM()
	for i, to := range []reg.VecVirtual{a, b} {
		m, err := Param([]string{"a", "b"}[i]).Resolve()
		if err != nil {
			panic(err)
		}
		VBROADCASTSD(m.Addr, to)
	}
	n := Load(Param("n"), GP64())
	Label("loop")
	for h := range 2 {
		t := YMM()
		VMOVUPD(Mem{Base: y, Disp: 32 * h}, t)
		VFMADD231PD(Mem{Base: v, Disp: 32 * h}, b, t)
		VFMADD231PD(Mem{Base: u, Disp: 32 * h}, a, t)
		VMOVUPD(t, Mem{Base: y, Disp: 32 * h})
	}
	for _, r := range []reg.Register{y, u, v} {
		ADDQ(Imm(64), r)
	}
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	avx2.done()
}
