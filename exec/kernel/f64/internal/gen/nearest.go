package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// nearest: the nearest and second nearest centre of the rows of tiles, four
// centres at a time: eight chains of a subtraction and an FMA hide their
// latency. Processors with AVX-512 run it too.
func nearest() {
	kernel("nearestAVX2", "func(best, second *float64, at *int64, x, c, z *float64, d, groups, tiles, zstep int)")
	best, second, at := Load(Param("best"), GP64()), Load(Param("second"), GP64()), Load(Param("at"), GP64())
	x, z0 := Load(Param("x"), GP64()), Load(Param("z"), GP64())
	tiles, err := Param("tiles").Resolve()
	if err != nil {
		panic(err)
	}
	Label("tiles")
	// What is seldom wanted stays in memory: there are not enough registers.
	c, g := Load(Param("c"), GP64()), Load(Param("groups"), GP64())
	z, num := GP64(), GP64()
	MOVQ(z0, z)
	XORQ(num, num)
	inf := YMM()
	VMOVUPD(konst(0x7ff0000000000000), inf)
	for h := range 2 {
		VMOVUPD(inf, Mem{Base: best, Disp: 32 * h})
		VMOVUPD(inf, Mem{Base: second, Disp: 32 * h})
	}
	Label("groups")
	var acc [4][2]reg.VecVirtual
	for q := range acc {
		for h := range 2 {
			acc[q][h] = YMM()
			VMOVUPD(Mem{Base: z, Disp: 64*q + 32*h}, acc[q][h])
		}
	}
	xp, left := GP64(), Load(Param("d"), GP64())
	MOVQ(x, xp)
	TESTQ(left, left)
	JZ(LabelRef("summed"))
	Label("cols")
	lo, hi := YMM(), YMM()
	VMOVUPD(Mem{Base: xp}, lo)
	VMOVUPD(Mem{Base: xp, Disp: 32}, hi)
	for q := range acc {
		cj, t := YMM(), YMM()
		VBROADCASTSD(Mem{Base: c, Disp: 8 * q}, cj)
		VSUBPD(cj, lo, t)
		VFMADD231PD(t, t, acc[q][0])
		VSUBPD(cj, hi, cj)
		VFMADD231PD(cj, cj, acc[q][1])
	}
	ADDQ(Imm(64), xp)
	ADDQ(Imm(32), c)
	DECQ(left)
	JNZ(LabelRef("cols"))
	Label("summed")
	for h := range 2 {
		b, s, i := YMM(), YMM(), YMM()
		VMOVUPD(Mem{Base: best, Disp: 32 * h}, b)
		VMOVUPD(Mem{Base: second, Disp: 32 * h}, s)
		VMOVUPD(Mem{Base: at, Disp: 32 * h}, i)
		n := YMM()
		nx := XMM()
		VMOVQ(num, nx)
		VPBROADCASTQ(nx, n)
		for q := range acc {
			less, worse := YMM(), YMM()
			VCMPPD(Imm(cmpLT), b, acc[q][h], less)
			VMAXPD(acc[q][h], b, worse)
			VMINPD(worse, s, s)
			VMINPD(acc[q][h], b, b)
			VBLENDVPD(less, n, i, i)
			if q < 3 {
				VPADDQ(konst(1), n, n)
			}
		}
		VMOVUPD(b, Mem{Base: best, Disp: 32 * h})
		VMOVUPD(s, Mem{Base: second, Disp: 32 * h})
		VMOVUPD(i, Mem{Base: at, Disp: 32 * h})
	}
	ADDQ(Imm(4), num)
	ADDQ(U32(256), z)
	DECQ(g)
	JNZ(LabelRef("groups"))
	for _, p := range []reg.Register{best, second, at} {
		ADDQ(Imm(64), p)
	}
	step := Load(Param("d"), GP64())
	SHLQ(Imm(6), step)
	ADDQ(step, x)
	ADDQ(Load(Param("zstep"), step), z0)
	DECQ(tiles.Addr)
	JNZ(LabelRef("tiles"))
	avx2.done()
}

// widen: float32s as float64s, n of them, a multiple of eight.
func widen() {
	kernel("widenAVX2", "func(dst *float64, src *float32, n int)")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	Label("loop")
	for h := range 2 {
		v := YMM()
		VCVTPS2PD(Mem{Base: src, Disp: 16 * h}, v)
		VMOVUPD(v, Mem{Base: dst, Disp: 32 * h})
	}
	ADDQ(Imm(64), dst)
	ADDQ(Imm(32), src)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	avx2.done()
}
