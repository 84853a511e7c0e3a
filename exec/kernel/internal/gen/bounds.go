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

// axpy: y += a·u over n values, a multiple of eight.
func axpy() {
	kernel("axpyAVX2", "func(y, u *float64, a float64, n int)")
	axpys("u", "a")
}

// axpy2: y += a·u + b·v.
func axpy2() {
	kernel("axpy2AVX2", "func(y, u, v *float64, a, b float64, n int)")
	axpys("uv", "ab")
}

func axpys(vectors, factors string) {
	y := Load(Param("y"), GP64())
	at := []reg.Register{y}
	var by []reg.VecVirtual
	for i := range vectors {
		at = append(at, Load(Param(vectors[i:i+1]), GP64()))
		m, err := Param(factors[i : i+1]).Resolve()
		if err != nil {
			panic(err)
		}
		by = append(by, YMM())
		VBROADCASTSD(m.Addr, by[i])
	}
	n := Load(Param("n"), GP64())
	Label("loop")
	for h := range 2 {
		t := YMM()
		VMOVUPD(Mem{Base: y, Disp: 32 * h}, t)
		for i := len(by) - 1; i >= 0; i-- {
			VFMADD231PD(Mem{Base: at[1+i], Disp: 32 * h}, by[i], t)
		}
		VMOVUPD(t, Mem{Base: y, Disp: 32 * h})
	}
	for _, r := range at {
		ADDQ(Imm(64), r)
	}
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	avx2.done()
}
