package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columnLeast: the least size above 0 of each column's values, by lanes.
// Processors with AVX-512 run it too.
func columnLeast(elem int) {
	kernel("columnLeast"+elemName(elem)+"AVX2", "func(least, x *"+elemType(elem)+", d, tiles int)")
	least, x := Load(Param("least"), GP64()), Load(Param("x"), GP64())
	d, tiles := Load(Param("d"), GP64()).(reg.GPVirtual), Load(Param("tiles"), GP64()).(reg.GPVirtual)
	stride := tileStride(d, elem)
	move, low := VMOVUPS, VMINPS
	sign, inf, zero := konst(0x7fffffff7fffffff), konst(0x7f8000007f800000), YMM()
	if elem == 8 {
		move, low = VMOVUPD, VMINPD
		sign, inf = konst(1<<63-1), konst(0x7ff<<52)
	}
	VXORPS(zero, zero, zero)
	absent, size := YMM(), YMM()
	move(inf, absent)
	move(sign, size)
	tileLoop("tiles", tiles, func(n int) {
		p, p3, lp, left := GP64(), GP64(), GP64(), GP64()
		MOVQ(x, p)
		LEAQ(Mem{Base: x, Index: stride, Scale: 2}, p3)
		ADDQ(stride, p3)
		MOVQ(least, lp)
		MOVQ(d, left)
		loop := fmt.Sprintf("cols_%d", n)
		Label(loop)
		for h := range elem / 4 {
			lo := YMM()
			move(Mem{Base: lp, Disp: 32 * h}, lo)
			for _, m := range rows(n, p, p3, stride) {
				v, none := YMM(), YMM()
				move(m.Offset(32*h), v)
				VANDPS(size, v, v)
				if elem == 8 {
					VCMPPD(Imm(0), zero, v, none)
					VBLENDVPD(none, absent, v, v)
				} else {
					VCMPPS(Imm(0), zero, v, none)
					VBLENDVPS(none, absent, v, v)
				}
				low(v, lo, lo)
			}
			move(lo, Mem{Base: lp, Disp: 32 * h})
		}
		for _, r := range []reg.Register{p, p3, lp} {
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

// columnSplits: by column and lane the sums of the two parts of values that a
// grid makes, and with two powers of the four parts of their squares. Processors
// with AVX-512 run it too.
func columnSplits(name string, elem, powers int) {
	kernel(name+elemName(elem)+"AVX2", "func(sums *float64, x *"+elemType(elem)+", grids *float64, d, tiles int)")
	sums, x, grids := Load(Param("sums"), GP64()), Load(Param("x"), GP64()).(reg.GPVirtual), Load(Param("grids"), GP64())
	d, tiles := Load(Param("d"), GP64()).(reg.GPVirtual), Load(Param("tiles"), GP64()).(reg.GPVirtual)
	stride := tileStride(d, elem)
	left, p, n := GP64(), GP64(), GP64()
	MOVQ(d, left)
	Label("cols")
	grid := make([]reg.VecVirtual, 2*powers-1)
	for i := range grid {
		grid[i] = YMM()
		VBROADCASTSD(Mem{Base: grids, Disp: 8 * i}, grid[i])
	}
	for h := range 2 {
		acc := avx2.vecs(2 * len(grid))
		for _, a := range acc {
			VXORPD(a, a, a)
		}
		MOVQ(x, p)
		MOVQ(tiles, n)
		loop := fmt.Sprintf("tiles_%d", h)
		Label(loop)
		v, q, r := YMM(), YMM(), YMM()
		avx2.loadElem(elem, Mem{Base: p, Disp: 4 * h * elem}, v)
		if powers > 1 {
			VMULPD(v, v, q)
			VMOVAPD(q, r)
			VFMSUB231PD(v, v, r) // v·v - q
		}
		for i, part := range []reg.VecVirtual{v, q, r}[:len(grid)] {
			t := YMM()
			VADDPD(grid[i], part, t)
			VSUBPD(grid[i], t, t)
			VSUBPD(t, part, part)
			VADDPD(t, acc[2*i], acc[2*i])
			VADDPD(part, acc[2*i+1], acc[2*i+1])
		}
		ADDQ(stride, p)
		DECQ(n)
		JNZ(LabelRef(loop))
		for i, a := range acc {
			VMOVUPD(a, Mem{Base: sums, Disp: 64*i + 32*h})
		}
	}
	ADDQ(U32(384), sums)
	ADDQ(Imm(24), grids)
	ADDQ(U32(uint32(8*elem)), x)
	DECQ(left)
	JNZ(LabelRef("cols"))
	avx2.done()
}
